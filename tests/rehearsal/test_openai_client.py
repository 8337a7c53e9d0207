"""OpenAI's own client takes the server for OpenAI: answers, refusals, cuts, tools and errors."""

import asyncio
import json
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.rehearsal.clients import (
    GPT,
    KEY,
    OLD_GPT,
    SCHEMA,
    chat,
    counts,
    message,
    openai_client,
    respond,
    with_schema,
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


def test_a_structured_response_is_read(server: RehearsalThread) -> None:
    with openai_client(server.url) as client:
        response = respond(client, max_output_tokens=500)

    assert counts(response.output_text) == [3, 3]
    assert response.status == "completed"
    assert response.id.startswith("resp_")
    assert response.model == GPT
    assert response.usage.input_tokens == with_schema("Count words." + message())
    assert response.usage.output_tokens == -(-len(response.output_text) // 4)
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens


def test_a_chat_completion_is_read(server: RehearsalThread) -> None:
    with openai_client(server.url) as client:
        completion = chat(client, max_completion_tokens=500)

    assert counts(completion.choices[0].message.content) == [3, 3]
    assert completion.choices[0].finish_reason == "stop"
    assert completion.object == "chat.completion"
    assert completion.usage.prompt_tokens == with_schema("Count words." + message())


def test_the_client_parses_answers_into_classes_with_references(server: RehearsalThread) -> None:
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


def test_the_asynchronous_client_asks_many_at_once(server: RehearsalThread) -> None:
    async def ask() -> list[Any]:
        async with openai.AsyncOpenAI(
            api_key=KEY, base_url=f"{server.url}/v1", max_retries=0
        ) as client:
            asked = (client.responses.create(model=GPT, input=f"call {i}") for i in range(20))
            return await asyncio.gather(*asked)

    answers = asyncio.run(ask())

    assert [answer.output_text for answer in answers] == [f"simulated: call {i}" for i in range(20)]
    assert len({answer.id for answer in answers}) == 20


@pytest.mark.parametrize("prefix", ["/openai/v1", "/api/v1"])
def test_azure_groq_and_routers_answer_under_their_own_paths(
    server: RehearsalThread, prefix: str
) -> None:
    with openai_client(server.url, base_url=f"{server.url}{prefix}") as client:
        assert counts(respond(client).output_text) == [3, 3]
        assert counts(chat(client).choices[0].message.content) == [3, 3]


def test_the_models_are_listed_and_described(server: RehearsalThread) -> None:
    with openai_client(server.url) as client:
        listed = [model.id for model in client.models.list()]
        one = client.models.retrieve(GPT)

    assert listed == [GPT, OLD_GPT]
    assert (one.id, one.object, one.owned_by) == (GPT, "model", "openai")


def test_a_forced_tool_is_called(server: RehearsalThread) -> None:
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
    server: RehearsalThread,
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


def test_an_answer_stops_at_its_limit(server: RehearsalThread) -> None:
    with openai_client(server.url) as client:
        response = respond(client, message("word " * 50, "b " * 50), max_output_tokens=16)
        completion = chat(client, max_completion_tokens=16)

    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "max_output_tokens"
    assert response.usage.output_tokens == 16
    assert len(response.output_text) == 64
    assert completion.choices[0].finish_reason == "length"


def test_a_refusal_is_a_part_of_a_completed_response() -> None:
    with rehearsal_server(faults="refuse@FORBIDDEN") as server, openai_client(server.url) as client:
        response = respond(client, message("FORBIDDEN fruit"))
        completion = chat(client, message("FORBIDDEN fruit"))

    assert response.status == "completed"
    assert response.output[0].content[0].type == "refusal"
    assert response.output_text == ""
    assert completion.choices[0].message.refusal
    assert completion.choices[0].message.content is None


def test_reasoning_is_billed_as_output_and_may_use_up_the_budget() -> None:
    with rehearsal_server(thinking=40) as server, openai_client(server.url) as client:
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
