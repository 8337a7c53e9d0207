"""What a vendor's endpoint offers the server: read a call, write an answer, word an error."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from quire.domain.data import Json, JsonObject
from quire.domain.models import Usage
from quire.rehearsal.asked import Asked, Problem, Said
from quire.rehearsal.limiting import Level
from quire.rehearsal.models import Known


class Incoming(NamedTuple):
    """A request as it came; header names are in lower case."""

    method: str
    path: str
    named: Mapping[str, str]  # what the path names
    query: Mapping[str, str]
    headers: Mapping[str, str]


class Wording(NamedTuple):
    """An error as the vendor sends it."""

    status: int
    body: JsonObject
    headers: Mapping[str, str] = {}


class Vendor(Protocol):
    """What all endpoints of a vendor share."""

    name: str
    providers: tuple[str, ...]  # whose models are asked for here

    def key(self, incoming: Incoming) -> str:
        """The key that a request brought; "" where there is none."""
        ...

    def error(self, problem: Problem, number: int) -> Wording:
        """Say what is wrong, in the vendor's form."""
        ...

    def headers(self, number: int, levels: Mapping[str, Level], now: float) -> dict[str, str]:
        """The headers of every answer; those about limits only where there are any."""
        ...

    def listing(self, models: list[Known]) -> JsonObject:
        """List models."""
        ...

    def described(self, model: Known) -> JsonObject:
        """Describe one model."""
        ...


class Dialect(Vendor, Protocol):
    """One endpoint that answers calls."""

    endpoint: str

    def read(self, body: Json, incoming: Incoming) -> Asked:
        """Understand a call, or raise Problem."""
        ...

    def check(self, asked: Asked, model: Known) -> Asked:
        """Refuse what this model does not take, and settle how its cache works."""
        ...

    def minimum(self, model: Known) -> int:
        """How many tokens a prefix must have to be kept."""
        ...

    def counted(self, usage: Usage) -> int:
        """How much of the input counts against the limits."""
        ...

    def write(self, said: Said) -> tuple[JsonObject, Usage]:
        """Write an answer, and say what of the usage is billed."""
        ...
