"""Keys: settings and environment say as whom a worker's calls go out."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path

from quire.accounts.account_choice import AccountChoice, choose_accounts, recall
from quire.accounts.encryption import Box, open_box, secret_key_place
from quire.accounts.key_search import search_keys
from quire.dispatch.loop_context import WorkerAccounts
from quire.domain.accounts import CredentialId
from quire.domain.errors import UsageError
from quire.domain.models import ModelFacts
from quire.ledger.ledger import Transaction
from quire.settings import Settings


def worker_accounts(settings: Settings, environment: Mapping[str, str]) -> WorkerAccounts:
    """What a worker asks for its accounts."""
    box = box_opener(settings, environment)

    def choose_account(tx: Transaction, facts: ModelFacts, now: datetime) -> AccountChoice:
        try:
            key_search = search_keys(facts.provider, settings, environment, facts.wire.url)
        except UsageError as error:
            return AccountChoice((), error)
        return choose_accounts(tx, box, key_search, now)

    def recall_account(
        tx: Transaction, facts: ModelFacts, credential: CredentialId
    ) -> AccountChoice:
        try:
            key_search = search_keys(facts.provider, settings, environment, facts.wire.url)
        except UsageError as error:
            return AccountChoice((), error)
        return recall(tx, box, key_search, credential)

    return WorkerAccounts(choose_account, _google_token, recall_account)


def box_opener(settings: Settings, environment: Mapping[str, str]) -> Callable[[], Box]:
    """Open what stored keys are sealed with, once, and not before it is needed."""

    @cache
    def open_once() -> Box:
        return open_box(secret_key_place(environment, Path.cwd(), settings.ledger))

    return open_once


def _google_token() -> str:
    from quire.providers.vertex import access_token  # one vendor, when needed

    return access_token()
