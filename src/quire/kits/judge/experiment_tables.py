"""The tables of an experiment: columns, ids and rows, and CSV files that spreadsheets open."""

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

import orjson

from quire.domain.data import Json, as_object, plain_json
from quire.domain.errors import UsageError
from quire.domain.version import VERSION
from quire.kits.judge.experiment import (
    BLOCKED,
    PARSED,
    PENDING,
    VIEWS,
    Experiment,
    ExperimentRows,
    TaskRow,
    shared_truth,
)
from quire.kits.judge.randomization import sample_seeds, scale_display, swap_seed
from quire.kits.judge.recipe import RUBRIC_CRITIC, RUBRIC_GEN, SCORE_CRITIC, SCORE_GEN
from quire.kits.judge.toml_tables import texts

_SCORE_KEYS = """
    sample_id experiment_id model_id rubric_id rubric_model_id evidence_id sample_ordinal
    bundle_ordinal bundle_signature
"""
COLUMNS: dict[str, tuple[str, ...]] = {
    name: tuple(columns.split())
    for name, columns in {
        "experiments": """
            experiment_id experiment_tag window_id model_id task_type concept
            ground_truth config status scale_size method abstain_enabled evidence_view
            evidence_bundle_size bundle_strategy randomizations seed sample_count
            evidence_count window_ids
        """,
        "windows": "window_id name start_date end_date country concept",
        "evidences": """
            evidence_id window_id title url raw_content cleaned_content
            neutralized_content abstracted_content ground_truth_stage document_id
        """,
        "rubrics": """
            rubric_id experiment_id model_id sample_ordinal concept scale_size stages
            justification rubricer_message_id rubricer_output rubric_critic_message_id
            rubric_critic_output rubric_critic_reasoning quality_stats
            observability_score discriminability_score parse_error parse_status
            attempt_count rubric_critic_parse_error rubric_critic_parse_status
            rubric_critic_attempt_count state task_id
        """,
        "samples": """
            sample_id experiment_id model_id rubric_id rubric_model_id sample_ordinal
            is_swap label_mapping display_order display_seed seed
        """,
        "scores": f"""
            score_id {_SCORE_KEYS} evidence_ids evidence_labels is_swap abstained
            score_message_id score_output justification raw_verdict decoded_scores
            subset_size score_critic_message_id score_critic_output
            score_critic_reasoning expert_agreement_prob parse_error parse_status
            attempt_count score_critic_parse_error score_critic_parse_status
            score_critic_attempt_count ground_truth_stage state task_id
        """,
        "score_items": f"""
            score_id item_ordinal stage_number stage_label token {_SCORE_KEYS} is_swap
        """,
    }.items()
}


GIVEN = "given"  # the one rubric that nobody wrote


def experiment_id(experiment: Experiment, model: str) -> str:
    """One point of the design space: an experiment as one model carries it out."""
    return f"{experiment.experiment_tag}:{model}"


def rubric_id(experiment: Experiment, ordinal: int, model: str) -> str:
    """A rubric by its sample and its author; "" is the author of a rubric that was given."""
    if not model:
        return f"{experiment.experiment_tag}:{GIVEN}"
    return f"{experiment.experiment_tag}:{ordinal}:{model}"


def sample_id(experiment: Experiment, ordinal: int, scorer: str, rubric_model: str) -> str:
    """A sample by its number and its scorer, and the rubric's author where that is a rival."""
    rival = f":on:{rubric_model}" if rubric_model not in ("", scorer) else ""
    return f"{experiment.experiment_tag}:{ordinal}:{scorer}{rival}"


def score_id(sample: str, bundle: int) -> str:
    """A score by its sample and its bundle."""
    return f"{sample}:b{bundle}"


TableRow = Mapping[str, Json]


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
    return {
        name: [{column: row[column] for column in COLUMNS[name]} for row in made[name]]
        for name in COLUMNS
    }


def _experiments(rows: ExperimentRows) -> Iterator[TableRow]:
    experiment = rows.experiment
    windows = [window.id for window in experiment.windows]
    for model in experiment.models:
        yield {
            **experiment.config(),
            "experiment_id": experiment_id(experiment, model),
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
            "title": evidence.title,
            "url": evidence.url,
            "raw_content": evidence.text,
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
        "rubric_id": rubric_id(experiment, 0, ""),
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
                author = "" if experiment.rubric else model
                display_seed = seed if scorer == model else swap_seed(seed)
                display = scale_display(
                    display_seed, experiment.scale_size, experiment.randomizations
                )
                yield {
                    "sample_id": sample_id(experiment, ordinal, scorer, author),
                    "experiment_id": experiment_id(experiment, scorer),
                    "model_id": scorer,
                    "rubric_id": rubric_id(experiment, ordinal, author),
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
        sample = sample_id(experiment, task.sample, task.model, author)
        bundle = part["bundle"]
        assert isinstance(bundle, int)
        critic = rows.task_about(SCORE_CRITIC, task.task_id)
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
            **_answer_columns(task),
            **_critic_columns("score_critic", critic, task),
        }


def _answer_columns(task: TaskRow) -> TableRow:
    return {
        "justification": task.reasoning or None,
        "parse_error": task.error or None,
        "parse_status": task.parse_status,
        "attempt_count": task.attempts,
        "state": task.state,
        "task_id": task.task_id,
    }


_CRITIC = (  # a column, and what of the critic's task stands there
    *(("message_id", "message_id"), ("output", "answer")),
    *(("reasoning", "reasoning"), ("parse_error", "error")),
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
    tokens = {
        task.task_id: {stage: token for token, stage in as_object(task.part["labels"]).items()}
        for task in rows.tasks_of_stage(SCORE_GEN)
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


EXPORT_SCHEMA_VERSION = 3
MANIFEST = "manifest.json"
_EXECUTED = ("=", "+", "-", "@", "\t", "\r", "\n")  # how a cell begins that a spreadsheet would run


def write_tables(rows: ExperimentRows, folder: Path) -> dict[str, Json]:
    """Write every table and then the manifest; returns the manifest."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        made = make_tables(rows)
        descriptions: dict[str, Json] = {}
        for name, table in made.items():
            body = _csv(COLUMNS[name], table)
            _replace(folder / f"{name}.csv", body)
            descriptions[name] = {
                "file": f"{name}.csv",
                "rows": len(table),
                "columns": list(COLUMNS[name]),
                "sha256": sha256(body).hexdigest(),
            }
        manifest = _manifest(rows, descriptions)
        _replace(folder / MANIFEST, orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return manifest


def _manifest(rows: ExperimentRows, descriptions: dict[str, Json]) -> dict[str, Json]:
    return {
        "export_schema_version": EXPORT_SCHEMA_VERSION,
        "quire_version": VERSION,
        "experiment_tag": rows.experiment.experiment_tag,
        "task_type": rows.experiment.task_type,
        "run_id": rows.run_id,
        "status": rows.status,
        "last_updated": rows.updated_at.isoformat(),
        "tables": descriptions,
    }


def _csv(columns: Iterable[str], table: Iterable[TableRow]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")  # so that a lone \r in a cell is quoted, too
    writer.writerow(columns)
    for row in table:
        writer.writerow([_cell(value) for value in row.values()])
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        # an apostrophe makes a spreadsheet show the cell instead of running it
        return f"'{value}" if value.startswith(_EXECUTED) else value
    if isinstance(value, bool | int | float):
        return str(value)
    return plain_json(value)


def _replace(path: Path, body: bytes) -> None:
    """Let the file appear whole or not at all."""
    partial = path.with_name(f"{path.name}.partial-{os.getpid()}")
    try:
        partial.write_bytes(body)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
