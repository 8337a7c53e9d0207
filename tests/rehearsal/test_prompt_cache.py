"""The prompt cache bills as the vendors do, and a prefix is usable only once an answer is out."""

import asyncio
from typing import Any

import aiohttp
import pytest

from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.rehearsal.clients import (
    GPT,
    HAIKU,
    MODELS,
    OLD_GPT,
    PREFIX,
    PREFIX_TOKENS,
    anthropic_client,
    create_message,
    gemini_client,
    generate,
    message,
    openai_client,
    respond,
    with_schema,
)
from tests.rehearsal.plain_http import BEARER
from tests.time_limits import wait_until

BOUND_TOKENS = with_schema(PREFIX)  # where the schema travels with it, and is kept too
EXPLICIT = {"mode": "explicit"}


def marked_call(
    user: str, prefix: str = PREFIX, mark: dict[str, str] | None = None
) -> dict[str, Any]:
    """A call to OpenAI with the end of its prefix marked."""
    part = {"type": "input_text", "text": prefix, "prompt_cache_breakpoint": mark or EXPLICIT}
    return {
        "model": GPT,
        "input": [
            {"role": "developer", "content": [part]},
            {"role": "user", "content": user},
        ],
        "prompt_cache_options": EXPLICIT,
        "text": {},
    }


def system(ttl: str | None = None, text: str = PREFIX) -> list[dict[str, Any]]:
    """A system text for Anthropic, to be kept."""
    control = {"type": "ephemeral"} | ({"ttl": ttl} if ttl else {})
    return [{"type": "text", "text": text, "cache_control": control}]


def details(response: Any) -> tuple[int, int]:
    """Tokens read from the cache, and written to it."""
    usage = response.usage.input_tokens_details
    return usage.cached_tokens, usage.cache_write_tokens


def kept_tokens(answer: Any) -> tuple[int, int]:
    """The same, as Anthropic says it."""
    return answer.usage.cache_read_input_tokens, answer.usage.cache_creation_input_tokens


@pytest.fixture
def fresh_server() -> Any:
    """A server that has kept nothing yet."""
    with rehearsal_server(models=MODELS) as server:
        yield server


def test_the_first_call_writes_and_the_next_ones_read(fresh_server: RehearsalThread) -> None:
    with openai_client(fresh_server.url) as client:
        calls = [respond(client, **marked_call(f"row {i}")) for i in range(3)]

    assert [details(call) for call in calls] == [
        (0, PREFIX_TOKENS),
        (PREFIX_TOKENS, 0),
        (PREFIX_TOKENS, 0),
    ]
    assert fresh_server.stats()["cache_writes"] == 1
    assert fresh_server.stats()["cache_hits"] == 2
    first, second, _ = (entry["usage"] for entry in fresh_server.log())
    assert (first["written_short"], second["cached"]) == (PREFIX_TOKENS, PREFIX_TOKENS)
    assert first["input"] == second["input"] == calls[0].usage.input_tokens - PREFIX_TOKENS


@pytest.mark.parametrize("primed", [False, True])
def test_simultaneous_calls_all_pay_for_the_write_unless_one_goes_first(primed: bool) -> None:
    def answer_all(server: RehearsalThread, count: int) -> None:
        """Answer calls when so many have come, and not before."""
        wait_until(lambda: sum(entry.usage is not None for entry in server.entries()) == count)
        while server.stats()["ended"] < count:
            server.advance(60)

    async def ask(server: RehearsalThread) -> None:
        async with aiohttp.ClientSession(f"{server.url}/v1/", headers=BEARER) as client:

            async def send(row: str) -> None:
                async with client.post("responses", json=marked_call(row)) as response:
                    assert response.status == 200

            first = 1 if primed else 0
            for rows in (first, 64):
                answering = asyncio.to_thread(answer_all, server, rows + first * (rows > 1))
                await asyncio.gather(answering, *(send(f"row {i}") for i in range(rows)))

    with rehearsal_server(models=MODELS, latency="60s") as server:
        asyncio.run(ask(server))
        seen = server.stats()

    assert seen["cache_writes"] == (1 if primed else 64)
    assert seen["cache_hits"] == (64 if primed else 0)
    assert seen["most_in_flight"] == 64


def test_a_prefix_grows_old_and_lives_longer_by_being_used(fresh_server: RehearsalThread) -> None:
    with openai_client(fresh_server.url) as client:
        respond(client, **marked_call("a"))
        fresh_server.advance(1_700)
        used = respond(client, **marked_call("b"))
        fresh_server.advance(1_700)
        used_again = respond(client, **marked_call("c"))
        fresh_server.advance(1_801)
        old = respond(client, **marked_call("d"))

    assert details(used) == details(used_again) == (PREFIX_TOKENS, 0)
    assert details(old) == (0, PREFIX_TOKENS)


def test_a_long_life_is_billed_apart(fresh_server: RehearsalThread) -> None:
    with openai_client(fresh_server.url) as client:
        twelve = respond(client, **marked_call("a", mark={"mode": "explicit", "ttl": "12h"}))
    with anthropic_client(fresh_server.url) as client:
        hour = create_message(client, model=HAIKU, system=system("1h"))
        fresh_server.advance(3_500)
        later = create_message(client, model=HAIKU, system=system("1h"))

    written = twelve.usage.input_tokens_details.cache_write_tokens_details
    assert (written.ttl_12h_tokens, written.ttl_30m_tokens) == (PREFIX_TOKENS, 0)
    assert hour.usage.cache_creation.ephemeral_1h_input_tokens == BOUND_TOKENS
    assert kept_tokens(later) == (BOUND_TOKENS, 0)
    assert fresh_server.log()[0]["usage"]["written_long"] == PREFIX_TOKENS


def test_without_marks_the_whole_of_every_call_is_written_and_never_read(
    fresh_server: RehearsalThread,
) -> None:
    with openai_client(fresh_server.url) as client:
        calls = [respond(client, PREFIX + f"row {i}") for i in range(3)]

    assert [details(call)[0] for call in calls] == [0, 0, 0]
    assert all(details(call)[1] == call.usage.input_tokens for call in calls)


def test_an_explicit_call_without_marks_uses_no_cache(fresh_server: RehearsalThread) -> None:
    with openai_client(fresh_server.url) as client:
        calls = [
            respond(client, PREFIX, prompt_cache_options=EXPLICIT),
            respond(client, PREFIX, prompt_cache_options=EXPLICIT),
        ]

    assert [details(call) for call in calls] == [(0, 0), (0, 0)]


def test_older_models_find_prefixes_in_steps_and_charge_no_write(
    fresh_server: RehearsalThread,
) -> None:
    prompt = [{"role": "developer", "content": PREFIX}, {"role": "user", "content": "a"}]
    with openai_client(fresh_server.url) as client:
        calls = [respond(client, model=OLD_GPT, input=prompt) for _ in range(2)]

    assert [details(call) for call in calls] == [(0, 0), (BOUND_TOKENS // 128 * 128, 0)]


def test_gemini_finds_prefixes_by_itself(fresh_server: RehearsalThread) -> None:
    with gemini_client(fresh_server.url) as client:
        calls = [generate(client, f"row {i}", system_instruction=PREFIX) for i in range(2)]

    read = [call.usage_metadata.cached_content_token_count for call in calls]
    assert read == [None, BOUND_TOKENS]


def test_anthropic_writes_for_five_minutes(fresh_server: RehearsalThread) -> None:
    with anthropic_client(fresh_server.url) as client:
        first = create_message(client, model=HAIKU, system=system())
        second = create_message(client, model=HAIKU, system=system())
        fresh_server.advance(301)
        third = create_message(client, model=HAIKU, system=system())
        unmarked = create_message(client, model=HAIKU, system=PREFIX)

    assert kept_tokens(first) == kept_tokens(third) == (0, BOUND_TOKENS)
    assert kept_tokens(second) == (BOUND_TOKENS, 0)
    assert kept_tokens(unmarked) == (0, 0)
    assert second.usage.input_tokens == unmarked.usage.input_tokens - BOUND_TOKENS


def test_two_marks_make_two_prefixes(fresh_server: RehearsalThread) -> None:
    further = system(text="Mind the commas. " * 100)
    with anthropic_client(fresh_server.url) as client:
        create_message(client, model=HAIKU, system=system())
        both = create_message(client, model=HAIKU, system=system() + further)

    assert kept_tokens(both) == (BOUND_TOKENS, len(further[0]["text"]) // 4)


def test_too_short_a_prefix_is_not_kept(fresh_server: RehearsalThread) -> None:
    with anthropic_client(fresh_server.url) as client:
        calls = [
            create_message(client, model=HAIKU, system=system(text="x" * 2_000)) for _ in range(2)
        ]

    assert [kept_tokens(call) for call in calls] == [(0, 0), (0, 0)]


def test_another_key_model_schema_or_letter_finds_nothing(fresh_server: RehearsalThread) -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"model": "claude-sonnet-5-5"},
        {"output_config": {}},
        {"system": system(text=PREFIX + "!")},
    ]
    with anthropic_client(fresh_server.url) as client:
        calls = [
            create_message(client, **{"model": HAIKU, "system": system()} | how) for how in changes
        ]
    with anthropic_client(fresh_server.url, api_key="sk-somebody-else") as client:
        calls.append(create_message(client, model=HAIKU, system=system()))

    assert [kept_tokens(call)[0] for call in calls] == [0] * 5


def test_a_dropped_answer_has_filled_the_cache_all_the_same() -> None:
    with (
        rehearsal_server(models=MODELS, faults="drop@FIRST") as server,
        anthropic_client(server.url) as client,
    ):
        with pytest.raises(Exception, match="onnection"):
            create_message(client, message("FIRST"), model=HAIKU, system=system())
        second = create_message(client, message("second"), model=HAIKU, system=system())

    assert kept_tokens(second) == (BOUND_TOKENS, 0)


def test_a_call_may_only_warm_the_cache(fresh_server: RehearsalThread) -> None:
    options = {"mode": "explicit", "prewarm": True}
    with openai_client(fresh_server.url) as client:
        warm = respond(client, **marked_call("x") | {"prompt_cache_options": options})
        then = respond(client, **marked_call("y"))

    assert (warm.output, warm.usage.output_tokens) == ([], 0)
    assert details(then) == (PREFIX_TOKENS, 0)
