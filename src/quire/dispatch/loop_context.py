"""The context of one worker's loops: its accounts and providers, its ledger, its runtime."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.accounts.account_choice import AccountChoice
from quire.dispatch.ledger_thread import LedgerThread
from quire.dispatch.runtime import Runtime
from quire.domain.accounts import Account, CredentialId, Secret
from quire.domain.errors import AddressInvalid, ProviderError, Remedy, UsageError
from quire.domain.models import ModelFacts
from quire.domain.reasons import HoldCause
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.embed import give_up_embedder
from quire.pipeline.calls.record import hold_run
from quire.pipeline.contexts import Contexts, LaneContext
from quire.providers.protocol import BatchApi, HttpClient, Provider

CACHE_TTL = timedelta(seconds=2)  # so that a key that was marked elsewhere is soon left alone

ChooseAccount = Callable[[Transaction, ModelFacts, str, datetime], AccountChoice]  # for a person
RecallAccount = Callable[[Transaction, ModelFacts, CredentialId], AccountChoice]


class WorkerAccounts:
    """Says as whom a stage's calls go out."""

    def __init__(
        self, choose: ChooseAccount, token: Callable[[], str], recall: RecallAccount | None = None
    ) -> None:
        """`token` fetches what stands for a key where the key is short-lived; it may block."""
        self._choose = choose
        self._recall = recall
        self._token = token
        self._known: dict[tuple[str, str, str], tuple[AccountChoice, datetime]] = {}

    def choose(self, tx: Transaction, context: LaneContext, now: datetime) -> Account | None:
        """The account to send with; None where there is none: the run is held, if it must be."""
        chosen = self._cached_choice(tx, context, now)
        if chosen.accounts:
            return chosen.accounts[0]
        if context.embeds:
            give_up_embedder(tx, context, str(chosen.problem), now)
            return None
        no_address = isinstance(chosen.problem, AddressInvalid)
        cause = HoldCause.ADDRESS_INVALID if no_address else HoldCause.NO_KEY
        hold_run(tx, context.run_id, cause, now, problem=str(chosen.problem))
        return None

    def recall(
        self, tx: Transaction, context: LaneContext, credential: CredentialId | None, now: datetime
    ) -> AccountChoice:
        """The one account that something already sent belongs to, or why it cannot be used."""
        if credential is None or self._recall is None:
            return self._cached_choice(tx, context, now)
        return self._recall(tx, context.facts, credential)

    async def ready_account(self, account: Account) -> Account:
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

    def _cached_choice(self, tx: Transaction, context: LaneContext, now: datetime) -> AccountChoice:
        facts, person = context.facts, context.spec.person
        key = (facts.provider, facts.wire.url, person)
        known = self._known.get(key)
        if known is None or not timedelta(0) <= now - known[1] < CACHE_TTL:
            known = self._known[key] = (self._choose(tx, facts, person, now), now)
        return known[0]


class ProviderLookup(NamedTuple):
    """How the loops get at a provider by its name."""

    provider: Callable[[str], Provider]
    batch_api: Callable[[str], BatchApi | None]
    http: Callable[[], HttpClient]


class LoopContext(NamedTuple):
    """What a worker's loops work with."""

    contexts: Contexts
    providers: ProviderLookup
    accounts: WorkerAccounts
    runtime: Runtime
    thread: LedgerThread
