"""Anthropic's Message Batches: calls travel with the order, and nothing on a batch is ours."""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import jiter
import orjson

from quire.domain.accounts import Account
from quire.domain.batches import (
    BatchEnd,
    BatchMatch,
    BatchQuery,
    BatchRow,
    BatchStatus,
    RowEnd,
    Submission,
    parse_custom_id,
)
from quire.domain.data import JsonObject, plain_json
from quire.domain.errors import ProviderError, Remedy
from quire.domain.requests import Call
from quire.providers.anthropic import (
    BASE_URL,
    SAMPLING_VERSION,
    VERSION,
    Anthropic,
    headers_for,
    messages_url,
)
from quire.providers.batch_requests import (
    BatchSearch,
    HttpBatches,
    answered_row,
    dump_json,
    read_counts,
    reference,
    row_error,
    unreadable_row,
    unusable_row,
)
from quire.providers.http import encode_call
from quire.providers.protocol import HttpClient, HttpRequest
from quire.providers.wire import items, mapping, parse, text, url_below

PAGE = 1_000  # batches
MOST_PAGES = 50

_LARGE_NUMBER = re.compile(rb"[:,\[\s-]\d{19}")  # or what may be one, inside a text
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_CALL_STATES = {"processing", "succeeded", "errored", "canceled", "expired"}  # of a batch's calls
_ENDS = {"canceled": RowEnd.CANCELLED, "expired": RowEnd.EXPIRED}


class AnthropicBatches(HttpBatches):
    """Batches of Claude's, at Anthropic itself."""

    def __init__(self, name: str = "anthropic") -> None:
        """Write calls as in direct ones."""
        super().__init__(Anthropic(name))

    def line(self, call: Call, account: Account, custom_id: str) -> bytes:
        """Put one call of a batch into a message's parameters."""
        body = encode_call(self._vendor, call, account).body
        return orjson.dumps({"custom_id": custom_id, "params": orjson.Fragment(body)})

    async def create(
        self, http: HttpClient, account: Account, submission: Submission, input_ref: str
    ) -> str:
        """Send all calls at once."""
        path = Path(submission.path)
        version = SAMPLING_VERSION if _has_sampling(path) else VERSION
        request = _request(account, method="POST", version=version)
        upload = (b'{"requests":[', path, b"]}")
        return await self._caller(http, account).create(request, "id", upload)

    async def find(self, http: HttpClient, account: Account, query: BatchQuery) -> BatchMatch:
        """Look for a batch of the same size; once it has ended, its rows tell whose it is.

        Earlier submissions may have had another size, so that every batch is looked into for them.
        """
        search = BatchSearch(self.name, query, MOST_PAGES)
        for batch in await self._list_batches(http, account, search):
            ref, alike = reference(batch.get("id")), _may_have_rows(batch, query.rows)
            if ref in query.known or not (alike or query.retired):
                continue
            if not ref:
                search.doubt("has one without a name")
                continue
            ended = batch.get("processing_status") == "ended"
            first = await self._first_custom_id(http, account, ref) if ended else None
            if first is not None:
                search.consider((parse_custom_id(first) or ("",))[0], ref)
            elif alike:
                shows = "has no results to read" if ended else "is in progress"
                search.doubt(f"has one of the same size that {shows}: {ref}")
            if search.is_over:
                break
        return search.match

    async def poll(self, http: HttpClient, account: Account, ref: str) -> BatchStatus:
        """Ask how a batch stands; its counts move only when all of it has ended."""
        caller, request = self._caller(http, account), _request(account, ref)
        body = await caller.ask_json(request, missing=f"batch {ref}")
        status = body.get("processing_status")
        if not isinstance(status, str):
            message = f"anthropic: the answer does not say how batch {ref} stands"
            raise ProviderError(message, remedy=Remedy.RETRY)
        counts = read_counts(mapping(body.get("request_counts")))
        if status != "ended":
            return BatchStatus(cancelling=status == "canceling", counts=counts)
        archived = "its results are archived, and cannot be read" if body.get("archived_at") else ""
        return BatchStatus(
            end=_end(body, counts),
            counts=counts,
            answers=counts.get("succeeded", 0),
            results=(ref,),
            problem=archived,
        )

    async def fetch(
        self, http: HttpClient, account: Account, ref: str, status: BatchStatus
    ) -> AsyncIterator[BatchRow]:
        """Read the rows of a batch that has ended."""
        async with aclosing(self._lines(http, account, ref)) as found:
            async for line in found:
                yield self.row(line, account)

    def _cancel_request(self, account: Account, ref: str) -> HttpRequest:
        return _request(account, ref, "cancel", method="POST")

    async def _list_batches(
        self, http: HttpClient, account: Account, search: BatchSearch
    ) -> Sequence[JsonObject]:
        """List batches, newest first, down to those made before."""
        found: list[JsonObject] = []
        after: dict[str, str] = {}
        while True:
            request = _request(account, query={"limit": str(PAGE), **after})
            body, said = await self._caller(http, account).ask_json_dated(request)
            search.set_vendor_clock(said)
            listed, more = body.get("data"), body.get("has_more")
            page = items(listed)
            recent = [batch for batch in page if search.is_recent(batch.get("created_at"))]
            found += recent
            if not isinstance(listed, list) or len(page) < len(listed) or type(more) is not bool:
                search.mark_unreadable()
            if more is not True or len(recent) < len(page):
                return found
            last = reference(body.get("last_id"))
            if not search.turn_page(last):
                return found
            after = {"after_id": last}

    async def _first_custom_id(self, http: HttpClient, account: Account, ref: str) -> str | None:
        """The first custom id of a batch's results; None where there is none to be read."""
        try:
            async with aclosing(self._lines(http, account, ref)) as found:
                async for line in found:
                    if name := text(mapping(parse(line)).get("custom_id")):
                        return name
        except ProviderError as error:
            if error.remedy is not Remedy.FIX_ACCOUNT or error.bad_key or error.spent:
                raise
        return None

    def _lines(self, http: HttpClient, account: Account, ref: str) -> AsyncGenerator[bytes]:
        request = _request(account, ref, "results")
        return self._caller(http, account).lines(request, f"the results of {ref}")

    def _read_row(self, line: bytes, account: Account) -> BatchRow:
        row = mapping(parse(line))
        name, result = text(row.get("custom_id")), mapping(row.get("result"))
        kind, message = result.get("type"), mapping(result.get("message"))
        if not name:
            return unreadable_row(line)
        if kind == "succeeded" and message:
            return answered_row(name, _message(line, message), message, line)
        if isinstance(kind, str) and kind in _ENDS:
            return BatchRow(name, _ENDS[kind])
        error = mapping(result.get("error"))
        if kind != "errored" or not error:
            return unusable_row(self.name, name, row, line)
        if not (said := dump_json(error)):
            return BatchRow(name, RowEnd.UNREADABLE, line)
        inner = mapping(error.get("error"))
        status = _STATUSES.get(text(inner.get("type")), 500)
        why = row_error(self._classify, account, status, said)
        return BatchRow(name, RowEnd.ERRORED, error=why)


def _request(
    account: Account,
    *steps: str,
    method: str = "GET",
    version: str = VERSION,
    query: Mapping[str, str] | None = None,
) -> HttpRequest:
    url = url_below(messages_url(account.base_url or BASE_URL), "batches", *steps, query=query)
    return HttpRequest(url, headers_for(account, version), b"", method=method)


def _has_sampling(path: Path) -> bool:
    """Whether the calls ask for sampling, which the newest version refuses; the first tells."""
    size = 2**16
    while True:
        start = _beginning(path, size)
        try:
            first, _ = json.JSONDecoder().raw_decode(start.decode(errors="ignore"))
        except ValueError:
            if len(start) < size:
                return False
            size *= 8
        else:
            return bool({"temperature", "top_p"} & mapping(mapping(first).get("params")).keys())


def _beginning(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:  # whoever sends the file will say so
        return b""


def _message(line: bytes, message: JsonObject) -> bytes:
    """The message as it came, large integers in the argument of a tool kept."""
    if b'"tool_use"' in line and _LARGE_NUMBER.search(line):
        try:
            return plain_json(jiter.from_json(line)["result"]["message"]).encode()
        except (ValueError, KeyError, TypeError, RecursionError):  # half a character in it
            pass
    return dump_json(message)


def _end(body: JsonObject, counts: Mapping[str, int]) -> BatchEnd:
    if body.get("cancel_initiated_at"):
        return BatchEnd.CANCELLED
    return BatchEnd.EXPIRED if counts.get("expired", 0) > 0 else BatchEnd.COMPLETED


def _may_have_rows(batch: JsonObject, rows: int) -> bool:
    """Whether a batch may have so many calls; numbers that we do not know may be of calls too."""
    counts = read_counts(mapping(batch.get("request_counts")))
    if not counts.keys() >= _CALL_STATES or min(counts.values()) < 0:
        return True
    return sum(counts[state] for state in _CALL_STATES) <= rows <= sum(counts.values())
