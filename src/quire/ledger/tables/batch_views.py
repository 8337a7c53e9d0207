"""Batches for people: how each stands, here and at the provider."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quire.domain.accounts import KeySource, label
from quire.domain.batches import BatchView
from quire.domain.ids import BatchId, RunId, WorkspaceId
from quire.ledger.connection import Connection, Row
from quire.ledger.moments import from_micros, maybe_moment

ANSWERED = ("answered", "settled")
MOST = 1000  # batches in one list


class _Count(NamedTuple):
    """Attempts of a batch that stand alike."""

    state: str
    attempts: int
    tasks: int
    cost: int


class BatchViews:
    """The workspace's batches as people look at them."""

    def __init__(self, connection: Connection, workspace: WorkspaceId) -> None:
        """Work in one transaction, for one workspace."""
        self._connection = connection
        self._workspace = workspace

    def all(self, run: RunId | None = None, batch: BatchId | None = None) -> list[BatchView]:
        """Batches as people look at them, the newest first."""
        rows = self._connection.run(
            "list_batches", workspace=self._workspace, run=run or 0, batch=batch or 0, limit=MOST
        )
        counts = self._counts([row[0] for row in rows])
        kept = self._kept([row[0] for row in rows if row[22]])
        return [_view(row, counts[row[0]], kept.get(row[0], 0)) for row in rows]

    def left_over(self) -> int:
        """How many batches of runs that have ended are still to be collected."""
        rows = self._connection.run("batches_left_over", workspace=self._workspace)
        count: int = rows[0][0]
        return count

    def lines(self, batch: BatchId) -> list[bytes]:
        """The lines of a batch's results that nobody could read, and that name no call of ours."""
        rows = self._connection.run("kept_lines", workspace=self._workspace, batch=batch)
        return [bytes(row[0]) for row in rows]

    def with_lines(self) -> list[BatchId]:
        """Batches that are over, and keep such lines."""
        rows = self._connection.run("batches_with_lines", workspace=self._workspace)
        return [BatchId(row[0]) for row in rows]

    def keeps_lines(self, run: RunId) -> bool:
        """Whether a batch of a run had such lines: then calls may be paid for and not known."""
        return bool(self._connection.run("lines_of_run", workspace=self._workspace, run=run))

    def _counts(self, batches: Sequence[BatchId]) -> Mapping[BatchId, list[_Count]]:
        found: dict[BatchId, list[_Count]] = defaultdict(list)
        for batch, *counted in self._connection.run("counts_of_batches", ids=batches):
            found[batch].append(_Count._make(counted))
        return found

    def _kept(self, batches: Sequence[BatchId]) -> Mapping[BatchId, int]:
        rows = self._connection.run("count_kept_lines", ids=batches) if batches else []
        return {row[0]: row[1] for row in rows}


def _view(row: Row, counts: Sequence[_Count], kept: int) -> BatchView:
    attempts = {each.state: each.attempts for each in counts}
    next_at = from_micros(row[17]) if row[17] and row[3] in ("draft", "unknown", "open") else None
    return BatchView(
        id=row[0],
        run_id=row[1],
        model=row[2],
        state=row[3],
        end_reason=row[4],
        ref=row[5],
        credential=label(KeySource(row[6]), row[7], row[8]) if row[6] else "",
        rows=row[9],
        tasks=sum(each.tasks for each in counts),
        tokens=row[10],
        counts=_counts(row[11]),
        attempts=attempts,
        answered=sum(attempts.get(state, 0) for state in ANSWERED),
        cost=sum(each.cost for each in counts),
        duplicates=row[12],
        strangers=row[13],
        missing=row[14],
        unread=row[22],
        kept=kept,
        created_at=from_micros(row[15]),
        submitted_at=maybe_moment(row[16]),
        next_at=next_at,
        ended_at=maybe_moment(row[18]),
        problem=row[19],
        cancelling=bool(row[20]),
        tag=row[21],
    )


def _counts(text: str) -> Mapping[str, int]:
    counts: dict[str, int] = json.loads(text)
    return counts
