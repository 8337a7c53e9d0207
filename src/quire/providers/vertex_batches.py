"""Vertex AI's batches: calls and answers lie in a bucket of one's own; the name is our tag."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path

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
from quire.domain.data import Json, JsonObject
from quire.domain.errors import ProviderError, Remedy
from quire.domain.requests import Call
from quire.providers.addressing import below
from quire.providers.batching import ask_json, cancelling, creating, guarded, reference
from quire.providers.google_jobs import (
    CANCELLING,
    answered,
    end_of,
    failed,
    look_at,
    numbers,
    state_of,
    told,
)
from quire.providers.http import encoded
from quire.providers.importing import importable
from quire.providers.portable import Dialect, portable
from quire.providers.protocol import Door, HttpRequest
from quire.providers.reading import mapping, parse, text
from quire.providers.searching import Search
from quire.providers.storing import SCHEME, CloudStorage, Opening, place_of
from quire.providers.vertex import Vertex, project_at
from quire.providers.writing import Same, fragment, headers

PAGE = 100  # jobs

_CODES = {each.phrase.lower(): each.value for each in HTTPStatus}


class VertexBatches:
    """Batches as Cloud projects make them; no cache makes them cheaper."""

    name = "vertex"
    rules = BatchRules(
        calls=200_000,
        size=1_000_000_000,
        lookup=Lookup.TAG,
        cadence=Cadence(120.0, 300.0, 1_200.0),
        window=96 * 3600.0,  # up to 72 hours of waiting, then 24 of work
        caches=False,
    )

    def __init__(self, opening: Opening = CloudStorage) -> None:
        """Keep files in Cloud Storage, or wherever else `opening` leads."""
        self._vendor = Vertex(_form)
        self._opening = opening

    def line(self, call: Call, account: Account, custom_id: str) -> bytes:
        """Put one call of a batch into a line that the importer takes for a row of a table."""
        body = encoded(self._vendor, call, account).body
        return orjson.dumps({"request": orjson.Fragment(body), "custom_id": custom_id})

    async def upload(self, door: Door, account: Account, submission: Submission) -> str:
        """Bring the calls into the bucket."""
        uri = f"{_folder(account)}/{submission.nonce}.jsonl"
        await self._opening(door, account).put(Path(submission.path), uri)
        return uri

    async def create(
        self, door: Door, account: Account, submission: Submission, input_ref: str
    ) -> str:
        """Make a job that writes to a place of its own."""
        model = submission.wire.id or submission.model.partition("/")[2]
        output = f"{_folder(account)}/{submission.nonce}/out"
        order = {
            "displayName": submission.nonce,
            "labels": {"quire": submission.nonce},
            "model": f"publishers/google/models/{model}",
            "inputConfig": {"instancesFormat": "jsonl", "gcsSource": {"uris": [input_ref]}},
            "outputConfig": {
                "predictionsFormat": "jsonl",
                "gcsDestination": {"outputUriPrefix": output},
            },
        }
        request = _request(account, method="POST")._replace(body=orjson.dumps(order))
        return await creating(
            door, self._vendor.classify, account, request, lambda body: body.get("name")
        )

    async def find(self, door: Door, account: Account, sought: Sought) -> Found:
        """Ask for the job with our name, and for those of the names before it."""
        search = Search(self.name, sought)
        for name in (sought.nonce, *sorted(sought.retired)):
            if not await self._list(door, account, name, search):
                break
        return search.found

    async def _list(self, door: Door, account: Account, name: str, search: Search) -> bool:
        """Look at all jobs of a name; false where not all of them could be seen."""
        asked = {"filter": f'display_name="{name}"', "pageSize": str(PAGE)}
        while True:
            body = await ask_json(
                door, self._vendor.classify, account, _request(account, query=asked)
            )
            # what was asked for by its name has one
            page = look_at(
                body, "batchPredictionJobs", lambda job: {"displayName": None, **job}, search
            )
            if search.over or not page:
                return True
            if not search.turn(f"{name} {page}"):
                return False
            asked = {**asked, "pageToken": page}

    async def poll(self, door: Door, account: Account, ref: str) -> BatchStatus:
        """Ask how a job stands, and where it writes."""
        request = _request(account, _last(ref))
        job = await ask_json(door, self._vendor.classify, account, request, missing=ref)
        if not isinstance(job.get("name"), str):
            raise ProviderError(
                f"vertex: the answer does not say how {ref} stands", remedy=Remedy.RETRY
            )
        error = mapping(job.get("error"))
        counts = numbers(mapping(job.get("completionStats")))
        state = state_of(job.get("state"))
        place = _output(job)
        return BatchStatus(
            end=end_of(state, error, counts.get("successfulCount", 0)),
            cancelling=state == CANCELLING,
            counts=counts,
            answers=counts.get("successfulCount", 0),
            results=(place,) if place else (),
            problem=told(error),
        )

    async def fetch(
        self, door: Door, account: Account, ref: str, status: BatchStatus
    ) -> AsyncIterator[BatchRow]:
        """Read every file that a job has written."""
        store = self._opening(door, account)
        listed = [name for place in status.results for name in await store.names(place)]
        files = [name for name in dict.fromkeys(listed) if name.endswith(".jsonl")]
        if status.end is End.COMPLETED and not files:
            raise ProviderError(
                f"vertex: {ref} is done, but there are no results in the bucket;"
                " see what Vertex AI's service agent may write there",
                remedy=Remedy.RETRY,
            )
        for name in files:
            lines: AsyncGenerator[bytes] = store.lines(name)
            async with aclosing(lines):
                async for line in lines:
                    yield self.row(line, account)

    def row(self, line: bytes, account: Account) -> BatchRow:
        """Read one line of results."""
        return guarded(lambda: self._row(line, account), line)

    def _row(self, line: bytes, account: Account) -> BatchRow:
        row = mapping(parse(line))
        name, status = text(row.get("custom_id")), row.get("status")
        if name and isinstance(status, str) and status.strip():
            return failed(self.name, account, name, _failure(status), line)
        return answered(self.name, account, name, row, line)

    async def cancel(self, door: Door, account: Account, ref: str) -> None:
        """Ask for a job's end; what it has answered by then is written all the same."""
        request = _request(account, f"{_last(ref)}:cancel", method="POST")
        await cancelling(
            door,
            self._vendor.classify,
            account,
            request,
            lambda: self.poll(door, account, ref),
            missing=ref,
        )

    async def discard(self, door: Door, account: Account, input_ref: str) -> None:
        """Delete the file of calls from the bucket."""
        if input_ref:
            await self._opening(door, account).delete(input_ref)


@lru_cache(maxsize=256)
def _form(schema: Same) -> orjson.Fragment | None:
    """The schema of the answer, or none where the importer would refuse it: the words ask too."""
    written = importable(portable(schema.value, Dialect.GEMINI))
    return fragment(written) if written is not None else None


def _folder(account: Account) -> str:
    """Where our files lie in the account's bucket."""
    bucket = account.options.get("bucket", "").rstrip("/")
    if not bucket:
        raise ProviderError(
            'vertex: batches need a bucket for calls and answers; write bucket = "gs://…" below'
            " [providers.vertex] in quire.toml, or set QUIRE_VERTEX_BUCKET",
            remedy=Remedy.FIX_ACCOUNT,
        )
    place_of(bucket)
    return f"{bucket}/quire"


def _request(
    account: Account, *steps: str, method: str = "GET", query: Mapping[str, str] | None = None
) -> HttpRequest:
    url = below(project_at(account), "batchPredictionJobs", *steps, query=query)
    return HttpRequest(url, headers("Authorization", account.key, "Bearer "), b"", method=method)


def _last(ref: str) -> str:
    """The part of a name that is after its kind."""
    return ref.rpartition("/")[2]


def _output(job: JsonObject) -> str:
    """Where a job writes: what it says of that, else what it was told."""
    said: Json = mapping(job.get("outputInfo")).get("gcsOutputDirectory")
    config = mapping(mapping(job.get("outputConfig")).get("gcsDestination"))
    place = reference(said) or reference(config.get("outputUriPrefix"))
    return place if place.startswith(SCHEME) else ""


def _failure(status: str) -> JsonObject:
    """What the status of a row says: words, and the body of an error behind them."""
    words, _, rest = status.partition(":")
    error = mapping(mapping(parse(rest.encode())).get("error"))
    code = _CODES.get(words.strip().lower())
    return {"code": code, "message": status, **error} if code else {"message": status, **error}
