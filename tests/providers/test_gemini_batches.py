"""Gemini's batches: few calls in the order, many in a file, and rows from either."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.batches import BatchEnd, BatchStatus, RowEnd
from quire.domain.errors import Remedy
from quire.domain.requests import Call
from quire.providers import gemini
from quire.providers.gemini import INLINE_CALLS, Gemini, GeminiBatches
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
from tests.providers.exchanges.gemini_batches import GOOD, REF, inline_output, inside, job, lying
from tests.providers.exchanges.google import ANSWER, DAY, QUOTA, error, quota
from tests.providers.google_types import types
from tests.providers.hostile import bodies_of
from tests.providers.sample_calls import KEY, account, make_call

BATCHES, VENDOR = GeminiBatches(), Gemini()
MODEL = "gemini/gemini-3.8-flash"
MAKE = "/v1beta/models/gemini-3.8-flash:batchGenerateContent"
UPLOAD = "/upload/v1beta/files"
LIST, ONE = "/v1beta/batches", f"/v1beta/{REF}"
DOWNLOAD = "/download/v1beta/files/out1:download"
ELSEWHERE = "https://elsewhere.example/upload/v1beta/files?upload_id=u1"
MANY = [make_call(MODEL)] * (INLINE_CALLS + 1)


def batch_server(answers: Answers) -> BatchServer:
    return BatchServer(answers, lambda base: account("gemini", base))


def upload_answers(*answers: Answer) -> Answers:
    named = {"file": {"name": "files/in1", "state": "ACTIVE"}}
    started = Answer({}, headers={"X-Goog-Upload-URL": ELSEWHERE, "X-Goog-Upload-Status": "active"})
    return {f"POST {UPLOAD}": [*answers] or [started, Answer(named)]}


async def sent(on: BatchServer, folder: Path, calls: list[Call]) -> tuple[str, str]:
    """Bring calls there, make a job of them, and return both references."""
    order = submission(folder, BATCHES, calls, on.account)
    brought = await BATCHES.upload(on.http, on.account, order)
    return brought, await BATCHES.create(on.http, on.account, order, brought)


def test_few_calls_travel_with_the_order(tmp_path: Path) -> None:
    there = batch_server({f"POST {MAKE}": Answer(job("BATCH_STATE_PENDING"))})
    calls = [make_call(MODEL), make_call(MODEL, user='a "quote",\n"request":{} and\u2028 more')]

    brought, made = run(there, lambda on: sent(on, tmp_path, calls))

    (order,) = there.asked
    batch = order.json()["batch"]
    assert (brought, made, batch["displayName"]) == ("", REF, NONCE)
    found = batch["inputConfig"]["requests"]["requests"]
    assert [item["metadata"] for item in found] == [{"key": f"{NONCE}-1"}, {"key": f"{NONCE}-2"}]
    direct = [json.loads(VENDOR.encode(call, there.account).body) for call in calls]
    assert [item["request"] for item in found] == direct
    assert order.headers["x-goog-api-key"] == KEY


def test_many_calls_travel_in_a_file_and_nobody_sends_us_elsewhere(tmp_path: Path) -> None:
    there = batch_server({f"POST {MAKE}": Answer(job("BATCH_STATE_PENDING")), **upload_answers()})

    brought, made = run(there, lambda on: sent(on, tmp_path, MANY))

    start, content, order = there.asked
    assert (brought, made) == ("files/in1", REF)
    assert order.json()["batch"]["inputConfig"] == {"fileName": "files/in1"}
    assert start.json()["file"]["displayName"] == NONCE
    assert start.headers["X-Goog-Upload-Header-Content-Length"] == str(len(content.body))
    assert [call.headers["X-Goog-Upload-Command"] for call in (start, content)] == [
        "start",
        "upload, finalize",
    ]
    assert content.query == {"upload_id": "u1"}
    first, *_, last = [json.loads(line) for line in content.body.split(b"\n")]
    assert (first["key"], last["key"]) == (f"{NONCE}-1", f"{NONCE}-{len(MANY)}")
    assert first["request"] == json.loads(VENDOR.encode(MANY[0], there.account).body)


def test_large_calls_travel_in_a_file_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemini, "INLINE_BYTES", 100)
    there = batch_server({f"POST {MAKE}": Answer(job("BATCH_STATE_PENDING")), **upload_answers()})

    assert run(there, lambda on: sent(on, tmp_path, [make_call(MODEL)])) == ("files/in1", REF)


@pytest.mark.parametrize(
    "answer",
    [
        Answer({}),
        Answer({}, headers={"X-Goog-Upload-URL": "http://[::1"}),
        Answer(error(500, "INTERNAL"), 500),
        Answer(status=0),
    ],
)
def test_an_upload_that_fails_may_be_tried_again(tmp_path: Path, answer: Answer) -> None:
    there = batch_server(upload_answers(answer))

    assert failure_of(there, lambda on: sent(on, tmp_path, MANY)).remedy is Remedy.RETRY


FULL = error(429, "RESOURCE_EXHAUSTED", QUOTA)


@pytest.mark.parametrize(
    ("answer", "remedy"),
    [
        (Answer(status=0), Remedy.LOST),
        (Answer(error(500, "INTERNAL"), 500), Remedy.LOST),
        (Answer(error(503, "UNAVAILABLE"), 503), Remedy.LOST),
        (Answer({"metadata": {}}), Remedy.LOST),
        (Answer(FULL, 429), Remedy.WAIT),
        (Answer(error(429, "RESOURCE_EXHAUSTED", QUOTA, quota(DAY)), 429), Remedy.FIX_ACCOUNT),
        (Answer(error(403, "PERMISSION_DENIED"), 403), Remedy.FIX_ACCOUNT),
        (Answer(error(404, "NOT_FOUND"), 404), Remedy.FIX_ACCOUNT),
        (Answer(error(400, "INVALID_ARGUMENT"), 400), Remedy.FIX_REQUEST),
    ],
)
def test_an_order_that_fails_says_whether_anybody_knows(
    tmp_path: Path, answer: Answer, remedy: Remedy
) -> None:
    there = batch_server({f"POST {MAKE}": answer})

    assert failure_of(there, lambda on: sent(on, tmp_path, [make_call(MODEL)])).remedy is remedy
    assert len(there.asked) == 1


FAILED = {"error": {"code": 3, "message": "No line could be read.\n"}}
BUSY = {"error": {"code": 8, "message": "Too many tokens are enqueued."}}


@pytest.mark.parametrize(
    ("body", "end"),
    [
        (job("BATCH_STATE_PENDING"), None),
        (job("JOB_STATE_RUNNING"), None),
        ({"name": REF}, None),
        (job(), BatchEnd.COMPLETED),
        (job("JOB_STATE_PARTIALLY_SUCCEEDED"), BatchEnd.COMPLETED),
        (job("BATCH_STATE_FAILED", **FAILED), BatchEnd.FAILED),
        (job("BATCH_STATE_FAILED", stats={"successfulRequestCount": "1"}), BatchEnd.COMPLETED),
        (job("BATCH_STATE_FAILED", **BUSY), BatchEnd.QUEUE_FULL),
        (job("BATCH_STATE_CANCELLED"), BatchEnd.CANCELLED),
        (job("BATCH_STATE_EXPIRED"), BatchEnd.EXPIRED),
        ({"name": REF, "done": True, **FAILED}, BatchEnd.FAILED),
        ({"name": REF, "done": True, "response": {}}, BatchEnd.COMPLETED),
    ],
)
def test_a_job_says_how_it_stands(body: Any, end: BatchEnd | None) -> None:
    there = batch_server({f"GET {ONE}": Answer(body)})

    status = run(there, lambda on: BATCHES.poll(on.http, on.account, REF))

    assert status.end is end
    assert status.problem == " ".join(body.get("error", {}).get("message", "").split())
    assert status.counts.get("requestCount", 2) == 2


@pytest.mark.parametrize(
    ("answer", "remedy"),
    [
        (Answer(error(404, "NOT_FOUND"), 404), Remedy.FIX_ACCOUNT),
        (Answer(status=0), Remedy.RETRY),
        (Answer({}), Remedy.RETRY),
        (Answer(b"[]"), Remedy.RETRY),
    ],
)
def test_a_job_that_cannot_be_asked_for_is_not_lost(answer: Answer, remedy: Remedy) -> None:
    there = batch_server({f"GET {ONE}": answer})

    assert failure_of(there, lambda on: BATCHES.poll(on.http, on.account, REF)).remedy is remedy


REFUSED = {"error": {"code": 3, "message": "Bad."}}
LATER = {"error": {"code": 429, "message": "Slowly."}}
ALL: list[dict[str, Any]] = [LATER, GOOD, REFUSED, {}, {"response": REFUSED}]


def check_all(found: list[Any]) -> None:
    types.GenerateContentResponse.model_validate_json(found[1].raw)
    assert VENDOR.decode(found[1].raw).text == ANSWER
    assert [item.custom_id for item in found] == [f"{NONCE}-{number}" for number in range(5)]
    assert [item.end for item in found].count(RowEnd.ERRORED) == 4
    remedies = [item.error and item.error.remedy for item in found]
    assert remedies == [Remedy.WAIT, None, Remedy.FIX_REQUEST, Remedy.LOST, Remedy.FIX_REQUEST]


async def collected(on: BatchServer) -> list[Any]:
    return await rows(BATCHES, on, REF, await BATCHES.poll(on.http, on.account, REF))


def test_rows_are_read_from_a_file() -> None:
    body = json_lines(*(lying(*item) for item in enumerate(ALL)), GOOD, ["x"]) + b"half\n"
    there = batch_server(
        {f"GET {ONE}": Answer(job(output={"responsesFile": "files/out1"}))}
        | {f"GET {DOWNLOAD}": Answer(body)}
    )

    check_all(readable(run(there, collected), 3))

    assert there.requests_to("GET", ":download")[0].query == {"alt": "media"}


@pytest.mark.parametrize("place", ["metadata", "response"])
def test_rows_are_read_from_the_job_itself(place: str) -> None:
    output = inline_output(*(inside(*item) for item in enumerate(ALL)), GOOD)
    for item in output["inlinedResponses"]["inlinedResponses"][1:3]:
        types.InlinedResponse.model_validate_json(json.dumps(item))
    body = job(output=output) if place == "metadata" else job(done=True, response=output)
    there = batch_server({f"GET {ONE}": Answer(body)})

    check_all(readable(run(there, collected), 1))


def test_a_job_that_outlasted_its_time_has_no_rows_and_one_that_is_done_must_have_some() -> None:
    expired = batch_server({f"GET {ONE}": Answer(job("BATCH_STATE_EXPIRED"))})
    done = batch_server({f"GET {ONE}": Answer(job())})
    gone = batch_server({f"GET {ONE}": Answer(job(output={"responsesFile": "files/out1"}))})

    assert run(expired, collected) == []
    assert failure_of(done, collected).remedy is Remedy.RETRY
    assert failure_of(gone, collected).remedy is Remedy.FIX_ACCOUNT


NAMES = ["name", "metadata", "state", "output", "responsesFile", "inlinedResponses", "operations"]
NAMES += ["nextPageToken", "displayName", "key", "response", "error", "code", "batchStats", "done"]


@given(bodies_of(NAMES), st.sampled_from([200, 400, 404, 500]))
def test_whatever_is_answered_the_worst_is_a_classified_failure(body: bytes, status: int) -> None:
    def answer(asked: Asked) -> Answer:
        return Answer(body, status)

    places = (f"GET {LIST}", f"GET {ONE}", f"GET {DOWNLOAD}", f"POST {ONE}:cancel")
    there = batch_server(dict.fromkeys(places, answer))
    ended = BatchStatus(end=BatchEnd.COMPLETED, results=("files/out1",))

    async def all_of_it(on: BatchServer) -> None:
        await survives(BATCHES.find(on.http, on.account, batch_query()))
        await survives(BATCHES.poll(on.http, on.account, REF))
        await survives(rows(BATCHES, on, REF))
        await survives(rows(BATCHES, on, REF, ended))
        await survives(BATCHES.cancel(on.http, on.account, REF))

    run(there, all_of_it)
