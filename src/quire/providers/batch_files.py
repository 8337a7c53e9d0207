"""Batch files: calls and results in files, as OpenAI and everybody who speaks like it keep them."""

import itertools
from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from quire.domain.accounts import Account
from quire.domain.batches import BatchMatch, BatchQuery, BatchRow, BatchStatus, RowEnd, Submission
from quire.domain.data import Json, JsonObject
from quire.domain.errors import ProviderError, Remedy
from quire.domain.ids import AttemptId
from quire.domain.models import Params
from quire.domain.requests import Call
from quire.providers.batch_requests import (
    ApiCaller,
    BatchSearch,
    HttpBatches,
    dump_json,
    reference,
    row_error,
    unreadable_row,
    unusable_row,
)
from quire.providers.protocol import HttpClient, HttpRequest, HttpResponse, WireFormat
from quire.providers.vendors import VENDORS
from quire.providers.wire import Headers, items, mapping, parse, text

TAG = "quire"  # under which a batch's metadata hold our nonce
PAGE = 100  # batches in one listing, the most there are
ENDPOINTS = ("/responses", "/chat/completions")

_ENDS = {"batch_expired": RowEnd.EXPIRED, "batch_cancelled": RowEnd.CANCELLED}
_EMPTY_CALL = Call(
    attempt_id=AttemptId(0), model="a/b", system="", user="", output_schema=None, params=Params()
)


RowReader = Callable[[bytes, Account], BatchRow]  # of one line


class FileApi(NamedTuple):
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


def file_api_of(vendor: WireFormat, account: Account) -> FileApi:
    """Where the files and batches are of whoever's calls go where this vendor sends them."""
    direct = vendor.encode(_EMPTY_CALL, account)
    parts = urlsplit(direct.url)
    end = endpoint_of(direct.url)
    root = urlunsplit((parts.scheme, parts.netloc, parts.path.removesuffix(end), "", ""))
    return FileApi(root, parts.query, direct.headers, end)


def endpoint_of(url: str) -> str:
    """The end of the address that a call goes to."""
    return next(end for end in ENDPOINTS if url.partition("?")[0].endswith(end))


async def upload_file(
    http: HttpClient, vendor: WireFormat, account: Account, submission: Submission
) -> str:
    """Upload a batch's calls from disk, in little memory, and return the file's name there."""
    # Lines of JSON hold no line break followed by dashes: no boundary can occur in them.
    boundary = f"quire-{submission.nonce}"
    said = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in {"purpose": "batch", **VENDORS[vendor.name].upload_fields}.items()
    )
    head = (
        f'{said}--{boundary}\r\nContent-Disposition: form-data; name="file";'
        f' filename="{submission.nonce}.jsonl"\r\nContent-Type: application/jsonl\r\n\r\n'
    )
    body = (head.encode(), Path(submission.path), f"\r\n--{boundary}--\r\n".encode())
    request = file_api_of(vendor, account).request("POST", "files")
    form = Headers(request.headers)
    form["Content-Type"] = f"multipart/form-data; boundary={boundary}"
    request = request._replace(headers=form)
    found = await ApiCaller(http, vendor.classify, account).ask_json(request, body)
    if name := reference(found.get("id")):
        return name
    message = f"{vendor.name}: the calls were uploaded, and nobody said under which name"
    raise ProviderError(message, remedy=Remedy.RETRY)


async def read_files(
    http: HttpClient, vendor: WireFormat, account: Account, names: Iterable[str], read: RowReader
) -> AsyncGenerator[BatchRow]:
    """Read the rows of files of results, one after the other, each file once."""
    api, caller = file_api_of(vendor, account), ApiCaller(http, vendor.classify, account)
    for name in dict.fromkeys(names):
        request = api.request("GET", "files", name, "content")
        found = caller.lines(request, f"the results' file {name}")
        async with aclosing(found):
            async for line in found:
                yield read(line, account)


def read_row(vendor: WireFormat, account: Account, line: bytes) -> BatchRow:
    """Read one line of results."""
    row = mapping(parse(line))
    name = text(row.get("custom_id"))
    if not name:
        return unreadable_row(line)
    response, error = mapping(row.get("response")), row.get("error")
    status, body = response.get("status_code"), response.get("body")
    failure: HttpResponse | None
    raw, found = b"" if body is None else dump_json(body), mapping(body)
    if body is not None and not raw:
        return BatchRow(name, RowEnd.UNREADABLE, line)
    if type(status) is int and 200 <= status < 300 and raw:
        # what was paid for is an answer to every vendor, whatever else it says
        failure = None if mapping(found.get("usage")) else vendor.error_in_success(raw)
        if failure is None:
            return BatchRow(name, RowEnd.ANSWERED, raw, body=found or None)
    elif end := _ENDS.get(text(mapping(error).get("code"))):
        return BatchRow(name, end)
    else:
        failure = _failure(status, raw, error)
    if failure is None:
        return unusable_row(vendor.name, name, row, line)
    why = row_error(vendor.classify, account, failure.status, failure.body)
    return BatchRow(name, RowEnd.ERRORED, error=why)


def _failure(status: Json, raw: bytes, error: Json) -> HttpResponse | None:
    """What went wrong with a call, as a direct call would have told; None where nothing is said."""
    body = raw or dump_json({"error": error})
    for item in (status, mapping(error).get("code")):
        if type(item) is int and 400 <= item <= 599:
            return HttpResponse(item, {}, body)
    return HttpResponse(500, {}, body) if error else None  # their fault, unless its words differ


class FileBatches(HttpBatches):
    """Batches whose calls and results lie in the vendor's files."""

    path: tuple[str, ...]  # of batches, below what every path is added to
    key_place = -1  # of the batch by which a page of them is known

    async def upload(self, http: HttpClient, account: Account, submission: Submission) -> str:
        """Upload the file of calls."""
        return await upload_file(http, self._vendor, account, submission)

    async def create(
        self, http: HttpClient, account: Account, submission: Submission, input_ref: str
    ) -> str:
        """Make the batch, asking once, and return its reference."""
        api = file_api_of(self._vendor, account)
        order = {
            "endpoint": f"/v1{api.endpoint}",
            "metadata": {TAG: submission.nonce},
            **self._order(submission, input_ref),
        }
        request = api.request("POST", *self.path, body=dump_json(order))
        return await self._caller(http, account).create(request, "id")

    async def find(self, http: HttpClient, account: Account, query: BatchQuery) -> BatchMatch:
        """Look for a batch by our tag, or by its file, from the newest on."""
        api, search = file_api_of(self._vendor, account), BatchSearch(self.name, query)
        after = ""
        for number in itertools.count():
            asked = self._page_query(number, after)
            request = api.request("GET", *self.path, body=b"", **asked)
            body, said = await self._caller(http, account).ask_json_dated(request)
            search.set_vendor_clock(said)
            page = self._page(body)
            if page is None:
                return search.mark_unreadable()
            search_page(page, query, search)
            is_last = self._is_last(body, page, number, search) or are_all_before(page, search)
            after = reference(page[self.key_place].get("id")) if page else ""
            if search.is_over or is_last or not search.turn_page(after):
                break
        return search.match

    async def poll(self, http: HttpClient, account: Account, ref: str) -> BatchStatus:
        """Ask how a batch stands."""
        request = file_api_of(self._vendor, account).request("GET", *self.path, ref)
        body = await self._caller(http, account).ask_json(request, missing=f"batch {ref}")
        return self._status(body)

    def fetch(
        self, http: HttpClient, account: Account, ref: str, status: BatchStatus
    ) -> AsyncGenerator[BatchRow]:
        """Read the file of answers, then that of errors, as far as there are any."""
        return read_files(http, self._vendor, account, status.results, self.row)

    async def discard(self, http: HttpClient, account: Account, input_ref: str) -> None:
        """Delete the file of calls; that it is gone already is no error."""
        request = file_api_of(self._vendor, account).request("DELETE", "files", input_ref)
        await ApiCaller(http, self._vendor.classify, account).delete(request)

    def _read_row(self, line: bytes, account: Account) -> BatchRow:
        return read_row(self._vendor, account, line)

    def _cancel_request(self, account: Account, ref: str) -> HttpRequest:
        return file_api_of(self._vendor, account).request("POST", *self.path, ref, "cancel")

    def _page(self, body: JsonObject) -> Sequence[JsonObject] | None:
        return batches_on_page(body)

    @abstractmethod
    def _order(self, submission: Submission, input_ref: str) -> JsonObject: ...

    @abstractmethod
    def _page_query(self, number: int, after: str) -> dict[str, str]: ...

    @abstractmethod
    def _is_last(
        self, body: JsonObject, page: Sequence[JsonObject], number: int, search: BatchSearch
    ) -> bool: ...

    @abstractmethod
    def _status(self, body: JsonObject) -> BatchStatus: ...


def batches_on_page(body: JsonObject) -> Sequence[JsonObject] | None:
    """The batches of a listing; None where it cannot be read, which is not the same as empty."""
    listed = body.get("data")
    page = items(listed)
    return page if isinstance(listed, list) and len(page) == len(listed) else None


def search_page(page: Sequence[JsonObject], query: BatchQuery, search: BatchSearch) -> None:
    """Look for a batch among others, by our tag or by its file of calls."""
    for json_object in page:
        files = json_object.get("input_files")
        named = [json_object.get("input_file_id"), *(files if isinstance(files, list) else ())]
        filed = bool(query.input_ref) and query.input_ref in named
        tag = mapping(json_object.get("metadata")).get(TAG)
        search.consider(tag, json_object.get("id"), ours=filed)


def are_all_before(page: Sequence[JsonObject], search: BatchSearch) -> bool:
    """Whether every batch of a page was made before the one that is sought can have been."""
    made = [json_object.get("created_at") for json_object in page]
    oldest = search.oldest.timestamp()
    return bool(made) and all(type(item) is int and item < oldest for item in made)
