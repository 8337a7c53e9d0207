"""What the script breaks about batches: their making, their end, their rows, their results."""

from typing import Any

import openai
import pytest

from quire.domain.errors import SettingsInvalid
from quire.rehearsal.server import rehearsal_server
from tests.rehearsal.batch_requests import (
    DAY,
    lines,
    names,
    order,
    read,
    retrieve,
    rows,
    server_and_client,
    upload,
)
from tests.rehearsal.plain_http import ask

ROWS = 200


def _result(faults: str) -> tuple[Any, list[dict[str, Any]], list[dict[str, Any]]]:
    """Make a batch among faults, and read what it wrote."""
    with server_and_client(faults) as (_, client):
        done = retrieve(client, order(client, lines(rows(ROWS))).id)
        return done, read(client, done.output_file_id), read(client, done.error_file_id)


@pytest.mark.parametrize(
    ("fault", "heard"),
    [("batch_drop", openai.APIConnectionError), ("batch_500", openai.InternalServerError)],
)
def test_a_batch_exists_although_its_maker_heard_of_trouble(
    fault: str, heard: type[Exception]
) -> None:
    with server_and_client(f"{fault}@1") as (server, client):
        with pytest.raises(heard):
            order(client, lines(rows(3)), "qlost")
        found = [*client.batches.list()]
        again = order(client, lines(rows(3)), "qnext")
        log = [record for record in server.log() if record["batch"] and record["method"] == "POST"]

    assert [batch.metadata for batch in found] == [{"quire": "qlost"}]
    assert found[0].status == "completed"
    assert again.metadata == {"quire": "qnext"}
    creates = [record for record in log if record["endpoint"] == "batches"]
    assert [(create["tag"], create["rows"], create["fault"]) for create in creates] == [
        ("qlost", 3, fault),
        ("qnext", 3, ""),
    ]


def test_the_official_client_makes_three_batches_of_one_when_it_may_try_again() -> None:
    with server_and_client("batch_500@2") as (server, client):
        order(client.with_options(max_retries=2), lines(rows(1)), "qtwice")
        made = ask(server.url, "/_rehearsal/batches").json

    assert made["creates"] == {"qtwice": 3}
    assert len({item["digest"] for item in made["batches"]}) == 1


def test_a_stuck_batch_expires_with_nothing_done() -> None:
    with server_and_client("batch_stuck=1") as (server, client):
        made = order(client, lines(rows(ROWS)))
        server.advance(DAY - 60)
        before = retrieve(client, made.id)
        server.advance(61)
        done = retrieve(client, made.id)
        errors = read(client, done.error_file_id)
        answered = server.stats()["answered"]

    assert (before.status, before.request_counts.completed) == ("in_progress", 0)
    assert (done.status, done.output_file_id, len(errors)) == ("expired", None, ROWS)
    assert answered == 0


def test_a_stuck_batch_can_be_cancelled() -> None:
    with server_and_client("batch_stuck=1") as (_, client):
        made = order(client, lines(rows(3)))
        client.batches.cancel(made.id)
        done = retrieve(client, made.id)

    assert (done.status, done.output_file_id) == ("cancelled", None)


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        ("batch_expire", "expired", "batch_expired"),
        ("batch_cancel", "cancelled", "batch_cancelled"),
    ],
)
def test_a_batch_ends_early_with_half_of_its_rows(fault: str, status: str, code: str) -> None:
    done, output, errors = _result(f"{fault}=1")

    assert done.status == status
    assert len(output) == len(errors) == ROWS // 2
    assert names(output + errors) == names(rows(ROWS))
    assert {error["error"]["code"] for error in errors} == {code}


def test_a_batch_completes_with_nothing_but_errors() -> None:
    done, output, errors = _result("batch_errors=1")

    assert (done.status, done.output_file_id, output) == ("completed", None, [])
    assert names(errors) == names(rows(ROWS))
    assert {error["response"]["status_code"] for error in errors} == {500}
    assert (done.request_counts.failed, done.usage.total_tokens) == (ROWS, 0)


def test_rows_come_in_another_order() -> None:
    _, output, _ = _result("batch_shuffle=1")

    assert names(output) != names(rows(ROWS))
    assert sorted(names(output)) == sorted(names(rows(ROWS)))


def test_rows_come_twice() -> None:
    _, output, _ = _result("batch_duplicate=1,batch_shuffle=1")

    twice = [name for name in set(names(output)) if names(output).count(name) == 2]
    assert sorted(twice) == sorted(names(rows(ROWS))[::2])
    assert set(names(output)) == set(names(rows(ROWS)))


def test_rows_are_missing() -> None:
    done, output, errors = _result("batch_missing=1")

    assert (done.status, errors) == ("completed", [])
    assert set(names(rows(ROWS))) - set(names(output)) == set(names(rows(ROWS))[::4])
    assert done.request_counts.total == ROWS


@pytest.mark.parametrize("script", ["batch_404=1", "batch_404@1"])
def test_a_result_is_not_found_and_then_there(script: str) -> None:
    with server_and_client(script) as (_, client):
        done = retrieve(client, order(client, lines(rows(3))).id)
        assert client.files.content(done.input_file_id).content == lines(rows(3))
        with pytest.raises(openai.NotFoundError):
            client.files.content(done.output_file_id or "")
        assert names(read(client, done.output_file_id)) == names(rows(3))


@pytest.mark.parametrize("script", ["batch_truncate=1", "batch_truncate@1"])
def test_a_result_breaks_off_and_is_whole_the_next_time(script: str) -> None:
    with server_and_client(script) as (server, client):
        done = retrieve(client, order(client, lines(rows(ROWS))).id)
        with pytest.raises(openai.APIConnectionError):
            client.files.content(done.output_file_id or "")
        assert len(read(client, done.output_file_id)) == ROWS
        fetches = [record for record in server.log() if record["path"].endswith("/content")]

    assert [(fetch["fault"], fetch["delivered"]) for fetch in fetches] == [
        ("batch_truncate", False),
        ("", True),
    ]
    assert {fetch["batch"] for fetch in fetches} == {done.id}


def test_a_full_queue_fails_the_batch_and_later_takes_it() -> None:
    with server_and_client("batch_full@2") as (server, client):
        file = upload(client, lines(rows(3)))
        ends = []
        for _ in range(3):
            made = client.batches.create(
                input_file_id=file, endpoint="/v1/responses", completion_window="24h"
            )
            ends.append(retrieve(client, made.id))
        stats = server.stats()["batches"]

    assert [end.status for end in ends] == ["failed", "failed", "completed"]
    assert ends[0].errors.data[0].code == "token_limit_exceeded"
    assert ends[0].output_file_id is ends[0].error_file_id is None
    assert stats["ends"] == {"failed": 2, "completed": 1}


def test_chance_strikes_some_batches_and_the_same_ones_again() -> None:
    def ends(polls: int) -> list[str]:
        with server_and_client("batch_expire=0.5,skip=0.3", seed=4) as (server, client):
            for number in range(12):
                order(client, lines(rows(2)), f"q{number}")
                for _ in range(polls):
                    client.batches.list()
            return [f"{batch['end']} {batch['usage']}" for batch in server.batches()]

    once = ends(0)

    assert {name.split()[0] for name in once} == {"completed", "expired"}
    assert once == ends(2)  # asking does not change what is drawn


def test_a_script_may_change_while_batches_run() -> None:
    with server_and_client() as (server, client):
        ask(server.url, "/_rehearsal/faults", {"faults": "batch_500@1"})
        with pytest.raises(openai.InternalServerError):
            order(client, lines(rows(1)))
        assert order(client, lines(rows(1))).status == "validating"


def test_calls_know_nothing_of_the_faults_of_batches() -> None:
    with server_and_client("batch_drop=1,batch_missing=1") as (_, client):
        response = client.responses.create(model="gpt-x", input="hello")

    assert response.output_text == "simulated: hello"


@pytest.mark.parametrize("script", ["batch_drop@WORD", "batch_nothing=1", "batch_404=2"])
def test_a_script_about_batches_that_says_nothing_is_refused(script: str) -> None:
    with pytest.raises(SettingsInvalid), rehearsal_server(faults=script):
        pass
