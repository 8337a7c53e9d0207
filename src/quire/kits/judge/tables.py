"""Tables: an experiment's rows become flat tables, one value a cell, ready for data frames."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from quire.domain.data import Json
from quire.kits.judge.columns import COLUMNS
from quire.kits.judge.display import surface
from quire.kits.judge.experiment import VIEWS, shared_truth
from quire.kits.judge.identities import experiment_id, rubric_id, sample_id, score_id
from quire.kits.judge.recipe import RUBRIC_CRITIC, RUBRIC_GEN, SCORE_CRITIC, SCORE_GEN
from quire.kits.judge.rows import BLOCKED, PARSED, PENDING, ExperimentRows, StageRow
from quire.kits.judge.seeding import sample_seeds, swap_seed

Row = Mapping[str, Json]


def tables(rows: ExperimentRows) -> dict[str, list[Row]]:
    """Every table by name, its rows with every column of `COLUMNS` and no other."""
    scores = list(_scores(rows))
    made: dict[str, Iterable[Row]] = {
        "experiments": _experiments(rows),
        "windows": _windows(rows),
        "evidences": _evidences(rows),
        "rubrics": _rubrics(rows),
        "samples": _samples(rows),
        "scores": scores,
        "score_items": _score_items(rows, scores),
    }
    return {
        name: [{column: row[column] for column in COLUMNS[name]} for row in made[name]]
        for name in COLUMNS
    }


def _experiments(rows: ExperimentRows) -> Iterator[Row]:
    experiment = rows.experiment
    windows = [window.id for window in experiment.windows]
    for model in experiment.models:
        yield {
            "experiment_id": experiment_id(experiment, model),
            "experiment_tag": experiment.experiment_tag,
            "window_id": windows[0] if len(windows) == 1 else None,
            "model_id": model,
            "task_type": experiment.task_type,
            "concept": experiment.concept,
            "ground_truth": experiment.ground_truth.as_json() if experiment.ground_truth else None,
            "config": experiment.config(),
            "status": rows.status,
            "scale_size": experiment.scale_size,
            "method": experiment.method,
            "abstain_enabled": experiment.abstain_enabled,
            "evidence_view": experiment.evidence_view,
            "evidence_bundle_size": experiment.evidence_bundle_size,
            "bundle_strategy": experiment.bundle_strategy,
            "randomizations": list(experiment.randomizations),
            "seed": experiment.seed,
            "sample_count": experiment.samples,
            "evidence_count": len(experiment.evidence),
            "window_ids": windows,
        }


def _windows(rows: ExperimentRows) -> Iterator[Row]:
    for window in rows.experiment.windows:
        yield {
            "window_id": window.id,
            "name": window.name,
            "start_date": window.start_date,
            "end_date": window.end_date,
            "country": window.country,
            "concept": window.concept,
        }


def _evidences(rows: ExperimentRows) -> Iterator[Row]:
    experiment = rows.experiment
    truths = experiment.truths()
    views = {view: dict(_view(rows, view)) for view in VIEWS[1:]}
    for evidence, document in zip(experiment.evidence, rows.documents, strict=True):
        window = None if evidence.window is None else experiment.windows[evidence.window].id
        yield {
            "evidence_id": evidence.id,
            "window_id": window,
            "title": evidence.title,
            "url": evidence.url,
            "raw_content": evidence.text,
            **{f"{view}_content": views[view].get(document) for view in VIEWS[1:]},
            "ground_truth_stage": truths[evidence.id],
            "document_id": document,
        }


def _view(rows: ExperimentRows, view: str) -> Iterator[tuple[int, Json]]:
    by_id = {task.task_id: task for task in rows.tasks}
    for task in rows.stage(view):
        about = task
        while not about.documents and about.of is not None:
            about = by_id[about.of]
        if about.documents:
            yield about.documents[0], task.facts.get("text")


def _rubrics(rows: ExperimentRows) -> Iterator[Row]:
    experiment = rows.experiment
    if experiment.rubric:
        yield _given_rubric(rows)
    for task in rows.stage(RUBRIC_GEN):
        critic = rows.about(RUBRIC_CRITIC, task.task_id)
        scores = {
            name: critic.facts.get(name) if critic else None
            for name in ("observability_score", "discriminability_score")
        }
        yield {
            "rubric_id": rubric_id(experiment, task.sample, task.model),
            "experiment_id": experiment_id(experiment, task.model),
            "model_id": task.model,
            "sample_ordinal": task.sample,
            "concept": experiment.concept,
            "scale_size": experiment.scale_size,
            "stages": task.facts.get("stages"),
            "rubricer_message_id": task.message_id or None,
            "rubricer_output": task.answer or None,
            "quality_stats": scores if critic and critic.facts else None,
            **scores,
            **_answered(task),
            **_criticised("rubric_critic", critic, task),
        }


def _given_rubric(rows: ExperimentRows) -> Row:
    experiment = rows.experiment
    stages: list[Json] = [
        {"stage_number": number, "label": stage.label, "criteria": list(stage.criteria)}
        for number, stage in enumerate(experiment.rubric, 1)
    ]
    return {
        **dict.fromkeys(COLUMNS["rubrics"]),
        "rubric_id": rubric_id(experiment, 0, ""),
        "concept": experiment.concept,
        "scale_size": experiment.scale_size,
        "stages": stages,
        "parse_status": "given",
        "attempt_count": 0,
    }


def _samples(rows: ExperimentRows) -> Iterator[Row]:
    experiment = rows.experiment
    rivals = experiment.rivals
    for ordinal, seed in enumerate(sample_seeds(experiment.seed, experiment.samples)):
        for model in experiment.models:
            for scorer in (model, *rivals[model]):
                author = "" if experiment.rubric else model
                display_seed = seed if scorer == model else swap_seed(seed)
                shown = surface(display_seed, experiment.scale_size, experiment.randomizations)
                yield {
                    "sample_id": sample_id(experiment, ordinal, scorer, author),
                    "experiment_id": experiment_id(experiment, scorer),
                    "model_id": scorer,
                    "rubric_id": rubric_id(experiment, ordinal, author),
                    "rubric_model_id": author or None,
                    "sample_ordinal": ordinal,
                    "is_swap": scorer != model,
                    "label_mapping": shown.labels,
                    "display_order": list(shown.order),
                    "display_seed": display_seed,
                    "seed": seed,
                }


def _scores(rows: ExperimentRows) -> Iterator[Row]:
    experiment = rows.experiment
    truths = experiment.truths()
    for task in rows.stage(SCORE_GEN):
        part, facts = task.part, task.facts
        author = str(part["rubric_model"])
        evidence = _texts(part["evidence_ids"])
        sample = sample_id(experiment, task.sample, task.model, author)
        bundle = part["bundle"]
        assert isinstance(bundle, int)
        critic = rows.about(SCORE_CRITIC, task.task_id)
        decoded = facts.get("decoded_scores")
        yield {
            "score_id": score_id(sample, bundle),
            "sample_id": sample,
            "experiment_id": experiment_id(experiment, task.model),
            "model_id": task.model,
            "rubric_id": rubric_id(experiment, task.sample, author),
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
            **_answered(task),
            **_criticised("score_critic", critic, task),
        }


def _answered(task: StageRow) -> Row:
    return {
        "justification": task.reasoning or None,
        "parse_error": task.error or None,
        "parse_status": task.parse_status,
        "attempt_count": task.attempts,
        "state": task.state,
        "task_id": task.task_id,
    }


def _criticised(prefix: str, critic: StageRow | None, judged: StageRow) -> Row:
    missing = PENDING if judged.parse_status in (PARSED, PENDING) else BLOCKED
    return {
        f"{prefix}_message_id": critic.message_id or None if critic else None,
        f"{prefix}_output": critic.answer or None if critic else None,
        f"{prefix}_reasoning": critic.reasoning or None if critic else None,
        f"{prefix}_parse_error": critic.error or None if critic else None,
        f"{prefix}_parse_status": critic.parse_status if critic else missing,
        f"{prefix}_attempt_count": critic.attempts if critic else 0,
    }


def _score_items(rows: ExperimentRows, scores: Sequence[Row]) -> Iterator[Row]:
    labels = _labels(rows)
    tokens = {
        task.task_id: {stage: token for token, stage in _mapping(task.part["labels"]).items()}
        for task in rows.stage(SCORE_GEN)
    }
    for score in scores:
        decoded = score["decoded_scores"]
        for ordinal, stage in enumerate(decoded if isinstance(decoded, Sequence) else ()):
            yield {
                **score,
                "item_ordinal": ordinal,
                "stage_number": stage,
                "stage_label": labels.get((score["rubric_id"], stage)),
                "token": tokens[int(str(score["task_id"]))].get(stage),
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


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, Sequence) else ()
