"""Pilots: experiments that go through real engines, and proof that all of it adds up."""

import json
from collections import Counter
from collections.abc import Sequence
from math import log2
from pathlib import Path
from typing import Any

import pandas
import pytest

from quire import read_export
from quire.domain.data import canonical_json
from quire.domain.ids import RunId
from quire.domain.models import Usage
from quire.domain.pricing import price_call
from quire.domain.states import TASK, TaskState
from quire.engine import Engine
from quire.kits.judge.experiment import ExperimentRows
from quire.kits.judge.experiment_export import export_experiment
from quire.kits.judge.experiment_runs import rows_of
from quire.kits.judge.metrics import Figures
from quire.kits.judge.recipe import (
    RUBRIC_CRITIC,
    RUBRIC_GEN,
    SCORE_CRITIC,
    SCORE_GEN,
    planned_tasks,
)
from quire.kits.judge.report import metrics_of
from quire.pipeline.answers.progress import progress
from quire.providers.catalog import CATALOG
from quire.simulated.fault_scripts import JUDGE_FAULTS

SLIPS = ",".join(f"{name}={0.03 / len(JUDGE_FAULTS)}" for name in JUDGE_FAULTS)  # 3 % in all
MESSAGE_IDS = {  # columns that name a row of messages
    "rubrics": ("rubricer_message_id", "rubric_critic_message_id"),
    "scores": ("score_message_id", "score_critic_message_id"),
}
TRUTH = '[ground_truth]\nsource = "expert panel"\nvalue = 2\n'


def write_pilot(
    folder: Path, kind: str, models: Sequence[str], samples: int, evidence: int, view: str = "raw"
) -> Path:
    """Write an experiment of two windows; a control has a truth."""
    text = f"""
experiment_tag = "{kind}-pilot"
task_type = "{kind}"
concept = "civil order"
models = {json.dumps(list(models))}
samples = {samples}
scale_size = {4 if kind == "ecc" else 5}
method = "{"subset" if kind == "ecc" else "single"}"
evidence_view = "{view}"
randomizations = ["anonymize_stages", "hide_label_text", "shuffle_rubric_order"]
seed = 11
{"" if kind == "ecc" else TRUTH}
[[windows]]
name = "us"
start_date = 2025-01-01
end_date = 2025-01-31
country = "US"

[[windows]]
name = "fr"
start_date = 2025-02-01
end_date = 2025-02-28
country = "FR"
"""
    for number in range(evidence):
        lines = f"March {number} of the {kind} study.\\n\\nPolice counted {number * 7} arrests."
        text += f'\n[[evidence]]\ntext = "{lines}"\nwindow = "{"us" if number % 2 else "fr"}"\n'
    path = folder / f"{kind}.toml"
    path.write_text(text)
    return path


def prove(engine: Engine, run: RunId, folder: Path) -> ExperimentRows:
    """Everything that must hold of a finished experiment."""
    rows = rows_of(engine, run)
    assert rows.status == "finished"
    assert_counts_add_up(engine, run, rows)
    assert_every_score_has_a_critic(rows)
    assert_all_models_saw_the_same(rows)
    export_experiment(engine, run, folder)
    assert_the_files_load(rows, folder)
    assert_messages_join(read_export(folder))
    assert_metrics_are_those_of_a_frame(rows, folder)
    return rows


def assert_counts_add_up(engine: Engine, run: RunId, rows: ExperimentRows) -> None:
    """As many tasks as were planned, each through; tallies equal tasks, spend equals attempts."""
    made = Counter(task.stage for task in rows.tasks)
    answered = Counter(task.stage for task in rows.tasks if task.state == TaskState.DONE)
    owed = planned_tasks(rows.experiment)  # but a critic of what there is not
    owed |= {RUBRIC_CRITIC: answered[RUBRIC_GEN], SCORE_CRITIC: answered[SCORE_GEN]}
    assert made == owed
    assert {task.state for task in rows.tasks} <= {"done", "failed", "blocked"}
    with engine.ledger.snapshot() as tx:
        now, spend = progress(tx, run), tx.attempts.spend_of_run(run)
        for stage in tx.runs.stages_of_run(run):
            tallied = tx.tallies.tallies_of_stage(stage.id)
            states = {state: tallied[state] for state in TASK.states if tallied.get(state)}
            assert states == tx.tallies.recount_tasks(stage.id)
            assert sum(states.values()) == made[stage.name]
    assert (now.cost_pico, now.presumed_pico) == spend


def assert_every_score_has_a_critic(rows: ExperimentRows) -> None:
    """One of its own, of the same model, which came to a word unless it failed itself."""
    for stage, judges in ((RUBRIC_GEN, RUBRIC_CRITIC), (SCORE_GEN, SCORE_CRITIC)):
        done = [task for task in rows.tasks_of_stage(stage) if task.state == TaskState.DONE]
        critics = list(rows.tasks_of_stage(judges))
        assert sorted(task.task_id for task in done) == sorted(row.of or 0 for row in critics)
        for task in done:
            critic = rows.task_about(judges, task.task_id)
            assert critic is not None
            assert (critic.model, critic.sample) == (task.model, task.sample)
            assert critic.state in (TaskState.DONE, TaskState.FAILED)


def assert_all_models_saw_the_same(rows: ExperimentRows) -> None:
    """In each sample the same bundles under the same labels in the same order, for all models."""
    seen: dict[tuple[Any, ...], set[str]] = {}
    documents: dict[tuple[Any, ...], set[tuple[int, ...]]] = {}
    for task in rows.tasks_of_stage(SCORE_GEN):
        place = (task.sample, task.part["bundle"], task.part["is_swap"])
        part = {name: value for name, value in task.part.items() if name != "rubric_model"}
        seen.setdefault(place, set()).add(canonical_json(part))
        documents.setdefault(place, set()).add(task.documents)
    assert {len(item) for item in seen.values()} == {1}
    assert {len(item) for item in documents.values()} == {1}
    assert len(seen) == rows.experiment.samples * rows.experiment.bundle_count
    by_id = dict(zip(rows.documents, rows.experiment.evidence, strict=True))
    for task in rows.tasks_of_stage(SCORE_GEN):
        assert task.part["evidence_ids"] == [by_id[document].id for document in task.documents]


def assert_the_files_load(rows: ExperimentRows, folder: Path) -> None:
    """Every table has the rows that the manifest says, and the scores are those of the run."""
    tables = json.loads((folder / "manifest.json").read_text())["tables"]
    frames = {item["name"]: pandas.read_csv(folder / item["file"]) for item in tables}
    assert {name: len(frame) for name, frame in frames.items()} == {
        item["name"]: item["rows"] for item in tables
    }
    scores = frames["scores"]
    assert len(scores) == planned_tasks(rows.experiment)[SCORE_GEN]
    assert scores.score_id.is_unique
    assert set(scores.sample_id) == set(frames["samples"].sample_id)
    assert set(scores.rubric_id) == set(frames["rubrics"].rubric_id)
    assert set(scores.evidence_id) == set(frames["evidences"].evidence_id)
    parsed = scores[scores.parse_status == "parsed"]
    assert (parsed.attempt_count >= 1).all()
    assert parsed.score_output.str.contains("VERDICT", na=False).all()
    assert len(frames["score_items"]) == parsed.subset_size.sum()


def assert_messages_join(tables: dict[str, Any]) -> None:
    """Every message that a row names is there, once, and says what the row says."""
    messages = tables["messages"].set_index("message_id")
    assert messages.index.is_unique
    for table, columns in MESSAGE_IDS.items():
        for column in columns:
            said = tables[table].dropna(subset=[column])
            assert set(said[column]) <= set(messages.index), column
            output = said[column.replace("message_id", "output")]
            assert list(messages.output[said[column]]) == list(output)
    assert set(messages.run_id) <= set(tables["runs"].run_id)
    stages = set(zip(tables["run_stages"].run_id, tables["run_stages"].stage, strict=True))
    assert set(zip(messages.run_id, messages.stage, strict=True)) <= stages
    accepted = messages[messages.verdict == "accept"]
    assert accepted.answering_model.notna().all()
    assert accepted.gate_version.notna().all()


def assert_metrics_are_those_of_a_frame(rows: ExperimentRows, folder: Path) -> None:
    """The figures equal what a person would compute from the files."""
    frame = pandas.read_csv(folder / "scores.csv")
    frame = frame[(frame.parse_status == "parsed") & ~frame.is_swap]
    items = pandas.read_csv(folder / "score_items.csv").merge(
        frame[["score_id", "subset_size"]], on="score_id"
    )
    metrics = metrics_of(rows)
    for figures in (metrics.overall, *metrics.by_model):
        everybody = figures.model == "overall"
        mine = frame if everybody else frame[frame.model_id == figures.model]
        named = items if everybody else items[items.model_id == figures.model]
        _compare(figures, mine, named, metrics.scale_size)


def _compare(figures: Figures, mine: Any, named: Any, scale_size: int) -> None:
    answered = mine[~mine.abstained.astype(bool)]
    weights = 1 / named.subset_size
    shares = weights.groupby(named.stage_number).sum() / len(answered)
    found = {
        "abstain_rate": mine.abstained.astype(float).mean(),
        "singleton_rate": (answered.subset_size == 1).mean(),
        "mean_subset_size": answered.subset_size.mean(),
        "expected_stage": (named.stage_number * weights).sum() / len(answered),
        "stage_entropy": min(log2(scale_size), _jackknifed_entropy(named, weights)),
        "critic_agreement": mine.expert_agreement_prob.mean(),
    }
    known = answered[answered.ground_truth_stage.notna()]
    if len(known):
        right = known.decoded_scores == known.ground_truth_stage.map(lambda item: f"[{item:.0f}]")
        found["accuracy"] = right.mean()
    assert figures.scores == len(mine)
    for name, value in found.items():
        assert getattr(figures, name).value == pytest.approx(value), name
    wanted = [shares.get(stage, 0.0) for stage in range(1, scale_size + 1)]
    assert figures.stage_shares == pytest.approx(wanted)


def _jackknifed_entropy(named: Any, weights: Any) -> float:
    """The entropy of the stages, corrected by leaving one sample out at a time."""
    masses = weights.groupby([named.sample_ordinal, named.stage_number]).sum().unstack(fill_value=0)

    def entropy(totals: Any) -> float:
        return float(-sum(p * log2(p) for p in totals / totals.sum() if p > 1e-12))

    plain, m = entropy(masses.sum()), len(masses)
    without = [entropy(masses.sum() - row) for _, row in masses.iterrows()]
    return m * plain - (m - 1) * sum(without) / m


def bill(entries: Sequence[tuple[str, str, Usage]]) -> int:
    """What a server carried out, at the catalog's prices: model, route and usage of each call."""
    return sum(
        price_call(CATALOG[model], usage, batched=route == "batch")
        for model, route, usage in entries
    )
