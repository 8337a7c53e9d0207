"""Row outcomes: what became of each row of a run, read back in the order of the caller's rows."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from quire.domain.data import Json
from quire.domain.ids import RunId, StageId
from quire.domain.pricing import to_usd
from quire.export.critic_words import read_stored
from quire.export.result_rows import CHUNK_ROWS
from quire.export.result_selection import WITH_DATA, task_status
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.tables.results import ExportRow

SKIPPED, FAILED = "skipped", "failed"
NOTHING_TO_ASK = "there is no text in this row"


class RowOutcome(NamedTuple):
    """What became of one row."""

    status: str  # accepted, confirmed (by a person), failed, skipped, pending or cancelled
    error: str | None = None
    data: Json = None  # of an accepted or confirmed one
    cost: int = 0  # picodollars: its share of every call that carried it
    notes: str | None = None  # JSON
    quotes: tuple[Json, ...] | None = None  # None: they are among the notes

    @property
    def cost_usd(self) -> float:
        """Dollars."""
        return to_usd(self.cost)

    def without_cost(self) -> "RowOutcome":
        """The same of another row that says the same: it was paid once."""
        return self._replace(cost=0)


SKIPPED_ROW = RowOutcome(SKIPPED, NOTHING_TO_ASK)


def run_outcomes(ledger: Ledger, run: RunId) -> Iterator[RowOutcome]:
    """The outcome of every block of a run of one schema, in order."""
    with ledger.snapshot() as tx:
        stage = only_stage(tx, run)
        found = tx.results.export_rows(run, stage, contents=False)
        while chunk := list(islice(found, CHUNK_ROWS)):
            yield from _chunk_outcomes(tx, chunk)


def task_answers(ledger: Ledger, run: RunId) -> dict[Json, Json]:
    """The data of every task of a run, as it was given: a field that is missing is not there."""
    with ledger.snapshot() as tx:
        return {
            task.task_id: read_stored(task.task_id, task.data)
            for task in tx.results.outcomes_of_run(run)
            if task.data is not None
        }


def only_stage(tx: Transaction, run: RunId) -> StageId:
    """The one stage of a schema's run."""
    return tx.runs.stages_of_run(run)[0].id


def _chunk_outcomes(tx: Transaction, rows: Sequence[ExportRow]) -> Iterator[RowOutcome]:
    calls = tx.results.calls_of_tasks([row.task_id for row in rows if row.task_id is not None])
    for row in rows:
        status = task_status(row.state, row.review_state)
        data = read_stored(row.task_id, row.data) if status in WITH_DATA else None
        error = row.error if status == FAILED else None
        cost = calls[row.task_id].cost_pico if row.task_id in calls else 0
        notes = row.notes if status in WITH_DATA else None
        yield RowOutcome(status, error, data, cost, notes)


def in_row_order(
    outcomes: Iterator[RowOutcome], positions: Sequence[int], rows: int
) -> Iterator[RowOutcome]:
    """The outcomes of a run's blocks as those of all rows: whoever said nothing was skipped."""
    asked = iter(positions)
    following = next(asked, None)
    for position in range(rows):
        if position != following:
            yield SKIPPED_ROW
            continue
        yield next(outcomes)
        following = next(asked, None)
