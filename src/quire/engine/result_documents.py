"""Results as documents: what a stage of a run wrote becomes documents that other runs read."""

import re
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import NamedTuple

from quire.domain.data import stored_json
from quire.domain.errors import UsageError
from quire.domain.ids import DocumentId, ResultId, RunId
from quire.domain.quantities import quantity
from quire.domain.recipes import Stage
from quire.domain.states import RunState, StageState, TaskState
from quire.export.result_rows import ExportedTask, task_rows
from quire.export.result_selection import (
    ACCEPTED_ROWS,
    ResultSource,
    choose_stage,
    find_result_source,
)
from quire.ledger.ledger import Ledger, Transaction
from quire.pipeline.commands.control import transact_with_retry
from quire.pipeline.commands.corpus import ingest
from quire.sources.result_data import ResultOrigin, read_result

# How the results of a run's stage are named, and one of them: run:7, run:7/thesis, run:7/thesis/31.
RESULTS = re.compile(r"run:(\d+)(?:/([^/]+)(?:/(\d+))?)?")
CHUNK = 100  # results that become documents in one transaction


class NamedResults(NamedTuple):
    """The results that somebody means."""

    run: RunId
    stage: str | None  # None: the last one
    result: ResultId | None = None  # None: all of them


class ResultDocuments(NamedTuple):
    """The documents of a stage's results."""

    documents: tuple[DocumentId, ...]
    stage: str
    missing: int  # tasks of the stage that came to nothing


def parse_results_name(text: str) -> NamedResults | None:
    """What `run:7/thesis` or `run:7/thesis/31` means; None where the text is no such name."""
    found = RESULTS.fullmatch(text)
    if found is None:
        return None
    result = None if found[3] is None else ResultId(int(found[3]))
    return NamedResults(RunId(int(found[1])), found[2], result)


def make_result_documents(ledger: Ledger, named: NamedResults, now: datetime) -> ResultDocuments:
    """The documents of a finished stage's accepted results, in order; each result is one document.

    Some at a time: whoever is interrupted goes on with those that are there.
    """
    documents: list[DocumentId] = []
    with ledger.snapshot() as tx:
        source = find_result_source(tx, named.run)
        stage = choose_stage(source.recipe, named.stage, f"run:{named.run}/NAME")
        tasks = _check_finished(tx, source, stage)
        accepted = _Accepted(task_rows(tx, source, stage, ACCEPTED_ROWS), named.result)
        results = iter(accepted)
        while chunk := _take(results, CHUNK):
            documents += transact_with_retry(
                ledger, partial(add_documents, source=source, rows=chunk, now=now)
            )
    if not documents:
        raise UsageError(_say_why_none(named, stage, tasks, accepted.purged))
    wanted = tasks if named.result is None else 1
    return ResultDocuments(tuple(documents), stage.name, wanted - len(documents))


def _say_why_none(named: NamedResults, stage: Stage, tasks: int, purged: int) -> str:
    place = f"{stage.name} of run {named.run}"
    if purged:
        return f"{place} has no results any more: what {purged:,} of its tasks wrote was purged"
    if named.result is not None:
        return f"{place} has no result {named.result}; `quire results {named.run}` lists them"
    none = "its task" if tasks == 1 else f"none of its {tasks:,} tasks"
    return (
        f"{place} has no results: {none} came to {'none' if tasks == 1 else 'one'};"
        f" `quire failures {named.run}` says why"
    )


def _check_finished(tx: Transaction, source: ResultSource, stage: Stage) -> int:
    """How many tasks the stage has; refused while results are still to come."""
    run = source.run
    found = next(item for item in tx.runs.stages_of_run(run.id) if item.name == stage.name)
    if run.state == RunState.RUNNING and found.state != StageState.CLOSED:
        tasks, done = found.expanded, tx.tallies.tallies_of_stage(found.id).get(TaskState.DONE, 0)
        known = found.state == StageState.OPEN
        there = (
            f"{done:,} of {quantity(tasks, 'result')}"
            if known
            else f"{quantity(done, 'result')} so far"
        )
        raise UsageError(
            f"{stage.name} of run {run.id} is not finished: {there};"
            f" `quire attach {run.id}` goes on with it"
        )
    return found.expanded


class _Accepted:
    """The results of a stage, or one of them, that are there; those purged are counted."""

    def __init__(self, rows: Iterator[ExportedTask], result: ResultId | None) -> None:
        self._rows, self._result = rows, result
        self.purged = 0

    def __iter__(self) -> Iterator[ExportedTask]:
        for row in self._rows:
            if self._result not in (None, row.outcome.result_id):
                continue
            self.purged += row.text is None
            if row.text is not None:
                yield row


def _take(rows: Iterator[ExportedTask], most: int) -> list[ExportedTask]:
    return [row for _, row in zip(range(most), rows, strict=False)]


def add_documents(
    tx: Transaction, source: ResultSource, rows: list[ExportedTask], now: datetime
) -> list[DocumentId]:
    """Make documents of some results, in order; of those that are purged there are none."""
    tx.purges.take_tasks(sorted(row.outcome.task_id for row in rows))  # nobody purges them now
    authors = {row.outcome.result_id: row.model for row in rows if row.outcome.result_id}
    stored = tx.subjects.data_of_results([*authors])  # one may have been purged meanwhile
    made: list[DocumentId] = []
    for result, model in authors.items():
        if stored[result] is not None:
            origin = ResultOrigin(source.run.id, rows[0].stage, model, result)
            parsed = read_result(origin, stored_json(stored[result]))
            made.append(ingest(tx, parsed, now, aside=True).document_id)
    return made
