"""Access tokens: made, listed, revoked, and recognised when somebody comes with one."""

import hashlib
import hmac
import re
import secrets
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.domain.access import AccessRole, AccessToken
from quire.domain.errors import NotFound, UsageError
from quire.engine.context import EngineContext

PREFIX = "qt_"  # so that a token is recognised where it should not be
BYTES = 32  # of chance in one
NOTED_AFTER = timedelta(minutes=1)  # how exactly it is known when one was last used
LONGEST = timedelta(days=3650)
_TOKEN = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_LENGTH = re.compile(r"([0-9]{1,4})([hdw])")


class NewToken(NamedTuple):
    """A token that is shown this once."""

    token: str
    kept: AccessToken


class AccessTokens:
    """Who may ask a server about this workspace."""

    def __init__(self, context: EngineContext) -> None:
        """Keep tokens in the context's ledger."""
        self._context = context

    def create(self, name: str, role: str, expires: str | None = None) -> NewToken:
        """Make a token for somebody, for so long: 12h, 30d, 8w; by default until it is revoked."""
        name = name.strip()
        if not 0 < len(name) <= 100 or not name.isprintable():
            raise UsageError("a token has the name of who uses it, of 1 to 100 characters")
        now = self._context.runtime.now()
        token = PREFIX + secrets.token_urlsafe(BYTES)
        kept = AccessToken(
            id=0,
            workspace=self._context.ledger.workspace,
            name=name,
            role=parse_role(role).word,
            digest=_digest(token),
            tail=token[-4:],
            created_at=now,
            expires_at=None if expires is None else now + parse_length(expires),
            revoked_at=None,
            last_used_at=None,
        )
        with self._context.ledger.transaction() as tx:
            number = tx.access.add_access_token(kept)
        return NewToken(token, kept._replace(id=number))

    def list(self) -> list[AccessToken]:
        """Every token of the workspace, also those that let nobody in any more."""
        with self._context.ledger.snapshot() as tx:
            return tx.access.list_access_tokens()

    def revoke(self, number: int) -> AccessToken:
        """Let nobody in with a token any more, from now on."""
        now = self._context.runtime.now()
        with self._context.ledger.transaction() as tx:
            known = {token.id: token for token in tx.access.list_access_tokens()}
            if number not in known:
                raise NotFound(f"there is no token {number}; `quire token list` shows them")
            tx.access.revoke_access_token(number, now)
        return known[number]

    def count_usable(self) -> int:
        """How many tokens let somebody in, in all workspaces."""
        with self._context.ledger.snapshot() as tx:
            return tx.access.count_usable_tokens(self._context.runtime.now())

    def workspaces_in_use(self) -> tuple[str, ...]:
        """The workspaces that a token lets somebody into, and those with a running run."""
        with self._context.ledger.snapshot() as tx:
            return tuple(tx.access.workspaces_in_use(self._context.runtime.now()))

    def find(self, token: str) -> AccessToken | None:
        """The token that somebody came with, of whichever workspace, if it lets them in."""
        if not _TOKEN.fullmatch(token):
            return None
        digest, now = _digest(token), self._context.runtime.now()
        with self._context.ledger.snapshot() as tx:
            found = tx.access.access_token_by_digest(digest)
        if found is None or not hmac.compare_digest(found.digest, digest):
            return None
        if not found.is_usable(now):
            return None
        self._note_use(found, now)
        return found

    def _note_use(self, token: AccessToken, now: datetime) -> None:
        if token.last_used_at is None or now - token.last_used_at > NOTED_AFTER:
            with self._context.ledger.transaction() as tx:
                tx.access.note_token_use(token.id, now)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def parse_role(word: str) -> AccessRole:
    """A role by its name."""
    known = {role.word: role for role in AccessRole}
    if word not in known:
        raise UsageError(f"there is no role {word!r}; roles: {', '.join(known)}")
    return known[word]


def parse_length(text: str) -> timedelta:
    """A time such as 12h, 30d or 8w."""
    found = _LENGTH.fullmatch(text.strip().lower())
    length = timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else timedelta()
    if not timedelta() < length <= LONGEST:
        raise UsageError(f"{text!r} is no time that a token may live", "such as 12h, 30d or 8w")
    return length
