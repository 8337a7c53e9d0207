"""Funds: what a run's calls reserve and cost is counted in its slices, and paid by its wallet.

A row that every call changes would be where all workers wait for each other. So each worker has a
*slice* of its run's money, one row, and reserves from that; only a slice that is used up takes more
from the wallet and the budget, under their locks. `used` is always what the slice's attempts come
to: what was reserved for those that are out or lost, what the answered ones cost, nothing for the
refused ones. It changes in the transaction that moves the attempts, so there is nothing to repair
after a crash. What a slice has free belongs to nobody: it goes back when its worker or its run
ends, and anybody who lacks money takes it back before a run is held.

Nothing is reserved that is not there. But what is out was agreed to: a call may cost more than was
reserved for it, and an answer may come after its call was written off. That is paid even if it
overdraws a wallet or a budget, and is told; until somebody pays in, nothing new is sent.

Locks are taken in this order: slices, then the wallet, then what its runs were granted.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.errors import Conflict
from quire.domain.ids import AttemptId, RunId, SliceId, WalletId, WorkerId
from quire.domain.reasons import EventKind, HoldKind, ResumeCause
from quire.domain.requests import Answer, MovedAttempt
from quire.domain.states import AttemptState
from quire.domain.wallets import EntryKind, NewEntry, RunFunds, Slice, WalletEntry
from quire.ledger.ledger import Transaction
from quire.ledger.tables.attempts import OpenAttempts

NO_BOUND = 2**62  # picodollars: nothing bounds what is left
NO_SLICE = SliceId(0)
OWN_KEY = re.compile(r"(?:slice|return|correction):\d+:\d+:\d+|(?:late|refused):\d+")  # made here


class Change(NamedTuple):
    """What became of an attempt, as money: how much more or less than was counted for it."""

    slice_id: SliceId
    amount: int
    late_key: str = ""  # it had been given up: the key of a correction, where one is made


def enter(tx: Transaction, wallet: WalletId, entry: NewEntry, now: datetime) -> WalletEntry:
    """Append an entry to a wallet, once: the same key again is the same entry, or a mistake."""
    tx.wallets.take_wallet(wallet)
    if (known := tx.wallets.find_entry(wallet, entry.key)) is None:
        tx.wallets.add_entry(wallet, entry, now)
        known = tx.wallets.find_entry(wallet, entry.key)
        assert known is not None
    elif (known.kind, known.amount, known.run_id) != (entry.kind, entry.amount, entry.run_id):
        raise Conflict(
            f"the key {entry.key!r} is taken, by a {known.kind.value} of another amount",
            "give another --key, or the same amount",
        )
    return known


def grant(
    tx: Transaction, piece: Slice, amount: int, kind: EntryKind, now: datetime, key: str = ""
) -> WalletId | None:
    """Give a slice more, or take some back: slice, wallet and run change together.

    It ends or goes on as `piece` says. Returns the wallet that money came from, or went to.
    """
    funds = tx.wallets.funds_of_run(piece.run_id)
    assert funds is not None
    number = tx.wallets.change_slice(piece.id, amount, ended=bool(piece.ended))
    if not amount:
        return funds.wallet_id
    if funds.wallet_id is not None:
        key = key or f"{kind.value}:{piece.run_id}:{piece.worker_id}:{number}"
        enter(tx, funds.wallet_id, NewEntry(key, kind, -amount, piece.run_id), now)
    tx.wallets.change_granted(piece.run_id, amount)
    return funds.wallet_id


def take_available(tx: Transaction, funds: RunFunds) -> tuple[int, int]:
    """What is left of a run's wallet, and of its budget, for this transaction alone."""
    wallet = NO_BOUND if funds.wallet_id is None else tx.wallets.take_wallet(funds.wallet_id)
    budget, granted = tx.wallets.take_granted(funds.run_id)
    return wallet, NO_BOUND if budget is None else budget - granted


def spendable(tx: Transaction, run: RunId) -> int:
    """What a run may reserve now, besides what calls that are out will release."""
    funds = tx.wallets.funds_of_run(run)
    if funds is None:
        return NO_BOUND
    wallet = tx.wallets.get_wallet(funds.wallet) if funds.wallet else None
    bounds = [wallet.balance] if wallet else []
    bounds += [funds.budget - funds.granted] if funds.budget is not None else []
    return min(bounds, default=NO_BOUND) + tx.wallets.free_in_slices(run, None, NO_SLICE)


def settle_answers(
    tx: Transaction, answers: Sequence[Answer], answered: OpenAttempts, now: datetime
) -> None:
    """Count what calls cost in the place of what was reserved: of attempts that were all open."""
    if answered.only_slice is not None:  # as a rule
        more = sum([answer.cost for answer in answers]) - (answered.reserved or 0)
        settle_changes(tx, [Change(answered.only_slice, more)], now)
        return
    costs = {answer.attempt_id: answer.cost for answer in answers}
    found = tx.wallets.slices_of_attempts(list(costs))
    settle_changes(tx, [Change(piece, costs[item] - held) for item, piece, held in found], now)


def settle_moved(
    tx: Transaction,
    moved: Mapping[AttemptId, MovedAttempt],
    costs: Mapping[AttemptId, int],
    now: datetime,
) -> None:
    """The same of attempts that may have been given up before; without a cost they were free."""
    changes = []
    for attempt, was in moved.items():
        if was.slice_id is not None:
            word = "late" if attempt in costs else "refused"
            key = "" if was.source == AttemptState.OPEN else f"{word}:{attempt}"
            counted = 0 if was.source == AttemptState.REFUSED else was.reserved
            changes.append(Change(was.slice_id, costs.get(attempt, 0) - counted, key))
    if changes:
        settle_changes(tx, changes, now)


def settle_changes(tx: Transaction, changes: Iterable[Change], now: datetime) -> None:
    """Count what became of attempts in their slices; one statement a slice."""
    by_slice: dict[SliceId, list[Change]] = defaultdict(list)
    for change in changes:
        by_slice[change.slice_id].append(change)
    for piece, mine in sorted(by_slice.items()):
        after = tx.wallets.settle_slice(piece, sum(change.amount for change in mine))
        if after.ended:
            _correct_ended(tx, after, mine, now)
        elif after.free < 0:
            grant(tx, after, -after.free, EntryKind.CORRECTION, now)
            _tell_overdraft(tx, after.run_id, now)


def _correct_ended(tx: Transaction, piece: Slice, changes: Sequence[Change], now: datetime) -> None:
    """Nobody claims from this slice any more: every change goes to its wallet at once."""
    late = [change for change in changes if change.late_key]
    for _, amount, key in late:
        grant(tx, piece, amount, EntryKind.CORRECTION, now, key)
    rest = sum(change.amount for change in changes if not change.late_key)
    kind = EntryKind.RETURN if rest < 0 else EntryKind.CORRECTION
    wallet = grant(tx, piece, rest, kind, now)
    _tell_overdraft(tx, piece.run_id, now)
    _lift_covered(tx, [wallet], now)


def _tell_overdraft(tx: Transaction, run: RunId, now: datetime) -> None:
    funds = tx.wallets.funds_of_run(run)
    assert funds is not None
    left = min(take_available(tx, funds))
    if left < 0:
        name = funds.wallet or ""
        tx.events.add_event(run, EventKind.OVERDRAWN, now, amount=-left, wallet=name)


def recall_idle(
    tx: Transaction, funds: RunFunds, own: SliceId, now: datetime, *, share_wallet: bool
) -> int:
    """Take back what other slices have free, of the run or of all that share its wallet."""
    wallet = funds.wallet_id if share_wallet else None
    idle = tx.wallets.idle_slices(funds.run_id, wallet, own)
    for piece in idle:
        grant(tx, piece, -piece.free, EntryKind.RETURN, now)
    return sum(piece.free for piece in idle)


def end_slices_of_workers(tx: Transaction, workers: Sequence[WorkerId], now: datetime) -> None:
    """Workers are gone: what their slices have free goes back."""
    _end_slices(tx, tx.wallets.take_slices_of_workers(workers), now)


def end_slices_of_run(tx: Transaction, run: RunId, now: datetime) -> None:
    """A run has ended: what its slices have free goes back; what is out is settled later."""
    _end_slices(tx, tx.wallets.take_slices_of_run(run), now)


def _end_slices(tx: Transaction, pieces: Sequence[Slice], now: datetime) -> None:
    wallets = [
        grant(tx, piece._replace(ended=1), -max(0, piece.free), EntryKind.RETURN, now)
        for piece in pieces
    ]
    _lift_covered(tx, wallets, now)


def _lift_covered(tx: Transaction, wallets: Sequence[WalletId | None], now: datetime) -> None:
    """Money came back: runs that wait for so much go on."""
    for wallet in {wallet for wallet in wallets if wallet is not None}:
        balance = tx.wallets.take_wallet(wallet)
        for run, fields in tx.wallets.runs_held_for_funds(wallet):
            if int(fields.get("least", 0)) <= balance:
                lift_funds_hold(tx, run, now)


def lift_funds_hold(tx: Transaction, run: RunId, now: datetime) -> None:
    """Let a run that lacked money try again."""
    lifted = tx.holds.lift_holds(run, [HoldKind.FUNDS])
    if lifted and not tx.holds.holds_of_run(run):
        tx.events.add_event(run, EventKind.RESUMED, now, cause=ResumeCause.FUNDED)
        tx.notify()
