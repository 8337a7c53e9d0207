"""Batch requests: asking vendors about batches, reading their rows, searching their lists.

The idea. An order for a batch is the one request that must not be sent twice: each one that
arrives is paid. So `create` asks once, and where nobody can say what became of it (a broken
connection, a 5xx, a yes without a name) it raises LOST. Then the batch is looked for before
anything is sent again: by the nonce that the order carried, by the file of calls that it named,
or, where nothing on a batch is ours, by its size and the custom ids of its rows. Every other
request costs nothing and may be repeated, so that a broken connection there is RETRY.

What could go wrong. "Not found" is proof only of a list read to its end. A listing may end early,
go round in circles, come in a form that nobody knows, lag behind, or be another project's,
because a key sees only what is its own (a 404 is no proof either). The vendor's clock may be
behind ours, so that a batch seems older than its order. And a submission that was given up as not
there may turn up later.

Why this way. `BatchSearch` keeps what was found apart from why that is not certain: one reason to
doubt, and the answer is "unsure", which waits for a person, never "not there", which would pay
twice. It looks further back where the vendor's date says that its clock is behind, never less
far; and it looks for the names of earlier submissions on the way.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import orjson

from quire.domain.accounts import Account
from quire.domain.batches import BatchMatch, BatchQuery, BatchRow, BatchStatus, RowEnd, Submission
from quire.domain.data import Json, JsonObject, plain_json
from quire.domain.errors import ProviderError, Remedy
from quire.providers.http import one_line, refusal, with_own_headers
from quire.providers.network_errors import host_of
from quire.providers.protocol import (
    Classify,
    HttpClient,
    HttpRequest,
    HttpResponse,
    Upload,
    WireFormat,
)
from quire.providers.redaction import redact_answer
from quire.providers.vendors import VENDORS
from quire.providers.wire import mapping, parse, text

LONGEST_REFERENCE = 300

_UNKNOWN = "nobody knows whether the batch was made"
_ENDED_ALREADY = (400, 409, 422)  # what vendors say to whoever cancels what has ended
_ENVELOPE = {  # what a row may hold besides what came of its call
    *("id", "custom_id", "key", "metadata", "object", "type"),
    *("request", "request_id", "status_code", "processed_time"),
}
_REMEDIES = {Remedy.LOST: Remedy.RETRY, Remedy.SPLIT: Remedy.FIX_REQUEST}  # of what is no call


def is_success(response: HttpResponse) -> bool:
    """Whether a response is a success."""
    return 200 <= response.status < 300


_NO_SUCH_PLACE = (404, 405, 501)  # what gateways say that forward calls and nothing else


class ApiCaller(NamedTuple):
    """Whoever asks a vendor about files and batches: over which connections, and as whom."""

    http: HttpClient
    classify: Classify
    account: Account

    async def ask(
        self,
        request: HttpRequest,
        upload: Upload = (),
        missing: str = "",
        is_fine: Callable[[HttpResponse], bool] = is_success,
    ) -> HttpResponse:
        """Ask what may be asked again: a broken connection is RETRY, and nothing is LOST.

        `missing` names what a 404 says is not there, such as "batch batch_1"; see `refusal_of`.
        """
        try:
            response = await self.http.exchange(self._add_headers(request), upload)
        except ProviderError as error:
            failure = as_idempotent_failure(error)
        else:
            if is_fine(response):
                return response._replace(body=redact_answer(response.body, self.account))
            failure = self.refusal_of(request, missing)(response)
        raise failure

    async def ask_json(
        self, request: HttpRequest, upload: Upload = (), missing: str = ""
    ) -> JsonObject:
        """Ask what may be asked again, for a JSON object; anything else is RETRY."""
        return (await self.ask_json_dated(request, upload, missing))[0]

    async def ask_json_dated(
        self, request: HttpRequest, upload: Upload = (), missing: str = ""
    ) -> tuple[JsonObject, str]:
        """Ask for a JSON object, and when it was said, by the clock of whoever answers."""
        response = await self.ask(request, upload, missing)
        body = parse(response.body)
        if not isinstance(body, dict):
            raise ProviderError(
                f"{host_of(request.url)} answered {response.status}, but with no JSON object;"
                " check the base URL, and what stands between here and there",
                remedy=Remedy.RETRY,
            )
        return body, response.headers.get("date", "")

    async def create(self, request: HttpRequest, name: str, upload: Upload = ()) -> str:
        """Make a batch, asking once, and return the reference that the answer has under a name.

        LOST where it may have been made: the connection broke, time ran out, the server failed, or
        it said yes in words that hold no reference. Any other remedy says that it was not made.
        """
        try:
            response = await self.http.exchange(self._add_headers(request), upload)
        except ProviderError as error:
            failure = unknown_outcome(str(error)) if error.remedy is Remedy.LOST else error
        else:
            if is_success(response):
                body = mapping(parse(redact_answer(response.body, self.account)))
                if found := reference(body.get(name)):
                    return found
                place = host_of(request.url)
                failure = unknown_outcome(f"{place} answered {response.status} without naming it")
            else:
                failure = self.refusal_of(request)(response)
                if response.status >= 500 or failure.remedy in (Remedy.RETRY, Remedy.LOST):
                    failure = unknown_outcome(str(failure))
        raise failure

    async def cancel(
        self, request: HttpRequest, poll: Callable[[], Awaitable[BatchStatus]], missing: str = ""
    ) -> None:
        """Ask for a batch's end; a refusal is none where `poll` shows that the end came already."""

        def is_fine(response: HttpResponse) -> bool:
            return is_success(response) or response.status in _ENDED_ALREADY

        response = await self.ask(request, (), missing, is_fine)
        if not is_success(response):
            status = await poll()
            if status.end is None and not status.cancelling:
                raise self.refusal_of(request, missing)(response)

    async def delete(self, request: HttpRequest, *marks: bytes) -> None:
        """Delete something; that it is gone already, by status or by a mark, is no error."""

        def is_fine(response: HttpResponse) -> bool:
            gone = response.status in (404, 410) or any(mark in response.body for mark in marks)
            return is_success(response) or gone

        await self.ask(request, is_fine=is_fine)

    async def lines(self, request: HttpRequest, missing: str = "") -> AsyncGenerator[bytes]:
        """Read a file of results, blank lines left out and without the key; close it when done.

        Whoever stops early must close it: `async with aclosing(caller.lines(…)) as found`.
        """
        found = self.http.lines(self._add_headers(request), self.refusal_of(request, missing))
        try:
            async for line in found:
                if line and not line.isspace():
                    yield redact_answer(line, self.account)
        finally:
            if isinstance(found, AsyncGenerator):
                await found.aclose()

    def _add_headers(self, request: HttpRequest) -> HttpRequest:
        return with_own_headers(request, self.account)

    def refusal_of(self, request: HttpRequest, missing: str = "") -> Classify:
        """How to put an answer that is no success: one line, without the key."""

        def classify_refusal(response: HttpResponse) -> ProviderError:
            if missing and response.status == 404:
                return not_found_error(self.account.provider, missing)
            place = host_of(request.url)
            error = as_idempotent_failure(refusal(self.classify, response, self.account, place))
            error.no_batches = response.status in _NO_SUCH_PLACE
            return error

        return classify_refusal


def unknown_outcome(why: str) -> ProviderError:
    """The failure of a `create` whose outcome nobody knows."""
    return ProviderError(one_line(f"{_UNKNOWN}: {why}"), remedy=Remedy.LOST)


def as_idempotent_failure(error: ProviderError) -> ProviderError:
    """The same failure of something that costs nothing and may be asked again."""
    remedy = _REMEDIES.get(error.remedy, error.remedy)
    if remedy is error.remedy:
        return error
    return ProviderError(
        str(error),
        remedy=remedy,
        retry_after=error.retry_after,
        bad_key=error.bad_key,
        spent=error.spent,
    )


def not_found_error(vendor: str, what: str) -> ProviderError:
    """What a 404 says: a key sees only what is its own, so that it is no proof of absence."""
    return ProviderError(
        one_line(
            f"{vendor} 404: {what} is not found with this key, which does not prove that it is"
            " gone; use the key, and the project, that it was made with"
        ),
        remedy=Remedy.FIX_ACCOUNT,
    )


def row_error(
    classify: Classify, account: Account, status: int, body: bytes, place: str = "a batch"
) -> ProviderError:
    """The failure of one row of a batch, as that of a direct call with this status and body."""
    return refusal(classify, HttpResponse(status, {}, body), account, place)


def unreadable_row(line: bytes) -> BatchRow:
    """A line that names no call: somebody may have paid for it."""
    return BatchRow("", RowEnd.UNREADABLE, line)


def row_custom_id(row: Json) -> str:
    """The call that a row is about, wherever vendors say that."""
    about = mapping(row)
    return next(
        (text(item) for item in map(about.get, ("custom_id", "key")) if text(item)),
        text(mapping(about.get("metadata")).get("key")),
    )


def answered_row(name: str, raw: bytes, body: JsonObject, line: bytes) -> BatchRow:
    """A row with an answer; `raw` is empty where nothing can write it, and then the line stays."""
    if not raw:
        return BatchRow(name, RowEnd.UNREADABLE, line)
    return BatchRow(name, RowEnd.ANSWERED, raw, body=body)


def unusable_row(vendor: str, name: str, row: JsonObject, line: bytes) -> BatchRow:
    """A row that names a call and tells nothing that we know; it is kept if it says anything."""
    if _says_something(row):
        return BatchRow(name, RowEnd.UNREADABLE, line)
    message = f"{vendor}: the batch's row for this call holds neither an answer nor an error"
    return BatchRow(name, RowEnd.ERRORED, error=ProviderError(message, remedy=Remedy.LOST))


def _says_something(row: JsonObject) -> bool:
    """Whether there are words in a row besides names and what was asked."""
    left: list[Json] = [row]
    while left:  # without recursion: a row may be as deep as it likes
        item = left.pop()
        if isinstance(item, dict):
            left += [value for name, value in item.items() if name not in _ENVELOPE]
        elif isinstance(item, list):
            left += item
        elif isinstance(item, str) and item:
            return True
    return False


def reference(value: Json) -> str:
    """A name that a vendor gave to something of ours; "" where it cannot be one."""
    if not isinstance(value, str) or len(value) > LONGEST_REFERENCE or not value.isprintable():
        return ""
    return value.strip()


def read_counts(found: JsonObject) -> dict[str, int]:
    """The numbers of an object of numbers; whatever else it holds is left out."""
    numbers = ((name, value) for name, value in found.items() if type(value) is int)
    return {name: value for name, value in numbers if abs(value) < 10**12}


def dump_json(value: Json) -> bytes:
    """A part of somebody's JSON as JSON again, however deep; b"" where nothing can write it."""
    try:
        return orjson.dumps(value)
    except TypeError:  # it reads deeper than it writes
        pass
    try:
        return plain_json(value).encode()
    except (TypeError, ValueError, RecursionError):
        return b""


MOST_PAGES = 500
CLOCK_SKEW = timedelta(minutes=10)  # of the vendor's clock and ours, unless it says so


class BatchSearch:
    """One search through a vendor's listing: what was found, and why that is not certain."""

    def __init__(self, vendor: str, query: BatchQuery, most: int = MOST_PAGES) -> None:
        """Begin before the first page."""
        self._vendor = vendor
        self._query = query
        self._most = most
        self._seen: set[str] = set()  # pages, by what leads to them
        self._match = BatchMatch()
        self.oldest = query.since - CLOCK_SKEW  # by the vendor's clock

    def set_vendor_clock(self, said: str) -> None:
        """Learn the vendor's time when it was asked; where its clock is behind, look further back.

        Never less far: a date may be wrong, and whoever asked may have waited for the answer.
        """
        asked, since = self._query.asked_at, self._query.since
        if asked is None:
            return
        try:
            behind = asked - parsedate_to_datetime(said[:60])
        except (ValueError, TypeError, IndexError, OverflowError):  # no date, or without a zone
            return
        try:
            self.oldest = min(self.oldest, since - behind - CLOCK_SKEW)
        except OverflowError:
            self.oldest = datetime.min.replace(tzinfo=UTC)

    def is_recent(self, made: Json) -> bool:
        """Whether a batch that was made then, as the vendor writes it, may be the one sought."""
        try:
            return datetime.fromisoformat(made if isinstance(made, str) else "") >= self.oldest
        except (ValueError, TypeError, OverflowError):  # no date, or none with a zone: it may be
            return True

    def consider(self, name: Json, ref: Json, *, ours: bool = False) -> None:
        """Look at one batch of a page: by our name on it, or `ours` for another reason."""
        ours = ours or name == self._query.nonce
        if not ours and not (isinstance(name, str) and name in self._query.retired):
            return
        known = reference(ref)
        if not known:
            self.doubt("has a batch of ours without its own name")
        elif known in self._query.known:
            return
        elif not ours:
            earlier = dict.fromkeys((*self._match.earlier, known))
            self._match = self._match._replace(earlier=tuple(earlier))
        elif not self._match.ref:
            self._match = self._match._replace(ref=known)

    @property
    def is_over(self) -> bool:
        """Whether all that can be there was found."""
        return bool(self._match.ref) and not self._query.retired

    def turn_page(self, page: str) -> bool:
        """Go on to a page, by what the vendor calls it; false where that leads nowhere.

        A page that comes again would come again for ever.
        """
        if not page:
            self.doubt("cannot be read to its end")
        elif page in self._seen:
            self.doubt(f"goes round in circles: page {len(self._seen) + 2} is an old one")
        elif len(self._seen) + 1 >= self._most:
            self.doubt(f"does not end: {self._most} pages were read")
        else:
            self._seen.add(page)
            return True
        return False

    def doubt(self, why: str) -> None:
        """Say why what is not in the list may be there all the same."""
        if not self._match.unsure:
            unsure = f"{self._vendor}'s list of batches {why}"
            self._match = self._match._replace(unsure=unsure)

    def mark_unreadable(self) -> BatchMatch:
        """A page that is no list is not the same as an empty one."""
        self.doubt("comes in a form that cannot be read")
        return self.match

    @property
    def match(self) -> BatchMatch:
        """What was found; where it is the one that was sought, no doubt is left."""
        return self._match._replace(unsure="") if self._match.ref else self._match


class HttpBatches(ABC):
    """What the batches of every vendor do alike."""

    label = "batch {}"  # what a batch is called where it is not found

    def __init__(self, vendor: WireFormat) -> None:
        """Speak as in direct calls, within the limits of the vendor's row."""
        rules = VENDORS[vendor.name].batch_rules
        assert rules is not None, f"{vendor.name} has no rules for batches"
        self.name, self.rules, self._vendor = vendor.name, rules, vendor

    async def upload(self, http: HttpClient, account: Account, submission: Submission) -> str:
        """Bring nothing anywhere: the calls travel with the order."""
        return ""

    async def discard(self, http: HttpClient, account: Account, input_ref: str) -> None:
        """Delete nothing: nothing was brought."""
        return

    @abstractmethod
    async def poll(self, http: HttpClient, account: Account, ref: str) -> BatchStatus:
        """Ask how a batch stands."""

    async def cancel(self, http: HttpClient, account: Account, ref: str) -> None:
        """Ask for a batch's end; what it has answered by then is kept, and paid for."""
        request, missing = self._cancel_request(account, ref), self.label.format(ref)
        caller = self._caller(http, account)
        await caller.cancel(request, lambda: self.poll(http, account, ref), missing)

    def row(self, line: bytes, account: Account) -> BatchRow:
        """Read one line of results; whatever goes wrong in that, the line is kept."""
        try:
            return self._read_row(line, account)
        except Exception:  # noqa: BLE001 - a bug in a reader must not hold up a batch for ever
            return BatchRow(row_custom_id(parse(line)), RowEnd.UNREADABLE, line)

    @abstractmethod
    def _read_row(self, line: bytes, account: Account) -> BatchRow: ...

    @abstractmethod
    def _cancel_request(self, account: Account, ref: str) -> HttpRequest: ...

    def _classify(self, response: HttpResponse) -> ProviderError:
        return self._vendor.classify(response)

    def _caller(self, http: HttpClient, account: Account) -> ApiCaller:
        return ApiCaller(http, self._classify, account)
