"""Access: tokens by their digests, and what a workspace decided about its runs."""

import json
from datetime import datetime

from quire.domain.access import AccessToken, PolicyChange
from quire.domain.data import Json, stored_json
from quire.ledger.stored_values import from_micros, row_reader, to_micros
from quire.ledger.tables.table import Table

_to_token = row_reader(AccessToken)


class Access(Table):
    """The workspace's tokens and policy."""

    def add_access_token(self, token: AccessToken) -> int:
        """Keep a token; returns its number."""
        expires = None if token.expires_at is None else to_micros(token.expires_at)
        return self._count(
            "add_access_token",
            name=token.name,
            role=token.role,
            digest=token.digest,
            tail=token.tail,
            now=to_micros(token.created_at),
            expires_at=expires,
        )

    def access_token_by_digest(self, digest: bytes) -> AccessToken | None:
        """The token with this digest, of whichever workspace."""
        rows = self._connection.run("access_token_by_digest", digest=digest)
        return _to_token(rows[0])._replace(digest=bytes(rows[0][4])) if rows else None

    def list_access_tokens(self) -> list[AccessToken]:
        """Every token of the workspace, the oldest first."""
        return [_to_token(row) for row in self._run("list_access_tokens")]

    def count_usable_tokens(self, now: datetime) -> int:
        """How many let somebody in, in all workspaces."""
        rows = self._connection.run("count_usable_tokens", now=to_micros(now))
        return int(rows[0][0])

    def workspaces_in_use(self, now: datetime) -> list[str]:
        """Those that a token lets somebody into, and those with a running run."""
        rows = self._connection.run("workspaces_in_use", now=to_micros(now))
        return sorted(row[0] for row in rows)

    def revoke_access_token(self, number: int, now: datetime) -> bool:
        """Let nobody in with a token any more; false if nobody was."""
        return self._change("revoke_access_token", id=number, now=to_micros(now)) > 0

    def note_token_use(self, number: int, now: datetime) -> None:
        """Remember when somebody came in with it."""
        self._connection.change("note_token_use", id=number, now=to_micros(now))

    def add_policy_change(self, name: str, value: Json, who: str, now: datetime) -> None:
        """Write a decision down; None leaves it to what comes after the workspace."""
        stored = None if value is None else json.dumps(value)
        self._change("add_policy_change", name=name, value=stored, who=who, now=to_micros(now))

    def policy_changes_before(self, before: int, limit: int) -> list[PolicyChange]:
        """What was decided before a decision, the newest first."""
        rows = self._run("policy_changes_before", before=before, limit=limit)
        return [
            PolicyChange(row[0], row[1], stored_json(row[2]), row[3], from_micros(row[4]))
            for row in rows
        ]
