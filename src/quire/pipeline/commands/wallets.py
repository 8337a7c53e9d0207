"""Wallets: created, credited, transferred between; and what a run may spend, said or changed."""

from datetime import datetime
from typing import NamedTuple

from quire.domain.errors import Conflict, NotFound, OutOfFunds, UsageError
from quire.domain.ids import SCHEMA_REF, RunId, SliceId
from quire.domain.pricing import dollars
from quire.domain.reasons import HoldCause
from quire.domain.wallets import (
    EntryKind,
    NewEntry,
    Payment,
    RunFunds,
    Wallet,
    WalletEntry,
)
from quire.domain.wording import enough_money
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.afford import adopt_attempts
from quire.pipeline.calls.funds import (
    OWN_KEY,
    enter,
    lift_funds_hold,
    recall_idle,
    take_available,
)

LARGEST_BALANCE = 4 * 10**18  # picodollars: what both databases add up without care
NO_SLICE = SliceId(0)


class UsualFunds(NamedTuple):
    """What a run that begins is bound by where its order names nothing."""

    wallet: str | None = None
    budget: int | None = None  # picodollars


def must_get_wallet(tx: Transaction, name: str) -> Wallet:
    """A wallet that somebody named."""
    found = tx.wallets.get_wallet(name)
    if found is None:
        raise NotFound(
            f"there is no wallet {name!r}; `quire wallet show` lists them,"
            f" `quire wallet create {name}` makes one"
        )
    return found


def create_wallet(tx: Transaction, name: str, now: datetime) -> Wallet:
    """Begin a wallet, empty."""
    if not SCHEMA_REF.fullmatch(name):
        raise UsageError(
            f"{name[:70]!r} is no name of a wallet: small letters, digits, - and _, at most 64"
        )
    if not tx.wallets.add_wallet(name, now):
        raise Conflict(
            f"there is a wallet {name} already", f"`quire wallet credit {name} AMOUNT` pays in"
        )
    return must_get_wallet(tx, name)


def credit(tx: Transaction, name: str, payment: Payment, now: datetime) -> WalletEntry:
    """Pay into a wallet, once for each key; runs that lacked money go on."""
    wallet = must_get_wallet(tx, name)
    _check_key(payment.key)
    entry = _pay_in(tx, wallet, EntryKind.CREDIT, payment, now)
    _lift_holds(tx, wallet, now)
    return entry


def transfer(
    tx: Transaction, source: str, target: str, payment: Payment, now: datetime
) -> WalletEntry:
    """Move money from one wallet to another, once for each key; returns the entry of the target."""
    giver, taker = must_get_wallet(tx, source), must_get_wallet(tx, target)
    amount, key, note = payment
    _check_key(key)
    if giver.id == taker.id:
        raise UsageError("a transfer needs two wallets")
    for wallet in sorted((giver.id, taker.id)):  # all who take both take them in this order
        tx.wallets.take_wallet(wallet)
    left = tx.wallets.take_wallet(giver.id)
    if left < amount and tx.wallets.find_entry(giver.id, key) is None:
        raise OutOfFunds(f"wallet {source} holds {dollars(left)}, {dollars(amount)} are asked for")
    given = NewEntry(key, EntryKind.TRANSFER, -amount, note=note or f"to {target}")
    enter(tx, giver.id, given, now)
    paid = payment._replace(note=note or f"from {source}")
    entry = _pay_in(tx, taker, EntryKind.TRANSFER, paid, now)
    _lift_holds(tx, taker, now)
    return entry


def _check_key(key: str) -> None:
    """Refuse a key that a worker will write under: it could record nothing of that call then."""
    if OWN_KEY.fullmatch(key):
        raise UsageError(f"keys such as {key!r} are for what workers enter", "give another --key")


def _pay_in(
    tx: Transaction, wallet: Wallet, kind: EntryKind, payment: Payment, now: datetime
) -> WalletEntry:
    if payment.amount <= 0:
        raise UsageError("the amount must be more than $0")
    if tx.wallets.take_wallet(wallet.id) + payment.amount > LARGEST_BALANCE:
        raise UsageError(f"a wallet holds at most {dollars(LARGEST_BALANCE)}")
    entry = NewEntry(payment.key, kind, payment.amount, note=payment.note)
    return enter(tx, wallet.id, entry, now)


def _lift_holds(tx: Transaction, wallet: Wallet, now: datetime) -> None:
    """Whoever pays in wants its runs tried again; those that lack more say how much."""
    for run, _ in tx.wallets.runs_held_for_funds(wallet.id):
        lift_funds_hold(tx, run, now)


def fund_run(
    tx: Transaction,
    run: RunId,
    wallet: str | None,
    budget: int | None,
    now: datetime,
    *,
    new: bool = False,
) -> None:
    """Bound what a run spends, or change its budget; it goes on if it lacked money.

    A run that is not new may have calls out already.
    """
    if wallet is None and budget is None:
        return
    known = tx.wallets.funds_of_run(run)
    if known is None:
        found = must_get_wallet(tx, wallet) if wallet is not None else None
        tx.wallets.add_run_funds(run, found and found.id, budget, None if new else now)
        if not new:
            _count_earlier(tx, run, found, now)
        return
    if wallet is not None and wallet != known.wallet:
        _set_wallet(tx, known, wallet)
    if budget is not None:
        _refuse_too_little(tx, known, budget)
        funds = tx.wallets.funds_of_run(run)
        assert funds is not None
        take_available(tx, funds)
        tx.wallets.set_budget(run, budget)
        recall_idle(tx, funds, NO_SLICE, now, share_wallet=False)  # a lower one holds at once
    lift_funds_hold(tx, run, now)


def _refuse_too_little(tx: Transaction, known: RunFunds, budget: int) -> None:
    """Whoever gives a run that its budget holds less than it has meant more, not in all."""
    for hold in tx.holds.holds_of_run(known.run_id):
        if hold.cause is HoldCause.BUDGET_SPENT and budget < (known.budget or 0):
            raise UsageError(
                f"run {known.run_id} is held with a budget of {dollars(known.budget or 0)}"
                " already; --budget says what it may spend in all, what it has spent included",
                f"give {enough_money(hold.fields)} or more",
            )


def _count_earlier(tx: Transaction, run: RunId, wallet: Wallet | None, now: datetime) -> None:
    """What a run spent before it was bounded counts in its budget; no wallet pays for it."""
    if adopt_attempts(tx, run, now) and wallet is not None:
        raise UsageError(
            f"run {run} has begun to spend without a wallet, and goes on without one",
            "leave --wallet out, or start another run with --new",
        )


def _set_wallet(tx: Transaction, known: RunFunds, wallet: str) -> None:
    """Name the wallet of a run that had only a budget, and has spent nothing of it."""
    found = must_get_wallet(tx, wallet)
    if known.wallet is not None or known.granted:
        paid = f"spends from wallet {known.wallet}" if known.wallet else "has spent without one"
        raise UsageError(f"run {known.run_id} {paid}; --wallet cannot change that")
    tx.wallets.set_run_wallet(known.run_id, found.id)
