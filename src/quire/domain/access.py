"""Access: roles, and tokens that people and programs sign in with."""

from datetime import datetime
from enum import IntEnum
from typing import NamedTuple


class AccessRole(IntEnum):
    """What somebody may do; each may do what those before it may."""

    VIEWER = 1  # look at everything but keys
    REVIEWER = 2  # decide about results
    OPERATOR = 3  # bring documents in, start and steer runs
    ADMIN = 4  # keys, tokens, wallets, policy

    @property
    def word(self) -> str:
        """As it is stored and said."""
        return self.name.lower()


class AccessToken(NamedTuple):
    """A token as the ledger keeps it: its digest, never itself."""

    id: int
    workspace: str
    name: str  # of whoever has it
    role: str
    digest: bytes
    tail: str  # its last characters
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    def is_usable(self, now: datetime) -> bool:
        """Whether it lets somebody in."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)

    def as_json(self) -> dict[str, object]:
        """As people may see it."""
        return {name: value for name, value in self._asdict().items() if name != "digest"}


class PolicyChange(NamedTuple):
    """What was decided about the runs of a workspace, by whom, and when."""

    id: int
    name: str
    value: object  # None: it is left to what comes after the workspace
    who: str
    at: datetime
