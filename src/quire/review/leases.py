"""Leases: who is at which item, so that two reviewers never look at the same one.

An item is somebody's until it is decided about, given back, or its time is over; whoever went away
so returns theirs by doing nothing. Time is an argument, as everywhere. Taking is one statement that
writes only where nobody has the item: of two who take at once, one finds that it went, and goes on
to the next.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.domain.errors import IllegalMove, UsageError
from quire.domain.ids import TaskId
from quire.domain.reviews import InboxFilter, InboxLine, ReviewLease
from quire.ledger.ledger import Transaction
from quire.pipeline.commands.review_trail import NOBODY, reviewer_name
from quire.pipeline.run_spec import RunSpec
from quire.review.inbox import MatchedEntry, lines_of, parse_place, scan_inbox
from quire.review.inbox_orders import Place

MOST_TAKEN = 100
MOST_HELD = 200  # items of one reviewer, so that something is left for others
LIKELY_HELD = 50  # items that others hold, and that are passed by


class Reviewer(NamedTuple):
    """Who takes items, when, and for how long."""

    who: str
    now: datetime
    length: timedelta

    @property
    def name(self) -> str:
        """The name that items are held by; whoever holds some must have one."""
        return check_name(self.who)

    @property
    def until(self) -> datetime:
        """When items that are taken now are given to others."""
        return self.now + self.length


def check_name(who: str) -> str:
    """A reviewer's name, or what to do where there is none."""
    name = reviewer_name(who)
    if name == NOBODY:
        raise UsageError("say who reviews: items are held by name", "--as NAME")
    return name


def take_items(
    tx: Transaction,
    spec: RunSpec,
    reviewer: Reviewer,
    chosen: InboxFilter,
    count: int,
    after: str | None = None,
) -> tuple[InboxLine, ...]:
    """The next items of a filter that nobody else has, held by a reviewer from now on."""
    if not 1 <= count <= MOST_TAKEN:
        raise UsageError(f"1 to {MOST_TAKEN} items can be taken at once, not {count}")
    count = min(count, _check_room(tx, reviewer))
    taken: list[MatchedEntry] = []
    place: Place | None = parse_place(after)
    while place is not None and len(taken) < count:
        scan = scan_inbox(tx, spec, chosen, place, count + LIKELY_HELD)
        for match in scan.found:
            if len(taken) < count and _take_unchanged(tx, match, reviewer):
                taken.append(match)
        place = scan.end
    return lines_of(tx, taken, reviewer.now)


def _take_unchanged(tx: Transaction, match: MatchedEntry, reviewer: Reviewer) -> bool:
    """Take an item, unless somebody decided about it since it was listed."""
    if not _take_lease(tx, match.entry.task_id, reviewer):
        return False
    now = tx.inbox.inbox_details([match.entry.result_id]).get(match.entry.result_id)
    if now is not None and now.review_state == match.detail.review_state:
        return True
    tx.reviews.give_back_leases(reviewer.name, [match.entry.task_id])
    return False


def _take_lease(tx: Transaction, task: TaskId, reviewer: Reviewer) -> bool:
    return tx.reviews.take_lease(task, reviewer.name, reviewer.until, reviewer.now)


def _check_room(tx: Transaction, reviewer: Reviewer) -> int:
    """How many items more a reviewer may hold, if any."""
    held = tx.reviews.count_leases(reviewer.name, reviewer.now)
    if held >= MOST_HELD:
        raise IllegalMove(
            f"{reviewer.name} holds {held:,} items, and nobody holds more than {MOST_HELD:,}",
            "decide about some, or give them back",
        )
    return MOST_HELD - held


def hold_item(tx: Transaction, task: TaskId, reviewer: Reviewer) -> ReviewLease:
    """Hold one certain item, or say who does."""
    known = tx.reviews.leases_of_tasks([task], reviewer.now).get(task)
    if known is None:
        _check_room(tx, reviewer)
    if not _take_lease(tx, task, reviewer):
        lease = tx.reviews.leases_of_tasks([task], reviewer.now).get(task)
        holder = lease.who if lease else "somebody else"
        raise IllegalMove(f"{holder} is at task {task}; take another")
    return ReviewLease(task_id=task, who=reviewer.name, until=reviewer.until)


def renew_items(tx: Transaction, tasks: Sequence[TaskId], reviewer: Reviewer) -> tuple[TaskId, ...]:
    """Keep items for longer; returns those that are still held."""
    if not tasks:
        return ()
    return tuple(tx.reviews.renew_leases(tasks, reviewer.name, reviewer.until, reviewer.now))


def give_back_items(tx: Transaction, who: str, tasks: Sequence[TaskId] | None) -> int:
    """Let others have some items, or all; returns how many."""
    name = check_name(who)
    if tasks is None:
        return tx.reviews.give_back_all_leases(name)
    return tx.reviews.give_back_leases(name, tasks) if tasks else 0
