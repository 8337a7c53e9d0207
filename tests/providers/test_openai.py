"""OpenAI: what is sent fits its published types, what comes back is read, errors are understood."""

from typing import Any

import orjson
import pytest
from openai.types.responses import Response
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

from quire.domain.data import Json
from quire.domain.errors import Remedy, Undecodable
from quire.domain.models import CacheMarking, StructuredOutput, Usage
from quire.domain.requests import Call, Stop
from quire.providers.openai import OpenAI
from tests.providers.exchanges.openai import ERRORS, FAILED_UNPAID, RESPONSES_ANSWERS
from tests.providers.sample_calls import (
    CALL,
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

VENDOR = OpenAI()
RESPONSES, CHAT = account(), account(api="chat")


@pytest.mark.parametrize("call", EVERY_FORM)
def test_every_responses_call_fits_the_published_types(call: Call) -> None:
    body = sent_body(VENDOR, call, RESPONSES)

    assert mistakes(body, ResponseCreateParamsNonStreaming) == []


@pytest.mark.parametrize(
    "change",
    [{"stroe": False}, {"max_output_tokens": "9"}, {"text": {"format": {"type": "json"}}}],
)
def test_the_check_against_published_types_finds_mistakes(change: dict[str, Any]) -> None:
    body = {**sent_body(VENDOR, make_call(), RESPONSES), **change}

    assert mistakes(body, ResponseCreateParamsNonStreaming) != []


def test_a_responses_call_says_all_that_was_asked_and_nothing_else() -> None:
    call = make_call(effort="low", temperature=0.5, seed=1, stop=("x",))

    assert sent_body(VENDOR, call, RESPONSES) == {
        "model": "gpt-6-luna",
        "input": [
            {"role": "developer", "content": [{"type": "input_text", "text": SYSTEM}]},
            {"role": "user", "content": USER},
        ],
        "store": False,
        "max_output_tokens": 500,
        "reasoning": {"effort": "low"},
        "temperature": 0.5,
        "text": {
            "format": {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True}
        },
    }


def test_the_output_limit_is_never_below_what_is_accepted() -> None:
    assert sent_body(VENDOR, make_call(max_tokens=1), RESPONSES)["max_output_tokens"] == 16


def test_a_forced_tool_takes_the_answer_where_no_schema_binds_it() -> None:
    body = sent_body(VENDOR, make_call(structured=StructuredOutput.TOOL), RESPONSES)

    assert body["tool_choice"] == {"type": "function", "name": "answer"}
    assert body["tools"][0]["parameters"] == SCHEMA
    assert body["tools"][0]["strict"] is True


@pytest.mark.parametrize("api", [RESPONSES, CHAT])
def test_a_marked_prefix_is_written_to_the_cache_and_nothing_else_is(api: Any) -> None:
    marked = sent_body(VENDOR, make_call(marking=CacheMarking.BREAKPOINT, caching=True), api)
    unmarked = sent_body(VENDOR, make_call(marking=CacheMarking.BREAKPOINT), api)

    breakpoint_ = b'"prompt_cache_breakpoint":{"mode":"explicit"}'
    assert marked["prompt_cache_options"] == {"mode": "explicit"}
    assert orjson.dumps(marked).count(breakpoint_) == 1
    assert orjson.dumps(unmarked).count(breakpoint_) == 0
    assert unmarked["prompt_cache_options"] == {"mode": "explicit"}  # else it writes by itself


@pytest.mark.parametrize("api", [RESPONSES, CHAT])
def test_calls_with_one_prefix_share_a_cache_key(api: Any) -> None:
    def key(**changes: Any) -> str | None:
        body = sent_body(VENDOR, make_call(marking=CacheMarking.AUTOMATIC, **changes), api)
        found = body.get("prompt_cache_key")
        assert found is None or isinstance(found, str)
        return found

    assert key(caching=True) == key(caching=True, user="other") != key(caching=True, system="x")
    assert len(key(caching=True) or "") <= 64
    assert key() is None


def test_a_call_goes_where_its_model_or_its_account_says() -> None:
    def url(call: Call = CALL, base_url: str = "", **options: str) -> str:
        return VENDOR.encode(call, account(base_url=base_url, **options)).url

    assert url() == "https://api.openai.com/v1/responses"
    assert url(api="chat") == "https://api.openai.com/v1/chat/completions"
    assert url(base_url="http://proxy.test:81/openai/") == "http://proxy.test:81/openai/responses"
    assert url(base_url="https://proxy.test") == "https://proxy.test/v1/responses"
    assert (
        url(make_call(url="https://eu.test/v1"), "https://x.test/v1")
        == "https://eu.test/v1/responses"
    )


def test_the_key_is_in_the_header_and_not_in_what_is_printed() -> None:
    request = VENDOR.encode(make_call(), account(organization="org-1", project="proj-1"))

    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["OpenAI-Organization"] == "org-1"
    assert request.headers["OpenAI-Project"] == "proj-1"
    assert KEY not in repr(request)
    assert KEY not in str(request.headers)


@pytest.mark.parametrize("name", RESPONSES_ANSWERS)
def test_a_response_is_read(name: str) -> None:
    body, expected = RESPONSES_ANSWERS[name]

    Response.model_validate(body)  # the exchange itself is of the published form
    assert VENDOR.decode(orjson.dumps(body)) == expected
    assert VENDOR.decode(orjson.dumps(with_unknown_fields(body))) == expected


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html><body>Bad gateway</body></html>",
        b'{"object":"response","output":[',
        b"[]",
        b"{}",
        b'{"output":{}}',
        b'{"choices":7,"usage":{"prompt_tokens":1,"completion_tokens":1}}',
        b"[" * 100_000,
        b"\xff\xfe\x00",
    ],
)
def test_what_is_no_response_is_undecodable(raw: bytes) -> None:
    with pytest.raises(Undecodable):
        VENDOR.decode(raw)


@pytest.mark.parametrize("taken", ["9", -9, True, 1e99, None])
def test_a_response_that_does_not_say_its_cost_is_read_all_the_same(taken: object) -> None:
    raw = orjson.dumps({"output": [], "usage": {"input_tokens": taken, "output_tokens": 1}})

    assert VENDOR.decode(raw).usage._replace(input=0) == Usage(output=1, exact=False)


@pytest.mark.parametrize(("status", "body", "remedy", "bad_key", "words"), ERRORS)
def test_an_error_is_understood(
    status: int, body: Json, remedy: Remedy, bad_key: bool, words: str
) -> None:
    error = VENDOR.classify(error_response(status, body))

    assert (error.remedy, error.bad_key) == (remedy, bad_key)
    assert words in str(error)
    assert str(error).startswith(f"openai {status}: ")
    assert "\n" not in str(error)


@pytest.mark.parametrize("name", FAILED_UNPAID)
def test_a_response_that_failed_unpaid_is_an_error(name: str) -> None:
    body, remedy = FAILED_UNPAID[name]

    failed = VENDOR.error_in_success(orjson.dumps(body, option=orjson.OPT_INDENT_2))

    assert failed is not None
    assert VENDOR.classify(failed).remedy is remedy


def test_an_answer_about_failure_is_an_answer() -> None:
    body, _ = RESPONSES_ANSWERS["answer"]
    talk = orjson.dumps({**body, "metadata": {"note": '"status": "failed"'}})

    assert VENDOR.error_in_success(talk) is None


def test_usage_is_told_apart_by_what_it_costs() -> None:
    body, _ = RESPONSES_ANSWERS["answer"]
    usage = {
        "input_tokens": 1000,
        "input_tokens_details": {
            "cached_tokens": 300,
            "cache_write_tokens": 600,
            "cache_write_tokens_details": {"ttl_30m_tokens": 500, "ttl_12h_tokens": 100},
        },
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 20},
        "total_tokens": 1050,
    }

    reply = VENDOR.decode(orjson.dumps({**body, "usage": usage}))

    assert reply.stop is Stop.END
    assert reply.usage == Usage(
        input=100, output=50, cached=300, written_short=500, written_long=100, reasoning=20
    )
    assert reply.usage.input_total == 1000
