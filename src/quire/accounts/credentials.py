"""Credentials: keep keys, list them, mark those that were refused, take the marks away."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from quire.accounts.finding import DEFAULT_CREDENTIALS, FoundKey, Surroundings
from quire.accounts.sealing import Box, Owner, digest_of
from quire.accounts.vendors import checked_key, variables_of
from quire.domain.accounts import Account, Credential, CredentialId, KeySource, Secret
from quire.domain.errors import Conflict, NotFound, UsageError
from quire.domain.states import CREDENTIAL
from quire.ledger.ledger import Transaction
from quire.ledger.tables.credentials import NewCredential

LONGEST_REASON = 300  # characters

_MARKS = {CREDENTIAL.targets[move]: move for move in ("reject", "exhaust")}


class Known(NamedTuple):
    """A key for somebody to look at."""

    provider: str
    name: str
    source: KeySource
    tail: str
    state: str
    reason: str
    since: datetime | None  # marked, else stored; None: found outside, and never marked


def check_box(tx: Transaction, box: Box) -> None:
    """Refuse a secret key other than the one that the keys here are encrypted with."""
    for each in stored(tx.credentials.all())[:1]:
        box.open(each.sealed or b"", Owner(tx.credentials.workspace, each.provider, each.name))


def add(
    tx: Transaction, box: Box, provider: str, name: str, key: Secret, now: datetime
) -> CredentialId:
    """Keep a key, encrypted; one that was marked or removed before starts afresh."""
    digest = digest_of(checked_key(key.reveal(), "the key"))
    for each in stored(tx.credentials.of(provider)):
        if each.digest == digest:
            raise Conflict(f"that key is kept already, as {provider} {each.name}")
        if each.name == name:
            raise Conflict(
                f"{provider} has a key called {name} already; give this one another name with"
                f" --name, or `quire keys remove {provider} {name}` first"
            )
    sealed = box.seal(key, Owner(tx.credentials.workspace, provider, name))
    new = NewCredential(provider, name, KeySource.STORED, key.tail, digest, sealed)
    credential = tx.credentials.add(new, now)
    if credential is None:
        raise Conflict(f"that key was kept just now, as {provider} {name}")
    twins = [each.id for each in tx.credentials.of(provider) if each.digest == digest]
    tx.credentials.move("clear", twins, "", now)
    return credential


def remove(tx: Transaction, provider: str, name: str | None, now: datetime) -> Credential:
    """Erase a stored key; without a name, the only one."""
    kept = stored(tx.credentials.of(provider))
    if name is None and len(kept) > 1:
        names = ", ".join(each.name for each in kept)
        raise UsageError(f"{provider} has several stored keys; which one of {names}?")
    found = [each for each in kept if name in (None, each.name)]
    if not found:
        raise NotFound(_nothing_to_remove(provider, name))
    tx.credentials.remove(found[0].id, now)
    return found[0]


def mark(tx: Transaction, account: Account, state: str, reason: str, now: datetime) -> bool:
    """Set a credential aside as `invalid` or `spent`; false if it was set aside already."""
    if account.id is None:
        return False
    said = " ".join(account.key.hide_in(reason).split())[:LONGEST_REASON]
    moved = tx.credentials.move(_MARKS[state], [account.id], said or "no reason was given", now)
    return bool(moved)


def clear(tx: Transaction, now: datetime, provider: str | None = None) -> int:
    """Take marks away, so that the keys are tried again; returns how many had one."""
    known = tx.credentials.all() if provider is None else tx.credentials.of(provider)
    return len(tx.credentials.move("clear", [each.id for each in known], "", now))


def clear_one(tx: Transaction, account: Account, now: datetime) -> bool:
    """Take the mark of one account's credential away."""
    return account.id is not None and bool(tx.credentials.move("clear", [account.id], "", now))


def listing(tx: Transaction, arounds: Iterable[Surroundings]) -> list[Known]:
    """Every key there is, provider by provider, in the order in which they are tried."""
    told = {each.provider: each.keys for each in arounds}
    rows = tx.credentials.all()
    providers = sorted({*told, *(each.provider for each in stored(rows))})
    return [
        known
        for provider in providers
        for known in _listed(
            [each for each in rows if each.provider == provider], told.get(provider, ())
        )
    ]


def stored(rows: Iterable[Credential]) -> list[Credential]:
    """Those of them that are kept in the ledger."""
    return [each for each in rows if each.source is KeySource.STORED]


def row_of(rows: Iterable[Credential], found: FoundKey) -> Credential | None:
    """What the ledger knows of a key that was found outside it."""
    wanted = (found.source, found.name, found.digest)
    return next((each for each in rows if (each.source, each.name, each.digest) == wanted), None)


def _listed(rows: Sequence[Credential], found: Sequence[FoundKey]) -> Iterator[Known]:
    for row in stored(rows):
        yield _known(row, row.marked_at or row.created_at)
    for key in found:
        seen = row_of(rows, key)
        if seen is not None:
            yield _known(seen, seen.marked_at)
        elif key.name != DEFAULT_CREDENTIALS:  # which may not even be there
            state, tail = CREDENTIAL.start, key.key.tail
            yield Known(key.provider, key.name, key.source, tail, state, "", None)


def _known(row: Credential, since: datetime | None) -> Known:
    return Known(row.provider, row.name, row.source, row.tail, row.state, row.reason, since)


def _nothing_to_remove(provider: str, name: str | None) -> str:
    if name in variables_of(provider):
        return f"{name} is in the environment, not in the ledger; unset it there"
    called = f" called {name}" if name else ""
    return f"{provider} has no stored key{called}; `quire keys list` shows which there are"
