"""Vertex AI: Google's models in one's own project, with a token; its batches lie in a bucket."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import orjson

from quire.domain.accounts import Account
from quire.domain.batches import BatchEnd, BatchMatch, BatchQuery, BatchRow, BatchStatus, Submission
from quire.domain.data import Json, JsonObject
from quire.domain.errors import CallFault, ProviderError, Remedy, SettingsInvalid
from quire.domain.requests import Call
from quire.providers import wire
from quire.providers.batch_requests import BatchSearch, HttpBatches, reference
from quire.providers.google import (
    GoogleFormat,
    SchemaWriter,
    encode_content,
    failed_row,
    job_status,
    last_part,
    read_job_row,
    search_jobs,
    versioned_url,
)
from quire.providers.http import encode_call
from quire.providers.object_store import SCHEME, CloudStorage, OpenStore, parse_uri
from quire.providers.portable_schemas import SchemaDialect, portable_schema
from quire.providers.protocol import HttpClient, HttpRequest
from quire.providers.schema_limits import importable_schema
from quire.providers.vendors import VENDORS

if TYPE_CHECKING:
    from google.auth.credentials import Credentials


VERSION = "v1"
GLOBAL_LOCATION = "global"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"

_SEVERAL_REGIONS = ("us", "eu")
_LOCATION = re.compile(r"[a-z0-9-]{1,63}")  # it becomes a part of the host that is sent the token
_PROJECT = re.compile(r"[a-z0-9.:-]{1,100}")


@dataclass(eq=False)
class Vertex(GoogleFormat):
    """Google's models, as Cloud projects reach them."""

    name: str = "vertex"
    write_schema: SchemaWriter | None = None  # for somebody else who has to read schemas first

    def encode(self, call: Call, account: Account) -> HttpRequest:
        """Put a call into contents, addressed to the account's project and location."""
        end = f"/publishers/google/models/{quote(wire.model_id(call), safe='')}:generateContent"
        return HttpRequest(
            project_url(account, call.wire.url, end),
            wire.headers("Authorization", account.key, "Bearer "),
            encode_content(call, self.write_schema),
        )


def project_url(account: Account, base: str = "", end: str = "") -> str:
    """Where something of the account's project is found, in its location."""
    project = _option(account, "project", _PROJECT, "")
    location = _option(account, "location", _LOCATION, GLOBAL_LOCATION)
    base = base or account.base_url or _host_url(location)
    return versioned_url("vertex", base, VERSION, f"/projects/{project}/locations/{location}{end}")


def access_token() -> str:
    """Fetch a token of this machine's own Google identity, or the one that is still good.

    It asks the network and blocks, and the token lasts about an hour: whoever makes an account
    calls this again before then.
    """
    try:
        from google.auth.exceptions import GoogleAuthError
        from google.auth.transport.requests import Request
    except ImportError:
        raise SettingsInvalid(
            "vertex: google-auth is not installed; install quire[vertex], or give a token"
        ) from None
    try:
        credentials = _credentials()
        if not credentials.valid:
            credentials.refresh(Request())  # type: ignore[no-untyped-call]  # google's own
    except GoogleAuthError as error:
        raise ProviderError(
            f"vertex: no token for this machine's Google identity ({type(error).__name__});"
            " run `gcloud auth application-default login`, or give a token",
            remedy=Remedy.FIX_ACCOUNT,
            bad_key=True,
        ) from None
    return str(credentials.token)


@lru_cache(maxsize=1)
def _credentials() -> "Credentials":
    import google.auth

    credentials, _project = google.auth.default(scopes=[SCOPE])
    return credentials


def _host_url(location: str) -> str:
    if location == GLOBAL_LOCATION:
        return VENDORS["vertex"].base_url
    if location in _SEVERAL_REGIONS:
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"


def _option(account: Account, name: str, form: re.Pattern[str], usual: str) -> str:
    value = account.options.get(name) or usual
    if not form.fullmatch(value):
        what = f"is no name of a {name}" if value else "is missing"
        message = f"vertex: the {name} {what}; set GOOGLE_CLOUD_{name.upper()}"
        raise ProviderError(message, remedy=Remedy.FIX_ACCOUNT, fault=CallFault.ADDRESS)
    return value


PAGE = 100  # jobs

_CODES = {status.phrase.lower(): status.value for status in HTTPStatus}


class VertexBatches(HttpBatches):
    """Batches as Cloud projects make them; no cache makes them cheaper."""

    label = "{}"

    def __init__(self, name: str = "vertex", open_store: OpenStore = CloudStorage) -> None:
        """Keep files in Cloud Storage, or wherever else `open_store` leads."""
        super().__init__(Vertex(name, _importable_fragment))
        self._open_store = open_store

    def line(self, call: Call, account: Account, custom_id: str) -> bytes:
        """Put one call of a batch into a line that the importer takes for a row of a table."""
        body = encode_call(self._vendor, call, account).body
        return orjson.dumps({"request": orjson.Fragment(body), "custom_id": custom_id})

    async def upload(self, http: HttpClient, account: Account, submission: Submission) -> str:
        """Bring the calls into the bucket."""
        uri = f"{_folder(account)}/{submission.nonce}.jsonl"
        await self._open_store(http, account).put(Path(submission.path), uri)
        return uri

    async def create(
        self, http: HttpClient, account: Account, submission: Submission, input_ref: str
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
        return await self._caller(http, account).create(request, "name")

    async def find(self, http: HttpClient, account: Account, query: BatchQuery) -> BatchMatch:
        """Ask for the job with our name, and for those of the names before it."""
        search = BatchSearch(self.name, query)
        for name in (query.nonce, *sorted(query.retired)):
            if not await self._list_jobs(http, account, name, search):
                break
        return search.match

    async def _list_jobs(
        self, http: HttpClient, account: Account, name: str, search: BatchSearch
    ) -> bool:
        """Look at all jobs of a name; false where not all of them could be seen."""
        asked = {"filter": f'display_name="{name}"', "pageSize": str(PAGE)}
        while True:
            body = await self._caller(http, account).ask_json(_request(account, query=asked))
            # what was asked for by its name has one
            page = search_jobs(
                body, "batchPredictionJobs", lambda job: {"displayName": None, **job}, search
            )
            if search.is_over or not page:
                return True
            if not search.turn_page(f"{name} {page}"):
                return False
            asked = {**asked, "pageToken": page}

    async def poll(self, http: HttpClient, account: Account, ref: str) -> BatchStatus:
        """Ask how a job stands, and where it writes."""
        request = _request(account, last_part(ref))
        job = await self._caller(http, account).ask_json(request, missing=ref)
        if not isinstance(job.get("name"), str):
            message = f"vertex: the answer does not say how {ref} stands"
            raise ProviderError(message, remedy=Remedy.RETRY)
        counts = ("completionStats", "successfulCount")
        return job_status(job, wire.mapping(job.get("error")), counts, _output(job))

    async def fetch(
        self, http: HttpClient, account: Account, ref: str, status: BatchStatus
    ) -> AsyncIterator[BatchRow]:
        """Read every file that a job has written."""
        store = self._open_store(http, account)
        listed = [name for place in status.results for name in await store.names(place)]
        files = [name for name in dict.fromkeys(listed) if name.endswith(".jsonl")]
        if status.end is BatchEnd.COMPLETED and not files:
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

    def _read_row(self, line: bytes, account: Account) -> BatchRow:
        row = wire.mapping(wire.parse(line))
        name, status = wire.text(row.get("custom_id")), row.get("status")
        if name and isinstance(status, str) and status.strip():
            return failed_row(self.name, account, name, _failure(status), line)
        return read_job_row(self.name, account, name, row, line)

    def _cancel_request(self, account: Account, ref: str) -> HttpRequest:
        return _request(account, f"{last_part(ref)}:cancel", method="POST")

    async def discard(self, http: HttpClient, account: Account, input_ref: str) -> None:
        """Delete the file of calls from the bucket."""
        if input_ref:
            await self._open_store(http, account).delete(input_ref)


@lru_cache(maxsize=256)
def _importable_fragment(schema: wire.IdentityKey) -> orjson.Fragment | None:
    """The schema of the answer, or none where the importer would refuse it: the words ask too."""
    rewritten = importable_schema(portable_schema(schema.value, SchemaDialect.GEMINI))
    return wire.fragment(rewritten) if rewritten is not None else None


def _folder(account: Account) -> str:
    """Where our files lie in the account's bucket."""
    bucket = account.options.get("bucket", "").rstrip("/")
    if not bucket:
        raise ProviderError(
            'vertex: batches need a bucket for calls and answers; write bucket = "gs://…" below'
            " [providers.vertex] in quire.toml, or set QUIRE_VERTEX_BUCKET",
            remedy=Remedy.FIX_ACCOUNT,
        )
    parse_uri(bucket)
    return f"{bucket}/quire"


def _request(
    account: Account, *steps: str, method: str = "GET", query: Mapping[str, str] | None = None
) -> HttpRequest:
    url = wire.url_below(project_url(account), "batchPredictionJobs", *steps, query=query)
    headers = wire.headers("Authorization", account.key, "Bearer ")
    return HttpRequest(url, headers, b"", method=method)


def _output(job: JsonObject) -> str:
    """Where a job writes: what it says of that, else what it was told."""
    said: Json = wire.mapping(job.get("outputInfo")).get("gcsOutputDirectory")
    config = wire.mapping(wire.mapping(job.get("outputConfig")).get("gcsDestination"))
    place = reference(said) or reference(config.get("outputUriPrefix"))
    return place if place.startswith(SCHEME) else ""


def _failure(status: str) -> JsonObject:
    """What the status of a row says: words, and the body of an error behind them."""
    words, _, rest = status.partition(":")
    error = wire.mapping(wire.mapping(wire.parse(rest.encode())).get("error"))
    code = _CODES.get(words.strip().lower())
    return {"code": code, "message": status, **error} if code else {"message": status, **error}
