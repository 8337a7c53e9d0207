"""Gemini: what is sent fits its published types, what comes back is read and understood."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from quire.domain.errors import Undecodable
from quire.domain.models import StructuredOutput
from quire.domain.requests import Call, Stop
from quire.providers.gemini import Gemini
from quire.providers.protocol import WireFormat
from quire.providers.vertex import Vertex
from tests.providers.exchanges.google import ANSWER, ANSWERS, ERRORS, error, generation, without
from tests.providers.google_types import types
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

VENDOR, ACCOUNT = Gemini(), account("gemini")
MODEL = "gemini/gemini-3.8-flash"
BOTH: list[WireFormat] = [VENDOR, Vertex()]
BY_NAME = pytest.mark.parametrize("vendor", BOTH, ids=lambda item: item.name)


def check(body: dict[str, Any]) -> None:
    """Hold a body against the types of Google's own client, which forbid unknown fields."""
    assert body.keys() <= {"contents", "systemInstruction", "generationConfig"}
    for content in (*body["contents"], *filter(None, [body.get("systemInstruction")])):
        types.Content.model_validate_json(json.dumps(content), strict=True)
    config = json.dumps(body.get("generationConfig", {}))
    types.GenerationConfig.model_validate_json(config, strict=True)


@pytest.mark.parametrize("call", EVERY_FORM)
def test_every_call_fits_the_published_types(call: Call) -> None:
    check(sent_body(VENDOR, call, ACCOUNT))


@pytest.mark.parametrize(
    "change", [{"maxOutputToken": 5}, {"maxOutputTokens": "9"}, {"stopSequences": "END"}]
)
def test_the_check_against_published_types_finds_mistakes(change: dict[str, Any]) -> None:
    body = sent_body(VENDOR, make_call(MODEL), ACCOUNT)
    body["generationConfig"].update(change)

    with pytest.raises(ValidationError):
        check(body)


def test_a_call_says_all_that_was_asked_and_nothing_else() -> None:
    call = make_call(
        MODEL, effort="low", temperature=0.5, top_p=0.9, seed=3, stop=("END",), caching=True
    )

    assert sent_body(VENDOR, call, ACCOUNT) == {
        "contents": [{"role": "user", "parts": [{"text": USER}]}],
        "systemInstruction": {"role": "user", "parts": [{"text": SYSTEM}]},
        "generationConfig": {
            "maxOutputTokens": 500,
            "temperature": 0.5,
            "topP": 0.9,
            "seed": 3,
            "stopSequences": ["END"],
            "thinkingConfig": {"thinkingLevel": "LOW"},
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
        },
    }


@pytest.mark.parametrize(
    ("structured", "sent"),
    [
        (StructuredOutput.TOOL, {"responseMimeType", "responseJsonSchema"}),
        (StructuredOutput.JSON, {"responseMimeType"}),
        (StructuredOutput.TEXT, set()),
    ],
)
def test_the_form_is_asked_for_as_far_as_the_model_can_be_held_to_it(
    structured: StructuredOutput, sent: set[str]
) -> None:
    body = sent_body(VENDOR, make_call(MODEL, structured=structured), ACCOUNT)

    assert body["generationConfig"].keys() == {"maxOutputTokens", *sent}


@pytest.mark.parametrize(
    ("effort", "config"),
    [
        ("minimal", {"thinkingLevel": "MINIMAL"}),
        ("none", {"thinkingBudget": 0}),
        ("2048", {"thinkingBudget": 2048}),
        ("-1", {"thinkingBudget": -1}),
    ],
)
def test_effort_is_a_level_or_a_number_of_tokens(effort: str, config: dict[str, Any]) -> None:
    body = sent_body(VENDOR, make_call(MODEL, effort=effort), ACCOUNT)

    assert body["generationConfig"]["thinkingConfig"] == config


def test_a_bare_question_is_sent_without_a_configuration() -> None:
    call = make_call(
        MODEL, system="", output_schema=None, max_tokens=None, temperature=0.5, sampling=False
    )

    assert sent_body(VENDOR, call, ACCOUNT).keys() == {"contents"}


@pytest.mark.parametrize(
    ("base", "place"),
    [
        ("", "https://generativelanguage.googleapis.com/v1beta"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1beta"),
        ("https://gate.example/google/v1", "https://gate.example/google/v1"),
    ],
)
def test_calls_go_below_the_base_url_and_its_version(base: str, place: str) -> None:
    sent = VENDOR.encode(make_call(MODEL), account("gemini", base))

    assert sent.url == f"{place}/models/gemini-3.8-flash:generateContent"
    assert sent.headers["x-goog-api-key"] == KEY
    assert KEY not in repr(sent)


def test_a_models_name_cannot_lead_elsewhere() -> None:
    sent = VENDOR.encode(make_call("gemini/../../x?y=1"), ACCOUNT)

    assert sent.url.endswith("/v1beta/models/..%2F..%2Fx%3Fy%3D1:generateContent")


@BY_NAME
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_read(name: str, vendor: WireFormat) -> None:
    body, reply = ANSWERS[name]
    types.GenerateContentResponse.model_validate_json(json.dumps(body))  # their client reads it

    assert vendor.decode(orjson.dumps(body)) == reply
    assert vendor.decode(orjson.dumps(with_unknown_fields(body))) == reply


def test_a_reason_that_nobody_told_us_of_leaves_an_answer_that_may_not_be_whole() -> None:
    reply = VENDOR.decode(orjson.dumps(generation({"text": ANSWER}, reason="TIRED")))

    assert (reply.text, reply.stop) == (ANSWER, Stop.LENGTH)


@BY_NAME
@pytest.mark.parametrize(
    "body",
    [
        {},
        error(500, "INTERNAL"),
    ],
)
def test_a_body_that_is_no_answer_is_undecodable(body: Any, vendor: WireFormat) -> None:
    with pytest.raises(Undecodable):
        vendor.decode(orjson.dumps(body))


@BY_NAME
@pytest.mark.parametrize(
    "body",
    [
        without(generation({"text": "x"}), "usageMetadata"),
        {**generation({"text": "x"}), "usageMetadata": {"candidatesTokenCount": 5}},
        generation({"text": "x"}, thoughtsTokenCount=-1),
    ],
)
def test_an_answer_that_does_not_say_its_cost_is_read_all_the_same(
    body: Any, vendor: WireFormat
) -> None:
    reply = vendor.decode(orjson.dumps(body))

    assert (reply.text, reply.usage.exact) == ("x", False)


@BY_NAME
@pytest.mark.parametrize("name", ERRORS)
def test_an_error_says_what_can_be_done(name: str, vendor: WireFormat) -> None:
    refusal = ERRORS[name]

    found = vendor.classify(error_response(refusal.status, refusal.body))

    assert (found.remedy, found.bad_key) == (refusal.remedy, refusal.bad_key)
    assert found.retry_after == refusal.retry_after
    assert str(found).startswith(f"{vendor.name} {refusal.status}: ")


def test_where_the_body_names_no_time_the_header_does() -> None:
    crowded = ERRORS["crowded"]

    assert VENDOR.classify(error_response(429, crowded.body, retry_after="3")).retry_after == 3.0


@BY_NAME
def test_headers_tell_nothing_of_limits(vendor: WireFormat) -> None:
    assert vendor.rates({"x-ratelimit-limit-requests": "5"}) is None


NAMES = ["candidates", "content", "parts", "text", "thought", "finishReason", "usageMetadata"]
NAMES += ["promptTokenCount", "promptFeedback", "blockReason", "error", "details", "reason"]
NAMES += ["violations", "quotaId", "retryDelay", "message", "status", "error_description"]


@given(bodies_of(NAMES))
def test_any_body_is_read_or_undecodable(raw: bytes) -> None:
    read_or_undecodable(VENDOR, raw)


@given(json_of(NAMES), json_of(NAMES), json_of(NAMES))
def test_a_body_of_about_the_right_form_is_read_or_undecodable(
    inside: Any, reason: Any, feedback: Any
) -> None:
    body = generation({"text": inside, "thought": inside}, reason=reason)
    read_or_undecodable(VENDOR, json.dumps({**body, "promptFeedback": feedback}).encode())
    read_or_undecodable(VENDOR, json.dumps({**body, "candidates": inside}).encode())


@given(st.integers(100, 999), bodies_of(NAMES), st.text(max_size=30))
def test_any_error_gets_a_remedy_and_one_line(status: int, body: bytes, header: str) -> None:
    named_in_one_line(VENDOR, status, body, retry_after=header)


@given(json_of(NAMES), json_of(NAMES))
def test_any_details_get_a_remedy_and_one_line(message: Any, details: Any) -> None:
    inner = {"message": message, "details": [details, {"violations": [details]}]}
    for status in (400, 429):
        named_in_one_line(VENDOR, status, json.dumps({"error": inner}).encode())
