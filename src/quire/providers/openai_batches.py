"""OpenAI's batches: a file of calls, and two of results; Groq's are of the same form."""

from collections.abc import AsyncGenerator, Mapping, Sequence

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
from quire.providers import failing
from quire.providers.batching import (
    ask_dated,
    ask_json,
    cancelling,
    counted,
    creating,
    reference,
)
from quire.providers.compatible import Compatible
from quire.providers.filing import (
    PAGE,
    PURPOSE,
    TAG,
    all_before,
    delete_file,
    endpoint_of,
    listing,
    look_at,
    place_of,
    read_files,
    read_row,
    upload_file,
)
from quire.providers.http import encoded, one_line
from quire.providers.openai import OpenAI
from quire.providers.protocol import Door, HttpResponse, Vendor
from quire.providers.rates import retry_after
from quire.providers.reading import items, mapping, text
from quire.providers.searching import Search

CADENCE = Cadence(first=30.0, later=120.0, after=600.0)
RULES = BatchRules(calls=50_000, size=200_000_000, lookup=Lookup.TAG, cadence=CADENCE)
# Their documentation says 200 MB, their client 100; and no call is cheaper for being cached.
GROQ_RULES = BatchRules(
    calls=50_000, size=100_000_000, lookup=Lookup.TAG, cadence=CADENCE, caches=False
)

_FULL = "token_limit_exceeded"  # of all batches under way: nothing ran, and later it will
_ENDS = {
    "completed": End.COMPLETED,
    "failed": End.FAILED,
    "expired": End.EXPIRED,
    "cancelled": End.CANCELLED,
}


class OpenAIBatches:
    """Batches as OpenAI makes them, for it and for whoever speaks like it."""

    def __init__(
        self,
        vendor: Vendor | None = None,
        rules: BatchRules = RULES,
        fields: Mapping[str, str] = PURPOSE,
    ) -> None:
        """Write calls as a vendor does; `fields` go with every upload."""
        self._vendor = vendor or OpenAI()
        self.name = self._vendor.name
        self.rules = rules
        self._fields = fields

    def line(self, call: Call, account: Account, custom_id: str) -> bytes:
        """Put one call of a batch into OpenAI's words: those of a direct call, wrapped."""
        direct = encoded(self._vendor, call, account)
        return orjson.dumps(
            {
                "custom_id": custom_id,
                "method": "POST",
                "url": f"/v1{endpoint_of(direct.url)}",
                "body": orjson.Fragment(direct.body),
            }
        )

    async def upload(self, door: Door, account: Account, submission: Submission) -> str:
        """Upload the file of calls."""
        return await upload_file(door, self._vendor, account, submission, self._fields)

    async def create(
        self, door: Door, account: Account, submission: Submission, input_ref: str
    ) -> str:
        """Make the batch, asking once, and return its reference."""
        place = place_of(self._vendor, account)
        body = {
            "input_file_id": input_ref,
            "endpoint": f"/v1{place.endpoint}",
            "completion_window": "24h",
            "metadata": {TAG: submission.nonce},
        }
        request = place.request("POST", "batches", body=orjson.dumps(body))
        return await creating(door, self._classify, account, request, lambda made: made.get("id"))

    async def find(self, door: Door, account: Account, sought: Sought) -> Found:
        """Look for a batch by our tag, or by its file, from the newest on."""
        place, after = place_of(self._vendor, account), ""
        search = Search(self.name, sought)
        while True:
            request = place.request("GET", "batches", limit=str(PAGE), after=after)
            body, said = await ask_dated(door, self._classify, account, request)
            search.date(said)
            page = listing(body)
            if page is None:
                return search.unreadable()
            look_at(page, sought, search)
            if not isinstance(body.get("has_more"), bool | None):  # some leave it out
                search.unreadable()
            after = reference(page[-1].get("id")) if page else ""
            if search.over or _is_last(body, page, search) or not search.turn(after):
                return search.found

    async def poll(self, door: Door, account: Account, ref: str) -> BatchStatus:
        """Ask how a batch stands."""
        request = place_of(self._vendor, account).request("GET", "batches", ref)
        body = await ask_json(door, self._classify, account, request, missing=f"batch {ref}")
        return read_status(self.name, body)

    def fetch(
        self, door: Door, account: Account, ref: str, status: BatchStatus
    ) -> AsyncGenerator[BatchRow]:
        """Read the file of answers, then that of errors, as far as there are any."""
        return read_files(door, self._vendor, account, status.results, self.row)

    def row(self, line: bytes, account: Account) -> BatchRow:
        """Read one line of results."""
        return read_row(self._vendor, account, line)

    async def cancel(self, door: Door, account: Account, ref: str) -> None:
        """Ask for a batch's end; what is in work is finished, and paid for."""
        request = place_of(self._vendor, account).request("POST", "batches", ref, "cancel")
        await cancelling(
            door,
            self._classify,
            account,
            request,
            lambda: self.poll(door, account, ref),
            f"batch {ref}",
        )

    async def discard(self, door: Door, account: Account, input_ref: str) -> None:
        """Delete the file of calls."""
        await delete_file(door, self._vendor, account, input_ref)

    def _classify(self, response: HttpResponse) -> ProviderError:
        told = failing.complaint(response.body)
        if _FULL not in told.words:
            return self._vendor.classify(response)
        return ProviderError(
            failing.sentence(self.name, response.status, told),
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
    if end is End.FAILED and any(each.get("code") == _FULL for each in errors):
        end = End.QUEUE_FULL
    files = (reference(body.get("output_file_id")), reference(body.get("error_file_id")))
    counts = counted(mapping(body.get("request_counts")))
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


def _is_last(body: JsonObject, page: Sequence[JsonObject], search: Search) -> bool:
    """Whether no batch that was made in time can be listed after this page."""
    more = body.get("has_more")
    if more is False or (more is not True and len(page) < PAGE):
        return True
    return all_before(page, search)


def groq_batches() -> OpenAIBatches:
    """Batches of Groq."""
    return OpenAIBatches(Compatible("groq"), GROQ_RULES)
