"""Gemini: Google's developer API, with a key; in its batches many calls travel in a file."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

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
)
from quire.domain.data import Json, JsonObject
from quire.domain.errors import ProviderError, Remedy
from quire.domain.requests import Call
from quire.providers import wire
from quire.providers.batch_requests import (
    ApiCaller,
    BatchSearch,
    HttpBatches,
    dump_json,
    reference,
    row_custom_id,
)
from quire.providers.embedding_formats import encode_google_passages
from quire.providers.google import (
    GoogleFormat,
    encode_content,
    end_of,
    job_status,
    last_part,
    read_job_row,
    search_jobs,
    versioned_url,
)
from quire.providers.http import encode_call
from quire.providers.protocol import HttpClient, HttpRequest, HttpResponse
from quire.providers.transport import size_of
from quire.providers.vendors import VENDORS

BASE_URL = VENDORS["gemini"].base_url
VERSION = "v1beta"  # has every field that v1 has, and the preview models besides


@dataclass(eq=False)
class Gemini(GoogleFormat):
    """Google's models, as developers reach them."""

    name: str = "gemini"

    def encode(self, call: Call, account: Account) -> HttpRequest:
        """Put a call into contents."""
        base = call.wire.url or account.base_url or BASE_URL
        act = "batchEmbedContents" if call.passages else "generateContent"
        end = f"/models/{quote(wire.model_id(call), safe='')}:{act}"
        return HttpRequest(
            versioned_url(self.name, base, VERSION, end),
            wire.headers("x-goog-api-key", account.key),
            encode_google_passages(call) if call.passages else encode_content(call),
        )


INLINE_BYTES = 15_000_000  # of the 20 MB that an order may have
INLINE_CALLS = 200  # their answers, however long, come in one body that is held in memory
PAGE = 20  # jobs; each may show all its answers


class GeminiBatches(HttpBatches):
    """Batches as developers make them."""

    label = "{}"

    def __init__(self, name: str = "gemini") -> None:
        """Write calls as in direct ones."""
        super().__init__(Gemini(name))

    def line(self, call: Call, account: Account, custom_id: str) -> bytes:
        """Put one call of a batch into a line of a file."""
        body = encode_call(self._vendor, call, account).body
        return orjson.dumps({"key": custom_id, "request": orjson.Fragment(body)})

    async def upload(self, http: HttpClient, account: Account, submission: Submission) -> str:
        """Bring the calls as a file, unless they are few."""
        path = Path(submission.path)
        size = size_of(path)
        if size <= INLINE_BYTES and submission.rows <= INLINE_CALLS:
            return ""
        url = await self._start_upload(http, account, submission.nonce, size)
        commands = {"X-Goog-Upload-Offset": "0", "X-Goog-Upload-Command": "upload, finalize"}
        request = HttpRequest(url, _headers(account, commands), b"")
        body = await self._caller(http, account).ask_json(request, (path,))
        name = reference(wire.mapping(body.get("file")).get("name"))
        if not name.startswith("files/"):
            raise _unclear_error("the file was sent, but the answer does not name it")
        return name

    async def create(
        self, http: HttpClient, account: Account, submission: Submission, input_ref: str
    ) -> str:
        """Make a job of a file, or of the calls themselves."""
        model = submission.wire.id or submission.model.partition("/")[2]
        request = _request(account, "models", f"{model}:batchGenerateContent", method="POST")
        calls: object = {"fileName": input_ref}
        if not input_ref:
            calls = {"requests": {"requests": _inline_calls(Path(submission.path))}}
        order = {"batch": {"displayName": submission.nonce, "inputConfig": calls}}
        request = request._replace(body=orjson.dumps(order))
        return await ApiCaller(http, self._classify_creation, account).create(request, "name")

    async def find(self, http: HttpClient, account: Account, query: BatchQuery) -> BatchMatch:
        """Look through all jobs for the one with our name."""
        after: dict[str, str] = {}
        search = BatchSearch(self.name, query)
        while True:
            request = _request(account, "batches", query={"pageSize": str(PAGE), **after})
            body = await self._caller(http, account).ask_json(request)
            page = search_jobs(
                body, "operations", lambda job: wire.mapping(job.get("metadata")), search
            )
            if search.is_over or not page or not search.turn_page(page):
                return search.match
            after = {"pageToken": page}

    async def poll(self, http: HttpClient, account: Account, ref: str) -> BatchStatus:
        """Ask how a job stands."""
        job = await self._get_job(http, account, ref)
        about, error = wire.mapping(job.get("metadata")), wire.mapping(job.get("error"))
        file = reference(_output(job).get("responsesFile"))
        status = job_status(about, error, ("batchStats", "successfulRequestCount"), file)
        if status.end is None and job.get("done") is True:
            end = end_of("FAILED", error) if error else BatchEnd.COMPLETED
            return replace(status, end=end)
        return status

    async def fetch(
        self, http: HttpClient, account: Account, ref: str, status: BatchStatus
    ) -> AsyncIterator[BatchRow]:
        """Read the rows of a job that has ended: from its file, or from the job itself."""
        files = status.results
        if not files:
            output = _output(await self._get_job(http, account, ref))
            inside = wire.mapping(output.get("inlinedResponses")).get("inlinedResponses")
            file = reference(output.get("responsesFile"))
            files = (file,) if file else ()
            if status.end is BatchEnd.COMPLETED and not file and not isinstance(inside, list):
                raise _unclear_error(f"{ref} is done, but shows no results yet")
            for item in inside if isinstance(inside, list) else ():
                yield self._inline_row(item, account)
        for file in files:
            async with aclosing(self._lines(http, account, file)) as found:
                async for line in found:
                    yield self.row(line, account)

    def _read_row(self, line: bytes, account: Account) -> BatchRow:
        row = wire.mapping(wire.parse(line))
        return read_job_row(self.name, account, row_custom_id(row), row, line)

    def _inline_row(self, row: Json, account: Account) -> BatchRow:
        """Read a row that stands in the job itself; what nothing can write is named at least."""
        if line := dump_json(row):
            return self.row(line, account)
        why = b"a response nested too deep to be kept"
        return BatchRow(row_custom_id(row), RowEnd.UNREADABLE, why)

    def _cancel_request(self, account: Account, ref: str) -> HttpRequest:
        return _request(account, "batches", f"{last_part(ref)}:cancel", method="POST")

    async def discard(self, http: HttpClient, account: Account, input_ref: str) -> None:
        """Delete the file of calls; whoever may not see one is told the same as if it were gone."""
        if not input_ref:
            return
        request = _request(account, "files", last_part(input_ref), method="DELETE")
        await self._caller(http, account).delete(request, b"may not exist")

    async def _start_upload(self, http: HttpClient, account: Account, nonce: str, size: int) -> str:
        """Say that a file comes, and learn where it is wanted: at the same host, whatever it is."""
        url = wire.url_before_version(_url(account, "files"), "upload")
        commands = {
            "X-Goog-Upload-Protocol": "resumable",
            "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": str(size),
            "X-Goog-Upload-Header-Content-Type": "application/jsonl",
        }
        about = orjson.dumps({"file": {"displayName": nonce, "mimeType": "application/jsonl"}})
        request = HttpRequest(url, _headers(account, commands), about)
        response = await self._caller(http, account).ask(request)
        target = response.headers.get("x-goog-upload-url", "")
        if not target:
            raise _unclear_error("the answer does not say where the file is to be sent")
        try:
            return wire.url_at_host_of(url, target)
        except ValueError:
            raise _unclear_error("the answer says no place to which a file can be sent") from None

    async def _get_job(self, http: HttpClient, account: Account, ref: str) -> JsonObject:
        request = _request(account, "batches", last_part(ref))
        job = await self._caller(http, account).ask_json(request, missing=ref)
        if not isinstance(job.get("name"), str):
            raise _unclear_error(f"the answer does not say how {ref} stands")
        return job

    def _lines(self, http: HttpClient, account: Account, file: str) -> AsyncGenerator[bytes]:
        url = wire.url_before_version(_url(account, "files"), "download")
        url = wire.url_below(url, f"{last_part(file)}:download", query={"alt": "media"})
        request = HttpRequest(url, _headers(account), b"", method="GET")
        return self._caller(http, account).lines(request, file)

    def _classify_creation(self, response: HttpResponse) -> ProviderError:
        """Whoever has too much waiting is told of quotas and bills alike: it passes."""
        error = self._classify(response)
        if response.status != 429 or b'"violations"' in response.body:
            return error
        return ProviderError(str(error), remedy=Remedy.WAIT, retry_after=error.retry_after)


def _url(account: Account, *steps: str) -> str:
    base = versioned_url("gemini", account.base_url or BASE_URL, VERSION, "")
    return wire.url_below(base, *steps)


def _headers(account: Account, others: Mapping[str, str] | None = None) -> Mapping[str, str]:
    return wire.Headers({**wire.headers("x-goog-api-key", account.key), **(others or {})})


def _request(
    account: Account, *steps: str, method: str = "GET", query: Mapping[str, str] | None = None
) -> HttpRequest:
    url = wire.url_below(_url(account), *steps, query=query)
    return HttpRequest(url, _headers(account), b"", method=method)


def _inline_calls(path: Path) -> list[orjson.Fragment]:
    """The calls of a file as they stand inside an order."""
    try:
        calls = path.read_bytes().split(b"\n")
    except OSError as error:
        why = error.strerror or "it cannot be read"
    else:
        return [orjson.Fragment(_to_inline(line)) for line in calls if line]
    raise ProviderError(f"{path} cannot be sent: {why}", remedy=Remedy.RETRY)


def _to_inline(line: bytes) -> bytes:
    """A line with its key where an order has it; both ends of a line are our own writing."""
    key, _, request = line.partition(b',"request":')
    return b'{"metadata":' + key + b'},"request":' + request


def _output(job: JsonObject) -> JsonObject:
    """Where the results are: besides what is said of the job, or in its response."""
    response = wire.mapping(job.get("response"))
    output = wire.mapping(wire.mapping(job.get("metadata")).get("output"))
    return output or wire.mapping(response.get("output")) or response


def _unclear_error(message: str) -> ProviderError:
    return ProviderError(f"gemini: {message}", remedy=Remedy.RETRY)
