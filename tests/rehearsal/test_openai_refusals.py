"""What OpenAI would refuse is refused, and its own client says why in its own exceptions."""

from typing import Any

import openai
import pytest

from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.rehearsal.clients import MODELS, SCHEMA, openai_client, respond


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
        rehearsal_server(faults=f"{fault},retry_after=7") as server,
        openai_client(server.url) as client,
        pytest.raises(error) as caught,
    ):
        respond(client)

    name = fault.partition("=")[0]
    assert caught.value.status_code == {"key": 401, "spend": 429}.get(name) or int(name)
    assert caught.value.code == code
    assert caught.value.request_id is not None
    waits = caught.value.response.headers.get("retry-after")
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
    server: RehearsalThread, changed: dict[str, Any], param: str, code: str
) -> None:
    plain = {"input": [{"role": "user", "content": "count"}]} if "text" in changed else {}

    with openai_client(server.url) as client, pytest.raises(openai.BadRequestError) as caught:
        respond(client, **plain | changed)

    assert (caught.value.param, caught.value.code) == (param, code)
    assert caught.value.type == "invalid_request_error"


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
    server: RehearsalThread, broken: dict[str, Any], said: str
) -> None:
    form = {"type": "json_schema", "name": "answer", "schema": SCHEMA | broken, "strict": True}

    with openai_client(server.url) as client, pytest.raises(openai.BadRequestError) as caught:
        respond(client, text={"format": form})

    assert caught.value.code == "invalid_json_schema"
    assert said in str(caught.value)


def test_a_prompt_beyond_the_window_is_refused(server: RehearsalThread) -> None:
    with openai_client(server.url) as client, pytest.raises(openai.BadRequestError) as caught:
        respond(client, "word " * 100_000)

    assert caught.value.code == "context_length_exceeded"


def test_a_strict_server_knows_no_other_models() -> None:
    with (
        rehearsal_server(models=MODELS, strict=True) as server,
        openai_client(server.url) as client,
        pytest.raises(openai.NotFoundError) as caught,
    ):
        respond(client, model="gpt-7")

    assert caught.value.code == "model_not_found"


def test_nobody_is_let_in_with_a_bad_key() -> None:
    keys = {"sk-bad": "invalid", "sk-broke": "spent"}
    with rehearsal_server(keys=keys) as server:
        for key, error in (
            ("sk-bad", openai.AuthenticationError),
            ("sk-broke", openai.RateLimitError),
        ):
            with openai_client(server.url, api_key=key) as client, pytest.raises(error):
                respond(client)
        with openai_client(server.url, api_key="sk-any") as client:
            assert respond(client).status == "completed"
