"""A server that refuses a part of all calls is asked in a weaker way, for a call or two."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quire.domain.batches import parse_custom_id
from quire.domain.fallbacks import FallbackPart
from quire.domain.reasons import EventKind, HoldKind
from quire.domain.states import RunState
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import OPENAI
from tests.rehearsed.strict_server import (
    Body,
    Complaint,
    OwnServer,
    Refuse,
    StrictServer,
    strict_server,
)
from tests.rehearsed.test_batch_rows import ROUTE, batched, change_lines
from tests.time_limits import at_most
from tests.world import METADATA, World, sentences

IN_FLIGHT = 2  # calls that a server of one's own gets before it has answered any

Serve = Callable[..., StrictServer]


def vllm_says(message: str) -> Complaint:
    """A refusal, as vLLM words one."""
    return 400, {"object": "error", "message": message, "type": "BadRequestError", "code": 400}


def no_schema(body: Body) -> Complaint | None:
    """Take some JSON, and nothing stronger."""
    kind = body.get("response_format", {}).get("type")
    if kind != "json_schema":
        return None
    return vllm_says("'response_format.type' must be 'text' or 'json_object', not 'json_schema'")


def no_format(body: Body) -> Complaint | None:
    """Take no form of the answer at all."""
    found = "response_format" in body
    return vllm_says("Unrecognized request argument supplied: response_format") if found else None


def no_system(body: Body) -> Complaint | None:
    """A template without a system role."""
    found = body["messages"][0]["role"] == "system"
    return vllm_says("System role not supported") if found else None


def no_max_tokens(body: Body) -> Complaint | None:
    """Call the limit by its newer name only."""
    if "max_tokens" not in body:
        return None
    said = "Unsupported parameter: 'max_tokens' is not supported with this model."
    return vllm_says(f"{said} Use 'max_completion_tokens' instead.")


def no_whole_answers(body: Body) -> Complaint | None:
    """Answer in streams only, as some models of Alibaba's do, and know no options of streams."""
    if "stream_options" in body:
        return vllm_says("Unknown parameter: 'stream_options'")
    said = "This model only support stream mode, please enable the stream parameter."
    return None if body.get("stream") else vllm_says(said)


def short_answers(body: Body) -> Complaint | None:
    """Allow answers of 300 tokens."""
    return vllm_says("`max_tokens` must be <= 300") if body.get("max_tokens", 0) > 300 else None


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Start a server with rules; from then on vllm's models are found there."""
    with ExitStack() as servers:

        def start(*rules: Refuse) -> StrictServer:
            server = servers.enter_context(strict_server(*rules))
            monkeypatch.setenv("VLLM_BASE_URL", server.url)
            return server

        yield start


@pytest.fixture
def here(tmp_path: Path) -> Iterator[OwnServer]:
    """An engine and a hundred blocks."""
    world = OwnServer(str(tmp_path / "quire.db"))
    world.ingest(sentences(100))
    yield world
    world.close()


def fell_back(here: World, run: Any) -> list[tuple[Any, Any]]:
    """The parts that a run's history says are written in a weaker way, and which."""
    with here.engine.ledger.snapshot() as tx:
        events = tx.events.events_of_run(run.id)
    kinds = [event.fields for event in events if event.kind == EventKind.FELL_BACK]
    return [(fields["part"], fields["way"]) for fields in kinds]


@pytest.mark.parametrize(
    ("rules", "ways"),
    [
        ([no_schema], [("structured", "json")]),
        ([no_format], [("structured", "text")]),
        ([no_system], [("system", "user")]),
        ([no_max_tokens], [("limit", "max_completion_tokens")]),
        ([no_schema, no_system], [("structured", "json"), ("system", "user")]),
        ([short_answers], [("max_output", "300")]),
        ([no_whole_answers], [("stream", "counted"), ("stream", "plain")]),
    ],
)
def test_a_refused_part_costs_the_calls_in_flight_and_all_is_done(
    strict: Serve, here: OwnServer, rules: list[Refuse], ways: list[tuple[str, str]]
) -> None:
    server = strict(*rules)

    run = here.run(pack_size=5)

    ended = run.progress()
    assert (ended.state, ended.done, ended.failed, ended.holds) == (RunState.FINISHED, 100, 0, ())
    assert 0 < len(server.refused) <= IN_FLIGHT * len(ways)
    assert fell_back(here, run) == ways
    assert ended.splits == 0
    with here.engine.ledger.snapshot() as tx:
        assert tx.checks.miscounts() == []


def test_what_one_run_met_the_next_one_knows_from_the_start(strict: Serve, here: OwnServer) -> None:
    server = strict(no_schema, no_system)
    here.run(pack_size=5)
    refused = len(server.refused)

    second = here.run({**METADATA, "title": "other"}, pack_size=5)

    assert second.progress().done == 100
    assert len(server.refused) == refused
    assert fell_back(here, second) == []
    first = server.answered[-1]["messages"]
    assert [message["role"] for message in first] == ["user"]
    assert "JSON Schema" in first[0]["content"]


def test_a_model_at_another_address_is_asked_as_usual(strict: Serve, here: OwnServer) -> None:
    strict(no_schema)
    here.run(pack_size=5)
    other = strict()

    here.run({**METADATA, "title": "other"}, pack_size=5)

    kinds = {body["response_format"]["type"] for body in other.answered}
    assert kinds == {"json_schema"}


def test_an_unknown_model_holds_the_run_after_the_calls_in_flight(
    strict: Serve, here: OwnServer
) -> None:
    server = strict(lambda body: vllm_says("The model `odd` does not exist."))

    (hold,) = here.run(pack_size=1).progress().holds

    assert hold.kind is HoldKind.MODEL
    assert "base_url in [providers.vllm]" in hold.detail
    assert len(server.refused) <= IN_FLIGHT


def test_where_no_weaker_way_is_left_the_run_is_held_with_what_to_set(
    strict: Serve, here: OwnServer
) -> None:
    server = strict(lambda body: vllm_says("response_format is not supported, whatever you send"))

    (hold,) = here.run(pack_size=1).progress().holds

    assert hold.kind is HoldKind.FORM
    assert all(word in hold.detail for word in ("structured", "max_output", "base_url"))
    assert len(server.refused) <= 2 * IN_FLIGHT


def test_what_is_stated_after_the_hold_counts_when_the_same_order_is_given(
    strict: Serve, here: OwnServer
) -> None:
    def code(body: Body) -> Complaint | None:
        bound = body.get("response_format", {}).get("type") == "json_schema"
        said = {"message": "Invalid schema", "code": "invalid_json_schema"}
        return (400, {"error": said}) if bound else None

    strict(code)
    run = here.run(pack_size=5)
    held = run.progress()
    stated = {"vllm/odd": {"structured": "json"}}
    here.engine.context.settings = replace(here.engine.settings, models=stated)

    again = here.run(pack_size=5)

    assert [hold.kind for hold in held.holds] == [HoldKind.FORM]
    assert (again.id, again.progress().done) == (run.id, 100)


def test_a_forgotten_fallback_is_met_again(strict: Serve, here: OwnServer) -> None:
    server = strict(no_schema)
    here.run(pack_size=5)
    with here.engine.ledger.transaction() as tx:
        (known,) = tx.fallbacks.list_fallbacks()
        assert tx.fallbacks.forget_fallbacks("vllm/odd") == 1
    refused = len(server.refused)

    here.run({**METADATA, "title": "other"}, pack_size=5)

    assert (known.part, known.address) == (FallbackPart.STRUCTURED, server.url)
    assert len(server.refused) > refused


def test_rows_of_a_batch_that_refuse_a_part_step_down_once_and_go_in_the_next(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "Invalid parameter: 'text.format' of type 'json_schema' is not supported"
    wrong = {"message": said, "param": "text.format", "code": "unsupported_value"}
    first: set[str] = set()

    def refuse(number: int, no: int, line: bytes) -> list[bytes]:
        row = json.loads(line)
        nonce, _ = parse_custom_id(row["custom_id"]) or ("", 0)
        first.update([] if first else [nonce])
        if nonce in first:
            row["response"] = {"status_code": 400, "body": {"error": wrong}}
        return [json.dumps(row).encode()]

    here = batched(rehearse, OPENAI)
    change_lines(monkeypatch, refuse)

    run = here.start(**ROUTE)
    ended = run.wait(at_most())

    assert (ended.done, ended.failed, ended.splits) == (40, 0, 0)
    assert len(here.server.batches()) == 2
    assert fell_back(here, run) == [("structured", "json")]
