"""Anthropic's own client takes the server for Anthropic."""

from dataclasses import replace
from math import ceil
from typing import Any

import anthropic
import pytest

from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.rehearsal.clients import (
    HAIKU,
    MODELS,
    SCHEMA,
    SONNET,
    anthropic_client,
    counts,
    create_message,
    message,
    with_schema,
)

TOOLS: dict[str, Any] = {
    "tools": [{"name": "answer", "input_schema": SCHEMA}],
    "tool_choice": {"type": "tool", "name": "answer"},
    "output_config": {},
}


def test_a_structured_message_is_read(server: RehearsalThread) -> None:
    with anthropic_client(server.url) as client:
        answer = create_message(client)

    assert counts(answer.content[0].text) == [3, 3]
    assert (answer.type, answer.role, answer.stop_reason) == ("message", "assistant", "end_turn")
    assert answer.usage.input_tokens == with_schema("Count words." + message())
    assert answer.usage.output_tokens == -(-len(answer.content[0].text) // 4)
    assert answer.usage.cache_creation_input_tokens == answer.usage.cache_read_input_tokens == 0


def test_the_older_header_for_keys_is_accepted_and_wins() -> None:
    with (
        rehearsal_server(keys={"sk-good-key": "valid"}) as server,
        anthropic_client(server.url, default_headers={"x-api-key": "sk-good-key"}) as client,
    ):
        assert create_message(client).stop_reason == "end_turn"


def test_a_forced_tool_is_called_where_the_model_allows_it(server: RehearsalThread) -> None:
    with anthropic_client(server.url) as client:
        answer = create_message(client, model=HAIKU, **TOOLS)

    call = answer.content[0]
    assert (call.type, call.name, answer.stop_reason) == ("tool_use", "answer", "tool_use")
    assert [record["word_count"] for record in call.input["results"]] == [3, 3]


def test_a_forced_tool_is_refused_where_the_model_always_thinks(server: RehearsalThread) -> None:
    with anthropic_client(server.url) as client, pytest.raises(anthropic.BadRequestError) as caught:
        create_message(client, model=SONNET, **TOOLS)

    assert "not compatible with this model" in str(caught.value)


def test_the_models_are_listed_and_tokens_counted_for_nothing(server: RehearsalThread) -> None:
    with anthropic_client(server.url) as client:
        listed = {model.id: model for model in client.models.list()}
        one = client.models.retrieve(HAIKU)
        counted = client.messages.count_tokens(
            model=HAIKU, messages=[{"role": "user", "content": "x" * 400}]
        )

    assert [*listed] == [HAIKU, SONNET]
    assert (one.max_tokens, one.max_input_tokens, one.lifecycle) == (8_000, 100_000, "active")
    assert one.capabilities is not None
    assert one.capabilities.structured_outputs.supported
    assert counted.input_tokens == 100


def test_an_answer_stops_at_its_limit(server: RehearsalThread) -> None:
    with anthropic_client(server.url) as client:
        answer = create_message(client, max_tokens=5)
        tool = create_message(client, model=HAIKU, max_tokens=5, **TOOLS)

    assert (answer.stop_reason, len(answer.content[0].text)) == ("max_tokens", 20)
    assert (tool.stop_reason, tool.content[0].input) == ("max_tokens", {})


def test_no_output_fills_the_cache_only(server: RehearsalThread) -> None:
    with anthropic_client(server.url) as client:
        answer = create_message(client, max_tokens=0, output_config={})

    assert (answer.content, answer.usage.output_tokens) == ([], 0)
    assert answer.stop_reason == "max_tokens"


def test_a_refusal_has_a_stop_reason_of_its_own() -> None:
    with (
        rehearsal_server(faults="refuse@FORBIDDEN") as server,
        anthropic_client(server.url) as client,
    ):
        answer = create_message(client, message("FORBIDDEN"))

    assert answer.stop_reason == "refusal"
    assert answer.stop_details.type == "refusal"


def test_an_empty_answer_has_no_content() -> None:
    with rehearsal_server(faults="empty=1") as server, anthropic_client(server.url) as client:
        answer = create_message(client)

    assert (answer.content, answer.stop_reason) == ([], "end_turn")


def test_thinking_comes_before_the_text_and_is_billed() -> None:
    with rehearsal_server(thinking=30) as server, anthropic_client(server.url) as client:
        answer = create_message(client)

    assert [block.type for block in answer.content] == ["thinking", "text"]
    assert answer.usage.output_tokens_details.thinking_tokens == 30
    assert answer.usage.output_tokens == 30 + -(-len(answer.content[1].text) // 4)


@pytest.mark.parametrize(
    ("fault", "error", "kind"),
    [
        ("429", anthropic.RateLimitError, "rate_limit_error"),
        ("spend", anthropic.RateLimitError, "rate_limit_error"),
        ("500", anthropic.InternalServerError, "api_error"),
        ("529", anthropic._exceptions.OverloadedError, "overloaded_error"),
        ("503", anthropic._exceptions.OverloadedError, "overloaded_error"),
        ("key", anthropic.AuthenticationError, "authentication_error"),
        ("400", anthropic.BadRequestError, "invalid_request_error"),
        ("413", anthropic._exceptions.ContentTooLargeError, "request_too_large"),
    ],
)
def test_a_fault_is_the_clients_own_exception(
    fault: str, error: type[anthropic.APIStatusError], kind: str
) -> None:
    with (
        rehearsal_server(faults=f"{fault}=1,retry_after=7") as server,
        anthropic_client(server.url) as client,
        pytest.raises(error) as caught,
    ):
        create_message(client)

    body: Any = caught.value.body
    assert (body["type"], body["error"]["type"]) == ("error", kind)
    assert body["request_id"] == caught.value.request_id
    assert caught.value.response.headers.get("retry-after") == ("7" if fault == "429" else None)
    spent = body["error"].get("details") == {"error_code": "enforced_spend_limit_reached"}
    assert spent == (fault == "spend")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"extra_body": {"temperature": 1.0}}, "temperature: Extra inputs are not permitted"),
        ({"extra_body": {"top_k": 1}}, "top_k: Extra inputs are not permitted"),
        ({"extra_body": {"max_tokens": "5"}}, "max_tokens: Input should be a valid integer"),
        ({"max_tokens": 9_000}, "maximum allowed number of output tokens"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages.0.content"),
        (
            {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "{"}]},
            "prefill",
        ),
        ({"extra_headers": {"anthropic-version": "2020-01-01"}}, "is not a valid version"),
        ({"max_tokens": 0}, "max_tokens: 0 cannot be combined"),
        (
            {"system": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}] * 5},
            "A maximum of 4 blocks",
        ),
    ],
)
def test_a_request_that_anthropic_would_refuse_is_refused(
    server: RehearsalThread, changed: dict[str, Any], said: str
) -> None:
    with anthropic_client(server.url) as client, pytest.raises(anthropic.BadRequestError) as caught:
        create_message(client, **changed)

    assert said in str(caught.value)


def test_the_version_before_takes_a_temperature(server: RehearsalThread) -> None:
    with anthropic_client(server.url) as client:
        answer = create_message(
            client,
            extra_body={"temperature": 0.5},
            extra_headers={"anthropic-version": "2023-06-01"},
        )

    assert answer.stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"additionalProperties": True}, "must be explicitly set to false"),
        ({"properties": {"n": {"type": "integer", "minimum": 1}}}, "minimum are not supported"),
        ({"properties": {"n": {"type": "string", "maxLength": 1}}}, "maxLength are not supported"),
        ({"properties": {"n": {"type": "array", "minItems": 2}}}, "other than 0 or 1"),
        (
            {"properties": {str(i): {"type": "string"} for i in range(26)}, "required": []},
            "too many optional parameters",
        ),
        (
            {"properties": {str(i): {"type": ["string", "null"]} for i in range(17)}},
            "too many",
        ),
    ],
)
def test_a_schema_that_anthropic_cannot_compile_is_refused(
    server: RehearsalThread, broken: dict[str, Any], said: str
) -> None:
    form = {"format": {"type": "json_schema", "schema": SCHEMA | broken}}

    with anthropic_client(server.url) as client, pytest.raises(anthropic.BadRequestError) as caught:
        create_message(client, output_config=form)

    assert said in str(caught.value)
    assert "output_config.format.schema" in str(caught.value)


def test_an_unknown_model_is_generously_accepted_and_by_a_strict_server_refused(
    server: RehearsalThread,
) -> None:
    with anthropic_client(server.url) as client:
        assert create_message(client, model="claude-next").stop_reason == "end_turn"
    with (
        rehearsal_server(models=MODELS, strict=True) as strict,
        anthropic_client(strict.url) as client,
        pytest.raises(anthropic.NotFoundError),
    ):
        create_message(client, model="claude-next")


def test_a_model_that_counts_more_tokens_bills_more_of_them() -> None:
    dense = {name: replace(facts, token_factor=1.3) for name, facts in MODELS.items()}
    with rehearsal_server(models=dense) as server, anthropic_client(server.url) as client:
        answer = create_message(client)
        cut = create_message(client, max_tokens=13)
        asked: Any = [{"role": "user", "content": "a" * 400}]
        counted = client.messages.count_tokens(model=SONNET, messages=asked)

    written = len(answer.content[0].text)
    assert answer.usage.output_tokens == ceil(written * 1.3 / 4)
    assert answer.usage.input_tokens == pytest.approx(
        1.3 * with_schema("Count words." + message()), abs=2
    )
    assert (cut.stop_reason, len(cut.content[0].text)) == ("max_tokens", 40)
    assert cut.usage.output_tokens == 13
    assert counted.input_tokens == 130
