"""What a vendor's file offers: encode a call, read a response, name an error. No loops."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from quire.domain.accounts import Account, Rates
from quire.domain.errors import ProviderError
from quire.domain.requests import Call, Reply


class Sent(NamedTuple):
    """What a call brought back."""

    raw: bytes  # the body, as it came
    rates: Rates | None = None  # what its headers said of our limits


class HttpRequest(NamedTuple):
    """One call as it goes over the wire."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    starting: str = ""  # what to do where nothing listens, if more is known than the address


class HttpResponse(NamedTuple):
    """What came back over the wire; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Vendor(Protocol):
    """One vendor's wire format, pure."""

    name: str  # the part of a model's name before the slash
    decoder_version: int  # raised when `decode` learns to read more

    def encode(self, call: Call, account: Account) -> HttpRequest:
        """Put a call into the vendor's words."""
        ...

    def decode(self, raw: bytes) -> Reply:
        """Read a successful body, or raise Undecodable."""
        ...

    def classify(self, response: HttpResponse) -> ProviderError:
        """Say what can be done about a response that is not a success."""
        ...

    def rates(self, headers: Mapping[str, str]) -> Rates | None:
        """Read what the headers say of our limits; None where they say nothing."""
        ...


class Provider(Protocol):
    """Whoever carries calls: a vendor behind HTTP, or the simulated model in this process."""

    name: str
    decoder_version: int

    async def send(self, call: Call, account: Account) -> Sent:
        """Carry one call to the vendor and return what came back, or raise ProviderError."""
        ...

    def decode(self, raw: bytes) -> Reply:
        """Read a raw body, or raise Undecodable."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
