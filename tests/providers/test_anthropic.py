"""Anthropic: what is sent fits its published types, what comes back is read and understood."""

import json
from typing import Any

import orjson
import pytest
from anthropic.types import Message
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.accounts import Account, Rates, Secret
from quire.domain.errors import ProviderError, Remedy, Undecodable
from quire.domain.models import CacheMarking, Limits, StructuredOutput
from quire.domain.requests import Call, Reply, Stop
from quire.providers.anthropic import USUAL_OUTPUT, Anthropic
from tests.providers.exchanges.anthropic import (
    ANSWER,
    ANSWERS,
    ERRORS,
    TOOL_USE,
    Refusal,
    block,
    error,
    message,
)
from tests.providers.hostile import bodies_of, json_of, named_in_one_line, read_or_undecodable
from tests.providers.sample_calls import (
    EVERY_FORM,
    KEY,
    SCHEMA,
    SYSTEM,
    USER,
    account,
    error_response,
    make_call,
    sent_body,
    with_unknown_fields,
)
from tests.providers.wire_types import mistakes

VENDOR, ACCOUNT = Anthropic(), account("anthropic")
MODEL = "anthropic/claude-haiku-5-5"
SAMPLING = {"temperature", "top_p"}  # gone from the newest types; the older version takes them


@pytest.mark.parametrize("call", EVERY_FORM)
def test_every_call_fits_the_published_types(call: Call) -> None:
    body = sent_body(VENDOR, call, ACCOUNT)

    plain = {name: value for name, value in body.items() if name not in SAMPLING}
    assert mistakes(plain, MessageCreateParamsNonStreaming) == []


@pytest.mark.parametrize(
    "change", [{"max_token": 5}, {"max_tokens": "9"}, {"system": [{"type": "txt"}]}]
)
def test_the_check_against_published_types_finds_mistakes(change: dict[str, Any]) -> None:
    body = {**sent_body(VENDOR, make_call(MODEL), ACCOUNT), **change}

    assert mistakes(body, MessageCreateParamsNonStreaming) != []


def test_a_call_says_all_that_was_asked_and_nothing_else() -> None:
    call = make_call(MODEL, effort="low", stop=("END",), seed=3, marking=CacheMarking.BREAKPOINT)

    assert sent_body(VENDOR, call, ACCOUNT) == {
        "model": "claude-haiku-5-5",
        "max_tokens": 500,
        "system": [{"type": "text", "text": SYSTEM}],
        "messages": [{"role": "user", "content": USER}],
        "stop_sequences": ["END"],
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
    }


def test_a_prefix_worth_keeping_is_marked_where_the_model_keeps_marked_ones() -> None:
    call = make_call(MODEL, caching=True, marking=CacheMarking.BREAKPOINT)
    system = [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}]

    assert sent_body(VENDOR, call, ACCOUNT)["system"] == system
    unmarked = make_call(MODEL, caching=True, marking=CacheMarking.NONE)
    assert "cache_control" not in sent_body(VENDOR, unmarked, ACCOUNT)["system"][0]


def test_a_prefix_that_is_needed_for_long_is_marked_for_an_hour() -> None:
    call = make_call(MODEL, caching=True, long_lived=True, marking=CacheMarking.BREAKPOINT)
    unmarked = make_call(MODEL, long_lived=True, marking=CacheMarking.BREAKPOINT)

    body = sent_body(VENDOR, call, ACCOUNT)

    assert body["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert mistakes(body, MessageCreateParamsNonStreaming) == []
    assert "cache_control" not in sent_body(VENDOR, unmarked, ACCOUNT)["system"][0]


def test_a_model_that_takes_no_schema_is_made_to_call_one_tool() -> None:
    body = sent_body(VENDOR, make_call(MODEL, structured=StructuredOutput.TOOL), ACCOUNT)

    (tool,) = body["tools"]
    assert (tool["name"], tool["strict"], tool["input_schema"]) == ("results", True, SCHEMA)
    choice = {"type": "tool", "name": "results", "disable_parallel_tool_use": True}
    assert body["tool_choice"] == choice
    assert "output_config" not in body


@pytest.mark.parametrize("structured", [StructuredOutput.JSON, StructuredOutput.TEXT])
def test_where_nothing_binds_the_words_of_the_prompt_ask_alone(
    structured: StructuredOutput,
) -> None:
    body = sent_body(VENDOR, make_call(MODEL, structured=structured), ACCOUNT)

    assert set(body) == {"model", "max_tokens", "system", "messages"}


def test_a_schema_that_anthropic_would_refuse_is_not_sent_as_binding() -> None:
    items = {"type": "object", "properties": {"any": {"type": "object"}}}
    open_schema = {"type": "object", "properties": {"results": {"type": "array", "items": items}}}

    bound = sent_body(VENDOR, make_call(MODEL, output_schema=open_schema), ACCOUNT)
    tool = make_call(MODEL, output_schema=open_schema, structured=StructuredOutput.TOOL)

    assert "output_config" not in bound
    assert "strict" not in sent_body(VENDOR, tool, ACCOUNT)["tools"][0]


def test_the_newest_version_carries_the_key_as_a_bearer() -> None:
    sent = VENDOR.encode(make_call(MODEL), ACCOUNT)

    assert sent.headers["anthropic-version"] == "2026-10-21"
    assert sent.headers["Authorization"] == f"Bearer {KEY}"
    assert "x-api-key" not in sent.headers


@pytest.mark.parametrize("asks", [{"temperature": 0.0}, {"top_p": 0.5}])
def test_sampling_is_asked_for_under_the_version_that_still_takes_it(asks: dict[str, Any]) -> None:
    sent = VENDOR.encode(make_call(MODEL, **asks), ACCOUNT)

    assert orjson.loads(sent.body).items() >= asks.items()
    assert sent.headers["anthropic-version"] == "2023-06-01"
    assert sent.headers["x-api-key"] == KEY
    assert "Authorization" not in sent.headers


def test_a_model_that_takes_no_sampling_is_not_sent_any() -> None:
    sent = VENDOR.encode(make_call(MODEL, temperature=0.5, sampling=False), ACCOUNT)

    assert "temperature" not in orjson.loads(sent.body)
    assert sent.headers["anthropic-version"] == "2026-10-21"


def test_a_call_without_a_limit_gets_the_usual_one_because_one_must_be_given() -> None:
    call = make_call(MODEL, max_tokens=None, system="")

    assert sent_body(VENDOR, call, ACCOUNT)["max_tokens"] == USUAL_OUTPUT
    assert "system" not in sent_body(VENDOR, call, ACCOUNT)


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("", "https://api.anthropic.com/v1/messages"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1/messages"),
        ("https://gate.example/anthropic", "https://gate.example/anthropic/v1/messages"),
        ("https://gate.example/v1/", "https://gate.example/v1/messages"),
    ],
)
def test_calls_go_below_the_base_url(base: str, url: str) -> None:
    assert VENDOR.encode(make_call(MODEL), account("anthropic", base)).url == url
    assert VENDOR.encode(make_call(MODEL, url=base), ACCOUNT).url == url


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_read(name: str) -> None:
    body, reply = ANSWERS[name]
    Message.model_validate(body, strict=True)  # it is what their own client reads

    assert VENDOR.decode(orjson.dumps(body)) == reply
    assert VENDOR.decode(orjson.dumps(with_fields(body))) == reply


def with_fields(body: dict[str, Any]) -> Any:
    """Unknown things everywhere but inside the argument of the tool, which is the answer."""
    grown = with_unknown_fields(body)
    for before, after in zip(body["content"], grown["content"], strict=True):
        after.update({"input": before["input"]} if "input" in before else {})
    return grown


def test_a_reason_that_nobody_told_us_of_leaves_an_answer_that_may_not_be_whole() -> None:
    reply = VENDOR.decode(orjson.dumps(message(block(ANSWER), stop="tired")))

    assert (reply.text, reply.stop) == (ANSWER, Stop.LENGTH)


def test_large_integers_in_the_argument_of_a_tool_are_kept() -> None:
    raw = orjson.dumps(message(TOOL_USE)).replace(b'"words":2', b'"words":123456789012345678901')

    assert '"words":123456789012345678901' in VENDOR.decode(raw).text


@pytest.mark.parametrize(
    "body",
    [
        error("api_error"),
        {},
        {**message(block("x")), "content": "x"},
    ],
)
def test_a_body_that_is_no_message_is_undecodable(body: Any) -> None:
    with pytest.raises(Undecodable):
        VENDOR.decode(orjson.dumps(body))


@pytest.mark.parametrize(
    "body",
    [
        {**message(block("x")), "usage": None},
        message(block("x"), input_tokens=None),
        message(block("x"), output_tokens="10"),
        message(block("x"), output_tokens=-1),
        message(block("x"), cache_read_input_tokens=True),
    ],
)
def test_a_message_that_does_not_say_its_cost_is_read_all_the_same(body: Any) -> None:
    reply = VENDOR.decode(orjson.dumps(body))

    assert (reply.text, reply.usage.exact) == ("x", False)


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_says_what_can_be_done(name: str) -> None:
    refusal: Refusal = ERRORS[name]

    found = VENDOR.classify(error_response(refusal.status, refusal.body, retry_after="7"))

    assert (found.remedy, found.bad_key) == (refusal.remedy, refusal.bad_key)
    waits = found.remedy in (Remedy.WAIT, Remedy.RETRY)
    assert found.retry_after == (7.0 if waits else None)
    assert str(found).startswith(f"anthropic {refusal.status}: ")


def test_headers_tell_what_is_allowed_and_what_is_left() -> None:
    headers = {
        "date": "Sun, 15 Nov 2026 12:00:00 GMT",
        "anthropic-ratelimit-requests-limit": "4000",
        "anthropic-ratelimit-requests-remaining": "3999",
        "anthropic-ratelimit-requests-reset": "2026-11-15T12:00:01Z",
        "anthropic-ratelimit-input-tokens-limit": "2000000",
        "anthropic-ratelimit-input-tokens-remaining": "1500000",
        "anthropic-ratelimit-input-tokens-reset": "2026-11-15T12:00:15Z",
        "anthropic-ratelimit-output-tokens-limit": "lots",
    }
    limits, left = Limits(requests=4000, input=2_000_000), Limits(requests=3999, input=1_500_000)

    assert VENDOR.rates(headers) == Rates(limits, left)
    assert VENDOR.rates({"date": headers["date"]}) is None


def test_a_key_shows_itself_neither_in_a_request_nor_in_the_error_about_it() -> None:
    broken = Account(provider="anthropic", credential="c", key=Secret(KEY + "\n"))

    with pytest.raises(ProviderError) as caught:
        VENDOR.encode(make_call(MODEL), broken)

    assert KEY not in str(caught.value)
    assert caught.value.bad_key
    assert KEY not in repr(VENDOR.encode(make_call(MODEL), ACCOUNT))


NAMES = ["type", "content", "text", "thinking", "tool_use", "input", "stop_reason", "usage"]
NAMES += ["input_tokens", "cache_creation", "error", "details", "error_code", "message"]


@given(bodies_of(NAMES))
def test_any_body_is_read_or_undecodable(raw: bytes) -> None:
    read_or_undecodable(VENDOR, raw)


@given(json_of(NAMES), json_of(NAMES), st.sampled_from(["text", "tool_use", "thinking", "new"]))
def test_a_body_of_about_the_right_form_is_read_or_undecodable(
    inside: Any, stop: Any, kind: str
) -> None:
    held = {"type": kind, "text": inside, "input": inside, "thinking": inside}
    body = {**message(held), "stop_reason": stop}
    read_or_undecodable(VENDOR, json.dumps(body).encode())


@given(st.integers(100, 999), bodies_of(NAMES), st.text(max_size=30))
def test_any_error_gets_a_remedy_and_one_line(status: int, body: bytes, header: str) -> None:
    named_in_one_line(VENDOR, status, body, retry_after=header, date=header)
    VENDOR.rates({f"anthropic-ratelimit-requests-{word}": header for word in ("limit", "reset")})


def test_a_whole_reply_is_what_the_types_promise() -> None:
    assert isinstance(VENDOR.decode(orjson.dumps(message(block(ANSWER)))), Reply)
