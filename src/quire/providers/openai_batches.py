"""OpenAI's batches: a file of calls, and two of results; Groq's and Azure's are of that form."""

from collections.abc import Sequence

import orjson

from quire.domain.accounts import Account
from quire.domain.batches import BatchEnd, BatchStatus, Submission
from quire.domain.data import JsonObject
from quire.domain.errors import ProviderError, Remedy
from quire.domain.requests import Call
from quire.providers import error_codes
from quire.providers.batch_files import PAGE, FileBatches, endpoint_of
from quire.providers.batch_requests import BatchSearch, read_counts, reference
from quire.providers.http import encode_call, one_line
from quire.providers.protocol import HttpResponse
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


class OpenAIBatches(FileBatches):
    """Batches as OpenAI makes them, for it and for whoever speaks like it."""

    path = ("batches",)

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

    def _order(self, submission: Submission, input_ref: str) -> JsonObject:
        return {"input_file_id": input_ref, "completion_window": "24h"}

    def _page_query(self, number: int, after: str) -> dict[str, str]:
        return {"limit": str(PAGE), "after": after}

    def _is_last(
        self, body: JsonObject, page: Sequence[JsonObject], number: int, search: BatchSearch
    ) -> bool:
        more = body.get("has_more")
        if not isinstance(more, bool | None):  # some leave it out
            search.mark_unreadable()
        return more is False or (more is not True and len(page) < PAGE)

    def _status(self, body: JsonObject) -> BatchStatus:
        return read_status(self.name, body)

    def _classify(self, response: HttpResponse) -> ProviderError:
        error_body = error_codes.read_error(response.body)
        if _QUEUE_FULL not in error_body.codes:
            return self._vendor.classify(response)
        return ProviderError(
            error_codes.error_message(self.name, response.status, error_body),
            remedy=Remedy.WAIT,
            retry_after=retry_after(response.headers, response.came_at),
        )


def read_status(vendor: str, body: JsonObject) -> BatchStatus:
    """Read what a batch says of itself; a word that we do not know is one of being under way."""
    word = text(body.get("status"))
    if not word:
        raise ProviderError(f"{vendor}: the batch does not say how it stands", remedy=Remedy.RETRY)
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
