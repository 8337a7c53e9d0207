"""Afford: how many of the next calls a run's money covers; a run that lacks some waits, or is held.

Every call reserves the most that it may cost before it is sent, so only the first calls of a queue
that are covered go. Where some are not, what other slices have free is taken back first. If then
nothing is covered, calls that are out may still release something, because they cost less than was
reserved for them: they are waited for. With nothing out only a person helps, and the run is held.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.domain.ids import RunId, SliceId, WorkerId
from quire.domain.reasons import HoldCause
from quire.domain.requests import QueuedRequest
from quire.domain.states import TASK, TASK_OWED
from quire.domain.wallets import BATCHES, EntryKind, Slice
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.funds import grant, recall_idle, take_available
from quire.pipeline.calls.record import hold_run
from quire.pipeline.contexts import Contexts
from quire.planning.failure_limits import EXPECTED
from quire.planning.funding import count_affordable, missing_funds, slice_size

# a claim may have begun before its run was given a budget: so long is looked for what it sent
JOINING = timedelta(minutes=1)


class Purse(NamedTuple):
    """What was reserved for the next calls, and for how many of them."""

    slice_id: SliceId
    calls: int
    reserved: int


def reserve_funds(
    tx: Transaction,
    contexts: Contexts,
    run: RunId,
    holder: WorkerId,
    queued: Sequence[QueuedRequest],
    now: datetime,
) -> Purse | None:
    """Reserve for the next calls, as many as are covered; None where nothing bounds the run."""
    if not queued or run not in contexts.funded_runs:
        return None
    reserves = [request.reserve for request in queued]
    total = sum(reserves)
    known = tx.wallets.charge_slice(run, holder, total)
    if known is not None:
        return Purse(known, len(queued), total)
    purse = _lease_slice(tx, run, holder, reserves, now)
    if not purse.calls:
        _wait_or_hold(tx, run, purse.slice_id, queued[0], now)
    return purse


def release_unsent(tx: Transaction, purse: Purse, sent: Sequence[QueuedRequest]) -> None:
    """Give back what was reserved for calls that do not go now."""
    kept = sum(request.reserve for request in sent)
    if kept != purse.reserved:
        tx.wallets.settle_slice(purse.slice_id, kept - purse.reserved)


def _lease_slice(
    tx: Transaction, run: RunId, holder: WorkerId, reserves: Sequence[int], now: datetime
) -> Purse:
    """Take more from wallet and budget, and reserve for as many calls as that covers."""
    own, funds = take_own_slice(tx, run, holder), tx.wallets.funds_of_run(run)
    assert funds is not None
    if funds.joined_at is not None and now - funds.joined_at < JOINING:
        adopt_attempts(tx, run, now)
        own = take_own_slice(tx, run, holder)
    total, left = sum(reserves), min(available := take_available(tx, funds))
    if own.free + left < total:
        recall_idle(tx, funds, own.id, now, share_wallet=_is_wallet_short(available))
        left = min(take_available(tx, funds))
    count = count_affordable(reserves, own.free + left)
    reserved = sum(reserves[:count])
    needed = max(0, reserved - own.free)
    amount = slice_size(needed, total, left) if needed else 0
    if amount or own.ended:
        grant(tx, own._replace(ended=0), amount, EntryKind.SLICE, now)
    if reserved:
        tx.wallets.settle_slice(own.id, reserved)
    return Purse(own.id, count, reserved)


def take_own_slice(tx: Transaction, run: RunId, holder: WorkerId) -> Slice:
    """A worker's slice of a run, begun if there is none."""
    tx.wallets.add_slice(run, holder)
    own = tx.wallets.take_slice(run, holder)
    assert own is not None
    return own


def adopt_attempts(tx: Transaction, run: RunId, now: datetime) -> int:
    """Count what a run sent before anything bounded it; returns how many attempts that is."""
    own = take_own_slice(tx, run, BATCHES)
    found = tx.wallets.adopt_attempts(run, own.id)
    if found:
        after = tx.wallets.settle_slice(own.id, tx.wallets.used_by_attempts(run, own.id) - own.used)
        grant(tx, after, max(0, -after.free), EntryKind.SLICE, now)
    return found


def _is_wallet_short(available: tuple[int, int]) -> bool:
    wallet, budget = available
    return wallet <= budget


def _wait_or_hold(
    tx: Transaction, run: RunId, own: SliceId, first: QueuedRequest, now: datetime
) -> None:
    """Wait for what calls that are out release; hold a run that has none."""
    funds = tx.wallets.funds_of_run(run)
    assert funds is not None
    available = take_available(tx, funds)
    wallet = funds.wallet_id if _is_wallet_short(available) else None
    if tx.wallets.has_calls_out(run) or tx.wallets.free_in_slices(run, wallet, own):
        return
    counts = tx.tallies.tallies_of_run(run)
    # what is answered and not judged yet is paid, and hardly owed any more
    owed = sum(counts.get(state, 0) for state in TASK_OWED) - tx.wallets.tasks_to_settle(run)
    ended = sum(counts.get(state, 0) for state in TASK.states) - owed
    spent = counts.get("cost", 0) + counts.get("presumed", 0)
    if not (ended and spent):  # nothing is known but what was forecast of those that are packed
        ended, spent = counts.get("packed_tasks", 0), counts.get(EXPECTED, 0)
    per_task = spent // ended if ended else 0
    facts: dict[str, str | int] = {
        "missing": missing_funds(owed, per_task, first.reserve, min(available)),
        "tasks": owed,
        "least": first.reserve,
    }
    if wallet is not None:
        hold_run(tx, run, HoldCause.WALLET_EMPTY, now, wallet=funds.wallet or "", **facts)
    else:
        hold_run(tx, run, HoldCause.BUDGET_SPENT, now, budget=funds.budget or 0, **facts)
