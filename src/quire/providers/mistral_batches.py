"""Mistral's batches: jobs over a file of calls, with words and a listing of their own."""

from collections.abc import AsyncGenerator, Sequence

import orjson

from quire.domain.accounts import Account
from quire.domain.batches import BatchEnd, BatchMatch, BatchQuery, BatchRow, BatchStatus, Submission
from quire.domain.data import JsonObject
from quire.domain.errors import ProviderError, Remedy
from quire.domain.requests import Call
from quire.providers.batch_files import (
    PAGE,
    TAG,
    are_all_before,
    batches_on_page,
    delete_file,
    file_api_of,
    read_files,
    read_row,
    search_page,
    upload_file,
)
from quire.providers.batch_requests import BatchSearch, HttpBatches, read_counts, reference
from quire.providers.compatible import Compatible
from quire.providers.http import encode_call, one_line
from quire.providers.protocol import HttpClient, HttpRequest
from quire.providers.wire import items, model_id, text

_ENDS = {
    "SUCCESS": BatchEnd.COMPLETED,
    "FAILED": BatchEnd.FAILED,
    "TIMEOUT_EXCEEDED": BatchEnd.EXPIRED,
    "CANCELLED": BatchEnd.CANCELLED,
}
_COUNTS = ("total_requests", "completed_requests", "succeeded_requests", "failed_requests")


class MistralBatches(HttpBatches):
    """Batches as Mistral makes them."""

    def __init__(self, name: str = "mistral") -> None:
        """Write calls as Mistral reads them."""
        super().__init__(Compatible(name))

    def line(self, call: Call, account: Account, custom_id: str) -> bytes:
        """Put one call of a batch into Mistral's words; the model is the whole job's."""
        body = encode_call(self._vendor, call, account).body
        model = b'{"model":' + orjson.dumps(model_id(call)) + b","
        if body.startswith(model):
            body = b"{" + body[len(model) :]
        return orjson.dumps({"custom_id": custom_id, "body": orjson.Fragment(body)})

    async def upload(self, http: HttpClient, account: Account, submission: Submission) -> str:
        """Upload the file of calls."""
        return await upload_file(http, self._vendor, account, submission)

    async def create(
        self, http: HttpClient, account: Account, submission: Submission, input_ref: str
    ) -> str:
        """Make the job, asking once, and return its reference."""
        api = file_api_of(self._vendor, account)
        body = {
            "endpoint": f"/v1{api.endpoint}",
            "input_files": [input_ref],
            "model": submission.wire.id or submission.model.partition("/")[2],
            "metadata": {TAG: submission.nonce},
            "timeout_hours": 24,
        }
        request = api.request("POST", "batch", "jobs", body=orjson.dumps(body))
        return await self._caller(http, account).create(request, "id")

    async def find(self, http: HttpClient, account: Account, query: BatchQuery) -> BatchMatch:
        """Look for a job by our tag, or by its file, from the newest on."""
        api, number = file_api_of(self._vendor, account), 0
        search = BatchSearch(self.name, query)
        while True:
            request = api.request(
                *("GET", "batch", "jobs"),
                page=f"{number}",
                page_size=f"{PAGE}",
                order_by="-created",
            )
            body, said = await self._caller(http, account).ask_json_dated(request)
            search.set_vendor_clock(said)
            empty = body.get("data") is None and body.get("total") == 0
            page = () if empty else batches_on_page(body)
            if page is None:
                return search.mark_unreadable()
            search_page(page, query, search)
            if type(body.get("total")) not in (int, type(None)):
                search.mark_unreadable()
            if search.is_over or _is_last(body, page, number) or are_all_before(page, search):
                return search.match
            if not search.turn_page(reference(page[0].get("id")) if page else ""):
                return search.match
            number += 1

    async def poll(self, http: HttpClient, account: Account, ref: str) -> BatchStatus:
        """Ask how a job stands."""
        request = file_api_of(self._vendor, account).request("GET", "batch", "jobs", ref)
        body = await self._caller(http, account).ask_json(request, missing=f"batch {ref}")
        return read_job(body)

    def fetch(
        self, http: HttpClient, account: Account, ref: str, status: BatchStatus
    ) -> AsyncGenerator[BatchRow]:
        """Read the file of answers, then that of errors, as far as there are any."""
        return read_files(http, self._vendor, account, status.results, self.row)

    def _read_row(self, line: bytes, account: Account) -> BatchRow:
        return read_row(self._vendor, account, line)

    def _cancel_request(self, account: Account, ref: str) -> HttpRequest:
        return file_api_of(self._vendor, account).request("POST", "batch", "jobs", ref, "cancel")

    async def discard(self, http: HttpClient, account: Account, input_ref: str) -> None:
        """Delete the file of calls."""
        await delete_file(http, self._vendor, account, input_ref)


def read_job(body: JsonObject) -> BatchStatus:
    """Read what a job says of itself; a word that we do not know is one of being under way."""
    word = text(body.get("status")).upper()
    if not word:
        raise ProviderError("mistral: the batch does not say how it stands", remedy=Remedy.RETRY)
    files = (reference(body.get("output_file")), reference(body.get("error_file")))
    said = (text(item.get("message")) for item in items(body.get("errors"))[:3])
    counts = read_counts({name: body.get(name) for name in _COUNTS})
    return BatchStatus(
        end=_ENDS.get(word),
        cancelling=word == "CANCELLATION_REQUESTED",
        counts={name.removesuffix("_requests"): value for name, value in counts.items()},
        answers=counts.get("succeeded_requests", 0),
        results=tuple(filter(None, files)),
        problem=one_line("; ".join(filter(None, said))),
    )


def _is_last(body: JsonObject, page: Sequence[JsonObject], number: int) -> bool:
    """Whether the listing ends with this page."""
    total = body.get("total")
    if type(total) is int:
        return total <= number * PAGE + len(page)
    return len(page) < PAGE
