"""Files of calls and of results, as OpenAI and everybody who speaks like it keep them."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from quire.domain.accounts import Account
from quire.domain.batches import BatchRow, RowEnd, Sought, Submission
from quire.domain.data import Json, JsonObject
from quire.domain.errors import ProviderError, Remedy
from quire.domain.ids import AttemptId
from quire.domain.models import Params
from quire.domain.requests import Call
from quire.providers.batching import (
    ask_json,
    errored,
    good,
    guarded,
    harmless,
    lines,
    reference,
    refusing,
    unreadable,
    unusable,
    written,
)
from quire.providers.protocol import Door, HttpRequest, HttpResponse, Vendor
from quire.providers.reading import items, mapping, parse, text
from quire.providers.searching import Search
from quire.providers.writing import Headers

TAG = "quire"  # under which a batch's metadata hold our nonce
PURPOSE: Mapping[str, str] = {"purpose": "batch"}  # what an upload says of itself
PAGE = 100  # batches in one listing, the most there are
ENDPOINTS = ("/responses", "/chat/completions")

_ENDS = {"batch_expired": RowEnd.EXPIRED, "batch_cancelled": RowEnd.CANCELLED}
_NOBODY = Call(
    attempt_id=AttemptId(0), model="a/b", system="", user="", output_schema=None, params=Params()
)


Reading = Callable[[bytes, Account], BatchRow]  # of one line


class Place(NamedTuple):
    """Where an account's files and batches are."""

    root: str  # what every path is added to
    query: str  # what the base URL says besides
    headers: Mapping[str, str]
    endpoint: str  # what the account's calls go to, such as "/responses"

    def request(self, method: str, *path: str, body: bytes = b"", **query: str) -> HttpRequest:
        """Something to ask there; the parts of the path may hold anything."""
        way = "/".join(quote(part, safe="") for part in path)
        asked = urlencode({name: value for name, value in query.items() if value})
        whole = "&".join(filter(None, (self.query, asked)))
        url = f"{self.root}/{way}" + (f"?{whole}" if whole else "")
        return HttpRequest(url, self.headers, body, method=method)


def place_of(vendor: Vendor, account: Account) -> Place:
    """Where the files and batches are of whoever's calls go where this vendor sends them."""
    direct = vendor.encode(_NOBODY, account)
    parts = urlsplit(direct.url)
    end = endpoint_of(direct.url)
    root = urlunsplit((parts.scheme, parts.netloc, parts.path.removesuffix(end), "", ""))
    return Place(root, parts.query, direct.headers, end)


def endpoint_of(url: str) -> str:
    """The end of the address that a call goes to."""
    path = url.partition("?")[0]
    return next(end for end in ENDPOINTS if path.endswith(end))


async def upload_file(
    door: Door,
    vendor: Vendor,
    account: Account,
    submission: Submission,
    fields: Mapping[str, str],
) -> str:
    """Upload a batch's calls from disk, in little memory, and return the file's name there."""
    # Lines of JSON hold no line break followed by dashes: no boundary can occur in them.
    boundary = f"quire-{submission.nonce}"
    said = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    head = (
        f'{said}--{boundary}\r\nContent-Disposition: form-data; name="file";'
        f' filename="{submission.nonce}.jsonl"\r\nContent-Type: application/jsonl\r\n\r\n'
    )
    body = (head.encode(), Path(submission.path), f"\r\n--{boundary}--\r\n".encode())
    request = place_of(vendor, account).request("POST", "files")
    form = Headers(request.headers)
    form["Content-Type"] = f"multipart/form-data; boundary={boundary}"
    request = request._replace(headers=form)
    found = await ask_json(door, vendor.classify, account, request, body)
    if name := reference(found.get("id")):
        return name
    message = f"{vendor.name}: the calls were uploaded, and nobody said under which name"
    raise ProviderError(message, remedy=Remedy.RETRY)


async def delete_file(door: Door, vendor: Vendor, account: Account, name: str) -> None:
    """Delete a file; that it is gone already is no error."""
    request = place_of(vendor, account).request("DELETE", "files", name)
    try:
        response = await door.exchange(request)
    except ProviderError as error:
        failure = harmless(error)
    else:
        if good(response) or response.status in (404, 410):
            return
        failure = refusing(vendor.classify, account, request)(response)
    raise failure


async def read_files(
    door: Door, vendor: Vendor, account: Account, names: Iterable[str], read: Reading
) -> AsyncGenerator[BatchRow]:
    """Read the rows of files of results, one after the other, each file once."""
    place = place_of(vendor, account)
    for name in dict.fromkeys(names):
        request = place.request("GET", "files", name, "content")
        found = lines(door, vendor.classify, account, request, f"the results' file {name}")
        async with aclosing(found):
            async for line in found:
                yield read(line, account)


def read_row(vendor: Vendor, account: Account, line: bytes) -> BatchRow:
    """Read one line of results."""
    return guarded(lambda: _read(vendor, account, line), line)


def _read(vendor: Vendor, account: Account, line: bytes) -> BatchRow:
    row = mapping(parse(line))
    name = text(row.get("custom_id"))
    if not name:
        return unreadable(line)
    response, error = mapping(row.get("response")), row.get("error")
    status, body = response.get("status_code"), response.get("body")
    failed: HttpResponse | None
    raw, found = b"" if body is None else written(body), mapping(body)
    if body is not None and not raw:
        return BatchRow(name, RowEnd.UNREADABLE, line)
    if type(status) is int and 200 <= status < 300 and raw:
        # what was paid for is an answer to every vendor, whatever else it says
        failed = None if mapping(found.get("usage")) else vendor.failed(raw)
        if failed is None:
            return BatchRow(name, RowEnd.ANSWERED, raw, body=found or None)
    elif end := _ENDS.get(text(mapping(error).get("code"))):
        return BatchRow(name, end)
    else:
        failed = _failure(status, raw, error)
    if failed is None:
        return unusable(vendor.name, name, row, line)
    why = errored(vendor.classify, account, failed.status, failed.body)
    return BatchRow(name, RowEnd.ERRORED, error=why)


def _failure(status: Json, raw: bytes, error: Json) -> HttpResponse | None:
    """What went wrong with a call, as a direct call would have told; None where nothing is said."""
    told = raw or written({"error": error})
    for each in (status, mapping(error).get("code")):
        if type(each) is int and 400 <= each <= 599:
            return HttpResponse(each, {}, told)
    return HttpResponse(500, {}, told) if error else None  # their fault, unless its words differ


def listing(body: JsonObject) -> Sequence[JsonObject] | None:
    """The batches of a listing; None where it cannot be read, which is not the same as empty."""
    listed = body.get("data")
    page = items(listed)
    return page if isinstance(listed, list) and len(page) == len(listed) else None


def look_at(page: Sequence[JsonObject], sought: Sought, search: Search) -> None:
    """Look for a batch among others, by our tag or by its file of calls."""
    for each in page:
        files = each.get("input_files")
        named = [each.get("input_file_id"), *(files if isinstance(files, list) else ())]
        filed = bool(sought.input_ref) and sought.input_ref in named
        search.see(mapping(each.get("metadata")).get(TAG), each.get("id"), ours=filed)


def all_before(page: Sequence[JsonObject], search: Search) -> bool:
    """Whether every batch of a page was made before the one that is sought can have been."""
    made = [each.get("created_at") for each in page]
    oldest = search.oldest.timestamp()
    return bool(made) and all(type(each) is int and each < oldest for each in made)
