"""Mistral's batches: jobs over a file of calls, with words and a listing of their own."""

from collections.abc import AsyncGenerator, Sequence

import orjson

from quire.domain.accounts import Account
from quire.domain.batches import (
    BatchRow,
    BatchRules,
    BatchStatus,
    Cadence,
    End,
    Found,
    Lookup,
    Sought,
    Submission,
)
from quire.domain.data import JsonObject
from quire.domain.errors import ProviderError, Remedy
from quire.domain.requests import Call
from quire.providers.batching import ask_dated, ask_json, cancelling, counted, creating, reference
from quire.providers.compatible import Compatible
from quire.providers.filing import (
    PAGE,
    PURPOSE,
    TAG,
    all_before,
    delete_file,
    listing,
    look_at,
    place_of,
    read_files,
    read_row,
    upload_file,
)
from quire.providers.http import encoded, one_line
from quire.providers.protocol import Door
from quire.providers.reading import items, text
from quire.providers.searching import Search
from quire.providers.writing import model_id

RULES = BatchRules(
    calls=100_000,  # in one place they say a million
    size=500_000_000,
    lookup=Lookup.TAG,
    cadence=Cadence(first=30.0, later=120.0, after=600.0),
)

_ENDS = {
    "SUCCESS": End.COMPLETED,
    "FAILED": End.FAILED,
    "TIMEOUT_EXCEEDED": End.EXPIRED,
    "CANCELLED": End.CANCELLED,
}
_COUNTS = ("total_requests", "completed_requests", "succeeded_requests", "failed_requests")


class MistralBatches:
    """Batches as Mistral makes them."""

    name = "mistral"
    rules = RULES

    def __init__(self) -> None:
        """Write calls as Mistral reads them."""
        self._vendor = Compatible(self.name)

    def line(self, call: Call, account: Account, custom_id: str) -> bytes:
        """Put one call of a batch into Mistral's words; the model is the whole job's."""
        body = encoded(self._vendor, call, account).body
        model = b'{"model":' + orjson.dumps(model_id(call)) + b","
        if body.startswith(model):
            body = b"{" + body[len(model) :]
        return orjson.dumps({"custom_id": custom_id, "body": orjson.Fragment(body)})

    async def upload(self, door: Door, account: Account, submission: Submission) -> str:
        """Upload the file of calls."""
        return await upload_file(door, self._vendor, account, submission, PURPOSE)

    async def create(
        self, door: Door, account: Account, submission: Submission, input_ref: str
    ) -> str:
        """Make the job, asking once, and return its reference."""
        place = place_of(self._vendor, account)
        body = {
            "endpoint": f"/v1{place.endpoint}",
            "input_files": [input_ref],
            "model": submission.wire.id or submission.model.partition("/")[2],
            "metadata": {TAG: submission.nonce},
            "timeout_hours": 24,
        }
        request = place.request("POST", "batch", "jobs", body=orjson.dumps(body))
        classify = self._vendor.classify
        return await creating(door, classify, account, request, lambda made: made.get("id"))

    async def find(self, door: Door, account: Account, sought: Sought) -> Found:
        """Look for a job by our tag, or by its file, from the newest on."""
        place, number = place_of(self._vendor, account), 0
        search = Search(self.name, sought)
        while True:
            request = place.request(
                "GET",
                "batch",
                "jobs",
                page=str(number),
                page_size=str(PAGE),
                order_by="-created",
            )
            body, said = await ask_dated(door, self._vendor.classify, account, request)
            search.date(said)
            page = () if body.get("data") is None and body.get("total") == 0 else listing(body)
            if page is None:
                return search.unreadable()
            look_at(page, sought, search)
            if type(body.get("total")) not in (int, type(None)):
                search.unreadable()
            if search.over or _is_last(body, page, number) or all_before(page, search):
                return search.found
            if not search.turn(reference(page[0].get("id")) if page else ""):
                return search.found
            number += 1

    async def poll(self, door: Door, account: Account, ref: str) -> BatchStatus:
        """Ask how a job stands."""
        request = place_of(self._vendor, account).request("GET", "batch", "jobs", ref)
        classify = self._vendor.classify
        body = await ask_json(door, classify, account, request, missing=f"batch {ref}")
        return read_job(body)

    def fetch(
        self, door: Door, account: Account, ref: str, status: BatchStatus
    ) -> AsyncGenerator[BatchRow]:
        """Read the file of answers, then that of errors, as far as there are any."""
        return read_files(door, self._vendor, account, status.results, self.row)

    def row(self, line: bytes, account: Account) -> BatchRow:
        """Read one line of results."""
        return read_row(self._vendor, account, line)

    async def cancel(self, door: Door, account: Account, ref: str) -> None:
        """Ask for a job's end."""
        request = place_of(self._vendor, account).request("POST", "batch", "jobs", ref, "cancel")
        classify = self._vendor.classify

        async def poll() -> BatchStatus:
            return await self.poll(door, account, ref)

        await cancelling(door, classify, account, request, poll, f"batch {ref}")

    async def discard(self, door: Door, account: Account, input_ref: str) -> None:
        """Delete the file of calls."""
        await delete_file(door, self._vendor, account, input_ref)


def read_job(body: JsonObject) -> BatchStatus:
    """Read what a job says of itself; a word that we do not know is one of being under way."""
    word = text(body.get("status")).upper()
    if not word:
        raise ProviderError("mistral: the batch does not say how it stands", remedy=Remedy.RETRY)
    files = (reference(body.get("output_file")), reference(body.get("error_file")))
    said = (text(each.get("message")) for each in items(body.get("errors"))[:3])
    counts = counted({name: body.get(name) for name in _COUNTS})
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
