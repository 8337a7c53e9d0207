"""What goes wrong on the way: lost and hanging answers, garbage, and answers that are not right."""

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import anthropic
import openai
import pytest

from quire.domain.errors import SettingsInvalid
from quire.rehearsal.fault_script import parse_faults
from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.rehearsal.clients import (
    HAIKU,
    SCHEMA,
    anthropic_client,
    chat,
    counts,
    create_message,
    message,
    openai_client,
    respond,
)
from tests.rehearsal.plain_http import BEARER, ask
from tests.time_limits import wait_until

THREE = message("One.", "One two.", "MARK two three.")


def test_a_dropped_answer_is_billed_and_never_delivered() -> None:
    with (
        rehearsal_server(faults="drop=1") as server,
        openai_client(server.url) as client,
    ):
        with pytest.raises(openai.APIConnectionError):
            respond(client)
        server.change_faults("")
        good = respond(client)
        lost, answered = server.log()

    assert (lost["status"], lost["fault"], lost["delivered"]) == (0, "drop", False)
    assert lost["usage"] == answered["usage"]
    assert lost["usage"]["output"] == good.usage.output_tokens
    assert answered["delivered"]


def _ask_and_give_up(server: RehearsalThread) -> None:
    """Hang up once the server has read the call."""
    connection = HTTPConnection(urlsplit(server.url).netloc)
    body = json.dumps({"model": "gpt-x", "input": "a"})
    connection.request(
        "POST", "/v1/responses", body, {**BEARER, "Content-Type": "application/json"}
    )
    wait_until(lambda: server.stats()["in_flight"])
    connection.close()


def test_a_hanging_call_ends_when_its_client_gives_up() -> None:
    with rehearsal_server(faults="hang=1") as server:
        _ask_and_give_up(server)
        seen = _until_ended(server)

    assert (seen["status"], seen["fault"], seen["usage"]) == (0, "hang", None)


def test_a_server_stops_although_calls_hang() -> None:
    with (
        rehearsal_server(faults="hang=1") as server,
        openai_client(server.url, timeout=0.2) as client,
        pytest.raises(openai.APITimeoutError),
    ):
        respond(client)

    place = urlsplit(server.url)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((place.hostname, place.port))


def test_whoever_gives_up_waiting_is_billed_all_the_same() -> None:
    with rehearsal_server(latency="600s") as server:
        _ask_and_give_up(server)
        seen = _until_ended(server)

    assert (seen["status"], seen["delivered"]) == (0, False)
    assert seen["usage"]["output"] > 0


def test_an_answer_takes_its_time_by_the_server_s_clock() -> None:
    body = {"model": "gpt-x", "input": "a"}
    with rehearsal_server(latency="3600s") as server, ThreadPoolExecutor(1) as others:
        asked = others.submit(ask, server.url, "/v1/responses", body, BEARER)
        while not asked.done():
            server.advance(3_600)

    assert asked.result().status == 200


def test_garbage_is_a_page_with_the_status_of_an_answer() -> None:
    with rehearsal_server(faults="garbage=1") as server:
        got = ask(server.url, "/v1/responses", {"model": "gpt-x", "input": "a"}, BEARER)
        entry = server.log()[0]

    assert (got.status, got.headers["content-type"].partition(";")[0]) == (200, "text/html")
    assert b"<html>" in got.body
    assert entry["usage"]["output"] > 0


def test_a_slow_answer_takes_a_second_at_least() -> None:
    with rehearsal_server(faults="slow=1") as server, openai_client(server.url) as client:
        began = time.monotonic()
        respond(client)
        took = time.monotonic() - began
        assert server.log()[0]["fault"] == "slow"

    assert took >= 1.0


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("skip@MARK", [1, 2]),
        ("duplicate@MARK", [1, 2, 3, 3]),
        ("stranger=1", [1, 2, 3, 1]),
    ],
)
def test_records_are_disturbed_as_the_script_says(script: str, expected: list[int]) -> None:
    with rehearsal_server(faults=script) as server, openai_client(server.url) as client:
        answer = respond(client, THREE)
        entry = server.log()[0]

    assert counts(answer.output_text) == expected
    assert entry["fault"] == script.partition("@")[0].partition("=")[0]
    assert entry["delivered"]


def test_malformed_json_travels_in_an_answer_that_is_otherwise_right() -> None:
    with rehearsal_server(faults="malformed=1") as server:
        with openai_client(server.url) as client:
            text = chat(client).choices[0].message.content
        with anthropic_client(server.url) as client:
            tool = create_message(
                client,
                model=HAIKU,
                tools=[{"name": "answer", "input_schema": SCHEMA}],
                tool_choice={"type": "tool", "name": "answer"},
                output_config={},
            )

    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(text)
    assert isinstance(tool.content[0].input["results"], str)


def test_an_empty_and_a_truncated_answer_keep_the_vendors_form() -> None:
    with rehearsal_server(faults="empty@NOTHING,truncate@HALF") as server:
        with openai_client(server.url) as client:
            empty, cut = respond(client, message("NOTHING")), respond(client, message("HALF"))
        faults = server.stats()["faults"]

    assert (empty.status, empty.output_text) == ("completed", "")
    assert cut.status == "incomplete"
    assert faults == {"empty": 1, "truncate": 1}


def test_the_same_body_sent_again_may_fare_differently_and_alike_on_another_day() -> None:
    def fates() -> list[int]:
        with rehearsal_server(faults="500=0.5,seed=3") as server:
            body = {"model": "gpt-x", "input": "the same"}
            return [ask(server.url, "/v1/responses", body, BEARER).status for _ in range(20)]

    once = fates()

    assert set(once) == {200, 500}
    assert once == fates()


def test_a_seed_beside_the_script_counts_for_it() -> None:
    def fates(seed: int) -> list[int]:
        with rehearsal_server(faults="500=0.5", seed=seed) as server:
            body = {"model": "gpt-x", "input": "the same"}
            return [ask(server.url, "/v1/responses", body, BEARER).status for _ in range(20)]

    assert fates(1) == fates(1) != fates(2)


def test_a_script_may_be_parted_by_blanks_and_knows_what_only_a_server_can_do() -> None:
    faults = parse_faults("429=0.02 500=0.01, spend=0.1 refuse@VERY BAD 529=1")

    assert faults.rates == {"429": 0.02, "500": 0.01, "spend": 0.1, "529": 1.0}
    assert faults.words == {"refuse": ("VERY BAD",)}


@pytest.mark.parametrize("script", ["nonsense=1", "429=2", "log=a.txt"])
def test_a_script_that_cannot_be_played_is_refused_at_once(script: str) -> None:
    with pytest.raises(SettingsInvalid), rehearsal_server(faults=script):
        pass


def test_an_overload_has_the_status_of_its_vendor() -> None:
    with rehearsal_server(faults="529=1") as server:
        with (
            anthropic_client(server.url) as client,
            pytest.raises(anthropic.APIStatusError) as theirs,
        ):
            create_message(client)
        with openai_client(server.url) as client, pytest.raises(openai.APIStatusError) as ours:
            respond(client)

    assert (theirs.value.status_code, ours.value.status_code) == (529, 503)


def _until_ended(server: Any) -> dict[str, Any]:
    """Wait until the server noticed that its only client has gone."""
    wait_until(lambda: any(entry["ended"] for entry in server.log()))
    (seen,) = server.log()
    return dict(seen)
