"""Anthropic's own client takes the server's message batches for Anthropic's."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import anthropic
import pytest

from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.rehearsal.clients import KEY, MODELS, SCHEMA, SONNET, anthropic_client, counts, message

DAY = 24 * 3_600.0


class ServerAndClient(NamedTuple):
    """A server and a client of it."""

    server: RehearsalThread
    client: anthropic.Anthropic


@contextmanager
def server_and_client(
    faults: str = "", *, latency: str = "0", **how: Any
) -> Iterator[ServerAndClient]:
    """Run a server whose batches end at once, with a client."""
    options: dict[str, Any] = {"models": MODELS, "batch_latency": latency, "faults": faults, **how}
    with rehearsal_server(**options) as server, anthropic_client(server.url) as client:
        yield ServerAndClient(server, client)


def params(user: str = "", **how: Any) -> Any:
    """A call of the Messages API."""
    return {
        "model": SONNET,
        "max_tokens": 500,
        "system": [{"type": "text", "text": "Count words."}],
        "messages": [{"role": "user", "content": user or message()}],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        **how,
    }


def rows(count: int) -> Any:
    """Calls that differ."""
    return [
        {"custom_id": f"qabc-{number}", "params": params(message("word " * (number % 7 + 1)))}
        for number in range(count)
    ]


def read(client: anthropic.Anthropic, ref: str) -> list[Any]:
    """The results of a batch."""
    return list(client.messages.batches.results(ref))


def kinds(rows_: list[Any]) -> list[str]:
    """How rows ended."""
    return [item.result.type for item in rows_]


def test_a_batch_is_made_and_collected() -> None:
    with server_and_client() as (server, client):
        made = client.messages.batches.create(requests=rows(40))
        done = client.messages.batches.retrieve(made.id)
        got = read(client, made.id)
        (record,) = server.batches()

    assert (made.type, made.processing_status) == ("message_batch", "in_progress")
    assert (made.request_counts.processing, made.results_url) == (40, None)
    assert (made.expires_at - made.created_at).total_seconds() == DAY
    assert (done.processing_status, done.request_counts.succeeded) == ("ended", 40)
    assert [item.custom_id for item in got] == [f"qabc-{number}" for number in range(40)]
    texts = [item.result.message.content[0].text for item in got]
    assert [counts(text) for text in texts] == [[number % 7 + 1] for number in range(40)]
    assert {item.result.message.usage.service_tier for item in got} == {"batch"}
    assert (record["id"], record["tag"], record["rows"]) == (made.id, "qabc", 40)


def test_a_row_that_is_wrong_is_its_own_affair() -> None:
    odd: list[Any] = [
        {"custom_id": "b-1", "params": params(temperature=0.5)},
        {"custom_id": "b-2", "params": params(stream=True)},
        {"custom_id": "b-3", "params": params(max_tokens=0)},
        {"custom_id": "b-4", "params": params(model="claude-none")},
        {"custom_id": "b-5", "params": {"model": SONNET}},
    ]
    with server_and_client(strict=True) as (_, client):
        made = client.messages.batches.create(requests=[*odd, *rows(1)])
        got = read(client, made.id)
        counted = client.messages.batches.retrieve(made.id).request_counts

    assert kinds(got) == ["errored"] * 5 + ["succeeded"]
    errors = [item.result.error.error.type for item in got[:5]]
    invalid = "invalid_request_error"
    assert errors == [invalid, invalid, invalid, "not_found_error", invalid]
    assert (counted.errored, counted.succeeded) == (5, 1)


def test_the_older_version_of_an_order_holds_for_its_rows() -> None:
    warm: list[Any] = [{"custom_id": "a-1", "params": params(temperature=0.5)}]
    with server_and_client() as (_, client):
        made = client.messages.batches.create(
            requests=warm, extra_headers={"anthropic-version": "2023-06-01"}
        )

        assert kinds(read(client, made.id)) == ["succeeded"]


@pytest.mark.parametrize(
    ("requests", "said"),
    [
        ([], "at least 1 item"),
        ([{"custom_id": "a b", "params": {}}], "requests.0.custom_id: String should match"),
        ([{"custom_id": "a"}], "requests.0.params: Field required"),
        ([{"custom_id": "a", "params": {}, "more": 1}], "requests.0.more: Extra inputs"),
        ([{"custom_id": "a", "params": {}}] * 2, "requests.1.custom_id: `a` is not unique"),
    ],
)
def test_an_order_that_is_wrong_makes_nothing(requests: Any, said: str) -> None:
    with server_and_client() as (server, client):
        with pytest.raises(anthropic.BadRequestError, match=said):
            client.messages.batches.create(requests=requests)

        assert server.batches() == []


def test_batches_are_listed_the_newest_first_and_in_pages() -> None:
    with server_and_client() as (_, client):
        made = [client.messages.batches.create(requests=rows(1)).id for _ in range(5)]
        first = client.messages.batches.list(limit=2)
        every = [batch.id for batch in client.messages.batches.list(limit=2)]
        before = client.messages.batches.list(limit=2, before_id=made[1])

    newest = made[::-1]
    assert [batch.id for batch in first.data] == newest[:2]
    assert first.has_more
    assert every == newest
    assert [batch.id for batch in before.data] == newest[1:3]


def test_a_batch_is_there_for_nobody_else() -> None:
    with (
        server_and_client() as (server, client),
        anthropic_client(server.url, api_key=f"{KEY}-2") as other,
    ):
        made = client.messages.batches.create(requests=rows(1))

        assert other.messages.batches.list().data == []
        with pytest.raises(anthropic.NotFoundError):
            other.messages.batches.retrieve(made.id)


def test_a_cancelled_batch_keeps_what_it_has_done() -> None:
    with server_and_client(latency="1000s") as (server, client):
        made = client.messages.batches.create(requests=rows(10))
        server.advance(500)
        asked_for = client.messages.batches.cancel(made.id)
        server.advance(200)
        done = client.messages.batches.retrieve(made.id)
        got = read(client, made.id)
        with pytest.raises(anthropic.BadRequestError, match="has ended"):
            client.messages.batches.cancel(made.id)

    assert asked_for.processing_status == "canceling"
    assert asked_for.cancel_initiated_at == done.cancel_initiated_at
    assert done.processing_status == "ended"
    succeeded, cancelled = done.request_counts.succeeded, done.request_counts.canceled
    assert 0 < succeeded < 10
    assert (succeeded + cancelled, kinds(got).count("canceled")) == (10, cancelled)


def test_a_batch_that_is_stuck_expires_with_nothing_done() -> None:
    with server_and_client("batch_stuck=1") as (server, client):
        made = client.messages.batches.create(requests=rows(4))
        server.advance(DAY - 60)
        before = client.messages.batches.retrieve(made.id)
        with pytest.raises(anthropic.AnthropicError, match="No `results_url`"):
            client.messages.batches.results(made.id)
        server.advance(120)
        after = client.messages.batches.retrieve(made.id)
        got = read(client, made.id)

    assert before.processing_status == "in_progress"
    assert (after.processing_status, after.request_counts.expired) == ("ended", 4)
    assert kinds(got) == ["expired"] * 4


@pytest.mark.parametrize("fault", ["batch_drop", "batch_500"])
def test_an_order_may_be_carried_out_and_its_answer_lost(fault: str) -> None:
    with server_and_client(f"{fault}@1") as (server, client):
        with pytest.raises(anthropic.APIError):
            client.messages.batches.create(requests=rows(2))
        (found,) = client.messages.batches.list().data

        assert len(server.batches()) == 1
        assert found.request_counts.processing + found.request_counts.succeeded == 2
        assert read(client, found.id)[0].custom_id == "qabc-0"


def test_a_full_queue_refuses_the_order() -> None:
    with server_and_client("batch_full@1") as (server, client):
        with pytest.raises(anthropic.RateLimitError):
            client.messages.batches.create(requests=rows(2))

        assert server.batches() == []
        assert client.messages.batches.create(requests=rows(2)).id


def test_missing_rows_do_not_show_in_the_counts() -> None:
    with server_and_client("batch_missing=1,batch_duplicate=1,batch_shuffle=1") as (_, client):
        made = client.messages.batches.create(requests=rows(8))
        got = read(client, made.id)
        counted = client.messages.batches.retrieve(made.id).request_counts

    names = {item.custom_id for item in got}
    assert counted.succeeded == 8
    assert names == {f"qabc-{item}" for item in (1, 2, 3, 5, 6, 7)}
    assert len(got) == 8


def test_a_batch_that_has_ended_may_be_deleted() -> None:
    with server_and_client() as (_, client):
        made = client.messages.batches.create(requests=rows(1))

        assert client.messages.batches.delete(made.id).id == made.id
        with pytest.raises(anthropic.NotFoundError):
            client.messages.batches.retrieve(made.id)
