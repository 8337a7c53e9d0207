"""Vertex AI's batches: calls and answers in a bucket, jobs known by their name."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.accounts import Account
from quire.domain.batches import BatchEnd, BatchMatch, BatchStatus, RowEnd
from quire.domain.errors import ProviderError, Remedy
from quire.providers.protocol import HttpClient
from quire.providers.vertex import Vertex, VertexBatches
from tests.providers.batch_servers import (
    NONCE,
    Answer,
    Answers,
    Asked,
    BatchServer,
    batch_query,
    failure_of,
    json_lines,
    readable,
    rows,
    run,
    submission,
    survives,
)
from tests.providers.exchanges.google import ANSWER, error, generation
from tests.providers.folder_store import FolderStore
from tests.providers.google_types import types
from tests.providers.hostile import bodies_of
from tests.providers.sample_calls import KEY, account, make_call

MODEL = "vertex/gemini-3.8-flash"
PATH = "/v1/projects/quire-1/locations/global/batchPredictionJobs"
REF = "projects/7/locations/global/batchPredictionJobs/42"
ONE = f"{PATH}/42"
OUT = f"gs://own-bucket/here/quire/{NONCE}/out"
GOOD: dict[str, Any] = {
    "status": "",
    "processed_time": "2026-11-15T12:00:00Z",
    "request": {},
    "response": generation({"text": ANSWER}),
}


def at(base: str) -> Account:
    return account("vertex", base, project="quire-1", bucket="gs://own-bucket/here/")


def batch_server(answers: Answers) -> BatchServer:
    return BatchServer(answers, at)


def batches(folder: Path) -> VertexBatches:
    """Batches whose bucket is a folder."""

    def open_store(http: HttpClient, account: Account) -> FolderStore:
        return FolderStore(folder / "store")

    return VertexBatches(open_store=open_store)


def job(state: str = "JOB_STATE_SUCCEEDED", **changes: Any) -> dict[str, Any]:
    """A job as the vendor shows it."""
    return {
        "name": REF,
        "displayName": NONCE,
        "model": "publishers/google/models/gemini-3.8-flash",
        "inputConfig": {"instancesFormat": "jsonl", "gcsSource": {"uris": ["gs://b/i.jsonl"]}},
        "outputConfig": {
            "predictionsFormat": "jsonl",
            "gcsDestination": {"outputUriPrefix": OUT},
        },
        "state": state,
        "createTime": "2026-11-15T12:00:30.123456Z",
        **changes,
    }


def test_a_job_is_made_of_a_file_in_the_bucket_and_writes_to_a_place_of_its_own(
    tmp_path: Path,
) -> None:
    mine, there = (
        batches(tmp_path),
        batch_server({f"POST {PATH}": Answer(job("JOB_STATE_PENDING"))}),
    )
    calls = [make_call(MODEL), make_call(MODEL, user="Another.")]
    order = submission(tmp_path, mine, calls, there.account)

    async def make(on: BatchServer) -> Sequence[str]:
        brought = await mine.upload(on.http, on.account, order)
        return brought, await mine.create(on.http, on.account, order, brought)

    brought, made = run(there, make)

    (sent,) = there.asked
    assert made == REF
    assert brought == f"gs://own-bucket/here/quire/{NONCE}.jsonl"
    assert sent.headers["Authorization"] == f"Bearer {KEY}"
    body = sent.json()
    assert (body["displayName"], body["labels"]) == (NONCE, {"quire": NONCE})
    assert body["model"] == "publishers/google/models/gemini-3.8-flash"
    assert body["inputConfig"]["gcsSource"]["uris"] == [brought]
    assert body["outputConfig"]["gcsDestination"]["outputUriPrefix"] == OUT
    types.BatchJobSource.model_validate({"format": "jsonl", "gcs_uri": [brought]})
    lines = (tmp_path / "store/own-bucket/here/quire" / f"{NONCE}.jsonl").read_bytes().split(b"\n")
    first, second = map(json.loads, lines)
    assert (first["custom_id"], second["custom_id"]) == (f"{NONCE}-1", f"{NONCE}-2")
    assert first["request"] == json.loads(Vertex().encode(calls[0], there.account).body)

    run(there, lambda on: mine.discard(on.http, on.account, brought))
    run(there, lambda on: mine.discard(on.http, on.account, ""))
    assert list((tmp_path / "store").rglob("*.jsonl")) == []


def test_a_schema_that_the_importer_would_refuse_is_asked_for_in_words_alone() -> None:
    fields = {"two words": {"type": "string"}}
    call = make_call(MODEL, output_schema={"type": "object", "properties": fields})

    line = json.loads(VertexBatches().line(call, at(""), f"{NONCE}-1"))

    config = line["request"]["generationConfig"]
    assert config == {"maxOutputTokens": 500, "responseMimeType": "application/json"}


@pytest.mark.parametrize(("bucket", "said"), [("", "need a bucket"), ("here", "no address")])
def test_without_a_bucket_nothing_is_sent(tmp_path: Path, bucket: str, said: str) -> None:
    by = account("vertex", project="quire-1", bucket=bucket)
    order = submission(tmp_path, batches(tmp_path), [make_call(MODEL)], by)

    with pytest.raises(ProviderError, match=said) as caught:
        asyncio.run(batches(tmp_path).upload(batch_server({}).http, by, order))

    assert caught.value.remedy is Remedy.FIX_ACCOUNT


FULL = {"error": {"code": 8, "message": "Quota exceeded."}}
BROKEN = {"error": {"code": 3, "message": "Cannot import line 1."}}
SOME = {"completionStats": {"successfulCount": "1", "failedCount": "0", "incompleteCount": "-1"}}


@pytest.mark.parametrize(
    ("body", "end"),
    [
        (job("JOB_STATE_QUEUED"), None),
        (job("JOB_STATE_PENDING"), None),
        (job("JOB_STATE_RUNNING", **SOME), None),
        (job("JOB_STATE_CANCELLING"), None),
        (job("JOB_STATE_PAUSED"), None),
        (job(), BatchEnd.COMPLETED),
        (job("JOB_STATE_PARTIALLY_SUCCEEDED"), BatchEnd.COMPLETED),
        (job("JOB_STATE_FAILED", **BROKEN), BatchEnd.FAILED),
        (job("JOB_STATE_FAILED", **BROKEN, **SOME), BatchEnd.COMPLETED),
        (job("JOB_STATE_FAILED", **FULL), BatchEnd.QUEUE_FULL),
        (job("JOB_STATE_CANCELLED"), BatchEnd.CANCELLED),
        (job("JOB_STATE_EXPIRED"), BatchEnd.EXPIRED),
    ],
)
def test_a_job_says_how_it_stands(body: Any, end: BatchEnd | None, tmp_path: Path) -> None:
    there = batch_server({f"GET {ONE}": Answer(body)})
    mine = batches(tmp_path)

    status = run(there, lambda on: mine.poll(on.http, on.account, REF))

    assert status.end is end
    assert status.cancelling is (body["state"] == "JOB_STATE_CANCELLING")
    assert status.problem == body.get("error", {}).get("message", "")
    assert status.counts == ({"successfulCount": 1, "failedCount": 0} if SOME.keys() & body else {})
    assert status.results == (OUT,)


def shards(folder: Path, *bodies: bytes) -> None:
    """What a job has written, beside files that are none of it."""
    inside = folder / "store/own-bucket/here/quire" / NONCE / "out/prediction-model-1"
    inside.mkdir(parents=True)
    for number, body in enumerate(bodies):
        (inside / f"predictions_{number}.jsonl").write_bytes(body)
    (inside / "errors_stats-00000-of-00001").write_bytes(b'{"custom_id":"x-1","response":{}}')


def test_rows_are_read_from_every_file_that_the_job_has_written(tmp_path: Path) -> None:
    refused = 'Bad Request: {"error": {"code": 400, "message": "Odd.", "status": "X"}}'
    shards(
        tmp_path,
        json_lines({"custom_id": f"{NONCE}-2", **GOOD}, {**GOOD}, [1]),
        json_lines(
            {"custom_id": f"{NONCE}-1", "status": refused, "response": {}},
            {"custom_id": f"{NONCE}-3", "status": "Too Many Requests: later"},
            {"custom_id": f"{NONCE}-4", "status": "Something else"},
            {"custom_id": f"{NONCE}-5", "status": ""},
        )
        + b"half a li",
    )
    directory = {"gcsOutputDirectory": f"{OUT}/prediction-model-1"}
    there = batch_server({f"GET {ONE}": Answer(job(outputInfo=directory))})
    mine = batches(tmp_path)

    async def collect(on: BatchServer) -> list[Any]:
        return await rows(mine, on, REF, await mine.poll(on.http, on.account, REF))

    found = readable(run(there, collect), 3)

    assert [row.custom_id[-1] for row in found] == ["2", "1", "3", "4", "5"]
    assert found[0].end is RowEnd.ANSWERED
    assert Vertex().decode(found[0].raw).text == ANSWER
    remedies = [row.error.remedy for row in found if row.error]
    assert remedies == [Remedy.FIX_REQUEST, Remedy.WAIT, Remedy.RETRY, Remedy.LOST]


def test_a_job_that_is_done_must_have_written_something(tmp_path: Path) -> None:
    mine, there = batches(tmp_path), batch_server({})
    done = BatchStatus(end=BatchEnd.COMPLETED, results=(OUT,))
    cancelled = BatchStatus(end=BatchEnd.CANCELLED, results=(OUT,))

    assert failure_of(there, lambda on: rows(mine, on, REF, done)).remedy is Remedy.RETRY
    assert run(there, lambda on: rows(mine, on, REF, cancelled)) == []


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ({"batchPredictionJobs": [job()]}, BatchMatch(REF)),
        ({"batchPredictionJobs": [job(displayName="another")]}, BatchMatch()),
        ({}, BatchMatch()),
    ],
)
def test_a_job_is_asked_for_by_its_name(page: Any, found: BatchMatch, tmp_path: Path) -> None:
    there, mine = batch_server({f"GET {PATH}": Answer(page)}), batches(tmp_path)

    assert run(there, lambda on: mine.find(on.http, on.account, batch_query())) == found
    assert there.asked[0].query["filter"] == f'display_name="{NONCE}"'


@pytest.mark.parametrize("page", [{"batchPredictionJobs": 1}, {"nextPageToken": "again"}])
def test_a_list_that_cannot_be_read_proves_nothing(page: Any, tmp_path: Path) -> None:
    there, mine = batch_server({f"GET {PATH}": Answer(page)}), batches(tmp_path)

    assert run(there, lambda on: mine.find(on.http, on.account, batch_query())).unsure


def test_cancelling_may_come_too_late(tmp_path: Path) -> None:
    late = Answer(error(400, "FAILED_PRECONDITION"), 400)
    there, mine = batch_server({f"POST {ONE}:cancel": Answer({})}), batches(tmp_path)
    ended = batch_server({f"POST {ONE}:cancel": late, f"GET {ONE}": Answer(job())})

    run(there, lambda on: mine.cancel(on.http, on.account, REF))
    run(ended, lambda on: mine.cancel(on.http, on.account, REF))

    assert mine.rules.caches is False


NAMES = ["name", "state", "error", "code", "outputInfo", "gcsOutputDirectory", "completionStats"]
NAMES += ["batchPredictionJobs", "displayName", "nextPageToken", "outputConfig"]


@given(bodies_of(NAMES), st.sampled_from([200, 400, 404, 500]))
def test_whatever_is_answered_the_worst_is_a_classified_failure(body: bytes, status: int) -> None:
    def answer(asked: Asked) -> Answer:
        return Answer(body, status)

    places = (f"GET {PATH}", f"GET {ONE}", f"POST {ONE}:cancel", f"POST {PATH}")
    mine = VertexBatches()

    async def all_of_it(on: BatchServer) -> None:
        await survives(mine.find(on.http, on.account, batch_query()))
        await survives(mine.poll(on.http, on.account, REF))
        await survives(mine.cancel(on.http, on.account, REF))

    run(batch_server(dict.fromkeys(places, answer)), all_of_it)


@given(bodies_of(["custom_id", "status", "response", "error", "code", "request"]))
def test_any_line_is_a_row_or_none(line: bytes) -> None:
    class OneLine(FolderStore):
        async def names(self, prefix: str) -> Sequence[str]:
            return [f"{prefix}/x.jsonl"]

        async def lines(self, uri: str) -> Any:
            yield line

    mine = VertexBatches(open_store=lambda http, account: OneLine(Path()))
    there = batch_server({})
    done = BatchStatus(end=BatchEnd.COMPLETED, results=(OUT,))

    asyncio.run(rows(mine, there, REF, done))
