"""What the batches of Gemini and of Vertex AI share: their states, their numbers, their errors."""

from collections.abc import Callable, Mapping

from quire.domain.accounts import Account
from quire.domain.batches import BatchRow, End, RowEnd
from quire.domain.data import Json, JsonObject
from quire.providers.batching import answer, counted, errored, unreadable, unusable, written
from quire.providers.google import classify_google
from quire.providers.http import one_line
from quire.providers.protocol import Classify
from quire.providers.reading import items, mapping, text
from quire.providers.searching import Search

CANCELLING = "CANCELLING"

_AROUND = {"nextPageToken", "unreachable"}  # what a page may hold besides a list
About = Callable[[JsonObject], JsonObject]  # where a job says what it is

_ENDS = {
    "SUCCEEDED": End.COMPLETED,
    "PARTIALLY_SUCCEEDED": End.COMPLETED,
    "FAILED": End.FAILED,
    "CANCELLED": End.CANCELLED,
    "EXPIRED": End.EXPIRED,
}
_EXHAUSTED = (8, 429)
_STATUSES = {  # of HTTP, for the codes that Google's services use among themselves
    1: 499,
    3: 400,
    4: 504,
    5: 404,
    6: 409,
    7: 403,
    8: 429,
    9: 400,
    10: 409,
    11: 400,
    12: 501,
    14: 503,
    16: 401,
}


def state_of(value: Json) -> str:
    """A state without the words that go before it."""
    return text(value).removeprefix("JOB_STATE_").removeprefix("BATCH_STATE_")


def end_of(state: str, error: JsonObject, answered: int = 0) -> End | None:
    """How a job ended; one that failed after it had answers may be billed for them."""
    end = _ENDS.get(state)
    if end is not End.FAILED:
        return end
    if answered > 0:
        return End.COMPLETED
    full = error.get("code") in _EXHAUSTED or error.get("status") == "RESOURCE_EXHAUSTED"
    return End.QUEUE_FULL if full else End.FAILED


def told(error: JsonObject) -> str:
    """What went wrong with a whole job, in one line."""
    return one_line(text(error.get("message")) or text(error.get("status")))


def numbers(found: JsonObject) -> dict[str, int]:
    """Numbers that are written as strings; those that are not known yet are left out."""
    read: Mapping[str, Json] = {
        name: int(value)
        if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16
        else value
        for name, value in found.items()
    }
    return {name: value for name, value in counted(read).items() if value >= 0}


def look_at(body: JsonObject, kind: str, about: About, search: Search) -> str:
    """Look at the jobs of a page, and return what leads to the next; doubt what is no such page.

    An empty list is left out, and so is an empty name; so that a page may be an empty object.
    """
    found, after = body.get(kind, []), body.get("nextPageToken")
    jobs = items(found)
    known = kind in body or body.keys() <= _AROUND
    whole = isinstance(found, list) and len(jobs) == len(found) and not body.get("unreachable")
    if not known or not whole or not isinstance(after, str | None):
        search.unreadable()
    for each in jobs:
        told = about(each)
        tag = told.get("displayName", "")
        if not told or not isinstance(tag, str) or not isinstance(each.get("name"), str):
            search.unreadable()
        search.see(tag, each.get("name"))
    return text(after)


def classify_as(vendor: str) -> Classify:
    """How a vendor of Google's names its errors."""
    return lambda response: classify_google(vendor, response)


def answered(vendor: str, account: Account, name: str, row: JsonObject, line: bytes) -> BatchRow:
    """A row with a response or an error; a response may be nothing but an error, too."""
    if not name:
        return unreadable(line)
    response = mapping(row.get("response"))
    error = mapping(row.get("error")) or mapping(response.get("error"))
    if error:
        return failed(vendor, account, name, error, line)
    if not response:
        return unusable(vendor, name, row, line)
    return answer(name, written(response), response, line)


def failed(vendor: str, account: Account, name: str, error: JsonObject, line: bytes) -> BatchRow:
    """A row of one call's failure, told as that of a direct one."""
    said = written({"error": error})
    if not said:
        return BatchRow(name, RowEnd.UNREADABLE, line)
    code = error.get("code")
    status = 500
    if isinstance(code, int):
        status = code if 400 <= code < 600 else _STATUSES.get(code, 500)
    told = errored(classify_as(vendor), account, status, said)
    return BatchRow(name, RowEnd.ERRORED, error=told)
