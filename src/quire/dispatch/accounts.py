"""The accounts of one worker: chosen in the ledger, remembered for a moment, held where missing."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from quire.accounts.choose import Chosen
from quire.domain.accounts import Account, CredentialId, Secret
from quire.domain.errors import ProviderError, Remedy, UsageError
from quire.domain.models import ModelFacts
from quire.domain.runs import HoldKind
from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import LaneContext
from quire.pipeline.record import hold

REMEMBERED = timedelta(seconds=2)  # so that a key that was marked elsewhere is soon left alone

ChooseAccount = Callable[[Transaction, ModelFacts, datetime], Chosen]
RecallAccount = Callable[[Transaction, ModelFacts, CredentialId], Chosen]


class Accounts:
    """Says as whom a stage's calls go out."""

    def __init__(
        self, choose: ChooseAccount, token: Callable[[], str], recall: RecallAccount | None = None
    ) -> None:
        """`token` fetches what stands for a key where the key is short-lived; it may block."""
        self._choose = choose
        self._recall = recall
        self._token = token
        self._known: dict[tuple[str, str], tuple[Chosen, datetime]] = {}

    def choose(self, tx: Transaction, context: LaneContext, now: datetime) -> Account | None:
        """The account to send with; None, and the run is held, where there is none."""
        chosen = self._remembered(tx, context.facts, now)
        if chosen.accounts:
            return chosen.accounts[0]
        detail = f"{chosen.problem}; then the same command, or `quire resume {context.run_id}`"
        hold(tx, context.run_id, HoldKind.CREDENTIAL, detail, now)
        return None

    def recall(
        self, tx: Transaction, facts: ModelFacts, credential: CredentialId | None, now: datetime
    ) -> Chosen:
        """The one account that something already sent belongs to, or why it cannot be used."""
        if credential is None or self._recall is None:
            return self._remembered(tx, facts, now)
        return self._recall(tx, facts, credential)

    async def ready(self, account: Account) -> Account:
        """The account as it stands in a call: a token fetched where that takes the key's place."""
        if account.options.get("adc") != "true":
            return account
        try:
            token = await asyncio.to_thread(self._token)
        except UsageError as error:
            raise ProviderError(str(error), remedy=Remedy.FIX_ACCOUNT) from None
        return replace(account, key=Secret(token))

    def forget(self) -> None:
        """Look again: a key was refused, or a transaction did not come through."""
        self._known.clear()

    def _remembered(self, tx: Transaction, facts: ModelFacts, now: datetime) -> Chosen:
        key = (facts.provider, facts.wire.url)
        known = self._known.get(key)
        if known is None or not timedelta(0) <= now - known[1] < REMEMBERED:
            known = self._known[key] = (self._choose(tx, facts, now), now)
        return known[0]
