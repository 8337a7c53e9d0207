"""Credentials: keep keys, list them, mark those that were refused, take the marks away."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from quire.accounts.encryption import Box, Owner, digest_of
from quire.accounts.key_search import (
    DEFAULT_CREDENTIALS,
    FoundKey,
    KeySearch,
    validate_key,
    variables_of,
)
from quire.domain.accounts import Account, Credential, CredentialId, KeySource, Secret
from quire.domain.errors import Conflict, NotFound, UsageError
from quire.domain.states import CREDENTIAL, CredentialMove, CredentialState
from quire.ledger.ledger import Transaction
from quire.ledger.tables.credentials import NewCredential

LONGEST_REASON = 300  # characters

_MARKING = (CredentialMove.REJECT, CredentialMove.EXHAUST)
_MARKS = {CREDENTIAL.targets[move]: move for move in _MARKING}


class KnownKey(NamedTuple):
    """A key for somebody to look at."""

    provider: str
    name: str
    source: KeySource
    tail: str
    state: CredentialState
    reason: str
    since: datetime | None  # marked, else stored; None: found outside, and never marked
    tested: bool = False  # its provider accepted it, in a test or for a call
    person: str = ""  # whose it is; empty: the workspace's

    @property
    def standing(self) -> str:
        """Its state; but nobody knows yet whether a key is valid that was never used."""
        return self.state if self.tested or self.state != CREDENTIAL.start else "untested"


def check_box(tx: Transaction, box: Box) -> None:
    """Refuse a secret key other than the one that the keys here are encrypted with."""
    for credential in stored_credentials(tx.credentials.list_credentials())[:1]:
        box.open(credential.sealed or b"", owner_of(tx, credential))


def owner_of(tx: Transaction, credential: Credential) -> Owner:
    """Whom a stored key is sealed for."""
    return Owner(tx.workspace, credential.provider, credential.name, credential.person)


def add(  # noqa: PLR0913 - all that is known of a key
    tx: Transaction,
    box: Box,
    provider: str,
    name: str,
    key: Secret,
    now: datetime,
    *,
    person: str = "",
) -> CredentialId:
    """Keep a key, encrypted; one that was marked or removed before starts afresh."""
    digest = digest_of(validate_key(key.reveal(), "the key"))
    for item in stored_credentials(tx.credentials.credentials_of_provider(provider)):
        if item.digest == digest:
            own = f", as {provider} {item.name}" if item.person == person else ", for others"
            raise Conflict(f"that key is kept already{own}")
        if (item.name, item.person) == (name, person):
            whose = f" of {person}" if person else ""
            raise Conflict(
                f"{provider} has a key called {name}{whose} already; give this one another name"
                f" with --name, or `quire keys remove {provider} {name}` first"
            )
    sealed = box.seal(key, Owner(tx.workspace, provider, name, person))
    new = NewCredential(provider, name, KeySource.STORED, key.tail, digest, sealed, person)
    credential = tx.credentials.add_credential(new, now)
    if credential is None:
        raise Conflict(f"that key was kept just now, as {provider} {name}")
    rows = tx.credentials.credentials_of_provider(provider)
    twins = [row.id for row in rows if row.digest == digest]
    _clear_marks(tx, twins, now)
    return credential


def remove(
    tx: Transaction, provider: str, name: str | None, now: datetime, *, person: str = ""
) -> Credential:
    """Erase a stored key of the workspace, or of a person; without a name, the only one."""
    rows = stored_credentials(tx.credentials.credentials_of_provider(provider))
    kept = [credential for credential in rows if credential.person == person]
    if name is None and len(kept) > 1:
        names = ", ".join(credential.name for credential in kept)
        raise UsageError(f"{provider} has several stored keys; which one of {names}?")
    found = [credential for credential in kept if name in (None, credential.name)]
    if not found:
        raise NotFound(_nothing_to_remove(provider, name, person))
    tx.credentials.remove_credential(found[0].id, now)
    return found[0]


def mark(
    tx: Transaction, account: Account, state: CredentialState, reason: str, now: datetime
) -> bool:
    """Set a credential aside as `invalid` or `spent`; false if it was set aside already."""
    if account.id is None:
        return False
    said = " ".join(account.key.redact(reason).split())[:LONGEST_REASON]
    said = said or "no reason was given"
    return bool(tx.credentials.move_credentials(_MARKS[state], [account.id], said, now))


def clear(tx: Transaction, now: datetime, provider: str | None = None) -> int:
    """Take marks away, so that the keys are tried again; returns how many had one."""
    if provider is None:
        known = tx.credentials.list_credentials()
    else:
        known = tx.credentials.credentials_of_provider(provider)
    return _clear_marks(tx, [credential.id for credential in known], now)


def clear_one(tx: Transaction, account: Account, now: datetime) -> bool:
    """Take the mark of one account's credential away."""
    return account.id is not None and bool(_clear_marks(tx, [account.id], now))


def accept(tx: Transaction, account: Account, now: datetime) -> None:
    """Note that an account's provider says its key is good."""
    if account.id is not None:
        tx.credentials.accept_credential(account.id, now)


def _clear_marks(tx: Transaction, ids: Sequence[CredentialId], now: datetime) -> int:
    return len(tx.credentials.move_credentials(CredentialMove.CLEAR, ids, "", now))


def list_keys(tx: Transaction, searches: Iterable[KeySearch]) -> list[KnownKey]:
    """Every key there is, provider by provider, in the order in which they are tried."""
    keys_by_provider = {around.provider: around.keys for around in searches}
    rows = tx.credentials.list_credentials()
    stored = {credential.provider for credential in stored_credentials(rows)}
    providers = sorted({*keys_by_provider, *stored})
    return [
        known
        for provider in providers
        for known in _list_provider_keys(
            tx,
            [row for row in rows if row.provider == provider],
            keys_by_provider.get(provider, ()),
        )
    ]


def stored_credentials(rows: Iterable[Credential]) -> list[Credential]:
    """Those of them that are kept in the ledger."""
    return [row for row in rows if row.source is KeySource.STORED]


def row_of_key(rows: Iterable[Credential], found: FoundKey) -> Credential | None:
    """What the ledger knows of a key that was found outside it."""
    wanted = (found.source, found.name, found.digest)
    return next((row for row in rows if (row.source, row.name, row.digest) == wanted), None)


def _list_provider_keys(
    tx: Transaction, rows: Sequence[Credential], found: Sequence[FoundKey]
) -> Iterator[KnownKey]:
    for row in stored_credentials(rows):
        yield _known_key(tx, row, row.marked_at or row.created_at)
    for key in found:
        seen = row_of_key(rows, key)
        if seen is not None:
            yield _known_key(tx, seen, seen.marked_at)
        elif key.name != DEFAULT_CREDENTIALS:  # which may not even be there
            state, tail = CREDENTIAL.start, key.key.tail
            yield KnownKey(key.provider, key.name, key.source, tail, state, "", None)


def _known_key(tx: Transaction, row: Credential, since: datetime | None) -> KnownKey:
    tested = row.accepted_at is not None or tx.credentials.has_answers(row.id)
    known = (row.provider, row.name, row.source, row.tail, row.state, row.reason, since)
    return KnownKey(*known, tested, row.person)


def _nothing_to_remove(provider: str, name: str | None, person: str) -> str:
    if name in variables_of(provider) and not person:
        return f"{name} is in the environment, not in the ledger; unset it there"
    called = f" called {name}" if name else ""
    whose = f" of {person}" if person else ""
    return f"{provider} has no stored key{called}{whose}; `quire keys list` shows which there are"
