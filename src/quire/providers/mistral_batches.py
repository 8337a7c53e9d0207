"""Mistral's batches: jobs over a file of calls, with words and a listing of their own."""

from collections.abc import Sequence

import orjson

from quire.domain.accounts import Account
from quire.domain.batches import BatchEnd, BatchStatus, Submission
from quire.domain.data import JsonObject
from quire.domain.errors import ProviderError, Remedy
from quire.domain.requests import Call
from quire.providers.batch_files import PAGE, FileBatches, batches_on_page
from quire.providers.batch_requests import BatchSearch, read_counts, reference
from quire.providers.compatible import Compatible
from quire.providers.http import encode_call, one_line
from quire.providers.wire import items, model_id, text

_ENDS = {
    "SUCCESS": BatchEnd.COMPLETED,
    "FAILED": BatchEnd.FAILED,
    "TIMEOUT_EXCEEDED": BatchEnd.EXPIRED,
    "CANCELLED": BatchEnd.CANCELLED,
}
_COUNTS = ("total_requests", "completed_requests", "succeeded_requests", "failed_requests")


class MistralBatches(FileBatches):
    """Batches as Mistral makes them: jobs."""

    path = ("batch", "jobs")
    key_place = 0

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

    def _order(self, submission: Submission, input_ref: str) -> JsonObject:
        model = submission.wire.id or submission.model.partition("/")[2]
        return {"input_files": [input_ref], "model": model, "timeout_hours": 24}

    def _page_query(self, number: int, after: str) -> dict[str, str]:
        return {"page": f"{number}", "page_size": f"{PAGE}", "order_by": "-created"}

    def _page(self, body: JsonObject) -> Sequence[JsonObject] | None:
        empty = body.get("data") is None and body.get("total") == 0
        return () if empty else batches_on_page(body)

    def _is_last(
        self, body: JsonObject, page: Sequence[JsonObject], number: int, search: BatchSearch
    ) -> bool:
        total = body.get("total")
        if type(total) is int:
            return total <= number * PAGE + len(page)
        if total is not None:
            search.mark_unreadable()
        return len(page) < PAGE

    def _status(self, body: JsonObject) -> BatchStatus:
        return read_job(body)


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
