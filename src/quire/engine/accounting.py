"""Accounting: settings and environment say as whom calls go out."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path

from quire.accounts.choose import Chosen, choose, recall
from quire.accounts.finding import surroundings
from quire.accounts.sealing import Box
from quire.accounts.secret_key import key_place, open_box
from quire.dispatch.accounts import Accounts
from quire.domain.accounts import CredentialId
from quire.domain.errors import UsageError
from quire.domain.models import ModelFacts
from quire.ledger.ledger import Transaction
from quire.settings import Settings


def worker_accounts(settings: Settings, environment: Mapping[str, str]) -> Accounts:
    """What a worker asks for its accounts."""
    box = box_opener(settings, environment)

    def chosen(tx: Transaction, facts: ModelFacts, now: datetime) -> Chosen:
        try:
            around = surroundings(facts.provider, settings, environment, facts.wire.url)
        except UsageError as error:
            return Chosen((), str(error))
        return choose(tx, box, around, now)

    def recalled(tx: Transaction, facts: ModelFacts, credential: CredentialId) -> Chosen:
        try:
            around = surroundings(facts.provider, settings, environment, facts.wire.url)
        except UsageError as error:
            return Chosen((), str(error))
        return recall(tx, box, around, credential)

    return Accounts(chosen, _google_token, recalled)


def box_opener(settings: Settings, environment: Mapping[str, str]) -> Callable[[], Box]:
    """Open what stored keys are sealed with, once, and not before it is needed."""

    @cache
    def opened() -> Box:
        return open_box(key_place(environment, Path.cwd(), settings.ledger))

    return opened


def _google_token() -> str:
    from quire.providers.vertex import access_token  # one vendor, when needed

    return access_token()
