"""Keys: kept, listed, tried and erased, of the workspace or a person; as whom calls go out."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from quire.accounts import credentials
from quire.accounts.account_choice import AccountChoice, choose_accounts, every_account, recall
from quire.accounts.credentials import KnownKey, stored_credentials
from quire.accounts.encryption import (
    Box,
    SecretKeyPlace,
    make_secret_key,
    open_box,
    secret_key_place,
)
from quire.accounts.key_search import (
    KeySearch,
    key_doubt,
    search_keys,
    validate_key,
    validate_key_name,
    validate_provider,
)
from quire.accounts.webhook_secrets import check_secrets, is_anything_sealed
from quire.dispatch.loop_context import WorkerAccounts
from quire.domain.accounts import Account, Credential, Secret
from quire.domain.errors import Error, NotFound, UsageError
from quire.domain.models import ModelFacts
from quire.domain.states import CredentialState
from quire.engine.context import EngineContext
from quire.providers.key_check import KeyCheck, check_keys
from quire.providers.vendors import KEYED_PROVIDERS
from quire.settings import Settings

LONGEST_PERSON = 100  # characters, as the name of a token


class KeyListing(NamedTuple):
    """The keys there are, and why some could not be looked for."""

    keys: Sequence[KnownKey]
    problems: tuple[UsageError, ...]


class KeyTest(NamedTuple):
    """A key that was tried, and what its provider said."""

    account: Account
    check: KeyCheck


class Keys:
    """The keys of an installation."""

    def __init__(self, context: EngineContext) -> None:
        """Find keys where the context's settings and environment say."""
        self._context = context

    def worker_accounts(self) -> WorkerAccounts:
        """What a worker asks for its accounts."""
        return worker_accounts(self._context.settings, self._context.environment)

    def box_opener(self) -> Callable[[], Box]:
        """The same, opened once and not before it is needed."""
        return box_opener(self._context.settings, self._context.environment)

    def box(self) -> Box:
        """What stored keys are sealed with."""
        return open_box(self._place)

    def make_secret_key(self) -> Path | None:
        """Make the file that guards stored keys; None where there is a secret key already."""
        place = self._place
        return place.path if make_secret_key(place) else None

    def add(self, provider: str, name: str, key: Secret, person: str = "") -> Path | None:
        """Keep one more key, sealed; returns the file that guards it where that is new.

        It is the workspace's, or one person's, and then only runs that they start use it.

        A secret key is made only where nothing is kept yet: what is kept needs the old one.
        """
        with self._context.ledger.snapshot() as tx:
            is_first = not is_anything_sealed(tx)
        made = self.make_secret_key() if is_first else None
        box = self.box()
        with self._context.ledger.transaction() as tx:
            check_secrets(tx, box)
            credentials.add(tx, box, provider, name, key, self._now(), person=check_person(person))
        return made

    def listing(self) -> KeyListing:
        """The keys there are, here and outside, in the order they are tried."""
        searches = [self._search(provider) for provider in KEYED_PROVIDERS]
        with self._context.ledger.snapshot() as tx:
            found = credentials.list_keys(tx, searches)
        return KeyListing(found, tuple(search.problem for search in searches if search.problem))

    def test(self, which: str | None, tell: Callable[[Error], None]) -> list[KeyTest]:
        """Ask the providers about all keys, those of one, or those of a name; marks them so.

        `tell` hears why some of them cannot be asked about.
        """
        accounts = self._matching_accounts(which, tell)
        checks = asyncio.run(check_keys(accounts))
        with self._context.ledger.transaction() as tx:
            for account, check in zip(accounts, checks, strict=True):
                if check.state:
                    credentials.clear_one(tx, account, self._now())
                if check.state == CredentialState.VALID:
                    credentials.accept(tx, account, self._now())
                if check.state in (CredentialState.INVALID, CredentialState.SPENT):
                    credentials.mark(tx, account, check.state, check.message, self._now())
        return [KeyTest(*test) for test in zip(accounts, checks, strict=True)]

    def remove(self, provider: str, name: str | None, person: str = "") -> Credential:
        """Erase a stored key of the workspace or of a person; without a name, the only one."""
        with self._context.ledger.transaction() as tx:
            return credentials.remove(tx, provider, name, self._now(), person=check_person(person))

    def _matching_accounts(self, which: str | None, tell: Callable[[Error], None]) -> list[Account]:
        found: list[Account] = []
        providers = [which] if which in KEYED_PROVIDERS else list(KEYED_PROVIDERS)
        for provider in providers:
            search = self._search(provider)
            if which != provider:  # what Google would find may not even be there
                search = search.without_default_credentials()
            with self._context.ledger.transaction() as tx:
                chosen = every_account(tx, self.box, search, self._now())
                rows = tx.credentials.credentials_of_provider(provider)
            named = {row.id for row in rows if which in (None, row.provider, row.name)}
            found += [
                account
                for account in chosen.accounts
                if account.id in named or which == account.provider
            ]
            if chosen.problem and (which == provider or search.problem or stored_credentials(rows)):
                tell(chosen.problem)
        if not found:  # what was typed is not repeated: it may be a key
            raise NotFound("no such key to try; `quire keys list` shows which there are")
        return found

    def _search(self, provider: str) -> KeySearch:
        return search_keys(provider, self._context.settings, self._context.environment)

    @property
    def _place(self) -> SecretKeyPlace:
        context = self._context
        return secret_key_place(context.environment, Path.cwd(), context.settings.ledger)

    def _now(self) -> datetime:
        return self._context.runtime.now()


def check_names(provider: str, name: str | None) -> None:
    """Refuse a provider or a name that no key can have."""
    validate_provider(provider)
    if name is not None:
        validate_key_name(name)


def check_person(name: str) -> str:
    """Take the name of a person, as tokens have it; empty: nobody."""
    bare = " ".join(name.split())
    if len(bare) > LONGEST_PERSON or not bare.isprintable():
        raise UsageError("a person has the name of their token, of 1 to 100 characters")
    return bare


def read_key(provider: str, text: str) -> tuple[Secret, str]:
    """A key as somebody gave it, and why it may be none of this provider's."""
    key = validate_key(text, "the key")
    return key, key_doubt(provider, key)


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
        lambda tx, facts, person, now: find(
            facts, lambda keys: choose_accounts(tx, box, keys, now, person)
        ),
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
