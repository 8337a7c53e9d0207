"""Accounts: as whom and where calls go, and what a provider says is left to us."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from quire.domain.models import Limits


class Secret:
    """A key that shows itself to nobody who does not ask for it by name."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        """Hide a value."""
        self._value = value

    def __repr__(self) -> str:
        """Show the last four characters at most, and of a short secret none."""
        return f"…{self.tail}"

    def __eq__(self, other: object) -> bool:
        """Compare what is hidden."""
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        """Equal secrets hash alike."""
        return hash(self._value)

    def __bool__(self) -> bool:
        """Whether there is anything to hide."""
        return bool(self._value)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: a pickle is a copy that nobody guards."""
        raise TypeError("a secret is not written anywhere")

    @property
    def tail(self) -> str:
        """What people may see of it."""
        return self._value[-4:] if len(self._value) >= 12 else ""

    def reveal(self) -> str:
        """The key itself, for the header of a call."""
        return self._value


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """As whom, and where, the calls to one provider go."""

    provider: str
    credential: str  # what attempts remember: where the key came from, never the key
    key: Secret
    base_url: str = ""  # "" = where the vendor is found
    options: Mapping[str, str] = field(default_factory=dict)  # of this vendor: project, location…


class Rates(NamedTuple):
    """What the headers of a response said about our limits."""

    limits: Limits  # a minute
    left: Limits  # of them, now
    reset: float | None = None  # seconds until all of it is there again


NOBODY = Account(provider="simulated", credential="", key=Secret(""))  # whom nobody asks for a key
