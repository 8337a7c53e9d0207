"""Credentials: the keys that calls go out with, encrypted, or only known by where they are."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.accounts import Credential, CredentialId, KeySource
from quire.domain.states import CREDENTIAL, CredentialMove, CredentialState
from quire.ledger.connection import Row
from quire.ledger.stored_values import from_micros, from_micros_or_none, storable_text, to_micros
from quire.ledger.tables.table import Table


class NewCredential(NamedTuple):
    """A key on its way into the ledger, without the key."""

    provider: str
    name: str
    source: KeySource
    tail: str
    digest: bytes
    sealed: bytes | None = None  # stored ones only
    person: str = ""  # whose; empty: the workspace's


class Credentials(Table):
    """The workspace's credentials."""

    def list_credentials(self) -> list[Credential]:
        """Every credential, the oldest first."""
        return [_to_credential(row) for row in self._run("list_credentials")]

    def credentials_of_provider(self, provider: str) -> list[Credential]:
        """Those of one provider, the oldest first."""
        return [
            _to_credential(row) for row in self._run("credentials_of_provider", provider=provider)
        ]

    def get_credential(self, credential: CredentialId) -> Credential | None:
        """One of them; also one that was removed, which has nothing sealed any more."""
        return self._one(_to_credential, "get_credential", id=credential)

    def add_credential(self, new: NewCredential, now: datetime) -> CredentialId | None:
        """Write down a key as it is first seen; None if it was here already."""
        rows = self._run(
            "add_credential",
            **new._asdict() | {"source": new.source.value},
            state=str(CREDENTIAL.start),
            now=to_micros(now),
        )
        return CredentialId(rows[0][0]) if rows else None

    def remove_credential(self, credential: CredentialId, now: datetime) -> bool:
        """Erase a stored key; that there was one is not forgotten."""
        removed = self._change("remove_credential", id=credential, now=to_micros(now))
        return removed > 0

    def move_credentials(
        self, name: CredentialMove, credentials: Sequence[CredentialId], reason: str, now: datetime
    ) -> list[CredentialId]:
        """Make a move with every credential that is where it starts; returns who moved."""
        if not credentials:
            return []
        marked = CREDENTIAL.targets[name] != CREDENTIAL.start
        moved = self._move(
            "move_credentials",
            CREDENTIAL,
            name,
            ids=credentials,
            reason=storable_text(reason) if marked else None,
            marked_at=to_micros(now) if marked else None,
        )
        return [CredentialId(row[0]) for _, rows in moved for row in rows]

    def accept_credential(self, credential: CredentialId, now: datetime) -> None:
        """Note that its provider says it is good."""
        self._change("accept_credential", id=credential, now=to_micros(now))

    def has_answers(self, credential: CredentialId) -> bool:
        """Whether some call with it was answered."""
        return bool(self._run("has_answers", id=credential))


def _to_credential(row: Row) -> Credential:
    return Credential(
        id=row[0],
        provider=row[1],
        name=row[2],
        source=KeySource(row[3]),
        tail=row[4],
        digest=bytes(row[5]),
        sealed=None if row[6] is None else bytes(row[6]),
        state=CredentialState(row[7]),
        reason=row[8] or "",
        marked_at=from_micros_or_none(row[9]),
        created_at=from_micros(row[10]),
        accepted_at=from_micros_or_none(row[11]),
        person=row[12],
    )
