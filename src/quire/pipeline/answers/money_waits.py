"""Money waits: calls of a run that wait until those that are out release what they do not use."""

from quire.domain.ids import RunId, SliceId
from quire.domain.pricing import dollars
from quire.domain.runs import Stall, StallKind
from quire.ledger.ledger import Transaction

_NO_SLICE = SliceId(0)


def money_waits(tx: Transaction, run: RunId) -> list[Stall]:
    """Say so where the next call of a run is not covered, and calls that are out may cover it."""
    funds, needed = tx.wallets.funds_of_run(run), tx.wallets.next_reserve(run)
    if funds is None or needed is None:
        return []
    wallet = tx.wallets.get_wallet(funds.wallet) if funds.wallet else None
    bounds = [wallet.balance] if wallet else []
    bounds += [funds.budget - funds.granted] if funds.budget is not None else []
    free = min(bounds, default=needed) + tx.wallets.free_in_slices(run, None, _NO_SLICE)
    calls, reserved = tx.wallets.calls_reserved_for(run)
    if free >= needed or not calls:
        return []
    is_wallet = wallet is not None and wallet.balance == min(bounds)
    whose = f"wallet {funds.wallet}" if is_wallet else "its budget"
    out = "1 call that is out has" if calls == 1 else f"{calls:,} calls that are out have"
    said = (
        f"{dollars(max(0, free))} of {whose} is free, the next call reserves {dollars(needed)};"
        f" {out} {dollars(reserved)} reserved, and what is not used comes back"
    )
    return [Stall(StallKind.FUNDS, "calls wait for money", said)]
