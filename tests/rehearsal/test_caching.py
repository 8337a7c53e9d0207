"""The prompt cache bills as the vendors do, and a prefix is usable only once an answer is out."""

import asyncio
from typing import Any

import aiohttp
import pytest

from quire.rehearsal.thread import Rehearsing, rehearsing
from tests.rehearsal.asking import (
    GPT,
    HAIKU,
    MODELS,
    OLD_GPT,
    PREFIX,
    PREFIX_TOKENS,
    anthropic_client,
    gemini_client,
    generate,
    message,
    openai_client,
    respond,
    tell,
    with_schema,
)
from tests.rehearsal.plain_http import BEARER

BOUND_TOKENS = with_schema(PREFIX)  # where the schema travels with it, and is kept too
EXPLICIT = {"mode": "explicit"}


def marked(user: str, prefix: str = PREFIX, mark: dict[str, str] | None = None) -> dict[str, Any]:
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
    told = response.usage.input_tokens_details
    return told.cached_tokens, told.cache_write_tokens


def kept(answer: Any) -> tuple[int, int]:
    """The same, as Anthropic says it."""
    return answer.usage.cache_read_input_tokens, answer.usage.cache_creation_input_tokens


@pytest.fixture
def fresh() -> Any:
    """A server that has kept nothing yet."""
    with rehearsing(models=MODELS) as server:
        yield server


def test_the_first_call_writes_and_the_next_ones_read(fresh: Rehearsing) -> None:
    with openai_client(fresh.url) as client:
        calls = [respond(client, **marked(f"row {i}")) for i in range(3)]

    assert [details(call) for call in calls] == [
        (0, PREFIX_TOKENS),
        (PREFIX_TOKENS, 0),
        (PREFIX_TOKENS, 0),
    ]
    assert fresh.stats()["cache_writes"] == 1
    assert fresh.stats()["cache_hits"] == 2
    first, second, _ = (entry["usage"] for entry in fresh.log())
    assert (first["written_short"], second["cached"]) == (PREFIX_TOKENS, PREFIX_TOKENS)
    assert first["input"] == second["input"] == calls[0].usage.input_tokens - PREFIX_TOKENS


@pytest.mark.parametrize("primed", [False, True])
def test_simultaneous_calls_all_pay_for_the_write_unless_one_goes_first(primed: bool) -> None:
    async def ask(url: str) -> None:
        async with aiohttp.ClientSession(f"{url}/v1/", headers=BEARER) as client:

            async def send(row: str) -> None:
                async with client.post("responses", json=marked(row)) as response:
                    assert response.status == 200

            if primed:
                await send("first")
            await asyncio.gather(*(send(f"row {i}") for i in range(64)))

    with rehearsing(models=MODELS, latency="1s") as server:
        asyncio.run(ask(server.url))
        seen = server.stats()

    assert seen["cache_writes"] == (1 if primed else 64)
    assert seen["cache_hits"] == (64 if primed else 0)
    assert seen["most_in_flight"] == 64


def test_a_prefix_grows_old_and_lives_longer_by_being_used(fresh: Rehearsing) -> None:
    with openai_client(fresh.url) as client:
        respond(client, **marked("a"))
        fresh.advance(1_700)
        used = respond(client, **marked("b"))
        fresh.advance(1_700)
        used_again = respond(client, **marked("c"))
        fresh.advance(1_801)
        old = respond(client, **marked("d"))

    assert details(used) == details(used_again) == (PREFIX_TOKENS, 0)
    assert details(old) == (0, PREFIX_TOKENS)


def test_a_long_life_is_billed_apart(fresh: Rehearsing) -> None:
    with openai_client(fresh.url) as client:
        twelve = respond(client, **marked("a", mark={"mode": "explicit", "ttl": "12h"}))
    with anthropic_client(fresh.url) as client:
        hour = tell(client, model=HAIKU, system=system("1h"))
        fresh.advance(3_500)
        later = tell(client, model=HAIKU, system=system("1h"))

    told = twelve.usage.input_tokens_details.cache_write_tokens_details
    assert (told.ttl_12h_tokens, told.ttl_30m_tokens) == (PREFIX_TOKENS, 0)
    assert hour.usage.cache_creation.ephemeral_1h_input_tokens == BOUND_TOKENS
    assert kept(later) == (BOUND_TOKENS, 0)
    assert fresh.log()[0]["usage"]["written_long"] == PREFIX_TOKENS


def test_without_marks_the_whole_of_every_call_is_written_and_never_read(
    fresh: Rehearsing,
) -> None:
    with openai_client(fresh.url) as client:
        calls = [respond(client, PREFIX + f"row {i}") for i in range(3)]

    assert [details(call)[0] for call in calls] == [0, 0, 0]
    assert all(details(call)[1] == call.usage.input_tokens for call in calls)


def test_an_explicit_call_without_marks_uses_no_cache(fresh: Rehearsing) -> None:
    with openai_client(fresh.url) as client:
        calls = [
            respond(client, PREFIX, prompt_cache_options=EXPLICIT),
            respond(client, PREFIX, prompt_cache_options=EXPLICIT),
        ]

    assert [details(call) for call in calls] == [(0, 0), (0, 0)]


def test_older_models_find_prefixes_in_steps_and_charge_no_write(fresh: Rehearsing) -> None:
    prompt = [{"role": "developer", "content": PREFIX}, {"role": "user", "content": "a"}]
    with openai_client(fresh.url) as client:
        calls = [respond(client, model=OLD_GPT, input=prompt) for _ in range(2)]

    assert [details(call) for call in calls] == [(0, 0), (BOUND_TOKENS // 128 * 128, 0)]


def test_gemini_finds_prefixes_by_itself(fresh: Rehearsing) -> None:
    with gemini_client(fresh.url) as client:
        calls = [generate(client, f"row {i}", system_instruction=PREFIX) for i in range(2)]

    read = [call.usage_metadata.cached_content_token_count for call in calls]
    assert read == [None, BOUND_TOKENS]


def test_anthropic_writes_for_five_minutes(fresh: Rehearsing) -> None:
    with anthropic_client(fresh.url) as client:
        first = tell(client, model=HAIKU, system=system())
        second = tell(client, model=HAIKU, system=system())
        fresh.advance(301)
        third = tell(client, model=HAIKU, system=system())
        unmarked = tell(client, model=HAIKU, system=PREFIX)

    assert kept(first) == kept(third) == (0, BOUND_TOKENS)
    assert kept(second) == (BOUND_TOKENS, 0)
    assert kept(unmarked) == (0, 0)
    assert second.usage.input_tokens == unmarked.usage.input_tokens - BOUND_TOKENS


def test_two_marks_make_two_prefixes(fresh: Rehearsing) -> None:
    further = system(text="Mind the commas. " * 100)
    with anthropic_client(fresh.url) as client:
        tell(client, model=HAIKU, system=system())
        both = tell(client, model=HAIKU, system=system() + further)

    assert kept(both) == (BOUND_TOKENS, len(further[0]["text"]) // 4)


def test_too_short_a_prefix_is_not_kept(fresh: Rehearsing) -> None:
    with anthropic_client(fresh.url) as client:
        calls = [tell(client, model=HAIKU, system=system(text="x" * 2_000)) for _ in range(2)]

    assert [kept(call) for call in calls] == [(0, 0), (0, 0)]


def test_another_key_model_schema_or_letter_finds_nothing(fresh: Rehearsing) -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"model": "claude-sonnet-5-5"},
        {"output_config": {}},
        {"system": system(text=PREFIX + "!")},
    ]
    with anthropic_client(fresh.url) as client:
        calls = [tell(client, **{"model": HAIKU, "system": system()} | how) for how in changes]
    with anthropic_client(fresh.url, api_key="sk-somebody-else") as client:
        calls.append(tell(client, model=HAIKU, system=system()))

    assert [kept(call)[0] for call in calls] == [0] * 5


def test_a_dropped_answer_has_filled_the_cache_all_the_same() -> None:
    with (
        rehearsing(models=MODELS, faults="drop@FIRST") as server,
        anthropic_client(server.url) as client,
    ):
        with pytest.raises(Exception, match="onnection"):
            tell(client, message("FIRST"), model=HAIKU, system=system())
        second = tell(client, message("second"), model=HAIKU, system=system())

    assert kept(second) == (BOUND_TOKENS, 0)


def test_a_call_may_only_warm_the_cache(fresh: Rehearsing) -> None:
    options = {"mode": "explicit", "prewarm": True}
    with openai_client(fresh.url) as client:
        warm = respond(client, **marked("x") | {"prompt_cache_options": options})
        then = respond(client, **marked("y"))

    assert (warm.output, warm.usage.output_tokens) == ([], 0)
    assert details(then) == (PREFIX_TOKENS, 0)
