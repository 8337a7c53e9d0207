"""Google's own client takes the server's files and batches for Google's."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.rehearsal.clients import (
    FLASH,
    MODELS,
    SCHEMA,
    counts,
    gemini_client,
    genai,
    message,
    openai_client,
    types,
)

TWO_DAYS = 48 * 3_600.0
errors = genai.errors
STATE = types.JobState


class ServerAndClient(NamedTuple):
    """A server and a client of it."""

    server: RehearsalThread
    client: Any


@contextmanager
def server_and_client(
    faults: str = "", *, latency: str = "0", version: str = "v1", **how: Any
) -> Iterator[ServerAndClient]:
    """Run a server whose batches end at once, with a client."""
    options: dict[str, Any] = {"models": MODELS, "batch_latency": latency, "faults": faults, **how}
    with (
        rehearsal_server(**options) as server,
        gemini_client(server.url, api_version=version) as client,
    ):
        yield ServerAndClient(server, client)


def request(user: str = "") -> dict[str, Any]:
    """A call as a line of a file has it."""
    form = {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}
    return {
        "contents": [{"role": "user", "parts": [{"text": user or message()}]}],
        "systemInstruction": {"parts": [{"text": "Count words."}]},
        "generationConfig": form,
    }


def lines(count: int) -> bytes:
    """Lines that differ."""
    rows_ = [
        {"key": f"qabc-{number}", "request": request(message("word " * (number % 7 + 1)))}
        for number in range(count)
    ]
    return "\n".join(map(json.dumps, rows_)).encode()


def upload(client: Any, content: bytes) -> Any:
    """Upload a file for a batch."""
    config = types.UploadFileConfig(display_name="qabc", mime_type="application/jsonl")
    return client.files.upload(file=io.BytesIO(content), config=config)


def order(client: Any, src: Any) -> Any:
    """Make a batch."""
    config = types.CreateBatchJobConfig(display_name="qabc")
    return client.batches.create(model=FLASH, src=src, config=config)


def inside(count: int) -> list[dict[str, Any]]:
    """Calls that travel with the order."""
    config = {"response_mime_type": "application/json", "response_json_schema": SCHEMA}
    return [
        {
            "contents": message("word " * (number % 7 + 1)),
            "metadata": {"key": f"qabc-{number}"},
            "config": config,
        }
        for number in range(count)
    ]


def read(client: Any, job: Any) -> list[Any]:
    """The rows of a file of results."""
    content = client.files.download(file=job.dest.file_name)
    return [json.loads(line) for line in content.splitlines()]


@pytest.mark.parametrize("version", ["v1", "v1beta"])
def test_a_batch_is_made_of_a_file_and_collected(version: str) -> None:
    with server_and_client(version=version) as (server, client):
        file = upload(client, lines(40))
        made = order(client, file.name)
        done = client.batches.get(name=made.name)
        got = read(client, done)
        (record,) = server.batches()

    assert (file.state, file.display_name, file.size_bytes) == ("ACTIVE", "qabc", len(lines(40)))
    assert (made.state, made.display_name) == (STATE.JOB_STATE_PENDING, "qabc")
    assert (done.state, done.model) == (STATE.JOB_STATE_SUCCEEDED, f"models/{FLASH}")
    assert [item["key"] for item in got] == [f"qabc-{number}" for number in range(40)]
    parts = [item["response"]["candidates"][0]["content"]["parts"] for item in got]
    texts = ["".join(part["text"] for part in item) for item in parts]
    assert [counts(text) for text in texts] == [[number % 7 + 1] for number in range(40)]
    assert (record["id"], record["tag"], record["rows"]) == (made.name, "qabc", 40)


def test_a_file_may_come_in_pieces() -> None:
    content = lines(3) + b"\n" + b" " * 9_000_000
    with server_and_client() as (server, client):
        file = upload(client, content)
        pieces = [record for record in server.log() if record["path"] == "/upload/v1/files"]

    assert file.size_bytes == len(content)
    assert len(pieces) == 3


def test_a_batch_is_made_of_the_calls_themselves() -> None:
    with server_and_client() as (_, client):
        made = order(client, inside(4))
        done = client.batches.get(name=made.name)

    assert done.state is STATE.JOB_STATE_SUCCEEDED
    rows = done.dest.inlined_responses
    assert [row.metadata for row in rows] == [{"key": f"qabc-{number}"} for number in range(4)]
    assert [counts(row.response.text) for row in rows] == [[1], [2], [3], [4]]


def test_a_row_that_fails_says_so_among_the_others() -> None:
    with server_and_client("500=1") as (_, client):
        inlined = client.batches.get(name=order(client, inside(1)).name)
        made = order(client, upload(client, lines(2)).name)
        filed = read(client, client.batches.get(name=made.name))

    (row,) = inlined.dest.inlined_responses
    assert (row.error.code, row.response) == (13, None)
    assert [item["error"]["code"] for item in filed] == [13, 13]
    assert [item["key"] for item in filed] == ["qabc-0", "qabc-1"]


def test_a_call_that_is_wrong_refuses_the_order_it_came_in() -> None:
    odd = {**inside(1)[0], "config": {"max_output_tokens": 0}}
    with server_and_client(strict=True) as (server, client):
        with pytest.raises(errors.ClientError, match="maxOutputTokens"):
            order(client, [*inside(2), odd])
        with pytest.raises(errors.ClientError, match="404"):
            client.batches.create(model="gemini-none", src=inside(1))

        assert server.batches() == []


@pytest.mark.parametrize("content", [b"{", b'{"key":"a"}', b"[1]"])
def test_a_file_that_is_wrong_fails_as_a_whole(content: bytes) -> None:
    with server_and_client() as (_, client):
        made = order(client, upload(client, lines(1) + b"\n" + content).name)
        done = client.batches.get(name=made.name)

    assert (done.state, done.dest) == (STATE.JOB_STATE_FAILED, None)


def test_batches_are_listed_the_newest_first_and_in_pages() -> None:
    with server_and_client() as (_, client):
        made = [order(client, inside(1)).name for _ in range(5)]
        every = [item.name for item in client.batches.list(config={"page_size": 2})]
        client.batches.delete(name=made[0])
        left = [item.name for item in client.batches.list()]

    assert every == made[::-1]
    assert left == made[:0:-1]


def test_files_are_there_until_they_are_deleted_or_two_days_old() -> None:
    with server_and_client() as (server, client):
        first, second = upload(client, lines(1)), upload(client, lines(1))
        listed = [item.name for item in client.files.list()]
        client.files.delete(name=first.name)
        with pytest.raises(errors.ClientError, match="404"):
            client.files.get(name=first.name)
        kept = client.files.get(name=second.name)
        with pytest.raises(errors.ClientError, match="Only generated files"):
            client.files.download(file=second.name)
        server.advance(TWO_DAYS + 1)
        with pytest.raises(errors.ClientError, match="404"):
            order(client, second.name)

    assert listed == [second.name, first.name]
    assert kept.expiration_time is not None


def test_a_cancelled_batch_keeps_what_it_has_done() -> None:
    with server_and_client(latency="1000s") as (server, client):
        made = order(client, upload(client, lines(10)).name)
        server.advance(500)
        running = client.batches.get(name=made.name)
        client.batches.cancel(name=made.name)
        server.advance(200)
        done = client.batches.get(name=made.name)
        client.batches.cancel(name=made.name)
        got = read(client, done)

    assert running.state is STATE.JOB_STATE_RUNNING
    assert done.state is STATE.JOB_STATE_CANCELLED
    answered = [item for item in got if "response" in item]
    assert 0 < len(answered) < 10
    assert {item["error"]["code"] for item in got if "error" in item} == {1}


@pytest.mark.parametrize("fault", ["batch_stuck=1", "batch_expire=1"])
def test_a_batch_that_outlasts_its_time_gives_nothing_back(fault: str) -> None:
    with server_and_client(fault) as (server, client):
        made = order(client, inside(4))
        server.advance(TWO_DAYS + 1)
        done = client.batches.get(name=made.name)

    assert (done.state, done.dest) == (STATE.JOB_STATE_EXPIRED, None)


@pytest.mark.parametrize("fault", ["batch_drop", "batch_500"])
def test_an_order_may_be_carried_out_and_its_answer_lost(fault: str) -> None:
    with server_and_client(f"{fault}@1") as (server, client):
        with pytest.raises(Exception, match=r"500|disconnected|closed"):
            order(client, inside(2))
        (found,) = client.batches.list()

        assert len(server.batches()) == 1
        assert found.display_name == "qabc"


def test_a_full_queue_refuses_the_order() -> None:
    with server_and_client("batch_full@1") as (server, client):
        with pytest.raises(errors.ClientError, match="RESOURCE_EXHAUSTED"):
            order(client, inside(2))

        assert server.batches() == []


def test_a_result_may_be_missing_and_cut_off_before_it_is_there() -> None:
    with server_and_client("batch_404@1,batch_truncate@1") as (_, client):
        done = client.batches.get(name=order(client, upload(client, lines(4)).name).name)
        with pytest.raises(errors.ClientError, match="404"):
            read(client, done)
        with pytest.raises(Exception, match=r"peer closed|incomplete|closed"):
            read(client, done)

        assert len(read(client, done)) == 4


def test_two_vendors_share_a_path_and_not_what_is_there() -> None:
    with server_and_client() as (server, client), openai_client(server.url) as other:
        order(client, upload(client, lines(1)).name)

        assert other.batches.list().data == []
        assert len(list(client.batches.list())) == 1
