"""OpenAI's own client takes the server's files and batches for OpenAI's."""

from typing import Any

import openai
import pytest

from quire.rehearsal.server import rehearsal_server
from tests.rehearsal.batch_requests import (
    CHAT,
    DAY,
    body,
    lines,
    names,
    order,
    read,
    retrieve,
    row,
    rows,
    server_and_client,
    upload,
)
from tests.rehearsal.clients import (
    GPT,
    KEY,
    MODELS,
    PREFIX,
    counts,
    message,
    openai_client,
    respond,
    with_schema,
)


def _answer_text(line: dict[str, Any]) -> str:
    return str(line["response"]["body"]["output"][0]["content"][0]["text"])


def test_a_batch_is_uploaded_made_and_collected() -> None:
    batch_rows = rows(40)
    with server_and_client() as (_, client):
        made = order(client, lines(batch_rows))
        done = retrieve(client, made.id)
        got = read(client, done.output_file_id)

    assert (made.object, made.status, made.metadata) == ("batch", "validating", {"quire": "qabc"})
    assert (done.status, done.error_file_id, done.model) == ("completed", None, GPT)
    assert (done.request_counts.total, done.request_counts.completed) == (40, 40)
    assert names(got) == names(batch_rows)
    assert [counts(_answer_text(line)) for line in got] == [
        [number % 7 + 1] for number in range(40)
    ]
    assert done.usage.total_tokens == sum(
        line["response"]["body"]["usage"]["total_tokens"] for line in got
    )


def test_a_row_says_what_a_direct_call_of_the_same_body_would() -> None:
    with server_and_client() as (server, client):
        direct = respond(client)
        done = retrieve(client, order(client, lines([row("q-1")])).id)
        got = read(client, done.output_file_id)[0]
        log = [record for record in server.log() if record["usage"]]

    assert got["response"]["status_code"] == 200
    assert _answer_text(got) == direct.output_text
    assert got["response"]["body"]["usage"] == direct.usage.to_dict()
    assert [record["route"] for record in log] == ["direct", "batch"]
    assert log[0]["usage"] == log[1]["usage"]


def test_a_batch_of_chat_completions_is_answered() -> None:
    call = {"model": GPT, "messages": [{"role": "user", "content": "hello"}]}
    with server_and_client() as (_, client):
        made = order(client, lines([row("q-1", call, url=CHAT)]), endpoint=CHAT)
        done = retrieve(client, made.id)
        got = read(client, done.output_file_id)

    message = got[0]["response"]["body"]["choices"][0]["message"]
    assert (done.endpoint, message["content"]) == (CHAT, "simulated: hello")


def test_a_batch_passes_its_states_by_the_clock() -> None:
    with server_and_client(latency="1000s") as (server, client):
        made = order(client, lines(rows(10)))
        server.advance(50)
        waiting = retrieve(client, made.id)
        server.advance(500)
        half = retrieve(client, made.id)
        server.advance(460)
        done = retrieve(client, made.id)

    assert (made.status, made.request_counts.total) == ("validating", 0)
    assert (waiting.status, waiting.in_progress_at) == ("validating", None)
    assert (half.status, half.output_file_id, half.request_counts.completed) == (
        "in_progress",
        None,
        5,
    )
    assert done.status == "completed"
    assert done.in_progress_at == pytest.approx(made.created_at + 60, abs=1)
    assert done.completed_at == pytest.approx(made.created_at + 1_000, abs=1)
    assert done.expires_at == pytest.approx(made.created_at + DAY, abs=1)


def test_a_batch_that_takes_too_long_expires_and_keeps_what_it_has() -> None:
    with server_and_client(latency=f"{2 * DAY:.0f}s") as (server, client):
        made = order(client, lines(rows(100)))
        server.advance(DAY - 10)
        waiting = retrieve(client, made.id)
        server.advance(20)
        done = retrieve(client, made.id)
        output, errors = read(client, done.output_file_id), read(client, done.error_file_id)

    assert (waiting.status, done.status) == ("in_progress", "expired")
    assert len(output) == 49  # the first minute goes by before the first row
    assert names(output + errors) == names(rows(100))
    assert {error["error"]["code"] for error in errors} == {"batch_expired"}
    assert {error["response"] for error in errors} == {None}


def test_a_cancelled_batch_keeps_what_it_has() -> None:
    with server_and_client(latency="1000s") as (server, client):
        made = order(client, lines(rows(10)))
        server.advance(560)
        asked = client.batches.cancel(made.id)
        server.advance(100)
        done = retrieve(client, made.id)
        output, errors = read(client, done.output_file_id), read(client, done.error_file_id)
        with pytest.raises(openai.ConflictError):
            client.batches.cancel(made.id)

    assert (asked.status, done.status) == ("cancelling", "cancelled")
    assert (len(output), len(errors)) == (5, 5)
    assert {error["error"]["code"] for error in errors} == {"batch_cancelled"}


def test_batches_are_listed_in_pages_the_newest_first() -> None:
    with server_and_client(latency="100s") as (_, client):
        made = [order(client, lines(rows(1)), f"q{number}").id for number in range(7)]
        first = client.batches.list(limit=3)
        every = [batch.id for batch in client.batches.list(limit=3)]

    assert first.has_more
    assert [batch.metadata["quire"] for batch in first.data if batch.metadata] == ["q6", "q5", "q4"]
    assert every == made[::-1]


def test_another_key_finds_neither_batch_nor_file() -> None:
    with server_and_client() as (server, client):
        made = order(client, lines(rows(1)))
        with openai_client(server.url, api_key="sk-somebody-else") as other:
            for ask in (
                lambda: other.batches.retrieve(made.id),
                lambda: other.batches.cancel(made.id),
                lambda: other.files.retrieve(made.input_file_id),
                lambda: other.files.content(made.input_file_id),
            ):
                with pytest.raises(openai.NotFoundError):
                    ask()
            assert [*other.batches.list()] == [*other.files.list()] == []


def test_files_are_described_listed_read_and_deleted() -> None:
    content = lines(rows(3))
    with server_and_client() as (server, client):
        first, second = upload(client, content, "one.jsonl"), upload(client, content, "two.jsonl")
        one = client.files.retrieve(first)
        listed = [file_object.filename for file_object in client.files.list(purpose="batch")]
        again = client.files.content(first).content
        gone = client.files.delete(first)
        with pytest.raises(openai.NotFoundError):
            client.files.retrieve(first)
        server.advance(31 * DAY)
        with pytest.raises(openai.NotFoundError):
            client.files.retrieve(second)

    assert (one.bytes, one.filename, one.purpose) == (len(content), "one.jsonl", "batch")
    assert listed == ["two.jsonl", "one.jsonl"]
    assert again == content
    assert gone.deleted


def test_a_batch_runs_although_its_input_was_deleted() -> None:
    with server_and_client(latency="100s") as (server, client):
        made = order(client, lines(rows(3)))
        client.files.delete(made.input_file_id)
        server.advance(101)
        done = retrieve(client, made.id)

    assert (done.status, done.request_counts.completed) == ("completed", 3)


def test_rows_that_fail_are_in_the_error_file() -> None:
    batch_rows = [row("q-1"), row("q-2", body(message("BAD"))), row("q-3", body(temperature=1))]
    with server_and_client("500@BAD") as (_, client):
        done = retrieve(client, order(client, lines(batch_rows)).id)
        output, errors = read(client, done.output_file_id), read(client, done.error_file_id)

    assert (done.status, done.request_counts.failed) == ("completed", 2)
    assert names(output) == ["q-1"]
    assert [error["response"]["status_code"] for error in errors] == [500, 400]
    assert errors[1]["response"]["body"]["error"]["code"] == "unsupported_parameter"
    assert {error["error"] for error in errors} == {None}


def test_a_page_instead_of_an_answer_is_a_string_in_its_row() -> None:
    with server_and_client("garbage=1") as (_, client):
        done = retrieve(client, order(client, lines(rows(1))).id)
        got = read(client, done.output_file_id)

    assert got[0]["response"]["body"].startswith("<html>")


def rows_with_shared_prefix(count: int) -> list[dict[str, Any]]:
    """Rows that begin alike, with the end of that marked."""
    options = {"mode": "explicit"}
    part = {"type": "input_text", "text": PREFIX, "prompt_cache_breakpoint": options}
    messages = [
        {"role": "developer", "content": [part]},
        {"role": "user", "content": message()},
    ]
    call = body(input=messages, prompt_cache_options=options)
    return [row(f"q-{number}", call) for number in range(count)]


def test_the_rows_of_a_batch_share_the_cache() -> None:
    with server_and_client() as (server, client):
        done = retrieve(client, order(client, lines(rows_with_shared_prefix(4))).id)
        stats = server.stats()

    assert done.usage.input_tokens_details.cached_tokens == 3 * with_schema(PREFIX)
    assert (stats["cache_writes"], stats["cache_hits"]) == (1, 3)


@pytest.mark.parametrize(("share", "hits"), [(1.0, 24), (0.9, 22), (0.7, 17), (0.5, 12), (0.0, 0)])
def test_a_share_of_all_rows_finds_a_prefix_however_they_are_split(share: float, hits: int) -> None:
    with (
        rehearsal_server(models=MODELS, batch_hits=share) as server,
        openai_client(server.url) as client,
    ):
        for count in (3, 2, 20):
            made = order(client, lines(rows_with_shared_prefix(count)))
            server.advance(2)
            retrieve(client, made.id)
        stats = server.stats()

    assert (stats["cache_writes"], stats["cache_hits"]) == (25 - hits, hits)


def test_azures_batches_never_expire_and_have_an_error_file_without_errors() -> None:
    with (
        rehearsal_server(models=MODELS, batch_latency=f"{2 * DAY:.0f}s") as server,
        openai_client(
            server.url,
            base_url=f"{server.url}/openai/v1",
            default_headers={"api-key": KEY},
        ) as client,
    ):
        made = order(client, lines(rows(5)))
        server.advance(2 * DAY + 1)
        done = retrieve(client, made.id)
        errors = client.files.content(done.error_file_id or "").content

    assert (done.status, done.expires_at, done.request_counts.completed) == ("completed", None, 5)
    assert errors == b""
