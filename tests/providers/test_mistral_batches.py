"""Mistral's batches: jobs with words of their own, over files like OpenAI's."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from quire.domain.accounts import Account
from quire.domain.batches import BatchEnd, BatchMatch, BatchQuery, BatchStatus, RowEnd, Submission
from quire.domain.errors import ProviderError, Remedy
from quire.domain.models import Wire
from quire.providers.compatible import Compatible
from quire.providers.mistral_batches import MistralBatches, read_job
from quire.providers.protocol import HttpClient
from tests.providers.exchanges.openai_batches import NONCE
from tests.providers.sample_calls import EVERY_FORM, account, make_call
from tests.providers.scripted import Heard, Scripted, Work, jsonl, rows_of

MISTRAL = MistralBatches()
JOB: dict[str, Any] = {
    "id": "job-1",
    "object": "batch",
    "input_files": ["file-in"],
    "metadata": {"quire": NONCE},
    "endpoint": "/v1/chat/completions",
    "model": "mistral-small-latest",
    "agent_id": None,
    "output_file": None,
    "error_file": None,
    "errors": [],
    "status": "QUEUED",
    "created_at": 1_800_000_000,
    "total_requests": 3,
    "completed_requests": 0,
    "succeeded_requests": 0,
    "failed_requests": 0,
    "started_at": None,
    "completed_at": None,
}
COUNTS = {"total": 3, "completed": 0, "succeeded": 0, "failed": 0}
MADE = datetime.fromtimestamp(JOB["created_at"], UTC)
SOUGHT = BatchQuery(nonce=NONCE, rows=3, input_ref="file-in", since=MADE)
COMPLETION = {
    "id": "cmpl-1",
    "model": "mistral-small-latest",
    "choices": [{"index": 0, "message": {"content": "{}"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6},
}


@pytest.mark.parametrize("number", range(len(EVERY_FORM)))
def test_a_line_is_the_direct_call_without_its_model(number: int) -> None:
    call, by = EVERY_FORM[number], account("mistral")
    direct = orjson.loads(Compatible("mistral").encode(call, by).body)
    del direct["model"]

    line = MISTRAL.line(call, by, f"{NONCE}-7")

    assert orjson.loads(line) == {"custom_id": f"{NONCE}-7", "body": direct}
    assert b"\n" not in line


def test_the_model_is_the_jobs_and_so_is_our_tag(tmp_path: Path) -> None:
    server = Scripted(**{"POST /files": (200, {"id": "file-in"}), "POST /batch/jobs": (200, JOB)})
    path = tmp_path / "calls"
    path.write_bytes(b'{"custom_id":"a"}')

    async def work(http: HttpClient, by: Account) -> list[str]:
        refs = []
        for wire in (Wire(), Wire(id="mistral-small-2603")):
            made = Submission(nonce=NONCE, model="mistral/small", rows=1, path=str(path), wire=wire)
            refs.append(await MISTRAL.create(http, by, made, await MISTRAL.upload(http, by, made)))
        return refs

    assert server.during(work, "mistral") == ["job-1", "job-1"]
    assert f'filename="{NONCE}.jsonl"'.encode() in server.heard[0].body
    assert [orjson.loads(heard.body) for heard in server.heard[1::2]] == [
        {
            "endpoint": "/v1/chat/completions",
            "input_files": ["file-in"],
            "model": model,
            "metadata": {"quire": NONCE},
            "timeout_hours": 24,
        }
        for model in ("small", "mistral-small-2603")
    ]


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("QUEUED", BatchStatus(counts=COUNTS)),
        ("RUNNING", BatchStatus(counts=COUNTS)),
        ("A_NEW_WORD", BatchStatus(counts=COUNTS)),
        ("CANCELLATION_REQUESTED", BatchStatus(counts=COUNTS, cancelling=True)),
        ("SUCCESS", BatchStatus(counts=COUNTS, end=BatchEnd.COMPLETED)),
        ("FAILED", BatchStatus(counts=COUNTS, end=BatchEnd.FAILED)),
        ("TIMEOUT_EXCEEDED", BatchStatus(counts=COUNTS, end=BatchEnd.EXPIRED)),
        ("CANCELLED", BatchStatus(counts=COUNTS, end=BatchEnd.CANCELLED)),
    ],
)
def test_every_word_of_a_job_is_understood(word: str, status: BatchStatus) -> None:
    assert read_job({**JOB, "status": word}) == status


def test_a_job_says_where_its_rows_are_and_what_went_wrong() -> None:
    errors: list[Any] = [{"message": "bad\nline", "count": 2}, {"message": None}, 7]

    status = read_job({**JOB, "output_file": "o", "error_file": "e", "errors": errors})

    assert status.results == ("o", "e")
    assert status.problem == "bad line"


@pytest.mark.parametrize("strange", [None, 7, "x", [], {}, [None]])
def test_whatever_else_a_job_says_does_not_matter(strange: Any) -> None:
    body = {name: strange for name in JOB} | {"status": "SUCCESS"}

    assert read_job(body).end is BatchEnd.COMPLETED


@pytest.mark.parametrize("strange", [None, 7, "", [], {}])
def test_a_job_that_does_not_say_how_it_stands_is_asked_again(strange: Any) -> None:
    with pytest.raises(ProviderError) as caught:
        read_job({**JOB, "status": strange})

    assert caught.value.remedy is Remedy.RETRY


def test_rows_are_read_from_both_files() -> None:
    good = {"custom_id": "a-1", "response": {"status_code": 200, "body": COMPLETION}, "error": None}
    bad = {"custom_id": "a-2", "response": {"status_code": 429, "body": None}, "error": "slow down"}
    server = Scripted(
        **{
            "GET /batch/jobs/job-1": (
                200,
                {**JOB, "status": "SUCCESS", "output_file": "o", "error_file": "e"},
            ),
            "GET /files/o/content": (200, jsonl(good)),
            "GET /files/e/content": (200, jsonl(bad)),
        }
    )

    status = server.during(lambda http, by: MISTRAL.poll(http, by, "job-1"), "mistral")
    answer, error = server.during(rows_of(MISTRAL, status.results), "mistral")

    assert (answer.custom_id, answer.end) == ("a-1", RowEnd.ANSWERED)
    assert Compatible("mistral").decode(answer.raw).text == "{}"
    assert error.error is not None
    assert error.error.remedy is Remedy.WAIT
    assert "slow down" in str(error.error)


def looking(query: BatchQuery = SOUGHT) -> Work[BatchMatch]:
    async def work(http: HttpClient, by: Account) -> BatchMatch:
        return await MISTRAL.find(http, by, query)

    return work


def pages(count: int, ours: dict[str, Any] | None = None) -> Any:
    """A listing of others' jobs, newest first; ours is the last one of all."""
    listed = [
        {**JOB, "id": f"job-o{number}", "metadata": {}, "input_files": [f"f{number}"]}
        for number in range(count)
    ]
    listed += [ours] if ours else []

    def answer(heard: Heard) -> tuple[int, Any]:
        size = int(heard.query["page_size"])
        start = int(heard.query["page"]) * size
        page = listed[start : start + size]
        return 200, {"object": "list", "data": page or None, "total": len(listed)}

    return answer


@pytest.mark.parametrize("ours", [JOB, {**JOB, "metadata": None}, {**JOB, "input_files": None}])
def test_a_job_is_found_by_its_tag_or_its_file(ours: dict[str, Any]) -> None:
    server = Scripted(**{"GET /batch/jobs": pages(250, ours)})

    assert server.during(looking(), "mistral") == BatchMatch("job-1")
    assert [heard.query["page"] for heard in server.heard] == ["0", "1", "2"]


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 200])
def test_a_job_that_was_not_made_is_not_found(count: int) -> None:
    assert Scripted(**{"GET /batch/jobs": pages(count)}).during(looking()) == BatchMatch()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"data": None},
        {"data": [1], "total": 1},
        {"data": [{**JOB, "id": None}], "total": 1},
        {"data": [{"id": "x"}], "total": 500},
    ],
)
def test_a_listing_that_cannot_be_read_is_no_proof_of_absence(body: Any) -> None:
    found = Scripted(**{"GET /batch/jobs": (200, body)}).during(looking())

    assert not found.ref
    assert found.unsure


def test_a_listing_that_goes_round_in_circles_is_left_and_proves_nothing() -> None:
    def answer(heard: Heard) -> tuple[int, Any]:
        page = [{"id": f"job-{int(heard.query['page']) % 3}"}]
        return 200, {"data": page, "total": 10**9}

    server = Scripted(**{"GET /batch/jobs": answer})

    assert "goes round in circles" in server.during(looking(), "mistral").unsure
    assert len(server.heard) == 4


def test_a_job_is_cancelled_and_its_file_deleted() -> None:
    server = Scripted(
        **{
            "POST /batch/jobs/job-1/cancel": (200, {**JOB, "status": "CANCELLATION_REQUESTED"}),
            "DELETE /files/file-in": (200, {"deleted": True}),
        }
    )

    async def work(http: HttpClient, by: Account) -> None:
        await MISTRAL.cancel(http, by, "job-1")
        await MISTRAL.discard(http, by, "file-in")

    server.during(work, "mistral")

    assert server.paths == ["POST /v1/batch/jobs/job-1/cancel", "DELETE /v1/files/file-in"]


def test_a_models_name_with_signs_in_it_is_taken_out_too() -> None:
    line = MISTRAL.line(make_call('mistral/a"b'), account("mistral"), "a")

    assert "model" not in orjson.loads(line)["body"]
