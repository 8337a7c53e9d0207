"""Each refusal leads one way down, every way ends, and a call is written in all of them at once."""

from dataclasses import replace
from itertools import product

import pytest

from quire.domain.fallbacks import FallbackPart, PartRefusal, RefusedPart, plain_address
from quire.domain.models import StructuredOutput, Wire
from quire.planning.fallbacks import limit_output, next_fallback, weaken_call, weakest_form
from quire.providers.anthropic import Anthropic
from quire.providers.catalog import CATALOG
from quire.providers.compatible import Compatible
from quire.providers.gemini import Gemini
from quire.providers.openai import OpenAI
from quire.providers.protocol import WireFormat
from tests.providers.sample_calls import SYSTEM, TURNS, USER, account, make_call, sent_body

FACTS = replace(CATALOG["simulated/small"], wire=Wire(), max_output=8_000)
PART = FallbackPart


def ways_down(refused: RefusedPart, most: int = 0) -> list[str]:
    """Every way that is taken while a part is refused again and again."""
    sent: dict[FallbackPart, str] = {}
    ways = []
    while weaker := next_fallback(FACTS, PartRefusal(refused, most), sent):
        sent[weaker.part] = weaker.way
        ways.append(weaker.way)
    return ways


@pytest.mark.parametrize(
    ("refused", "ways"),
    [
        (RefusedPart.FORMAT_TYPE, ["json", "text"]),
        (RefusedPart.TOOLS, ["json", "text"]),
        (RefusedPart.FORMAT, ["text"]),
        (RefusedPart.DEVELOPER_ROLE, ["system", "user"]),
        (RefusedPart.SYSTEM_ROLE, ["user"]),
        (RefusedPart.MAX_TOKENS, ["max_completion_tokens", "none"]),
        (RefusedPart.MAX_COMPLETION_TOKENS, ["max_tokens", "none"]),
        (RefusedPart.TEMPERATURE, ["none"]),
        (RefusedPart.TOP_P, ["none"]),
        (RefusedPart.SEED, ["none"]),
        (RefusedPart.STREAM, ["counted", "plain"]),
    ],
)
def test_ways_get_weaker_one_by_one_and_end(refused: RefusedPart, ways: list[str]) -> None:
    assert ways_down(refused) == ways


def test_a_limit_of_answers_is_lowered_to_what_was_said_and_never_raised() -> None:
    assert ways_down(RefusedPart.OUTPUT_LIMIT, 4_096) == ["4096"]
    assert ways_down(RefusedPart.OUTPUT_LIMIT, 9_000) == []
    assert ways_down(RefusedPart.OUTPUT_LIMIT, 0) == []


def test_what_is_stated_weaker_than_the_fallback_stays() -> None:
    stated = replace(FACTS, wire=Wire(structured=StructuredOutput.TEXT))
    call = make_call(structured=StructuredOutput.TEXT)

    written = weaken_call(call, stated, {PART.STRUCTURED: "json"})

    assert written.wire.structured is StructuredOutput.TEXT
    assert next_fallback(stated, PartRefusal(RefusedPart.FORMAT), {}) is None


def test_places_together_give_the_shortest_answer_and_the_weakest_form() -> None:
    places = [{PART.MAX_OUTPUT: "500"}, {PART.STRUCTURED: "json"}, {PART.MAX_OUTPUT: "900"}]

    assert limit_output(FACTS, places).max_output == 500
    assert weakest_form(FACTS, places) is StructuredOutput.JSON
    assert (limit_output(FACTS, []), weakest_form(FACTS, [])) == (FACTS, StructuredOutput.SCHEMA)


VENDORS: list[WireFormat] = [OpenAI(), Compatible("vllm"), Anthropic(), Gemini()]


@pytest.mark.parametrize(
    ("vendor", "options"), [*product(VENDORS, [{}]), (OpenAI(), {"api": "chat"})]
)
def test_every_vendor_writes_the_prefix_before_the_blocks(
    vendor: WireFormat, options: dict[str, str]
) -> None:
    call = weaken_call(make_call(), FACTS, {PART.SYSTEM: "user", PART.STRUCTURED: "text"})

    body = sent_body(vendor, call, account(vendor.name, "http://here.test/v1", **options))

    whole = str(body)
    assert f"{SYSTEM}\n\n{USER}" in [*_texts(body)]
    assert whole.count(SYSTEM) == 1
    assert not {"system", "systemInstruction", "response_format"} & body.keys()


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inner for text in _texts(item)]


def test_chat_calls_are_written_in_every_weaker_way() -> None:
    call = make_call(temperature=0.5, top_p=0.9, seed=1, max_tokens=5_000)
    fallbacks = {
        PART.LIMIT: "max_completion_tokens",
        PART.MAX_OUTPUT: "700",
        PART.SYSTEM: "system",
        PART.STRUCTURED: "json",
        **dict.fromkeys((PART.TEMPERATURE, PART.TOP_P, PART.SEED), "none"),
    }

    by = account("openai", api="chat")
    body = sent_body(OpenAI(), weaken_call(call, FACTS, fallbacks), by)
    bare = sent_body(OpenAI(), weaken_call(call, FACTS, fallbacks | {PART.LIMIT: "none"}), by)

    assert body["max_completion_tokens"] == 700
    assert body["messages"][0]["role"] == "system"
    assert body["response_format"] == {"type": "json_object"}
    assert not {"temperature", "top_p", "seed"} & body.keys()
    assert not {"max_tokens", "max_completion_tokens"} & bare.keys()


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_stream_is_asked_for_where_nothing_else_is_answered(api: str) -> None:
    by = account("openai", api=api)
    usage = {"include_usage": True} if api == "chat" else None
    ways: list[dict[FallbackPart, str]] = [{}, {PART.STREAM: "counted"}, {PART.STREAM: "plain"}]

    bodies = [sent_body(OpenAI(), weaken_call(make_call(), FACTS, way), by) for way in ways]

    assert [body.get("stream") for body in bodies] == [None, True, True]
    assert [body.get("stream_options") for body in bodies] == [None, usage, None]


def test_an_address_is_written_down_without_a_secret() -> None:
    assert plain_address("https://me:word@host:8000/v1/?key=x#y") == "https://host:8000/v1"
    assert plain_address("") == ""


def test_a_system_text_that_the_user_says_comes_before_all_turns() -> None:
    call = weaken_call(make_call(turns=TURNS, stable_turns=2), FACTS, {PART.SYSTEM: "user"})

    assert call.turns[0].text == SYSTEM
    assert call.turns[1:] == TURNS
    assert (call.system, call.stable_turns) == ("", 3)
