"""Servers that speak like OpenAI: each is addressed, asked and understood with its own habits."""

from typing import Any

import orjson
import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

from quire.domain.accounts import Account, Secret
from quire.domain.data import Json
from quire.domain.errors import OddBody, ProviderError, Remedy, Undecodable
from quire.domain.models import CacheMarking, Limits, StructuredOutput, Usage
from quire.domain.requests import Call
from quire.providers.compatible import Compatible
from quire.providers.vendors import VENDORS
from tests.providers.exchanges.openai import ANSWER, CHAT_ANSWERS, chat_message, completion
from tests.providers.sample_calls import (
    EVERY_FORM,
    KEY,
    account,
    error_response,
    make_call,
    sent_body,
)
from tests.providers.wire_types import mistakes

SERVER = "http://server.test:9/v1"
CHATTERS = [name for name, facts in VENDORS.items() if facts.wire_format == "compatible:Compatible"]
OWN = {"random_seed", "cache_control"}  # fields that OpenAI does not have


@pytest.mark.parametrize("name", CHATTERS)
@pytest.mark.parametrize("call", EVERY_FORM)
def test_every_call_fits_the_published_types_but_for_known_habits(name: str, call: Call) -> None:
    found = mistakes(
        sent_body(Compatible(name), call, account(name, SERVER)),
        CompletionCreateParamsNonStreaming,
    )

    assert [text for text in found if not any(word in text for word in OWN)] == []


def test_a_plain_server_is_asked_in_the_oldest_words() -> None:
    call = make_call("vllm/qwen", seed=3, temperature=0, structured=StructuredOutput.JSON)

    assert sent_body(Compatible("vllm"), call, account("vllm")) == {
        "model": "qwen",
        "messages": [
            {"role": "system", "content": call.system},
            {"role": "user", "content": call.user},
        ],
        "max_tokens": 500,
        "seed": 3,
        "temperature": 0,
        "response_format": {"type": "json_object"},
    }


@pytest.mark.parametrize(
    ("name", "base", "url"),
    [
        ("openrouter", "", "https://openrouter.ai/api/v1/chat/completions"),
        ("mistral", "", "https://api.mistral.ai/v1/chat/completions"),
        ("groq", "", "https://api.groq.com/openai/v1/chat/completions"),
        ("groq", "https://api.groq.com", "https://api.groq.com/openai/v1/chat/completions"),
        ("vllm", "", "http://localhost:8000/v1/chat/completions"),
        ("ollama", "", "http://localhost:11434/v1/chat/completions"),
        ("ollama", "10.0.0.7:11434", "http://10.0.0.7:11434/v1/chat/completions"),
        ("llamacpp", "", "http://localhost:8080/v1/chat/completions"),
        ("lmstudio", "", "http://localhost:1234/v1/chat/completions"),
        ("compatible", "https://x.test/llm/v2/", "https://x.test/llm/v2/chat/completions"),
        (
            "compatible",
            "https://x.test/v1/chat/completions",
            "https://x.test/v1/chat/completions",
        ),
    ],
)
def test_a_call_goes_where_the_server_is_found(name: str, base: str, url: str) -> None:
    assert Compatible(name).encode(make_call(f"{name}/m"), account(name, base)).url == url


def test_the_models_own_address_comes_first() -> None:
    call = make_call("compatible/m", url="http://model.test/v1")

    assert Compatible().encode(call, account("compatible", SERVER)).url == (
        "http://model.test/v1/chat/completions"
    )


def test_a_server_without_an_address_is_not_asked() -> None:
    with pytest.raises(ProviderError, match="no base URL is known") as caught:
        Compatible().encode(make_call("compatible/m"), account("compatible"))

    assert caught.value.remedy is Remedy.FIX_ACCOUNT


def test_a_key_put_in_the_place_of_the_address_is_not_shown() -> None:
    with pytest.raises(ProviderError) as caught:
        Compatible().encode(make_call("compatible/m"), account("compatible", KEY))

    assert KEY not in str(caught.value)


def test_a_server_of_ones_own_needs_no_key() -> None:
    nobody = Account(provider="ollama", credential="", key=Secret(""))

    headers = Compatible("ollama").encode(make_call("ollama/m"), nobody).headers

    assert "Authorization" not in headers


@pytest.mark.parametrize("key", ["sk-with\nnewline", "sk-ünicode-123", " sk-spaces-123 "])
def test_a_key_that_no_header_can_carry_is_found_before_anything_is_sent(key: str) -> None:
    mangled = Account(provider="groq", credential="", key=Secret(key))

    with pytest.raises(ProviderError, match="paste it again") as caught:
        Compatible("groq").encode(make_call("groq/m"), mangled)

    assert (caught.value.remedy, caught.value.bad_key) == (Remedy.FIX_ACCOUNT, True)
    assert key.strip() not in str(caught.value)


def test_a_way_to_ask_that_the_server_does_not_know_is_left_to_words() -> None:
    call = make_call("lmstudio/m", structured=StructuredOutput.JSON)

    assert "response_format" not in sent_body(Compatible("lmstudio"), call, account("lmstudio"))


def test_a_router_is_told_which_prefix_to_keep() -> None:
    call = make_call(
        "openrouter/anthropic/claude-haiku", marking=CacheMarking.BREAKPOINT, caching=True
    )

    body = sent_body(Compatible("openrouter"), call, account("openrouter"))

    assert body["model"] == "anthropic/claude-haiku"
    assert body["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}


def test_mistral_has_its_own_word_for_a_seed() -> None:
    body = sent_body(Compatible("mistral"), make_call("mistral/m", seed=5), account("mistral"))

    assert (body.get("random_seed"), body.get("seed")) == (5, None)


@pytest.mark.parametrize("name", CHATTERS)
@pytest.mark.parametrize("answer", CHAT_ANSWERS)
def test_answers_are_read(name: str, answer: str) -> None:
    body, expected = CHAT_ANSWERS[answer]
    priced = {**body, "usage": {**body["usage"], "cost": 0.00014}}

    assert Compatible(name).decode(orjson.dumps(priced)) == expected


@pytest.mark.parametrize("name", CHATTERS)
def test_unknown_is_nothing_only_on_ones_own_machine(name: str) -> None:
    raw = orjson.dumps(completion(chat_message(ANSWER), usage=None))

    assert Compatible(name).decode(raw).usage == Usage(exact=VENDORS[name].own_machine)


def routed(code: Json, message: str = "Upstream.", **metadata: Json) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "metadata": metadata}}


@pytest.mark.parametrize(
    ("body", "remedy"),
    [
        (routed(429), Remedy.WAIT),
        (routed(402, "Insufficient credits"), Remedy.FIX_ACCOUNT),
        (routed(502, "Provider returned error"), Remedy.RETRY),
        (routed("strange"), Remedy.RETRY),
        ({"error": "it broke"}, Remedy.RETRY),
        (
            {"choices": [{"error": {"code": 503, "message": "Overloaded"}}], "usage": None},
            Remedy.WAIT,
        ),
    ],
)
def test_an_error_that_comes_with_a_200_is_an_error(body: Json, remedy: Remedy) -> None:
    vendor = Compatible("openrouter")

    failed = vendor.error_in_success(orjson.dumps(body))

    assert failed is not None
    assert vendor.classify(failed).remedy is remedy
    assert "no reason" not in str(vendor.classify(failed))


@pytest.mark.parametrize(
    "body",
    [
        completion(chat_message(ANSWER)),
        completion(chat_message('{"error": "is in the answer"}')),
        {**completion(chat_message(ANSWER)), "error": None},
        {**completion(chat_message(ANSWER), "error"), "error": {"code": 502, "message": "late"}},
        {**completion(chat_message(ANSWER)), "usage": None, "error": {"message": "deprecated"}},
        {"choices": [{"message": chat_message(ANSWER), "error": {"code": 502}}]},
        {
            "choices": [{"message": {"tool_calls": [{"function": {"arguments": ANSWER}}]}}],
            "error": "none",
        },
    ],
)
def test_an_answer_that_was_paid_for_is_kept(body: Json) -> None:
    assert Compatible("openrouter").error_in_success(orjson.dumps(body)) is None


@pytest.mark.parametrize(
    "raw",
    [
        b'{"timings": {"ms": Infinity, "rate": NaN, "all": [-Infinity, 1e999]}, ',
        b"[{",
    ],
    ids=["numbers without end", "in a list by itself"],
)
def test_an_answer_that_stands_in_an_odd_body_is_read(raw: bytes) -> None:
    plain = orjson.dumps(completion(chat_message(ANSWER)))
    body = raw + plain[1:] + (b"]" if raw.startswith(b"[") else b"")

    assert Compatible("openrouter").decode(body) == Compatible("openrouter").decode(plain)


def test_a_list_of_anything_else_is_no_answer() -> None:
    for body in (b'[{"error": "down"}]', b"[]", b"[1]"):
        with pytest.raises(Undecodable) as caught:
            Compatible("openrouter").decode(body)
        assert caught.value.odd is OddBody.GARBLED


@pytest.mark.parametrize(
    ("name", "status", "body", "remedy", "words"),
    [
        ("openrouter", 403, routed(403, "Flagged.", reasons=["x"]), Remedy.FIX_REQUEST, "Flagged."),
        ("openrouter", 403, routed(403, "No."), Remedy.FIX_ACCOUNT, "No."),
        ("openrouter", 502, routed(502, "Bad", raw="upstream died"), Remedy.RETRY, "upstream died"),
        (
            "mistral",
            422,
            {"object": "error", "message": {"detail": [{"msg": "Extra field", "loc": ["body"]}]}},
            Remedy.FIX_REQUEST,
            "Extra field",
        ),
        (
            "mistral",
            400,
            {"message": "Invalid model: x", "type": "invalid_model", "code": "1500"},
            Remedy.FIX_ACCOUNT,
            "model's name",
        ),
        (
            "groq",
            413,
            {"error": {"message": "Request too large for model", "code": "rate_limit_exceeded"}},
            Remedy.SPLIT,
            "too large",
        ),
        (
            "vllm",
            400,
            {"object": "error", "message": "maximum context length is 4096", "code": 400},
            Remedy.SPLIT,
            "4096",
        ),
        ("vllm", 404, {"message": "The model `x` does not exist."}, Remedy.FIX_ACCOUNT, "name"),
        (
            "llamacpp",
            400,
            {"error": {"code": 400, "type": "exceed_context_size_error", "message": "Too big"}},
            Remedy.SPLIT,
            "Too big",
        ),
        ("llamacpp", 503, {"error": {"message": "Loading model"}}, Remedy.WAIT, "Loading"),
        ("ollama", 404, {"error": "model 'x' not found"}, Remedy.FIX_ACCOUNT, "model's name"),
    ],
)
def test_an_error_is_understood(
    name: str, status: int, body: Json, remedy: Remedy, words: str
) -> None:
    error = Compatible(name).classify(error_response(status, body))

    assert error.remedy is remedy
    assert words in str(error)
    assert str(error).startswith(f"{name} {status}: ")


def test_requests_that_are_counted_by_the_day_are_no_limit_a_minute() -> None:
    headers = {"x-ratelimit-limit-requests": "14400", "x-ratelimit-limit-tokens": "6000"}

    daily, minutely = Compatible("groq").rates(headers), Compatible("vllm").rates(headers)

    assert daily is not None
    assert minutely is not None
    assert daily.limits == Limits(total=6000)
    assert minutely.limits == Limits(requests=14400, total=6000)


def test_every_row_says_where_it_is_or_that_somebody_must() -> None:
    nameless = {name for name, facts in VENDORS.items() if not facts.base_url}

    assert nameless == {"azure", "compatible", "simulated"}
    assert all(facts.structured for facts in VENDORS.values())
