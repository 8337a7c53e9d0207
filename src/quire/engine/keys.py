"""Keys: settings and environment say as whom a worker's calls go out."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from quire.accounts.account_choice import AccountChoice, choose_accounts, recall
from quire.accounts.encryption import Box, open_box, secret_key_place
from quire.accounts.key_search import KeySearch, search_keys
from quire.dispatch.loop_context import WorkerAccounts
from quire.domain.errors import UsageError
from quire.domain.models import ModelFacts
from quire.engine.context import EngineContext
from quire.settings import Settings


class Keys:
    """The keys of an installation."""

    def __init__(self, context: EngineContext) -> None:
        """Find keys where the context's settings and environment say."""
        self._context = context

    def worker_accounts(self) -> WorkerAccounts:
        """What a worker asks for its accounts."""
        return worker_accounts(self._context.settings, self._context.environment)

    def box(self) -> Box:
        """What stored keys are sealed with."""
        return box_opener(self._context.settings, self._context.environment)()


def worker_accounts(settings: Settings, environment: Mapping[str, str]) -> WorkerAccounts:
    """What a worker asks for its accounts."""
    box = box_opener(settings, environment)

    def find(facts: ModelFacts, choose: Callable[[KeySearch], AccountChoice]) -> AccountChoice:
        try:
            keys = search_keys(facts.provider, settings, environment, facts.wire.url)
        except UsageError as error:
            return AccountChoice((), error)
        return choose(keys)

    return WorkerAccounts(
        lambda tx, facts, now: find(facts, lambda keys: choose_accounts(tx, box, keys, now)),
        _google_token,
        lambda tx, facts, credential: find(facts, lambda keys: recall(tx, box, keys, credential)),
    )


def box_opener(settings: Settings, environment: Mapping[str, str]) -> Callable[[], Box]:
    """Open what stored keys are sealed with, once, and not before it is needed."""

    @cache
    def open_once() -> Box:
        return open_box(secret_key_place(environment, Path.cwd(), settings.ledger))

    return open_once


def _google_token() -> str:
    from quire.providers.vertex import access_token  # one vendor, when needed

    return access_token()
