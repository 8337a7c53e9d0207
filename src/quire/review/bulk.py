"""Bulk: one decision about all results that a filter takes, after a look at how many and which.

What is decided about is listed first, in one snapshot, and then decided in groups, each in one
transaction and each item under a command of its own. So a bulk that was cut off goes on when it is
given again with the same command, and a finished one acts once.

What was rejected and has come again is left out, unless the filter asks for it (`again=any`):
whoever rejected it wants to see what became of it.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import NamedTuple

from quire.domain.errors import IllegalMove, UsageError
from quire.domain.ids import ResultId, RunId, TaskId
from quire.domain.reviews import BulkPreview, BulkResult, InboxFilter, RejectCost
from quire.domain.states import ReviewMove, ReviewState
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.tables.inbox import InboxDetail
from quire.pipeline.commands.again_costs import UNKNOWN, reject_cost
from quire.pipeline.commands.control import register_command, transact_with_retry
from quire.pipeline.commands.decide import approve, reject
from quire.pipeline.commands.review_trail import DecisionRequest
from quire.pipeline.run_spec import RunSpec
from quire.review.inbox import SCAN, MatchedEntry, lines_of, scan_inbox
from quire.review.inbox_orders import START, Place

SHOWN = 5  # random ones before a decision about all
GROUP = 200  # decisions in one transaction
MOVES = (ReviewMove.APPROVE, ReviewMove.REJECT)


class Review(NamedTuple):
    """What a person said of a result, and when; a decision leaves another."""

    state: ReviewState
    at: int | None  # in microseconds


class ChosenResult(NamedTuple):
    """A result that a decision is about, as it was when it was chosen."""

    task_id: TaskId
    result_id: ResultId
    review: Review


def preview_bulk(
    tx: Transaction, spec: RunSpec, chosen: InboxFilter, seed: int, now: datetime
) -> BulkPreview:
    """How many results a filter takes, some of them at random, and what rejecting all costs."""
    found: list[MatchedEntry] = []
    by_stage: dict[str, list[TaskId]] = {}
    draw = random.Random(seed)  # noqa: S311 - a sample to look at
    count = again = 0
    for match, is_left_out in _walk(tx, spec, chosen):
        again += is_left_out
        if is_left_out:
            continue
        count += 1
        by_stage.setdefault(match.detail.stage, []).append(match.entry.task_id)
        if len(found) < SHOWN:
            found.append(match)
        elif (place := draw.randrange(count)) < SHOWN:  # every one is as likely to be shown
            found[place] = match
    costs = [reject_cost(tx, spec, name, tasks) for name, tasks in by_stage.items()]
    lines = lines_of(tx, found, now)
    return BulkPreview(count=count, again=again, sample=lines, reject_cost=_sum(costs))


def _walk(
    tx: Transaction, spec: RunSpec, chosen: InboxFilter
) -> Iterator[tuple[MatchedEntry, bool]]:
    """Every result that a filter takes, and whether it is left out all the same."""
    place: Place | None = START
    while place is not None:
        scan = scan_inbox(tx, spec, chosen, place, SCAN)
        tasks = [match.entry.task_id for match in scan.found]
        again = tx.inbox.rejected_tasks(tasks) if chosen.again is None else set[TaskId]()
        yield from ((match, match.entry.task_id in again) for match in scan.found)
        place = scan.end


def _sum(costs: Sequence[RejectCost]) -> RejectCost:
    known = [cost.cost_pico for cost in costs if cost.cost_pico is not None]
    if len(known) < len(costs):
        return RejectCost(cost_pico=None, basis=UNKNOWN)
    bases = {cost.basis for cost in costs}
    return RejectCost(cost_pico=sum(known), basis=bases.pop() if len(bases) == 1 else "calls")


class BulkOrder(NamedTuple):
    """One decision about all that a filter takes."""

    move: ReviewMove
    chosen: InboxFilter
    who: str
    note: str
    command: str | None
    mark: str | None = None  # what its decisions share; None: the command

    @property
    def bulk(self) -> str | None:
        """What all decisions of this order share."""
        return self.mark or self.command


def decide_bulk(
    ledger: Ledger,
    read_spec: Callable[[Transaction], RunSpec],
    order: BulkOrder,
    now: Callable[[], datetime],
) -> BulkResult:
    """Approve or reject all that a filter takes; the same command twice acts once."""
    if order.move not in MOVES:
        raise UsageError(f"all at once can be approved or rejected, not {order.move}")
    if order.move == ReviewMove.REJECT and not order.note.strip():
        raise UsageError("say what is wrong with them: the model is told so when it is asked again")
    with ledger.snapshot() as tx:
        if order.command is not None and tx.controls.has_command(order.command):
            return _result(tx, order, read_spec(tx).run_id, (0, 0), changed=False)
        spec = read_spec(tx)
        chosen = [
            ChosenResult(match.entry.task_id, match.entry.result_id, _review_of(match.detail))
            for match, is_left_out in _walk(tx, spec, order.chosen)
            if not is_left_out
        ]
    decided = 0
    for start in range(0, len(chosen), GROUP):
        group = chosen[start : start + GROUP]
        act = partial(_decide_group, read_spec=read_spec, order=order, group=group, now=now())
        decided += transact_with_retry(ledger, act)
    if order.command is not None:
        transact_with_retry(
            ledger,
            lambda tx: register_command(tx, spec.run_id, order.move, now(), order.command),
        )
    with ledger.snapshot() as tx:
        return _result(tx, order, spec.run_id, (decided, len(chosen) - decided), changed=True)


def _result(
    tx: Transaction, order: BulkOrder, run: RunId, counts: tuple[int, int], *, changed: bool
) -> BulkResult:
    """What became of an order: how many were decided and skipped, and what takes them back."""
    first = None if order.bulk is None else tx.reviews.first_of_bulk(run, order.bulk)
    decided, skipped = counts
    return BulkResult(decided=decided, skipped=skipped, changed=changed, decision=first)


def _review_of(detail: InboxDetail) -> Review:
    return Review(detail.review_state, detail.reviewed_at)


def _decide_group(
    tx: Transaction,
    *,
    read_spec: Callable[[Transaction], RunSpec],
    order: BulkOrder,
    group: Sequence[ChosenResult],
    now: datetime,
) -> int:
    """Decide about those that are as they were; returns how many."""
    spec = read_spec(tx)
    tx.runs.lock_run(spec.run_id)  # nobody decides between this look and what follows from it
    current = tx.inbox.inbox_details([result.result_id for result in group])
    decided = 0
    for result in group:
        found = current.get(result.result_id)
        if found is None or _review_of(found) != result.review:
            continue
        command = order.command and f"{order.command}/{result.task_id}"
        request = DecisionRequest(order.who, now, command, order.note, bulk=order.bulk)
        with suppress(IllegalMove):  # somebody is at it, or decided meanwhile: nothing is written
            if order.move == ReviewMove.APPROVE:
                outcome = approve(tx, spec, result.task_id, request)
            else:
                outcome = reject(tx, spec, result.task_id, order.note, request)
            decided += outcome.changed
    return decided
