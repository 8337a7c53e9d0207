"""Google's own client takes the server for Google."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.rehearsal.clients import (
    FLASH,
    KEY,
    SCHEMA,
    counts,
    gemini_client,
    genai,
    generate,
    message,
    types,
    with_schema,
)

errors = genai.errors


class Answer(BaseModel):
    """An answer about a whole message, with a field that may be missing."""

    word_count: int
    label: str | None = None


def test_a_structured_answer_is_read(server: RehearsalThread) -> None:
    with gemini_client(server.url) as client:
        answer = generate(client, max_output_tokens=500)

    assert counts(answer.text) == [3, 3]
    assert answer.candidates[0].finish_reason == types.FinishReason.STOP
    usage = answer.usage_metadata
    assert usage.prompt_token_count == with_schema("Count words." + message())
    assert usage.candidates_token_count == -(-len(answer.text) // 4)
    assert usage.total_token_count == usage.prompt_token_count + usage.candidates_token_count


def test_a_class_is_turned_into_the_older_kind_of_schema_and_back(server: RehearsalThread) -> None:
    with gemini_client(server.url, api_version="v1beta") as client:
        answer = generate(client, "One two.", response_json_schema=None, response_schema=Answer)

    assert isinstance(answer.parsed, Answer)
    assert answer.parsed.word_count == 2


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
def test_the_asynchronous_client_is_answered(server: RehearsalThread) -> None:
    async def ask() -> Any:
        client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=server.url))
        try:
            return await client.aio.models.generate_content(model=FLASH, contents="hello there")
        finally:
            await client.aio.aclose()
            client.close()

    assert asyncio.run(ask()).text == "simulated: hello there"


def test_a_forced_function_is_called(server: RehearsalThread) -> None:
    function = types.FunctionDeclaration(name="answer", parameters_json_schema=SCHEMA)
    with gemini_client(server.url) as client:
        answer = generate(
            client,
            response_mime_type=None,
            response_json_schema=None,
            tools=[types.Tool(function_declarations=[function])],
            tool_config=types.ToolConfig(
                function_calling_config=types.FunctionCallingConfig(
                    mode=types.FunctionCallingConfigMode.ANY
                )
            ),
        )

    call = answer.function_calls[0]
    assert call.name == "answer"
    assert [record["word_count"] for record in call.args["results"]] == [3, 3]


def test_the_models_are_listed(server: RehearsalThread) -> None:
    with gemini_client(server.url) as client:
        listed = list(client.models.list())

    assert [(model.name, model.output_token_limit) for model in listed] == [
        (f"models/{FLASH}", 8_000)
    ]


def test_an_answer_stops_at_its_limit(server: RehearsalThread) -> None:
    with gemini_client(server.url) as client:
        answer = generate(client, max_output_tokens=5)

    assert answer.candidates[0].finish_reason == types.FinishReason.MAX_TOKENS
    assert len(answer.text) == 20


def test_a_block_takes_both_of_its_forms_and_costs_no_output() -> None:
    with rehearsal_server(faults="refuse@FORBIDDEN") as server, gemini_client(server.url) as client:
        prompt, candidate = (generate(client, message("FORBIDDEN")) for _ in range(2))
        usages = [entry["usage"] for entry in server.log()]

    assert prompt.candidates is None
    assert prompt.prompt_feedback.block_reason == types.BlockedReason.PROHIBITED_CONTENT
    assert candidate.candidates[0].finish_reason == types.FinishReason.SAFETY
    assert prompt.usage_metadata.candidates_token_count is None
    assert [usage["output"] for usage in usages] == [0, 0]


def test_thoughts_are_counted_apart() -> None:
    with rehearsal_server(thinking=25) as server, gemini_client(server.url) as client:
        usage = generate(client).usage_metadata
        billed = server.log()[0]["usage"]

    assert usage.thoughts_token_count == 25
    assert billed["output"] == usage.candidates_token_count + 25
    assert billed["reasoning"] == 25


@pytest.mark.parametrize(
    ("fault", "code", "status"),
    [
        ("429", 429, "RESOURCE_EXHAUSTED"),
        ("spend", 429, "RESOURCE_EXHAUSTED"),
        ("500", 500, "INTERNAL"),
        ("503", 503, "UNAVAILABLE"),
        ("key", 400, "INVALID_ARGUMENT"),
        ("400", 400, "INVALID_ARGUMENT"),
    ],
)
def test_a_fault_is_the_clients_own_exception(fault: str, code: int, status: str) -> None:
    kind = errors.ServerError if code >= 500 else errors.ClientError
    with (
        rehearsal_server(faults=f"{fault}=1,retry_after=17") as server,
        gemini_client(server.url) as client,
        pytest.raises(kind) as caught,
    ):
        generate(client)

    assert (caught.value.code, caught.value.status) == (code, status)
    details = {
        item["@type"].rpartition(".")[2]: item
        for item in caught.value.details["error"].get("details", ())
    }
    if fault == "429":
        assert details["RetryInfo"]["retryDelay"] == "17s"
    if fault == "spend":
        assert "PerDay" in details["QuotaFailure"]["violations"][0]["quotaId"]
        assert "RetryInfo" not in details
    if fault == "key":
        assert details["ErrorInfo"]["reason"] == "API_KEY_INVALID"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"max_output_tokens": 9_000}, "the supported range"),
        ({"temperature": 3.0}, "temperature"),
        ({"response_mime_type": None}, "mime type"),
        ({"thinking_config": {"thinking_level": "LOW", "thinking_budget": 5}}, "only one of"),
    ],
)
def test_a_request_that_google_would_refuse_is_refused(
    server: RehearsalThread, changed: dict[str, Any], said: str
) -> None:
    with gemini_client(server.url) as client, pytest.raises(errors.ClientError) as caught:
        generate(client, **changed)

    assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")
    assert said in (caught.value.message or "")
