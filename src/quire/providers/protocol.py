"""What a vendor's file offers: a wire format and a batch API, over one shared HTTP client."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from quire.domain.accounts import Account, Rates
from quire.domain.batches import (
    BatchMatch,
    BatchQuery,
    BatchRow,
    BatchRules,
    BatchStatus,
    Submission,
)
from quire.domain.data import JsonObject
from quire.domain.errors import ProviderError
from quire.domain.requests import Call, Reply


class RawResponse(NamedTuple):
    """What a call brought back."""

    raw: bytes  # the body, as it came
    rates: Rates | None = None  # what its headers said of our limits
    problem: str = ""  # why these bytes may be no answer, where the connection could tell


class HttpRequest(NamedTuple):
    """One call as it goes over the wire."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    start_hint: str = ""  # what to do where nothing listens, if more is known than the address
    method: str = "POST"


class HttpResponse(NamedTuple):
    """What came back over the wire; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    problem: str = ""  # why the body is as it came, and not what its headers say
    came_at: datetime | None = None  # by our clock, if there is one


class WireFormat(Protocol):
    """One vendor's wire format, pure."""

    name: str  # the part of a model's name before the slash
    decoder_version: int  # raised when `decode` learns to read more

    def encode(self, call: Call, account: Account) -> HttpRequest:
        """Put a call into the vendor's words."""

    def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
        """Read a successful body, or raise Undecodable; `body` is the same, if parsed already."""

    def classify(self, response: HttpResponse) -> ProviderError:
        """Say what can be done about a response that is not a success."""

    def rates(self, headers: Mapping[str, str]) -> Rates | None:
        """Read what the headers say of our limits; None where they say nothing."""

    def error_in_success(self, raw: bytes) -> HttpResponse | None:
        """A body that came with a 200 and is an error, as the error that it is; else None."""


class Provider(Protocol):
    """Whoever carries calls: a vendor behind HTTP, or the simulated model in this process."""

    name: str
    decoder_version: int

    async def send(self, call: Call, account: Account) -> RawResponse:
        """Carry one call to the vendor and return what came back, or raise ProviderError."""

    def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
        """Read a raw body, or raise Undecodable; `body` is the same, where it is parsed already."""

    async def close(self) -> None:
        """Let go of connections."""


Upload = Sequence[bytes | Path]  # pieces of a body, sent one after the other; files are streamed
Classify = Callable[[HttpResponse], ProviderError]


class HttpClient(Protocol):
    """The way out for whoever needs more than one call: connections that others share."""

    async def exchange(self, request: HttpRequest, upload: Upload = ()) -> HttpResponse:
        """Make one exchange and return it, whatever its status; raise where the network failed.

        Where `upload` is given it is the body, in the place of `request.body`.
        """

    def lines(self, request: HttpRequest, classify: Classify) -> AsyncIterator[bytes]:
        """Read a long answer line by line, in little memory; raise where it broke off."""


class BatchApi(Protocol):
    """One vendor's batches: no state, nothing sent twice, and every failure classified."""

    name: str
    rules: BatchRules

    def line(self, call: Call, account: Account, custom_id: str) -> bytes:
        """Put one call of a batch into the vendor's words."""

    async def upload(self, http: HttpClient, account: Account, submission: Submission) -> str:
        """Bring the calls to where `create` finds them; "" where they travel with it.

        Harmless to repeat; the reference may be new each time.
        """

    async def create(
        self, http: HttpClient, account: Account, submission: Submission, input_ref: str
    ) -> str:
        """Make the batch, asking once, and return its reference.

        Remedy.LOST says that nobody knows whether it was made; any other, that it was not.
        """

    async def find(self, http: HttpClient, account: Account, query: BatchQuery) -> BatchMatch:
        """Look for a batch that may have been made."""

    async def poll(self, http: HttpClient, account: Account, ref: str) -> BatchStatus:
        """Ask how a batch stands."""

    def fetch(
        self, http: HttpClient, account: Account, ref: str, status: BatchStatus
    ) -> AsyncIterator[BatchRow]:
        """Read the rows of a batch that has ended, in any order, in little memory."""

    def row(self, line: bytes, account: Account) -> BatchRow:
        """Read one line of results, as `fetch` does.

        Lines that are not readable are kept: whoever mends this raises the `decoder_version` of
        the vendor, so that they are read again.
        """

    async def cancel(self, http: HttpClient, account: Account, ref: str) -> None:
        """Ask for a batch's end; that it has ended already is no error."""

    async def discard(self, http: HttpClient, account: Account, input_ref: str) -> None:
        """Delete what `upload` brought, so that no batch can be made of it any more."""
