"""Accounts: as whom and where calls go, and what is left of the rate limits of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, NewType, NoReturn

from quire.domain.models import Limits
from quire.domain.states import CredentialState

CredentialId = NewType("CredentialId", int)
MIN_HIDDEN_LENGTH = 4  # characters; a shorter key is part of ordinary words, and guards nothing


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

    def redact(self, text: str) -> str:
        """Take it out of somebody else's words: vendors repeat keys in their complaints."""
        return (
            text.replace(self._value, repr(self)) if len(self._value) >= MIN_HIDDEN_LENGTH else text
        )

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
    headers: Mapping[str, Secret] = field(default_factory=dict)  # that a gateway wants besides
    id: CredentialId | None = None  # its row in the ledger; None where no key is needed


class KeySource(StrEnum):
    """Where a key is kept."""

    STORED = "stored"  # in the ledger, encrypted
    FILE = "file"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What the ledger knows of one key: never the key itself, at most the key encrypted."""

    id: CredentialId
    provider: str
    name: str  # what its owner calls it; else the variable or the file that holds it
    source: KeySource
    tail: str  # its last four characters; of a short key none
    digest: bytes  # tells a changed key from the one that was here before
    state: CredentialState
    reason: str = ""  # why it is not valid
    marked_at: datetime | None = None  # since when
    accepted_at: datetime | None = None  # when its provider last said that it is good
    created_at: datetime
    sealed: bytes | None = field(default=None, repr=False)
    person: str = ""  # whose it is; empty: the workspace's

    @property
    def label(self) -> str:
        """What people call it, and what attempts remember."""
        return label_credential(self.source, self.name, self.tail, self.person)


def label_credential(source: KeySource, name: str, tail: str, person: str = "") -> str:
    """Name a key without showing it."""
    words = {KeySource.ENVIRONMENT: "env"}
    whose = f" of {person}" if person else ""
    return f"{words.get(source, source.value)} {name}{whose}" + (f" …{tail}" if tail else "")


class Rates(NamedTuple):
    """What the headers of a response said about our limits."""

    limits: Limits  # a minute
    left: Limits  # of them, now


KEYLESS_ACCOUNT = Account(
    provider="simulated", credential="", key=Secret("")
)  # whom nobody asks for a key


class Pool(NamedTuple):
    """Whose limits and whose prompt cache: a model, called with one credential."""

    model: str
    credential: int  # 0: no key was needed


class Level(NamedTuple):
    """What is left of each limit a minute, in thousandths, and when that was so."""

    at: int  # microseconds
    requests: int  # negative is a debt
    input: int
    output: int
    total: int


class Need(NamedTuple):
    """What calls take of each limit, as it is reckoned before they are answered."""

    requests: int
    input: int
    output: int

    @property
    def total(self) -> int:
        """Input and output together, which some providers limit."""
        return self.input + self.output
