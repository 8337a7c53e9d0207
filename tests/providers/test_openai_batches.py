"""OpenAI's batches: what is written, what is asked, and how a batch is found again."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from openai.types import Batch, batch_create_params

from quire.domain.accounts import Account
from quire.domain.batches import BatchEnd, BatchMatch, BatchQuery, BatchStatus, Submission
from quire.domain.errors import ProviderError, Remedy
from quire.providers.openai import OpenAI
from quire.providers.openai_batches import OpenAIBatches, read_status
from quire.providers.protocol import HttpClient
from tests.providers.exchanges.openai_batches import (
    BATCH,
    FULL,
    MISMATCH,
    NONCE,
    batch,
    failed_batch,
)
from tests.providers.sample_calls import EVERY_FORM, KEY, account, make_call
from tests.providers.scripted import Heard, Scripted, Work
from tests.providers.wire_types import mistakes

OPENAI = OpenAIBatches()
MADE = datetime.fromtimestamp(BATCH["created_at"], UTC)
SOUGHT = BatchQuery(nonce=NONCE, rows=3, input_ref="file-in", since=MADE)


def submission(path: Path) -> Submission:
    path.write_bytes(b'{"custom_id":"a"}\n{"custom_id":"b"}')
    return Submission(nonce=NONCE, model="openai/gpt-6-luna", rows=2, path=str(path))


@pytest.mark.parametrize("api", ["responses", "chat"])
@pytest.mark.parametrize("number", range(len(EVERY_FORM)))
def test_a_line_is_the_direct_call_with_its_name(number: int, api: str) -> None:
    call, by = EVERY_FORM[number], account(api=api)
    direct = OpenAI().encode(call, by)
    line = OPENAI.line(call, by, f"{NONCE}-7")

    read = orjson.loads(line)
    assert read == {
        "custom_id": f"{NONCE}-7",
        "method": "POST",
        "url": direct.url.removeprefix("https://api.openai.com"),
        "body": orjson.loads(direct.body),
    }
    assert direct.body in line
    assert b"\n" not in line


def test_a_call_that_cannot_be_written_is_named_without_an_exception_of_another_kind() -> None:
    with pytest.raises(ProviderError, match="cannot be written as JSON") as caught:
        OPENAI.line(make_call(user="half \ud83d"), account(), "a")

    assert caught.value.remedy is Remedy.FIX_REQUEST


def test_the_file_of_calls_goes_up_under_our_name(tmp_path: Path) -> None:
    server = Scripted(**{"POST /files": (200, {"id": "file-in", "object": "file"})})
    made = submission(tmp_path / "calls")

    ref = server.during(lambda http, by: OPENAI.upload(http, by, made))

    assert ref == "file-in"
    (heard,) = server.heard
    kind, _, boundary = heard.headers["Content-Type"].partition("; boundary=")
    assert kind == "multipart/form-data"
    parts = heard.body.split(f"--{boundary}".encode())
    assert parts[0] == b""
    assert parts[3] == b"--\r\n"
    assert parts[1] == b'\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
    assert f'name="file"; filename="{NONCE}.jsonl"'.encode() in parts[2]
    assert parts[2].endswith(b'\r\n\r\n{"custom_id":"a"}\n{"custom_id":"b"}\r\n')
    assert heard.headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("api", ["responses", "chat"])
def test_a_batch_is_made_once_for_the_endpoint_of_its_calls(api: str, tmp_path: Path) -> None:
    server = Scripted(**{"POST /batches": (200, BATCH)})
    made = submission(tmp_path / "calls")

    async def work(http: HttpClient, by: Account) -> str:
        by = account(base_url=by.base_url, api=api, organization="org-1", project="proj-1")
        return await OPENAI.create(http, by, made, "file-in")

    ref = server.during(work)

    assert ref == "batch_1"
    (heard,) = server.heard
    body = orjson.loads(heard.body)
    assert mistakes(body, batch_create_params.BatchCreateParams) == []
    assert body["metadata"] == {"quire": NONCE}
    assert body["endpoint"] == ("/v1/chat/completions" if api == "chat" else "/v1/responses")
    assert heard.headers["OpenAI-Organization"] == "org-1"
    assert heard.headers["OpenAI-Project"] == "proj-1"


@pytest.mark.parametrize("status", [400, 429])
def test_a_full_queue_is_waited_for(status: int, tmp_path: Path) -> None:
    server = Scripted(**{"POST /batches": (status, {"error": FULL})})
    made = submission(tmp_path / "calls")

    async def work(http: HttpClient, by: Account) -> Remedy | None:
        try:
            await OPENAI.create(http, by, made, "file-in")
        except ProviderError as error:
            return error.remedy
        return None

    assert server.during(work) is Remedy.WAIT


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (batch("validating", request_counts=None), BatchStatus()),
        (batch(), BatchStatus(counts={"total": 3, "completed": 1, "failed": 0}, answers=1)),
        (batch("finalizing", request_counts=None), BatchStatus()),
        (batch("cancelling", request_counts=None), BatchStatus(cancelling=True)),
        (
            batch("completed", output_file_id="o", error_file_id="e", request_counts=None),
            BatchStatus(end=BatchEnd.COMPLETED, results=("o", "e")),
        ),
        (
            batch("completed", error_file_id="e", request_counts=None),
            BatchStatus(end=BatchEnd.COMPLETED, results=("e",)),
        ),
        (
            batch("expired", output_file_id="o", request_counts=None),
            BatchStatus(end=BatchEnd.EXPIRED, results=("o",)),
        ),
        (batch("cancelled", request_counts=None), BatchStatus(end=BatchEnd.CANCELLED)),
    ],
)
def test_every_word_of_a_batch_is_understood(body: dict[str, Any], status: BatchStatus) -> None:
    Batch.model_validate(body, strict=True)

    assert read_status("openai", body) == status


def test_a_batch_that_was_not_taken_says_why_and_a_full_queue_is_no_failure() -> None:
    for body in (failed_batch(FULL), failed_batch(MISMATCH)):
        Batch.model_validate(body, strict=True)
    full, bad = (
        read_status("openai", failed_batch(FULL)),
        read_status("openai", failed_batch(MISMATCH)),
    )

    assert (full.end, bad.end) == (BatchEnd.QUEUE_FULL, BatchEnd.FAILED)
    assert full.problem.startswith("token_limit_exceeded: Enqueued token limit reached")
    assert bad.problem == "mismatched_model: One model a file. (line 7)"


@pytest.mark.parametrize("strange", [None, 7, "x", [], {}, [None], {"data": None}, {"data": [1]}])
def test_whatever_else_a_batch_says_does_not_matter(strange: Any) -> None:
    body = {name: strange for name in BATCH} | {"status": "completed"}

    assert read_status("openai", body).end is BatchEnd.COMPLETED
    assert read_status("openai", {**body, "status": "a new word"}).end is None


def test_how_a_batch_stands_is_asked_for_by_its_name() -> None:
    server = Scripted(**{"GET /batches/batch_1": (200, batch("completed"))})

    status = server.during(lambda http, by: OPENAI.poll(http, by, "batch_1"))

    assert status.end is BatchEnd.COMPLETED


def test_a_name_with_signs_in_it_leads_nowhere_else() -> None:
    server = Scripted()

    async def work(http: HttpClient, by: Account) -> str:
        with pytest.raises(ProviderError) as caught:
            await OPENAI.poll(http, by, "../files?x=1")
        return str(caught.value)

    said = server.during(work)

    assert server.heard[0].query == {}
    assert server.heard[0].path.startswith("/v1/batches/")
    assert "batch ../files?x=1 is not found with this key" in said


def looking(query: BatchQuery = SOUGHT) -> Work[BatchMatch]:
    async def work(http: HttpClient, by: Account) -> BatchMatch:
        return await OPENAI.find(http, by, query)

    return work


def pages(count: int, ours: dict[str, Any] | None = None, step: int = 1) -> Any:
    """A listing of others' batches, newest first; ours is the last one of all."""
    listed = [
        {**BATCH, "id": f"batch_o{number}", "metadata": None, "input_file_id": f"f{number}"}
        | {"created_at": BATCH["created_at"] + 500 - number * step}
        for number in range(count)
    ]
    listed += [ours] if ours else []

    def answer(heard: Heard) -> tuple[int, Any]:
        names = [record["id"] for record in listed]
        start = names.index(heard.query["after"]) + 1 if "after" in heard.query else 0
        page = listed[start : start + int(heard.query["limit"])]
        return 200, {"object": "list", "data": page, "has_more": start + len(page) < len(listed)}

    return answer


@pytest.mark.parametrize(
    "ours", [{**BATCH, "input_file_id": "other"}, {**BATCH, "metadata": None}, BATCH]
)
def test_a_batch_is_found_by_its_tag_or_its_file_behind_many_others(ours: dict[str, Any]) -> None:
    server = Scripted(**{"GET /batches": pages(250, ours)})

    assert server.during(looking()) == BatchMatch("batch_1")
    assert [heard.query.get("after") for heard in server.heard] == [None, "batch_o99", "batch_o199"]


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101])
def test_a_batch_that_was_not_made_is_not_found(count: int) -> None:
    server = Scripted(**{"GET /batches": pages(count)})

    assert server.during(looking()) == BatchMatch()


def test_nobody_looks_further_back_than_the_batch_can_have_been_made() -> None:
    server = Scripted(**{"GET /batches": pages(1000, BATCH, step=20)})

    assert (
        server.during(looking(SOUGHT._replace(since=MADE + timedelta(seconds=1)))) == BatchMatch()
    )
    assert len(server.heard) == 2


def test_a_batch_that_is_anothers_for_sure_is_passed_over() -> None:
    server = Scripted(**{"GET /batches": pages(0, BATCH)})

    assert server.during(looking(SOUGHT._replace(known=frozenset(["batch_1"])))) == BatchMatch()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"data": None},
        {"data": {"id": "batch_1"}},
        {"data": [None]},
        {"data": [], "has_more": True},
        {"data": [{**BATCH, "id": None}], "has_more": False},
        {"data": [{"id": "b", "created_at": BATCH["created_at"]}], "has_more": True},
    ],
)
def test_a_listing_that_cannot_be_read_is_no_proof_of_absence(body: Any) -> None:
    found = Scripted(**{"GET /batches": (200, body)}).during(looking())

    assert not found.ref
    assert found.unsure


@pytest.mark.parametrize("answer", [(500, {}), (200, b"<html>"), (404, {}), (401, {}), (429, {})])
def test_a_listing_that_failed_is_raised(answer: tuple[int, Any]) -> None:
    async def work(http: HttpClient, by: Account) -> Remedy:
        with pytest.raises(ProviderError) as caught:
            await OPENAI.find(http, by, SOUGHT)
        return caught.value.remedy

    assert Scripted(**{"GET /batches": answer}).during(work) is not Remedy.LOST


def test_a_batch_is_cancelled_and_one_that_has_ended_stays_as_it_is() -> None:
    running = Scripted(**{"POST /batches/batch_1/cancel": (200, batch("cancelling"))})
    ended = Scripted(
        **{
            "POST /batches/batch_1/cancel": (409, {"error": {"message": "Cannot cancel"}}),
            "GET /batches/batch_1": (200, batch("completed")),
        }
    )

    for server in (running, ended):
        server.during(lambda http, by: OPENAI.cancel(http, by, "batch_1"))

    assert running.paths == ["POST /v1/batches/batch_1/cancel"]
    assert running.heard[0].body == b""


@pytest.mark.parametrize("status", [200, 404])
def test_a_file_of_calls_is_deleted_and_may_be_gone_already(status: int) -> None:
    server = Scripted(**{"DELETE /files/file-in": (status, {"deleted": True})})

    server.during(lambda http, by: OPENAI.discard(http, by, "file-in"))

    assert server.paths == ["DELETE /v1/files/file-in"]
