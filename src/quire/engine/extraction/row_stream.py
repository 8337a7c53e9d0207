"""Row stream: the rows of a run one by one, as each is accepted or fails, while it is worked on.

The work is done by a thread of its own; whoever reads the rows is woken when something has ended,
and asks the ledger for it. Whoever stops reading stops the work: what is out is stored, and the
same call goes on from there.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from queue import SimpleQueue
from typing import Any, NamedTuple

from quire.domain.data import stored_json
from quire.domain.ids import DocumentId, RunId, StageId, TaskId
from quire.domain.recipes import Schema
from quire.domain.runs import Progress
from quire.engine.extraction.frame_answers import added_columns, value_reader
from quire.engine.extraction.frame_kinds import Frame
from quire.engine.extraction.row_outcomes import (
    SKIPPED_ROW,
    RowOutcome,
    only_stage,
)
from quire.engine.foreign_values import Cell
from quire.engine.run_handle import RunHandle
from quire.export.result_selection import task_status
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.tables.results import EndedBlock

AT_ONCE = 500  # rows read from the ledger at once


class StreamedRow(dict[str, Any]):
    """One row with its answer; `position` is its place among the caller's rows."""

    position: int

    @classmethod
    def at(cls, position: int, values: Mapping[str, Cell]) -> "StreamedRow":
        """A row at its place."""
        row = cls(values)
        row.position = position
        return row


class StreamedRows(NamedTuple):
    """Makes rows of outcomes, each with the caller's own values."""

    frame: Frame
    schema: Schema

    def make(self, outcomes: Mapping[int, RowOutcome]) -> Iterator[StreamedRow]:
        """The rows at some positions, in the order of the outcomes."""
        columns = [column.name for column in added_columns(self.schema, self.frame.columns)]
        read = value_reader(self.schema)
        some = self.frame.take([*outcomes])
        for own, (position, outcome) in zip(
            some.cells(self.frame.columns), outcomes.items(), strict=True
        ):
            row = StreamedRow.at(position, dict(zip(self.frame.columns, own, strict=True)))
            row.update(zip(columns, read(outcome), strict=True))
            yield row


class OutcomeReader:
    """Reads from the ledger what has ended since it was last asked."""

    def __init__(
        self, ledger: Ledger, run: RunId, positions: Callable[[DocumentId, int], Sequence[int]]
    ) -> None:
        """Begin with nothing seen; `positions` says which rows a block is."""
        self._ledger, self._positions = ledger, positions
        with ledger.snapshot() as tx:
            self._stage: StageId = only_stage(tx, run)
        self._seen: set[int] = set()
        self._tasks: set[TaskId] = set()
        self._last_result = 0

    def read_rest(self, ended: int) -> Iterator[dict[int, RowOutcome]]:
        """All that is new when so many tasks have ended.

        On PostgreSQL a result may be committed after others with higher numbers had been read.
        """
        yield from self.read()
        if len(self._tasks) < ended:
            self._last_result = 0
            yield from self.read()

    def read(self) -> Iterator[dict[int, RowOutcome]]:
        """What is new, some at a time."""
        while found := self._read_some():
            fresh = {place: found[place] for place in found if place not in self._seen}
            self._seen.update(fresh)
            if fresh:
                yield fresh
            if len(found) < AT_ONCE:
                break
        failed = self._read_failed()
        self._seen.update(failed)
        if failed:
            yield failed

    def _read_some(self) -> dict[int, RowOutcome]:
        with self._ledger.snapshot() as tx:
            ended = tx.results.accepted_blocks_after(self._stage, self._last_result, AT_ONCE)
            if ended:
                self._last_result = ended[-1].result_id
            return self._outcomes(tx, ended)

    def _read_failed(self) -> dict[int, RowOutcome]:
        with self._ledger.snapshot() as tx:
            found = self._outcomes(tx, tx.results.failed_blocks(self._stage))
        return {place: found[place] for place in found if place not in self._seen}

    def _outcomes(self, tx: Transaction, ended: Sequence[EndedBlock]) -> dict[int, RowOutcome]:
        calls = tx.results.calls_of_tasks([block.task_id for block in ended])
        self._tasks.update(block.task_id for block in ended)
        outcomes: dict[int, RowOutcome] = {}
        for block in ended:
            outcome = RowOutcome(
                task_status(block.state, block.review_state),
                block.error,
                stored_json(block.data),
                calls[block.task_id].cost_pico if block.task_id in calls else 0,
                block.notes,
            )
            first, *others = self._positions(block.document_id, block.block_index)
            outcomes[first] = outcome
            outcomes.update(dict.fromkeys(others, outcome.without_cost()))
        return outcomes


def stream_run(
    run: RunHandle, reader: OutcomeReader, stop: Callable[[], None]
) -> Iterator[dict[int, RowOutcome]]:
    """Work on a run, and tell what has ended as it ends."""
    news: SimpleQueue[Progress | BaseException | None] = SimpleQueue()
    ended = -1

    def watch(now: Progress) -> None:
        nonlocal ended
        if now.done + now.failed != ended:
            ended = now.done + now.failed
            news.put(now)

    def work() -> None:
        try:
            run.wait(watch)
            news.put(None)
        except BaseException as error:  # noqa: BLE001 - carried to who reads the rows
            news.put(error)

    thread = threading.Thread(target=work, name="quire-stream")
    thread.start()
    is_over = False
    try:
        while isinstance(news_item := news.get(), Progress):
            yield from reader.read()
        is_over = True
        now = run.progress()
        yield from reader.read_rest(now.done + now.failed)
        if news_item is not None:
            raise news_item
    finally:
        if not is_over:
            stop()
        thread.join()


def skipped_rows(positions: Sequence[int], rows: int) -> dict[int, RowOutcome]:
    """The rows that nobody is asked about."""
    asked = set(positions)
    return {place: SKIPPED_ROW for place in range(rows) if place not in asked}
