"""Afford: how many of the next calls a run's money covers; a run that lacks some waits, or is held.

Every call reserves the most that it may cost before it is sent, so only the first calls of a queue
that are covered go. Where some are not, what other slices have free is taken back first. If then
nothing is covered, calls that are out may still release something, because they cost less than was
reserved for them: they are waited for. With nothing out, the queue goes back and is packed again,
into calls that the money covers (`packs.py`). Only where the first call could not be any smaller
is the run held: then a person has to help. All of that is read from the ledger, nothing remembered:
a process that dies anywhere in it leaves what the next one goes on with.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.domain.ids import RunId, SliceId, WorkerId
from quire.domain.reasons import HoldCause
from quire.domain.requests import QueuedRequest
from quire.domain.states import TASK_OWED
from quire.domain.wallets import BATCHES, EntryKind, RunFunds, Slice
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.funds import grant, recall_idle, take_available
from quire.pipeline.calls.learn import learn_sizes
from quire.pipeline.calls.packs import may_shrink
from quire.pipeline.calls.record import drop_requests, hold_run
from quire.pipeline.calls.rest_costs import rest_of_run
from quire.pipeline.contexts import Contexts, LaneContext
from quire.planning.funding import count_affordable, missing_funds, slice_size

# a claim may have begun before its run was given a budget: so long is looked for what it sent
JOINING = timedelta(minutes=1)


class Purse(NamedTuple):
    """What was reserved for the next calls, and for how many of them."""

    slice_id: SliceId
    calls: int
    reserved: int
    repacked: bool = False  # none was covered: they are packed again, and soon go


def reserve_funds(
    tx: Transaction,
    contexts: Contexts,
    context: LaneContext,
    holder: WorkerId,
    queued: Sequence[QueuedRequest],
    now: datetime,
) -> Purse | None:
    """Reserve for a lane's next calls, as many as are covered; None where nothing bounds its run.

    Where not even one is, and nothing will release money, they are packed again, or the run is
    held.
    """
    run = context.run_id
    if not queued or run not in contexts.funded_runs:
        return None
    reserves = [request.reserve for request in queued]
    total = sum(reserves)
    known = tx.wallets.charge_slice(run, holder, total)
    if known is not None:
        return Purse(known, len(queued), total)
    purse = _lease_slice(tx, run, holder, reserves, now)
    if purse.calls or not (lack := _lack_of_funds(tx, run, purse.slice_id)):
        return purse
    first, known_sizes = queued[0], learn_sizes(tx, contexts, context, 0)
    if may_shrink(tx, context, known_sizes, first):
        drop_requests(tx, tx.requests.unsent_requests(context.lane_id))
        tx.notify()
        return purse._replace(repacked=True)
    _hold_for_funds(tx, contexts, run, lack, first, now)
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


class _Lack(NamedTuple):
    """What a run has that does not cover its next call, with nothing to wait for."""

    free: int  # picodollars
    by_wallet: bool  # its wallet has less than its budget leaves it
    funds: RunFunds


def _lack_of_funds(tx: Transaction, run: RunId, own: SliceId) -> _Lack | None:
    """What a run that covers no call has; None where others will release something."""
    funds = tx.wallets.funds_of_run(run)
    assert funds is not None
    available = take_available(tx, funds)
    by_wallet = _is_wallet_short(available)
    wallet = funds.wallet_id if by_wallet else None
    if tx.wallets.has_calls_out(run) or tx.wallets.free_in_slices(run, wallet, own):
        return None
    piece = next(piece for piece in tx.wallets.slices_of_run(run) if piece.id == own)
    return _Lack(min(available) + max(0, piece.free), by_wallet and wallet is not None, funds)


def _hold_for_funds(
    tx: Transaction,
    contexts: Contexts,
    run: RunId,
    lack: _Lack,
    first: QueuedRequest,
    now: datetime,
) -> None:
    rest, counts = rest_of_run(tx, contexts, run), tx.tallies.tallies_of_run(run)
    # what is answered and not judged yet is paid, and hardly owed any more
    owed = sum(counts.get(state, 0) for state in TASK_OWED) - tx.wallets.tasks_to_settle(run)
    facts: dict[str, str | int] = {
        "missing": missing_funds(rest.cost, max(first.reserve, rest.largest_call), lack.free),
        "tasks": owed,
        "least": first.reserve,
    }
    if lack.by_wallet:
        hold_run(tx, run, HoldCause.WALLET_EMPTY, now, wallet=lack.funds.wallet or "", **facts)
    else:
        hold_run(tx, run, HoldCause.BUDGET_SPENT, now, budget=lack.funds.budget or 0, **facts)
