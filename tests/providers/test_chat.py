"""Chat Completions: what is sent fits the published types, and what comes back is read."""

import orjson
import pytest
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

from quire.domain.data import Json
from quire.domain.models import StructuredOutput, Usage
from quire.domain.requests import Call, Stop
from quire.providers.openai import OpenAI
from quire.providers.openai_formats import encode_chat, read_chat
from quire.providers.vendors import ChatVariant
from quire.providers.wire import load
from tests.providers.exchanges.openai import ANSWER, CHAT_ANSWERS, chat_message, completion
from tests.providers.sample_calls import (
    EVERY_FORM,
    SCHEMA,
    SYSTEM,
    USER,
    account,
    make_call,
    sent_body,
    with_unknown_fields,
)
from tests.providers.wire_types import mistakes

VENDOR = OpenAI()
CHAT = account(api="chat")


@pytest.mark.parametrize("call", EVERY_FORM)
def test_every_chat_call_fits_the_published_types(call: Call) -> None:
    body = sent_body(VENDOR, call, CHAT)

    assert mistakes(body, CompletionCreateParamsNonStreaming) == []


def test_a_chat_call_says_all_that_was_asked_and_nothing_else() -> None:
    call = make_call(effort="low", top_p=0.5, seed=1, stop=("x",), sampling=False)

    assert sent_body(VENDOR, call, CHAT) == {
        "model": "gpt-6-luna",
        "messages": [
            {"role": "developer", "content": SYSTEM},
            {"role": "user", "content": USER},
        ],
        "store": False,
        "max_completion_tokens": 500,
        "reasoning_effort": "low",
        "seed": 1,
        "stop": ["x"],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
        },
    }


@pytest.mark.parametrize("name", CHAT_ANSWERS)
def test_a_chat_completion_is_read(name: str) -> None:
    body, expected = CHAT_ANSWERS[name]

    ChatCompletion.model_validate(body)
    assert VENDOR.decode(orjson.dumps(body)) == expected
    assert VENDOR.decode(orjson.dumps(with_unknown_fields(body))) == expected


def test_an_answer_cut_off_inside_a_character_is_still_read() -> None:
    body, expected = CHAT_ANSWERS["answer"]
    raw = orjson.dumps(body).replace(b"\\n", b"\\ud83d")

    reply = VENDOR.decode(raw)

    assert reply.usage == expected.usage
    assert "?" in reply.text


def test_a_forced_tool_takes_the_answer_where_no_schema_binds_it() -> None:
    body = sent_body(VENDOR, make_call(structured=StructuredOutput.TOOL), CHAT)

    assert body["tool_choice"] == {"type": "function", "function": {"name": "answer"}}
    assert body["tools"][0]["function"]["parameters"] == SCHEMA


def test_a_server_that_binds_only_some_models_strictly_is_asked_so() -> None:
    accent = ChatVariant(strict_for="gpt-oss")

    def strict(model: str) -> bool:
        body = orjson.loads(encode_chat(make_call(model), accent))
        return bool(body["response_format"]["json_schema"]["strict"])

    assert strict("groq/openai/gpt-oss-120b")
    assert not strict("groq/llama-4")


def test_a_schema_with_a_number_beyond_64_bits_is_sent_as_it_is() -> None:
    schema = {**SCHEMA, "properties": {"n": {"type": "integer", "enum": [10**30]}}}

    sent = encode_chat(make_call(output_schema=schema), ChatVariant())

    assert str(10**30).encode() in sent


@pytest.mark.parametrize(
    "message",
    [
        chat_message(ANSWER, reasoning_content="Count."),
        chat_message(ANSWER, reasoning="Count."),
        chat_message(
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Count."}]},
                {"type": "text", "text": ANSWER},
            ]
        ),
    ],
)
def test_thoughts_are_read_wherever_a_server_puts_them(message: dict[str, Json]) -> None:
    reply = read_chat(load(orjson.dumps(completion(message))))

    assert (reply.text, reply.reasoning) == (ANSWER, "Count.")


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", Stop.END),
        ("model_length", Stop.LENGTH),
        ("content_filter", Stop.REFUSAL),
        ("error", Stop.END),
        ("something new", Stop.END),
    ],
)
def test_why_a_model_stopped_is_understood(finish: str, stop: Stop) -> None:
    assert read_chat(load(orjson.dumps(completion(chat_message("{}"), finish)))).stop is stop


def test_an_empty_choice_is_an_empty_answer() -> None:
    reply = read_chat(load(orjson.dumps(completion(None, choices=[]))))

    assert (reply.text, reply.stop) == ("", Stop.END)


def usage_of(usage: Json) -> Usage:
    """What a completion with these counts is read to have used."""
    return read_chat(load(orjson.dumps(completion(chat_message(ANSWER), usage=usage)))).usage


def test_only_a_server_of_ones_own_may_leave_out_what_was_used() -> None:
    raw = orjson.dumps(completion(chat_message(ANSWER), usage=None))

    assert read_chat(load(raw), free=True).usage == Usage()
    assert usage_of(None) == Usage(exact=False)


@pytest.mark.parametrize(
    ("taken", "written", "known"),
    [
        (None, 7, (0, 7)),
        (120, None, (120, 0)),
        (120.0, "7", (120, 7)),
        (120.5, "seven", (0, 0)),
        (-1, True, (0, 0)),
        (10**18, [7], (0, 0)),
    ],
)
def test_counts_that_are_no_numbers_are_not_taken_as_they_stand(
    taken: Json, written: Json, known: tuple[int, int]
) -> None:
    usage = usage_of({"prompt_tokens": taken, "completion_tokens": written})

    assert (usage.input, usage.output, usage.exact) == (*known, False)


@pytest.mark.parametrize(
    ("total", "output"),
    [(177, 77), (117, 17), (None, 17)],
)
def test_reasoning_beside_the_answer_is_billed_where_the_total_says_so(
    total: int | None, output: int
) -> None:
    usage = usage_of(
        {
            "prompt_tokens": 100,
            "completion_tokens": 17 if output == 17 else 7,
            "total_tokens": total,
            "completion_tokens_details": {"reasoning_tokens": 10 if output == 17 else 70},
        }
    )

    assert (usage.output, usage.exact) == (output, True)


@pytest.mark.parametrize("arguments", ['{"x":1}', {"x": 1}])
def test_what_a_tool_was_given_is_read_as_text_or_as_an_object(arguments: Json) -> None:
    function: dict[str, Json] = {"name": "answer", "arguments": arguments}
    message: dict[str, Json] = {"content": None, "tool_calls": [{"function": function}]}
    usage: dict[str, Json] = {"prompt_tokens": 1, "completion_tokens": 1}

    assert read_chat({"choices": [{"message": message}], "usage": usage}).text == '{"x":1}'
