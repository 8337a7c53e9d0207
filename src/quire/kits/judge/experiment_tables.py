"""The tables of an experiment: what their columns hold, the ids that join them, and their rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

from quire.domain.data import Json, as_object
from quire.kits.judge.experiment import (
    BLOCKED,
    PARSED,
    PENDING,
    VIEWS,
    ExperimentRows,
    TaskRow,
    shared_truth,
)
from quire.kits.judge.randomization import sample_seeds, scale_display, swap_seed
from quire.kits.judge.recipe import RUBRIC_CRITIC, RUBRIC_GEN, SCORE_CRITIC, SCORE_GEN
from quire.kits.judge.toml_tables import texts

_KINDS = {":i": "integer", ":n": "number", ":b": "boolean", ":j": "json"}


def _columns(words: str) -> dict[str, str]:
    """What each column holds: a mark after its name says it, without one it is text."""
    found = {}
    for word in words.split():
        name, mark = (word[:-2], word[-2:]) if word[-2:] in _KINDS else (word, "")
        found[name] = _KINDS.get(mark, "text")
    return found


_SCORE_KEYS = """
    sample_id experiment_id model_id rubric_id rubric_model_id evidence_id sample_ordinal:i
    bundle_ordinal:i bundle_signature
"""
COLUMNS: dict[str, dict[str, str]] = {  # what each column of each table holds
    name: _columns(words)
    for name, words in {
        "experiments": """
            run_id:i experiment_id experiment_tag window_id model_id task_type concept
            ground_truth:j config:j status scale_size:i method abstain_enabled:b evidence_view
            evidence_bundle_size:i bundle_strategy randomizations:j seed:i sample_count:i
            evidence_count:i window_ids:j rubric_model_id critic_model_id view_model_id
            prompt_ordering temperature:n top_p:n provider_seed:i max_tokens:i own_prompts:j
        """,
        "windows": "run_id:i window_id name start_date end_date country concept",
        "evidences": """
            run_id:i evidence_id window_id title url raw_content cleaned_content
            neutralized_content abstracted_content ground_truth_stage:i document_id:i
        """,
        "rubrics": """
            run_id:i rubric_id experiment_id model_id sample_ordinal:i concept scale_size:i
            stages:j justification rubricer_message_id rubricer_output
            rubric_critic_model_id rubric_critic_message_id rubric_critic_output
            rubric_critic_reasoning
            quality_stats:j observability_score:n discriminability_score:n parse_error
            parse_status attempt_count:i critic_failure rubric_critic_parse_error
            rubric_critic_parse_status rubric_critic_attempt_count:i state task_id:i
        """,
        "samples": """
            run_id:i sample_id experiment_id model_id rubric_id rubric_model_id
            sample_ordinal:i is_swap:b label_mapping:j display_order:j display_seed:i seed:i
        """,
        "scores": f"""
            run_id:i score_id {_SCORE_KEYS} evidence_ids:j evidence_labels:j is_swap:b
            abstained:b score_message_id score_output justification raw_verdict
            decoded_scores:j subset_size:i score_critic_model_id score_critic_message_id
            score_critic_output score_critic_reasoning expert_agreement_prob:n
            parse_error parse_status attempt_count:i critic_failure score_critic_parse_error
            score_critic_parse_status score_critic_attempt_count:i ground_truth_stage:i
            state task_id:i
        """,
        "score_items": f"""
            run_id:i score_id item_ordinal:i stage_number:i stage_label token
            display_position:i {_SCORE_KEYS} is_swap:b
        """,
    }.items()
}


GIVEN = "given"  # the one rubric that nobody wrote


def experiment_id(rows: ExperimentRows, model: str) -> str:
    """One point of the design space: an experiment as one model carries it out."""
    return f"{_scope(rows)}:{model}"


def rubric_id(rows: ExperimentRows, ordinal: int, model: str) -> str:
    """A rubric by its sample and its author; "" is the author of a rubric that was given."""
    return f"{_scope(rows)}:{ordinal}:{model}" if model else f"{_scope(rows)}:{GIVEN}"


def sample_id(rows: ExperimentRows, ordinal: int, scorer: str, rubric_model: str) -> str:
    """A sample by its number and its scorer, and the rubric's author where that is a rival."""
    everybodys = ("", scorer, rows.experiment.rubric_model)
    rival = f":on:{rubric_model}" if rubric_model not in everybodys else ""
    return f"{_scope(rows)}:{ordinal}:{scorer}{rival}"


def _scope(rows: ExperimentRows) -> str:
    """The tag with the run: several runs may go under one tag."""
    return f"{rows.experiment.experiment_tag}:r{rows.run_id}"


def score_id(sample: str, bundle: int) -> str:
    """A score by its sample and its bundle."""
    return f"{sample}:b{bundle}"


TableRow = dict[str, Json]


def make_tables(rows: ExperimentRows) -> dict[str, list[TableRow]]:
    """Every table by name, its rows with every column of `COLUMNS` and no other."""
    scores = list(_scores(rows))
    made: dict[str, Iterable[TableRow]] = {
        "experiments": _experiments(rows),
        "windows": _windows(rows),
        "evidences": _evidences(rows),
        "rubrics": _rubrics(rows),
        "samples": _samples(rows),
        "scores": scores,
        "score_items": _score_items(rows, scores),
    }
    run: TableRow = {"run_id": rows.run_id}
    return {
        name: [{column: (row | run)[column] for column in COLUMNS[name]} for row in made[name]]
        for name in COLUMNS
    }


def _experiments(rows: ExperimentRows) -> Iterator[TableRow]:
    experiment = rows.experiment
    windows = [window.id for window in experiment.windows]
    for model in experiment.models:
        yield {
            **experiment.config(),
            "experiment_id": experiment_id(rows, model),
            "experiment_tag": experiment.experiment_tag,
            "task_type": experiment.task_type,
            "concept": experiment.concept,
            "window_id": windows[0] if len(windows) == 1 else None,
            "model_id": model,
            "ground_truth": experiment.ground_truth.as_json() if experiment.ground_truth else None,
            "config": experiment.config(),
            "status": rows.status,
            "sample_count": experiment.samples,
            "evidence_count": len(experiment.evidence),
            "window_ids": windows,
            "rubric_model_id": experiment.rubric_model or (None if experiment.rubric else model),
            "critic_model_id": experiment.critic_model or model,
            "view_model_id": experiment.config()["view_model"],
        }


def _windows(rows: ExperimentRows) -> Iterator[TableRow]:
    for window in rows.experiment.windows:
        yield {"window_id": window.id, **asdict(window)}


def _evidences(rows: ExperimentRows) -> Iterator[TableRow]:
    experiment = rows.experiment
    truths = experiment.truths()
    views = {view: dict(_view(rows, view)) for view in VIEWS[1:]}
    for evidence, document in zip(experiment.evidence, rows.documents, strict=True):
        window = None if evidence.window is None else experiment.windows[evidence.window].id
        yield {
            "evidence_id": evidence.id,
            "window_id": window,
            "title": evidence.title or None,
            "url": evidence.url or None,
            "raw_content": evidence.text or None,
            **{f"{view}_content": views[view].get(document) for view in VIEWS[1:]},
            "ground_truth_stage": truths[evidence.id],
            "document_id": document,
        }


def _view(rows: ExperimentRows, view: str) -> Iterator[tuple[int, Json]]:
    by_id = {task.task_id: task for task in rows.tasks}
    for task in rows.tasks_of_stage(view):
        about = task
        while not about.documents and about.of is not None:
            about = by_id[about.of]
        if about.documents:
            yield about.documents[0], task.facts.get("text")


def _rubrics(rows: ExperimentRows) -> Iterator[TableRow]:
    experiment = rows.experiment
    if experiment.rubric:
        yield _given_rubric(rows)
    for task in rows.tasks_of_stage(RUBRIC_GEN):
        critic = rows.task_about(RUBRIC_CRITIC, task.task_id)
        scores = {
            name: critic.facts.get(name) if critic else None
            for name in ("observability_score", "discriminability_score")
        }
        yield {
            "rubric_id": rubric_id(rows, task.sample, task.model),
            "experiment_id": None if experiment.rubric_model else experiment_id(rows, task.model),
            "model_id": task.model,
            "sample_ordinal": task.sample,
            "concept": experiment.concept,
            "scale_size": experiment.scale_size,
            "stages": task.facts.get("stages"),
            "rubricer_message_id": task.message_id or None,
            "rubricer_output": task.answer or None,
            "quality_stats": scores if critic and critic.facts else None,
            **scores,
            **_answer_columns(task),
            **_critic_columns("rubric_critic", critic, task),
        }


def _given_rubric(rows: ExperimentRows) -> TableRow:
    experiment = rows.experiment
    stages: list[Json] = [
        {"stage_number": number, "label": stage.label, "criteria": list(stage.criteria)}
        for number, stage in enumerate(experiment.rubric, 1)
    ]
    return {
        **dict.fromkeys(COLUMNS["rubrics"]),
        "rubric_id": rubric_id(rows, 0, ""),
        "concept": experiment.concept,
        "scale_size": experiment.scale_size,
        "stages": stages,
        "parse_status": "given",
        "attempt_count": 0,
    }


def _samples(rows: ExperimentRows) -> Iterator[TableRow]:
    experiment = rows.experiment
    rivals = experiment.rivals
    for ordinal, seed in enumerate(sample_seeds(experiment.seed, experiment.samples)):
        for model in experiment.models:
            for scorer in (model, *rivals[model]):
                author = "" if experiment.rubric else experiment.rubric_model or model
                display_seed = seed if scorer == model else swap_seed(seed)
                display = scale_display(
                    display_seed, experiment.scale_size, experiment.randomizations
                )
                yield {
                    "sample_id": sample_id(rows, ordinal, scorer, author),
                    "experiment_id": experiment_id(rows, scorer),
                    "model_id": scorer,
                    "rubric_id": rubric_id(rows, ordinal, author),
                    "rubric_model_id": author or None,
                    "sample_ordinal": ordinal,
                    "is_swap": scorer != model,
                    "label_mapping": display.labels,
                    "display_order": list(display.order),
                    "display_seed": display_seed,
                    "seed": seed,
                }


def _scores(rows: ExperimentRows) -> Iterator[TableRow]:
    experiment = rows.experiment
    truths = experiment.truths()
    for task in rows.tasks_of_stage(SCORE_GEN):
        part, facts = task.part, task.facts
        author = str(part["rubric_model"])
        evidence = texts(part["evidence_ids"])
        sample = sample_id(rows, task.sample, task.model, author)
        bundle = part["bundle"]
        assert isinstance(bundle, int)
        critic = rows.task_about(SCORE_CRITIC, task.task_id)
        decoded = facts.get("decoded_scores")
        yield {
            "score_id": score_id(sample, bundle),
            "sample_id": sample,
            "experiment_id": experiment_id(rows, task.model),
            "model_id": task.model,
            "rubric_id": rubric_id(rows, task.sample, author),
            "rubric_model_id": author or None,
            "evidence_id": evidence[0] if len(evidence) == 1 else None,
            "sample_ordinal": task.sample,
            "bundle_ordinal": bundle,
            "bundle_signature": part["bundle_signature"],
            "evidence_ids": evidence,
            "evidence_labels": part["evidence_labels"],
            "is_swap": part["is_swap"],
            "abstained": facts.get("abstained"),
            "score_message_id": task.message_id or None,
            "score_output": task.answer or None,
            "raw_verdict": facts.get("raw_verdict"),
            "decoded_scores": decoded,
            "subset_size": len(decoded) if isinstance(decoded, Sequence) else None,
            "expert_agreement_prob": critic.facts.get("expert_agreement_prob") if critic else None,
            "ground_truth_stage": shared_truth(truths, evidence),
            **_answer_columns(task),
            **_critic_columns("score_critic", critic, task),
        }


def _answer_columns(task: TaskRow) -> TableRow:
    return {
        "justification": task.reasoning or None,
        "parse_error": task.parse_error or None,
        "parse_status": task.parse_status,
        "attempt_count": task.attempts,
        "critic_failure": task.critic_failure or None,
        "state": task.state,
        "task_id": task.task_id,
    }


_CRITIC = (  # a column, and what of the critic's task stands there
    *(("model_id", "model"), ("message_id", "message_id"), ("output", "answer")),
    *(("reasoning", "reasoning"), ("parse_error", "parse_error")),
)


def _critic_columns(prefix: str, critic: TaskRow | None, judged: TaskRow) -> TableRow:
    missing = PENDING if judged.parse_status in (PARSED, PENDING) else BLOCKED
    return {
        **{f"{prefix}_{column}": getattr(critic, name, None) or None for column, name in _CRITIC},
        f"{prefix}_parse_status": critic.parse_status if critic else missing,
        f"{prefix}_attempt_count": critic.attempts if critic else 0,
    }


def _score_items(rows: ExperimentRows, scores: Sequence[TableRow]) -> Iterator[TableRow]:
    labels = _labels(rows)
    parts = {task.task_id: task.part for task in rows.tasks_of_stage(SCORE_GEN)}
    for score in scores:
        decoded, part = score["decoded_scores"], parts[int(str(score["task_id"]))]
        tokens = {stage: token for token, stage in as_object(part["labels"]).items()}
        order = part["order"]
        assert isinstance(order, Sequence)
        for ordinal, stage in enumerate(decoded if isinstance(decoded, Sequence) else ()):
            yield {
                **score,
                "item_ordinal": ordinal,
                "stage_number": stage,
                "stage_label": labels.get((score["rubric_id"], stage)),
                "token": tokens.get(stage),
                "display_position": order.index(stage) + 1,
            }


def _labels(rows: ExperimentRows) -> dict[tuple[Json, Json], Json]:
    """What each rubric calls each of its stages."""
    found: dict[tuple[Json, Json], Json] = {}
    for rubric in _rubrics(rows):
        stages = rubric["stages"]
        for stage in stages if isinstance(stages, Sequence) else ():
            if isinstance(stage, Mapping):
                found[rubric["rubric_id"], stage["stage_number"]] = stage["label"]
    return found
