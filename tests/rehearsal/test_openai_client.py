"""OpenAI's own client takes the server for OpenAI: answers, refusals, cuts, tools and errors."""

import asyncio
import json
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from quire.rehearsal.thread import Rehearsing, rehearsing
from tests.rehearsal.asking import (
    GPT,
    KEY,
    MODELS,
    OLD_GPT,
    SCHEMA,
    chat,
    counts,
    message,
    openai_client,
    respond,
)

TOOL: dict[str, Any] = {"type": "function", "name": "answer", "parameters": SCHEMA, "strict": True}
CHAT_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "answer", "parameters": SCHEMA},
}


class Inner(BaseModel):
    """A part of an answer, so that the schema has a reference in it."""

    word_count: int
    label: str | None


class Whole(BaseModel):
    """An answer about a whole message."""

    first: Inner
    has_question: bool


def test_a_structured_response_is_read(server: Rehearsing) -> None:
    with openai_client(server.url) as client:
        response = respond(client, max_output_tokens=500)

    assert counts(response.output_text) == [3, 3]
    assert response.status == "completed"
    assert response.id.startswith("resp_")
    assert response.model == GPT
    assert response.usage.input_tokens == -(-len("Count words." + message()) // 4)
    assert response.usage.output_tokens == -(-len(response.output_text) // 4)
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens


def test_a_chat_completion_is_read(server: Rehearsing) -> None:
    with openai_client(server.url) as client:
        completion = chat(client, max_completion_tokens=500)

    assert counts(completion.choices[0].message.content) == [3, 3]
    assert completion.choices[0].finish_reason == "stop"
    assert completion.object == "chat.completion"
    assert completion.usage.prompt_tokens == -(-len("Count words." + message()) // 4)


def test_the_client_parses_answers_into_classes_with_references(server: Rehearsing) -> None:
    with openai_client(server.url) as client:
        response = client.responses.parse(model=GPT, input="Is this it?", text_format=Whole)
        completion = client.chat.completions.parse(
            model=GPT,
            messages=[{"role": "user", "content": "Is this it?"}],
            response_format=Whole,
        )

    assert response.output_parsed is not None
    assert response.output_parsed.has_question
    assert response.output_parsed.first.word_count == 3
    assert completion.choices[0].message.parsed == response.output_parsed


def test_the_asynchronous_client_asks_many_at_once(server: Rehearsing) -> None:
    async def ask() -> list[Any]:
        async with openai.AsyncOpenAI(
            api_key=KEY, base_url=f"{server.url}/v1", max_retries=0
        ) as client:
            asked = (client.responses.create(model=GPT, input=f"call {i}") for i in range(20))
            return await asyncio.gather(*asked)

    answers = asyncio.run(ask())

    assert [each.output_text for each in answers] == [f"simulated: call {i}" for i in range(20)]
    assert len({each.id for each in answers}) == 20


@pytest.mark.parametrize("prefix", ["/openai/v1", "/api/v1"])
def test_azure_groq_and_routers_answer_under_their_own_paths(
    server: Rehearsing, prefix: str
) -> None:
    with openai_client(server.url, base_url=f"{server.url}{prefix}") as client:
        assert counts(respond(client).output_text) == [3, 3]
        assert counts(chat(client).choices[0].message.content) == [3, 3]


def test_the_models_are_listed_and_described(server: Rehearsing) -> None:
    with openai_client(server.url) as client:
        listed = [model.id for model in client.models.list()]
        one = client.models.retrieve(GPT)

    assert listed == [GPT, OLD_GPT]
    assert (one.id, one.object, one.owned_by) == (GPT, "model", "openai")


def test_a_forced_tool_is_called(server: Rehearsing) -> None:
    with openai_client(server.url) as client:
        named = respond(
            client, text={}, tools=[TOOL], tool_choice={"type": "function", "name": "answer"}
        )
        required = chat(
            client,
            response_format={"type": "text"},
            tools=[CHAT_TOOL],
            tool_choice="required",
        )

    call = named.output[0]
    assert (call.type, call.name, counts(call.arguments)) == ("function_call", "answer", [3, 3])
    choice = required.choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    assert counts(choice.message.tool_calls[0].function.arguments) == [3, 3]


def test_json_asked_for_in_words_follows_the_schema_in_the_instructions(
    server: Rehearsing,
) -> None:
    fields = {"properties": {"word_count": {"type": "integer"}}}
    system = f"Answer with JSON of this form:\n{json.dumps(fields)}"

    with openai_client(server.url) as client:
        answer = chat(
            client,
            messages=[
                {"role": "system", "content": system},
                {"role": "user", "content": message()},
            ],
            response_format={"type": "json_object"},
        )

    assert counts(answer.choices[0].message.content) == [3, 3]


def test_an_answer_stops_at_its_limit(server: Rehearsing) -> None:
    with openai_client(server.url) as client:
        response = respond(client, message("word " * 50, "b " * 50), max_output_tokens=16)
        completion = chat(client, max_completion_tokens=16)

    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "max_output_tokens"
    assert response.usage.output_tokens == 16
    assert len(response.output_text) == 64
    assert completion.choices[0].finish_reason == "length"


def test_a_refusal_is_a_part_of_a_completed_response() -> None:
    with rehearsing(faults="refuse@FORBIDDEN") as server, openai_client(server.url) as client:
        response = respond(client, message("FORBIDDEN fruit"))
        completion = chat(client, message("FORBIDDEN fruit"))

    assert response.status == "completed"
    assert response.output[0].content[0].type == "refusal"
    assert response.output_text == ""
    assert completion.choices[0].message.refusal
    assert completion.choices[0].message.content is None


def test_reasoning_is_billed_as_output_and_may_use_up_the_budget() -> None:
    with rehearsing(thinking=40) as server, openai_client(server.url) as client:
        response = respond(client)
        used_up = respond(client, max_output_tokens=20)

    assert response.usage.output_tokens_details.reasoning_tokens == 40
    assert response.usage.output_tokens == 40 + -(-len(response.output_text) // 4)
    assert [item.type for item in response.output] == ["reasoning", "message"]
    assert (used_up.status, used_up.output_text, used_up.usage.output_tokens) == (
        "incomplete",
        "",
        20,
    )


@pytest.mark.parametrize(
    ("fault", "error", "code"),
    [
        ("429=1", openai.RateLimitError, "rate_limit_exceeded"),
        ("spend=1", openai.RateLimitError, "insufficient_quota"),
        ("500=1", openai.InternalServerError, None),
        ("503=1", openai.InternalServerError, "server_is_overloaded"),
        ("key=1", openai.AuthenticationError, "invalid_api_key"),
        ("400=1", openai.BadRequestError, "invalid_value"),
        ("413=1", openai.APIStatusError, None),
    ],
)
def test_a_fault_is_the_clients_own_exception(
    fault: str, error: type[openai.APIStatusError], code: str | None
) -> None:
    with (
        rehearsing(faults=f"{fault},retry_after=7") as server,
        openai_client(server.url) as client,
        pytest.raises(error) as told,
    ):
        respond(client)

    name = fault.partition("=")[0]
    assert told.value.status_code == {"key": 401, "spend": 429}.get(name) or int(name)
    assert told.value.code == code
    assert told.value.request_id is not None
    waits = told.value.response.headers.get("retry-after")
    assert waits == ("7" if name == "429" else None)


@pytest.mark.parametrize(
    ("changed", "param", "code"),
    [
        ({"max_output_tokens": 5}, "max_output_tokens", "invalid_value"),
        ({"max_output_tokens": 9_000}, "max_output_tokens", "invalid_value"),
        ({"temperature": 0.5}, "temperature", "unsupported_parameter"),
        ({"extra_body": {"temprature": 1}}, "temprature", "unknown_parameter"),
        ({"extra_body": {"store": "no"}}, "store", "invalid_type"),
        ({"extra_body": {"model": None}}, "model", "invalid_type"),
        ({"reasoning": {"effort": "lots"}}, "reasoning.effort", "invalid_value"),
        ({"input": [{"role": "user"}]}, "input[0].content", "missing_required_parameter"),
        ({"metadata": {str(i): "x" for i in range(17)}}, "metadata", "invalid_value"),
        ({"text": {"format": {"type": "json_object"}}}, "text.format", "invalid_value"),
    ],
)
def test_a_request_that_openai_would_refuse_is_refused(
    server: Rehearsing, changed: dict[str, Any], param: str, code: str
) -> None:
    plain = {"input": [{"role": "user", "content": "count"}]} if "text" in changed else {}

    with openai_client(server.url) as client, pytest.raises(openai.BadRequestError) as told:
        respond(client, **plain | changed)

    assert (told.value.param, told.value.code) == (param, code)
    assert told.value.type == "invalid_request_error"


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"additionalProperties": True}, "'additionalProperties' is required"),
        ({"required": []}, "'required' is required"),
        ({"type": "array", "items": {"type": "string"}}, "must be a JSON Schema of 'type:"),
        ({"properties": {"results": {"oneOf": []}}}, "'oneOf' is not permitted"),
        ({"properties": {"results": {"type": "array"}}}, "missing items"),
    ],
)
def test_a_strict_schema_must_be_closed_and_complete(
    server: Rehearsing, broken: dict[str, Any], said: str
) -> None:
    form = {"type": "json_schema", "name": "answer", "schema": SCHEMA | broken, "strict": True}

    with openai_client(server.url) as client, pytest.raises(openai.BadRequestError) as told:
        respond(client, text={"format": form})

    assert told.value.code == "invalid_json_schema"
    assert said in str(told.value)


def test_a_prompt_beyond_the_window_is_refused(server: Rehearsing) -> None:
    with openai_client(server.url) as client, pytest.raises(openai.BadRequestError) as told:
        respond(client, "word " * 100_000)

    assert told.value.code == "context_length_exceeded"


def test_a_strict_server_knows_no_other_models() -> None:
    with (
        rehearsing(models=MODELS, strict=True) as server,
        openai_client(server.url) as client,
        pytest.raises(openai.NotFoundError) as told,
    ):
        respond(client, model="gpt-7")

    assert told.value.code == "model_not_found"


def test_nobody_is_let_in_with_a_bad_key() -> None:
    keys = {"sk-bad": "invalid", "sk-broke": "spent"}
    with rehearsing(keys=keys) as server:
        for key, error in (
            ("sk-bad", openai.AuthenticationError),
            ("sk-broke", openai.RateLimitError),
        ):
            with openai_client(server.url, api_key=key) as client, pytest.raises(error):
                respond(client)
        with openai_client(server.url, api_key="sk-any") as client:
            assert respond(client).status == "completed"
