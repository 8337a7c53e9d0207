"""Wallets of an installation: money that its runs may spend."""

from collections.abc import Callable
from decimal import Decimal
from typing import TypeVar
from uuid import uuid4

from quire.domain.pricing import from_usd
from quire.domain.wallets import Payment, WalletEntry, WalletView
from quire.engine.context import EngineContext
from quire.ledger.ledger import Transaction
from quire.pipeline.commands.control import transact_with_retry
from quire.pipeline.commands.wallets import create_wallet, credit, must_get_wallet, transfer

Dollars = int | float | str | Decimal  # as people write them: 5, "5.00", "$5"
Outcome = TypeVar("Outcome")
NEWEST = 50  # entries


class WalletAdmin:
    """Makes wallets, pays into them, and shows what they hold."""

    def __init__(self, context: EngineContext) -> None:
        """Keep them in the context's ledger."""
        self._context = context

    def create(self, name: str, credit_usd: Dollars | None = None) -> WalletView:
        """Make a wallet, with so much in it."""
        amount = None if credit_usd is None else from_usd(credit_usd)
        now = self._context.runtime.now()

        def create(tx: Transaction) -> None:
            create_wallet(tx, name, now)
            if amount:
                credit(tx, name, Payment(amount, "created"), now)

        self._transact(create)
        return self.get(name)

    def credit(
        self, name: str, amount_usd: Dollars, *, key: str | None = None, note: str = ""
    ) -> WalletEntry:
        """Pay in; runs that lacked money go on. The same key again is the same payment."""
        payment, now = _payment(amount_usd, key, note), self._context.runtime.now()
        return self._transact(lambda tx: credit(tx, name, payment, now))

    def transfer(
        self,
        source: str,
        target: str,
        amount_usd: Dollars,
        *,
        key: str | None = None,
        note: str = "",
    ) -> WalletEntry:
        """Move money from one wallet to another; the same key again is the same transfer."""
        payment, now = _payment(amount_usd, key, note), self._context.runtime.now()
        return self._transact(lambda tx: transfer(tx, source, target, payment, now))

    def get(self, name: str) -> WalletView:
        """One wallet, with what its runs have of it."""
        with self._context.ledger.snapshot() as tx:
            found = must_get_wallet(tx, name)
            return next(wallet for wallet in tx.wallets.list_wallets() if wallet.id == found.id)

    def entries(self, name: str, limit: int = NEWEST) -> list[WalletEntry]:
        """A wallet's newest entries, the newest first."""
        with self._context.ledger.snapshot() as tx:
            return tx.wallets.entries_of_wallet(must_get_wallet(tx, name).id, limit)

    def list(self) -> list[WalletView]:
        """Every wallet."""
        with self._context.ledger.snapshot() as tx:
            return tx.wallets.list_wallets()

    def _transact(self, act: Callable[[Transaction], Outcome]) -> Outcome:
        return transact_with_retry(self._context.ledger, act)


def _payment(amount: Dollars, key: str | None, note: str) -> Payment:
    """A payment; without a key of its own it is another each time."""
    return Payment(from_usd(amount), key or uuid4().hex, note)
