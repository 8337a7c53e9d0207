"""Bulk undo: what was decided at once is taken back at once.

Each decision is undone as it would be alone, in groups of one transaction each. What was overtaken
by a newer decision, or is held by somebody else, is left as it is and counted.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import NamedTuple

from quire.domain.errors import IllegalMove, NotFound
from quire.domain.ids import RunId, TaskId
from quire.domain.reviews import BulkResult
from quire.domain.states import ReviewMove
from quire.ledger.ledger import Ledger, Transaction
from quire.pipeline.commands.control import register_command, transact_with_retry
from quire.pipeline.commands.review_trail import DecisionRequest
from quire.pipeline.commands.undo import undo
from quire.pipeline.run_spec import RunSpec

GROUP = 200  # decisions in one transaction


class BulkUndoOrder(NamedTuple):
    """Take back all that was decided at once with one decision."""

    decision: int
    who: str
    command: str | None = None
    run: int | None = None  # that the decision must be of; None: any


def undo_bulk(
    ledger: Ledger,
    read_spec: Callable[[Transaction, RunId], RunSpec],
    order: BulkUndoOrder,
    now: Callable[[], datetime],
) -> BulkResult:
    """Take back what of a bulk still stands; the same command twice acts once."""
    with ledger.snapshot() as tx:
        run, first, standing = _find_bulk(tx, order)
        if order.command is not None and tx.controls.has_command(order.command):
            return BulkResult(decided=0, skipped=0, changed=False, decision=first)
    if not standing:
        raise IllegalMove(f"all that was decided with decision {order.decision} was undone before")

    def undo_group(tx: Transaction, group: Sequence[tuple[int, TaskId]], at: datetime) -> int:
        return _undo_group(tx, read_spec(tx, run), order, group, at)

    undone = 0
    for start in range(0, len(standing), GROUP):
        group = standing[start : start + GROUP]
        undone += transact_with_retry(ledger, partial(undo_group, group=group, at=now()))
    if order.command is not None:
        transact_with_retry(
            ledger, lambda tx: register_command(tx, run, ReviewMove.UNDO, now(), order.command)
        )
    return BulkResult(decided=undone, skipped=len(standing) - undone, changed=True, decision=first)


def _find_bulk(
    tx: Transaction, order: BulkUndoOrder
) -> tuple[RunId, int | None, list[tuple[int, TaskId]]]:
    """The run of a bulk, its first decision, and those that nobody has undone."""
    found = tx.reviews.bulk_of_decision(order.decision)
    if found is None or order.run not in (None, found[0]):
        where = "there is" if order.run is None else f"run {order.run} has"
        raise NotFound(f"{where} no decision {order.decision}; `quire decisions` lists them")
    run, bulk = found
    if bulk is None:
        raise IllegalMove(
            f"decision {order.decision} was not made together with others",
            "undo it alone: `quire undo TASK`",
        )
    return run, tx.reviews.first_of_bulk(run, bulk), tx.reviews.standing_of_bulk(run, bulk)


def _undo_group(
    tx: Transaction,
    spec: RunSpec,
    order: BulkUndoOrder,
    group: Sequence[tuple[int, TaskId]],
    now: datetime,
) -> int:
    """Take back those that are still the last word about their result; returns how many."""
    undone = 0
    for decision, task in group:
        command = order.command and f"{order.command}/{task}"
        request = DecisionRequest(order.who, now, command)
        with suppress(IllegalMove):  # it was overtaken, or somebody is at it: nothing is written
            undone += undo(tx, spec, task, request, decision).changed
    return undone
