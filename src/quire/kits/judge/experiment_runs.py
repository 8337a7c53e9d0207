"""Experiments become runs, and runs become what tables and reports are made from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from quire.domain.data import NOTHING, Json, stored_json
from quire.domain.documents import unstored_document
from quire.domain.errors import NotFound, UsageError
from quire.domain.ids import DocumentId, RunId
from quire.domain.reasons import CRITIC_ERRORS
from quire.domain.recipes import RUN_TITLE, Recipe
from quire.domain.runs import Run
from quire.domain.states import TaskState
from quire.engine import (
    Engine,
    FlatTable,
    Plan,
    RunHandle,
    RunOutcomes,
    TaskOutcome,
    make_frame,
    typed_columns,
)
from quire.engine.attempt_rows import message_id
from quire.engine.wallets import Dollars
from quire.kits.judge.experiment import (
    EXPERIMENT,
    Experiment,
    ExperimentRows,
    TaskRow,
    document_of,
    experiment_from_json,
    experiment_to_json,
    with_names,
)
from quire.kits.judge.experiment_file import read_experiment
from quire.kits.judge.experiment_tables import COLUMNS, TableRow, make_tables
from quire.kits.judge.figure_table import FIGURE_COLUMNS, FIGURES, figure_rows
from quire.kits.judge.findings import find
from quire.kits.judge.metrics import measure, scores_of
from quire.kits.judge.recipe import SCORE_GEN, recipe_of

RUNS_SEARCHED = 10_000  # for the newest one of an experiment


class ExperimentRun(NamedTuple):
    """A run of an experiment, as it was told."""

    run: Run
    experiment: Experiment
    documents: tuple[DocumentId, ...]  # of the evidence, piece by piece


def start_experiment(  # noqa: PLR0913 - all that a person may say of a run
    engine: Engine,
    path: str | Path,
    *,
    limit: int | None = None,
    stop_after: str | None = None,
    reuse: tuple[int, str] | None = None,
    new: bool = False,
    wallet: str | None = None,
    budget_usd: Dollars | None = None,
    max_cost_usd: float | None = None,
    **policy: Json,
) -> RunHandle:
    """Start the run of an experiment's file, or go on with it; `wait` does the work."""
    experiment = _load_experiment(engine, Path(path))
    documents = engine.add_parsed(map(document_of, experiment.evidence))
    order = engine.orders.resolve(
        recipe=_experiment_recipe(experiment),
        over=documents,
        limit=limit,
        stop_after=stop_after,
        reuse=reuse,
        new=new,
        policy=policy,
    )
    return engine.start(engine.orders.with_funds(order, wallet, budget_usd), max_cost_usd)


def plan_experiment(
    engine: Engine, path: str | Path, reuse: tuple[int, str] | None = None, **policy: Json
) -> Plan:
    """Forecast the run of an experiment's file; its evidence is read, and not taken in."""
    experiment = _load_experiment(engine, Path(path))
    now = engine.runtime.now()
    documents = [
        unstored_document(number, document_of(evidence), now)
        for number, evidence in enumerate(experiment.evidence)
    ]
    return engine.plan_documents(_experiment_recipe(experiment), documents, reuse, **policy)


def find_experiment_run(engine: Engine, name: str | None = None) -> RunId:
    """The run that is meant: by number, the newest of an experiment's file, or the newest."""
    if name is None:
        for run, _ in _experiment_runs(engine):
            return run
        raise NotFound("no experiment was run yet; `quire judge run FILE` runs one")
    if name.isascii() and name.isdigit():
        return experiment_run(engine, RunId(int(name))).run.id
    experiment = _load_experiment(engine, Path(name))
    wanted = experiment_to_json(experiment)
    others: list[RunId] = []
    for run, facts in _experiment_runs(engine):
        if facts == wanted:
            return run
        if facts.get("experiment_tag") == experiment.experiment_tag:
            others.append(run)
    if others:
        raise NotFound(
            f"{name} was changed since run {others[0]}, and is not yet run as it is now:"
            f" name that run by its number, or `quire judge run {name}`"
        )
    raise NotFound(f"there is no run of {name} yet; `quire judge run {name}` starts one")


def experiment_run(engine: Engine, run: RunId) -> ExperimentRun:
    """A run with the experiment it was told, whatever has become of the file."""
    with engine.queries.outcomes(run) as found:
        return _experiment_run(found)


def rows_of(engine: Engine, run: RunId) -> ExperimentRows:
    """What became of every task of an experiment's run."""
    with engine.queries.outcomes(run) as found:
        return read_rows(found, engine.runtime.now())


def read_rows(found: RunOutcomes, now: datetime) -> ExperimentRows:
    """The same of outcomes that are open."""
    order = _experiment_run(found)
    tasks = [
        _task_row(outcome, found.models[outcome.model_no], shown)
        for outcome, shown in found.tasks
        # Nobody knows any more which evidence a purged score was about.
        if outcome.stage != SCORE_GEN or outcome.part is not None
    ]
    return ExperimentRows(
        experiment=order.experiment,
        documents=order.documents,
        tasks=tasks,
        status=order.run.state,
        updated_at=order.run.ended_at or now,
        run_id=order.run.id,
    )


def frame(engine: Engine, run: RunId, table: str) -> Any:
    """One table of an experiment's run as a pandas frame, its columns typed."""
    with engine.queries.outcomes(run) as found:
        known = (*COLUMNS, FIGURES, *found.tables)
        if table not in known:
            raise UsageError(f"an experiment has the tables {', '.join(known)}; not {table!r}")
        rows = read_rows(found, engine.runtime.now())
        chosen = {**typed_tables(rows), **found.tables}[table]
        return make_frame("pandas", chosen.columns, chosen.read_rows())


def typed_tables(rows: ExperimentRows) -> dict[str, FlatTable]:
    """The tables of an experiment with typed columns."""
    tables = make_tables(rows)
    typed = {
        name: FlatTable(typed_columns(COLUMNS[name]), partial(_values, table))
        for name, table in tables.items()
    }
    figures = FlatTable(typed_columns(FIGURE_COLUMNS), partial(_figures, rows, tables))
    return {**typed, FIGURES: figures}


def _figures(
    rows: ExperimentRows, tables: Mapping[str, list[TableRow]]
) -> Iterator[tuple[Json, ...]]:
    """Every figure; computed only when the table is asked for."""
    experiment = rows.experiment
    metrics = measure(
        scores_of(tables["scores"]),
        tag=experiment.experiment_tag,
        scale_size=experiment.scale_size,
    )
    return (row.values(rows.run_id) for row in figure_rows(metrics, find(rows, tables)))


def _values(table: Sequence[Mapping[str, Json]]) -> Iterator[tuple[Json, ...]]:
    return (tuple(row.values()) for row in table)


def _experiment_recipe(experiment: Experiment) -> Recipe:
    """The recipe of an experiment, with all that the run is to remember of it."""
    facts: dict[str, Json] = {EXPERIMENT: experiment_to_json(experiment)}
    if experiment.family:  # whose recipes have one name, so that answers are shared
        facts[RUN_TITLE] = f"judge-{experiment.experiment_tag.lower()}"
    return replace(recipe_of(experiment), facts=facts)


def _load_experiment(engine: Engine, path: Path) -> Experiment:
    """An experiment's file, its models under the names that the ledger knows them by."""
    experiment = read_experiment(path)
    names = {name: engine.find_model(name).name for name in experiment.named_models}
    for model in experiment.models:
        same = [name for name in experiment.models if names[name] == names[model]]
        if len(same) > 1:
            raise UsageError(f"{path}: models {' and '.join(same)} are the same: {names[model]}")
    return with_names(experiment, names)


def _experiment_runs(engine: Engine) -> Iterator[tuple[RunId, Mapping[str, Json]]]:
    """The runs of experiments, the newest first, with what each was told."""
    for run in engine.queries.runs(RUNS_SEARCHED):
        facts = experiment_facts(run)
        if facts is not None:
            yield run.id, facts


def experiment_facts(run: Run) -> Mapping[str, Json] | None:
    """What a run was told of its experiment; None where it is no experiment's."""
    facts = run.recipe.get("facts")
    own = facts.get(EXPERIMENT) if isinstance(facts, Mapping) else None
    return own if isinstance(own, Mapping) else None


def _experiment_run(found: RunOutcomes) -> ExperimentRun:
    run = found.run
    facts = experiment_facts(run)
    if facts is None:
        raise UsageError(f"run {run.id} is not an experiment's; `quire export {run.id}` exports it")
    experiment = experiment_from_json(facts, list(found.documents.values()))
    return ExperimentRun(run, experiment, tuple(found.documents))


def _task_row(outcome: TaskOutcome, model: str, shown: tuple[DocumentId, ...]) -> TaskRow:
    return TaskRow(
        task_id=outcome.task_id,
        stage=outcome.stage,
        state=outcome.state,
        model=model,
        sample=outcome.sample,
        part=stored_json(outcome.part) or NOTHING,
        documents=shown,
        of=outcome.of,
        attempts=outcome.tries + (outcome.result_id is not None),
        refused=outcome.tries,
        error=outcome.error or "",
        failed_by_critic=outcome.state == TaskState.FAILED and outcome.error_kind in CRITIC_ERRORS,
        data=stored_json(outcome.data),
        answer=outcome.answer,
        message_id=message_id(outcome.attempt_id) if outcome.attempt_id else "",
    )
