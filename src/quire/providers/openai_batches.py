"""OpenAI's batches: a file of calls, and two of results; Groq's and Azure's are of that form."""

from collections.abc import AsyncGenerator, Sequence

import orjson

from quire.domain.accounts import Account
from quire.domain.batches import BatchEnd, BatchMatch, BatchQuery, BatchRow, BatchStatus, Submission
from quire.domain.data import JsonObject
from quire.domain.errors import ProviderError, Remedy
from quire.domain.requests import Call
from quire.providers import error_codes
from quire.providers.batch_files import (
    PAGE,
    TAG,
    are_all_before,
    batches_on_page,
    delete_file,
    endpoint_of,
    file_api_of,
    read_files,
    read_row,
    search_page,
    upload_file,
)
from quire.providers.batch_requests import BatchSearch, HttpBatches, read_counts, reference
from quire.providers.http import encode_call, one_line
from quire.providers.protocol import HttpClient, HttpRequest, HttpResponse
from quire.providers.provider_registry import make_wire_format
from quire.providers.rate_headers import retry_after
from quire.providers.wire import items, mapping, text

_QUEUE_FULL = "token_limit_exceeded"  # of all batches under way: nothing ran, and later it will
_ENDS = {
    "completed": BatchEnd.COMPLETED,
    "failed": BatchEnd.FAILED,
    "expired": BatchEnd.EXPIRED,
    "cancelled": BatchEnd.CANCELLED,
}


class OpenAIBatches(HttpBatches):
    """Batches as OpenAI makes them, for it and for whoever speaks like it."""

    def __init__(self, name: str = "openai") -> None:
        """Write calls as the vendor of this name does."""
        super().__init__(make_wire_format(name))

    def line(self, call: Call, account: Account, custom_id: str) -> bytes:
        """Put one call of a batch into OpenAI's words: those of a direct call, wrapped."""
        direct = encode_call(self._vendor, call, account)
        return orjson.dumps(
            {
                "custom_id": custom_id,
                "method": "POST",
                "url": f"/v1{endpoint_of(direct.url)}",
                "body": orjson.Fragment(direct.body),
            }
        )

    async def upload(self, http: HttpClient, account: Account, submission: Submission) -> str:
        """Upload the file of calls."""
        return await upload_file(http, self._vendor, account, submission)

    async def create(
        self, http: HttpClient, account: Account, submission: Submission, input_ref: str
    ) -> str:
        """Make the batch, asking once, and return its reference."""
        api = file_api_of(self._vendor, account)
        body = {
            "input_file_id": input_ref,
            "endpoint": f"/v1{api.endpoint}",
            "completion_window": "24h",
            "metadata": {TAG: submission.nonce},
        }
        request = api.request("POST", "batches", body=orjson.dumps(body))
        return await self._caller(http, account).create(request, "id")

    async def find(self, http: HttpClient, account: Account, query: BatchQuery) -> BatchMatch:
        """Look for a batch by our tag, or by its file, from the newest on."""
        api, after = file_api_of(self._vendor, account), ""
        search = BatchSearch(self.name, query)
        while True:
            request = api.request("GET", "batches", limit=str(PAGE), after=after)
            body, said = await self._caller(http, account).ask_json_dated(request)
            search.set_vendor_clock(said)
            page = batches_on_page(body)
            if page is None:
                return search.mark_unreadable()
            search_page(page, query, search)
            if not isinstance(body.get("has_more"), bool | None):  # some leave it out
                search.mark_unreadable()
            after = reference(page[-1].get("id")) if page else ""
            if search.is_over or _is_last(body, page, search) or not search.turn_page(after):
                return search.match

    async def poll(self, http: HttpClient, account: Account, ref: str) -> BatchStatus:
        """Ask how a batch stands."""
        request = file_api_of(self._vendor, account).request("GET", "batches", ref)
        body = await self._caller(http, account).ask_json(request, missing=f"batch {ref}")
        return read_status(self.name, body)

    def fetch(
        self, http: HttpClient, account: Account, ref: str, status: BatchStatus
    ) -> AsyncGenerator[BatchRow]:
        """Read the file of answers, then that of errors, as far as there are any."""
        return read_files(http, self._vendor, account, status.results, self.row)

    def _read_row(self, line: bytes, account: Account) -> BatchRow:
        return read_row(self._vendor, account, line)

    def _cancel_request(self, account: Account, ref: str) -> HttpRequest:
        return file_api_of(self._vendor, account).request("POST", "batches", ref, "cancel")

    async def discard(self, http: HttpClient, account: Account, input_ref: str) -> None:
        """Delete the file of calls."""
        await delete_file(http, self._vendor, account, input_ref)

    def _classify(self, response: HttpResponse) -> ProviderError:
        error_body = error_codes.read_error(response.body)
        if _QUEUE_FULL not in error_body.codes:
            return self._vendor.classify(response)
        return ProviderError(
            error_codes.error_message(self.name, response.status, error_body),
            remedy=Remedy.WAIT,
            retry_after=retry_after(response.headers),
        )


def read_status(vendor: str, body: JsonObject) -> BatchStatus:
    """Read what a batch says of itself; a word that we do not know is one of being under way."""
    word = text(body.get("status"))
    if not word:
        message = f"{vendor}: the batch does not say how it stands"
        raise ProviderError(message, remedy=Remedy.RETRY)
    said = body.get("errors")
    errors = items(said) or items(mapping(said).get("data"))
    end = _ENDS.get(word)
    if end is BatchEnd.FAILED and any(error.get("code") == _QUEUE_FULL for error in errors):
        end = BatchEnd.QUEUE_FULL
    files = (reference(body.get("output_file_id")), reference(body.get("error_file_id")))
    counts = read_counts(mapping(body.get("request_counts")))
    return BatchStatus(
        end=end,
        cancelling=word == "cancelling",
        counts=counts,
        answers=counts.get("completed", 0),
        results=tuple(filter(None, files)),
        problem=one_line("; ".join(map(_problem, errors[:3]))),
    )


def _problem(error: JsonObject) -> str:
    line = error.get("line")
    place = f" (line {line})" if type(line) is int else ""
    return ": ".join(filter(None, (text(error.get("code")), text(error.get("message"))))) + place


def _is_last(body: JsonObject, page: Sequence[JsonObject], search: BatchSearch) -> bool:
    """Whether no batch that was made in time can be listed after this page."""
    more = body.get("has_more")
    if more is False or (more is not True and len(page) < PAGE):
        return True
    return are_all_before(page, search)
