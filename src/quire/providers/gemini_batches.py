"""Gemini's batches: few calls travel with the order, many in a file; the name is our tag."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
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
    RowEnd,
    Sought,
    Submission,
)
from quire.domain.data import Json, JsonObject
from quire.domain.errors import ProviderError, Remedy
from quire.domain.requests import Call
from quire.providers.addressing import at_host_of, before_version, below
from quire.providers.batching import (
    ask_json,
    asking,
    cancelling,
    creating,
    good,
    guarded,
    harmless,
    lines,
    named,
    reference,
    refusing,
    written,
)
from quire.providers.gemini import HOME, VERSION, Gemini
from quire.providers.google import place
from quire.providers.google_jobs import (
    CANCELLING,
    answered,
    end_of,
    look_at,
    numbers,
    state_of,
    told,
)
from quire.providers.http import encoded
from quire.providers.protocol import Door, HttpRequest, HttpResponse
from quire.providers.reading import mapping, parse
from quire.providers.searching import Search
from quire.providers.writing import Headers, headers

INLINE_BYTES = 15_000_000  # of the 20 MB that an order may have
INLINE_CALLS = 200  # their answers, however long, come in one body that is held in memory
PAGE = 20  # jobs; each may show all its answers


class GeminiBatches:
    """Batches as developers make them."""

    name = "gemini"
    rules = BatchRules(
        calls=100_000,
        size=1_000_000_000,  # of 2 GB: a job that outlasts its time gives nothing back at all
        lookup=Lookup.TAG,
        cadence=Cadence(120.0, 300.0, 1_200.0),
        window=48 * 3600.0,
    )

    def __init__(self) -> None:
        """Speak as in direct calls."""
        self._vendor = Gemini()

    def line(self, call: Call, account: Account, custom_id: str) -> bytes:
        """Put one call of a batch into a line of a file."""
        body = encoded(self._vendor, call, account).body
        return orjson.dumps({"key": custom_id, "request": orjson.Fragment(body)})

    async def upload(self, door: Door, account: Account, submission: Submission) -> str:
        """Bring the calls as a file, unless they are few."""
        path = Path(submission.path)
        size = _size(path)
        if size <= INLINE_BYTES and submission.rows <= INLINE_CALLS:
            return ""
        place = await self._start(door, account, submission.nonce, size)
        commands = {"X-Goog-Upload-Offset": "0", "X-Goog-Upload-Command": "upload, finalize"}
        request = HttpRequest(place, _headers(account, commands), b"")
        body = await ask_json(door, self._vendor.classify, account, request, (path,))
        name = reference(mapping(body.get("file")).get("name"))
        if not name.startswith("files/"):
            raise _unclear("the file was sent, but the answer does not name it")
        return name

    async def create(
        self, door: Door, account: Account, submission: Submission, input_ref: str
    ) -> str:
        """Make a job of a file, or of the calls themselves."""
        model = submission.wire.id or submission.model.partition("/")[2]
        request = _request(account, "models", f"{model}:batchGenerateContent", method="POST")
        calls: object = {"fileName": input_ref}
        if not input_ref:
            calls = {"requests": {"requests": _inline(Path(submission.path))}}
        order = {"batch": {"displayName": submission.nonce, "inputConfig": calls}}
        request = request._replace(body=orjson.dumps(order))
        return await creating(door, self._refused, account, request, lambda body: body.get("name"))

    async def find(self, door: Door, account: Account, sought: Sought) -> Found:
        """Look through all jobs for the one with our name."""
        after: dict[str, str] = {}
        search = Search(self.name, sought)
        while True:
            request = _request(account, "batches", query={"pageSize": str(PAGE), **after})
            body = await ask_json(door, self._vendor.classify, account, request)
            page = look_at(body, "operations", lambda job: mapping(job.get("metadata")), search)
            if search.over or not page or not search.turn(page):
                return search.found
            after = {"pageToken": page}

    async def poll(self, door: Door, account: Account, ref: str) -> BatchStatus:
        """Ask how a job stands."""
        job = await self._get(door, account, ref)
        about, error = mapping(job.get("metadata")), mapping(job.get("error"))
        counts = numbers(mapping(about.get("batchStats")))
        state = state_of(about.get("state"))
        end = end_of(state, error, counts.get("successfulRequestCount", 0))
        if end is None and job.get("done") is True:
            end = end_of("FAILED", error) if error else End.COMPLETED
        file = reference(_output(job).get("responsesFile"))
        return BatchStatus(
            end=end,
            cancelling=state == CANCELLING,
            counts=counts,
            answers=counts.get("successfulRequestCount", 0),
            results=(file,) if file else (),
            problem=told(error),
        )

    async def fetch(
        self, door: Door, account: Account, ref: str, status: BatchStatus
    ) -> AsyncIterator[BatchRow]:
        """Read the rows of a job that has ended: from its file, or from the job itself."""
        files = status.results
        if not files:
            output = _output(await self._get(door, account, ref))
            inside = mapping(output.get("inlinedResponses")).get("inlinedResponses")
            file = reference(output.get("responsesFile"))
            files = (file,) if file else ()
            if status.end is End.COMPLETED and not file and not isinstance(inside, list):
                raise _unclear(f"{ref} is done, but shows no results yet")
            for each in inside if isinstance(inside, list) else ():
                yield self._inside(each, account)
        for file in files:
            async with aclosing(self._lines(door, account, file)) as found:
                async for line in found:
                    yield self.row(line, account)

    def row(self, line: bytes, account: Account) -> BatchRow:
        """Read one line of a file of results; in a job, the key is one level deeper."""
        return guarded(lambda: self._row(line, account), line)

    def _row(self, line: bytes, account: Account) -> BatchRow:
        row = mapping(parse(line))
        return answered(self.name, account, named(row), row, line)

    def _inside(self, row: Json, account: Account) -> BatchRow:
        """Read a row that stands in the job itself; what nothing can write is named at least."""
        if line := written(row):
            return self.row(line, account)
        return BatchRow(named(row), RowEnd.UNREADABLE, b"a response nested too deep to be kept")

    async def cancel(self, door: Door, account: Account, ref: str) -> None:
        """Ask for a job's end."""
        request = _request(account, "batches", f"{_last(ref)}:cancel", method="POST")
        await cancelling(
            door,
            self._vendor.classify,
            account,
            request,
            lambda: self.poll(door, account, ref),
            missing=ref,
        )

    async def discard(self, door: Door, account: Account, input_ref: str) -> None:
        """Delete the file of calls; whoever may not see one is told the same as if it were gone."""
        if not input_ref:
            return
        request = _request(account, "files", _last(input_ref), method="DELETE")
        try:
            response = await door.exchange(request)
        except ProviderError as error:
            failure = harmless(error)
        else:
            gone = response.status == 404 or b"may not exist" in response.body
            if good(response) or gone:
                return
            failure = refusing(self._vendor.classify, account, request)(response)
        raise failure

    async def _start(self, door: Door, account: Account, nonce: str, size: int) -> str:
        """Say that a file comes, and learn where it is wanted: at the same host, whatever it is."""
        url = before_version(_address(account, "files"), "upload")
        commands = {
            "X-Goog-Upload-Protocol": "resumable",
            "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": str(size),
            "X-Goog-Upload-Header-Content-Type": "application/jsonl",
        }
        about = orjson.dumps({"file": {"displayName": nonce, "mimeType": "application/jsonl"}})
        request = HttpRequest(url, _headers(account, commands), about)
        response = await asking(door, self._vendor.classify, account, request)
        place = response.headers.get("x-goog-upload-url", "")
        if not place:
            raise _unclear("the answer does not say where the file is to be sent")
        try:
            return at_host_of(url, place)
        except ValueError:
            raise _unclear("the answer says no place to which a file can be sent") from None

    async def _get(self, door: Door, account: Account, ref: str) -> JsonObject:
        request = _request(account, "batches", _last(ref))
        job = await ask_json(door, self._vendor.classify, account, request, missing=ref)
        if not isinstance(job.get("name"), str):
            raise _unclear(f"the answer does not say how {ref} stands")
        return job

    def _lines(self, door: Door, account: Account, file: str) -> AsyncGenerator[bytes]:
        url = before_version(_address(account, "files"), "download")
        url = below(url, f"{_last(file)}:download", query={"alt": "media"})
        request = HttpRequest(url, _headers(account), b"", method="GET")
        return lines(door, self._vendor.classify, account, request, missing=file)

    def _refused(self, response: HttpResponse) -> ProviderError:
        """Whoever has too much waiting is told of quotas and bills alike: it passes."""
        error = self._vendor.classify(response)
        if response.status != 429 or b'"violations"' in response.body:
            return error
        return ProviderError(str(error), remedy=Remedy.WAIT, retry_after=error.retry_after)


def _address(account: Account, *steps: str) -> str:
    return below(place("gemini", account.base_url or HOME, VERSION, ""), *steps)


def _headers(account: Account, others: Mapping[str, str] | None = None) -> Mapping[str, str]:
    return Headers({**headers("x-goog-api-key", account.key), **(others or {})})


def _request(
    account: Account, *steps: str, method: str = "GET", query: Mapping[str, str] | None = None
) -> HttpRequest:
    url = below(_address(account), *steps, query=query)
    return HttpRequest(url, _headers(account), b"", method=method)


def _last(ref: str) -> str:
    """The part of a name that is after its kind."""
    return ref.rpartition("/")[2]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        why = error.strerror or "it cannot be read"
    raise ProviderError(f"{path} cannot be sent: {why}", remedy=Remedy.RETRY)


def _inline(path: Path) -> list[orjson.Fragment]:
    """The calls of a file as they stand inside an order."""
    try:
        calls = path.read_bytes().split(b"\n")
    except OSError as error:
        why = error.strerror or "it cannot be read"
    else:
        return [orjson.Fragment(_moved(line)) for line in calls if line]
    raise ProviderError(f"{path} cannot be sent: {why}", remedy=Remedy.RETRY)


def _moved(line: bytes) -> bytes:
    """A line with its key where an order has it; both ends of a line are our own writing."""
    key, _, request = line.partition(b',"request":')
    return b'{"metadata":' + key + b'},"request":' + request


def _output(job: JsonObject) -> JsonObject:
    """Where the results are: besides what is said of the job, or in its response."""
    response = mapping(job.get("response"))
    output = mapping(mapping(job.get("metadata")).get("output"))
    return output or mapping(response.get("output")) or response


def _unclear(message: str) -> ProviderError:
    return ProviderError(f"gemini: {message}", remedy=Remedy.RETRY)
