"""Asking vendors about batches: every failure classified, keyless, and honest about what is known.

Whoever asks for a batch's state asks again later at no cost, so that a broken connection there is
RETRY. Whoever makes one must not ask again: there, what nobody knows the end of is LOST.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable

import orjson

from quire.domain.accounts import Account
from quire.domain.batches import BatchRow, BatchStatus, RowEnd
from quire.domain.data import Json, JsonObject, plain_json
from quire.domain.errors import ProviderError, Remedy
from quire.providers.http import one_line, refusal, without_key
from quire.providers.network import where
from quire.providers.protocol import Classify, Door, HttpRequest, HttpResponse, Upload
from quire.providers.reading import mapping, parse, text

LONGEST_REFERENCE = 300

_UNKNOWN = "nobody knows whether the batch was made"
_ENDED_ALREADY = (400, 409, 422)  # what vendors say to whoever cancels what has ended
_ENVELOPE = {  # what a row may hold besides what came of its call
    *("id", "custom_id", "key", "metadata", "object", "type"),
    *("request", "request_id", "status_code", "processed_time"),
}
_REMEDIES = {Remedy.LOST: Remedy.RETRY, Remedy.SPLIT: Remedy.FIX_REQUEST}  # of what is no call


async def asking(
    door: Door,
    classify: Classify,
    account: Account,
    request: HttpRequest,
    upload: Upload = (),
    missing: str = "",
) -> HttpResponse:
    """Ask what may be asked again: a broken connection is RETRY, and nothing is LOST.

    `missing` names what a 404 says is not there, such as "batch batch_1"; see `not_found`.
    """
    try:
        response = await door.exchange(request, upload)
    except ProviderError as error:
        failure = harmless(error)
    else:
        if good(response):
            return response._replace(body=without_key(response.body, account))
        failure = refusing(classify, account, request, missing)(response)
    raise failure


async def ask_json(
    door: Door,
    classify: Classify,
    account: Account,
    request: HttpRequest,
    upload: Upload = (),
    missing: str = "",
) -> JsonObject:
    """Ask what may be asked again, for a JSON object; anything else is RETRY."""
    return (await ask_dated(door, classify, account, request, upload, missing))[0]


async def ask_dated(
    door: Door,
    classify: Classify,
    account: Account,
    request: HttpRequest,
    upload: Upload = (),
    missing: str = "",
) -> tuple[JsonObject, str]:
    """Ask for a JSON object, and when it was said, by the clock of whoever answers."""
    response = await asking(door, classify, account, request, upload, missing)
    body = parse(response.body)
    if not isinstance(body, dict):
        raise ProviderError(
            f"{where(request.url)} answered {response.status}, but with no JSON object;"
            " check the base URL, and what stands between here and there",
            remedy=Remedy.RETRY,
        )
    return body, response.headers.get("date", "")


async def creating(
    door: Door,
    classify: Classify,
    account: Account,
    request: HttpRequest,
    read: Callable[[JsonObject], Json],
    upload: Upload = (),
) -> str:
    """Make a batch, asking once, and return the reference that `read` finds in the answer.

    LOST where it may have been made: the connection broke, time ran out, the server failed, or
    it said yes in words that hold no reference. Any other remedy says that it was not made.
    """
    try:
        response = await door.exchange(request, upload)
    except ProviderError as error:
        failure = unknown(str(error)) if error.remedy is Remedy.LOST else error
    else:
        if good(response):
            body = parse(without_key(response.body, account))
            if found := reference(read(body) if isinstance(body, dict) else None):
                return found
            failure = unknown(f"{where(request.url)} answered {response.status} without naming it")
        else:
            failure = refusing(classify, account, request)(response)
            if response.status >= 500 or failure.remedy in (Remedy.RETRY, Remedy.LOST):
                failure = unknown(str(failure))
    raise failure


async def cancelling(
    door: Door,
    classify: Classify,
    account: Account,
    request: HttpRequest,
    poll: Callable[[], Awaitable[BatchStatus]],
    missing: str = "",
) -> None:
    """Ask for a batch's end; a refusal is none where `poll` shows that the end came already."""
    try:
        response = await door.exchange(request)
    except ProviderError as error:
        failure = harmless(error)
    else:
        if good(response):
            return
        failure = refusing(classify, account, request, missing)(response)
        if response.status in _ENDED_ALREADY:
            status = await poll()
            if status.end is not None or status.cancelling:
                return
    raise failure


def unknown(why: str) -> ProviderError:
    """The failure of a `create` whose outcome nobody knows."""
    return ProviderError(one_line(f"{_UNKNOWN}: {why}"), remedy=Remedy.LOST)


def harmless(error: ProviderError) -> ProviderError:
    """The same failure of something that costs nothing and may be asked again."""
    return _with(error, _REMEDIES.get(error.remedy, error.remedy))


def not_found(vendor: str, what: str) -> ProviderError:
    """What a 404 says: a key sees only what is its own, so that it is no proof of absence."""
    return ProviderError(
        one_line(
            f"{vendor} 404: {what} is not found with this key, which does not prove that it is"
            " gone; use the key, and the project, that it was made with"
        ),
        remedy=Remedy.FIX_ACCOUNT,
    )


def refusing(
    classify: Classify, account: Account, request: HttpRequest, missing: str = ""
) -> Classify:
    """How to put an answer that is no success: one line, without the key; for `Door.lines` too."""

    def refused(response: HttpResponse) -> ProviderError:
        if missing and response.status == 404:
            return not_found(account.provider, missing)
        error = refusal(classify, response, account, where(request.url))
        return _with(error, _REMEDIES.get(error.remedy, error.remedy))

    return refused


async def lines(
    door: Door, classify: Classify, account: Account, request: HttpRequest, missing: str = ""
) -> AsyncGenerator[bytes]:
    """Read a file of results, blank lines left out and without the key; close it when done.

    Whoever stops early must close it: `async with aclosing(lines(…)) as found`.
    """
    refused = refusing(classify, account, request, missing)
    found = door.lines(request, refused)
    try:
        async for line in found:
            if line and not line.isspace():
                yield without_key(line, account)
    finally:
        if isinstance(found, AsyncGenerator):
            await found.aclose()


def errored(
    classify: Classify, account: Account, status: int, body: bytes, place: str = "a batch"
) -> ProviderError:
    """The failure of one row of a batch, as that of a direct call with this status and body."""
    return refusal(classify, HttpResponse(status, {}, body), account, place)


def unreadable(line: bytes) -> BatchRow:
    """A line that names no call: somebody may have paid for it."""
    return BatchRow("", RowEnd.UNREADABLE, line)


def guarded(read: Callable[[], BatchRow], line: bytes) -> BatchRow:
    """Read one line of results; whatever goes wrong in that, the line is kept."""
    try:
        return read()
    except Exception:  # noqa: BLE001 - a bug in a reader must not hold up a batch for ever
        return BatchRow(named(parse(line)), RowEnd.UNREADABLE, line)


def named(row: Json) -> str:
    """The call that a row is about, wherever vendors say that."""
    about = mapping(row)
    return next(
        (text(each) for each in map(about.get, ("custom_id", "key")) if text(each)),
        text(mapping(about.get("metadata")).get("key")),
    )


def answer(name: str, raw: bytes, body: JsonObject, line: bytes) -> BatchRow:
    """A row with an answer; `raw` is empty where nothing can write it, and then the line stays."""
    if not raw:
        return BatchRow(name, RowEnd.UNREADABLE, line)
    return BatchRow(name, RowEnd.ANSWERED, raw, body=body)


def unusable(vendor: str, name: str, row: JsonObject, line: bytes) -> BatchRow:
    """A row that names a call and tells nothing that we know; it is kept if it says anything."""
    if _says_something(row):
        return BatchRow(name, RowEnd.UNREADABLE, line)
    message = f"{vendor}: the batch's row for this call holds neither an answer nor an error"
    return BatchRow(name, RowEnd.ERRORED, error=ProviderError(message, remedy=Remedy.LOST))


def _says_something(row: JsonObject) -> bool:
    """Whether there are words in a row besides names and what was asked."""
    left: list[Json] = [row]
    while left:  # without recursion: a row may be as deep as it likes
        each = left.pop()
        if isinstance(each, dict):
            left += [value for name, value in each.items() if name not in _ENVELOPE]
        elif isinstance(each, list):
            left += each
        elif isinstance(each, str) and each:
            return True
    return False


def reference(value: Json) -> str:
    """A name that a vendor gave to something of ours; "" where it cannot be one."""
    if not isinstance(value, str) or len(value) > LONGEST_REFERENCE or not value.isprintable():
        return ""
    return value.strip()


def counted(found: JsonObject) -> dict[str, int]:
    """The numbers of an object of numbers; whatever else it holds is left out."""
    return {
        name: value for name, value in found.items() if type(value) is int and abs(value) < 10**12
    }


def written(value: Json) -> bytes:
    """A part of somebody's JSON as JSON again, however deep; b"" where nothing can write it."""
    try:
        return orjson.dumps(value)
    except TypeError:  # it reads deeper than it writes
        pass
    try:
        return plain_json(value).encode()
    except (TypeError, ValueError, RecursionError):
        return b""


def good(response: HttpResponse) -> bool:
    """Whether a response is a success."""
    return 200 <= response.status < 300


def _with(error: ProviderError, remedy: Remedy) -> ProviderError:
    if remedy is error.remedy:
        return error
    return ProviderError(
        str(error),
        remedy=remedy,
        retry_after=error.retry_after,
        bad_key=error.bad_key,
        spent=error.spent,
    )
