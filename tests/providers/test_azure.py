"""Azure OpenAI: OpenAI's words, at one's own address, with Azure's header and errors."""

import orjson
import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

from quire.domain.data import Json
from quire.domain.errors import ProviderError, Remedy
from quire.domain.requests import Call
from quire.providers.azure import Azure
from tests.providers.exchanges.openai import CHAT_ANSWERS, FAILED_UNPAID, RESPONSES_ANSWERS
from tests.providers.sample_calls import (
    CALL,
    EVERY_FORM,
    KEY,
    account,
    error_response,
    make_call,
    sent_body,
)
from tests.providers.wire_types import mistakes

VENDOR = Azure()
RESOURCE = "https://my-resource.openai.azure.com"


@pytest.mark.parametrize("call", EVERY_FORM)
def test_every_call_fits_the_published_types(call: Call) -> None:
    responses, chat = account("azure", RESOURCE), account("azure", RESOURCE, api="chat")

    assert mistakes(sent_body(VENDOR, call, responses), ResponseCreateParamsNonStreaming) == []
    assert mistakes(sent_body(VENDOR, call, chat), CompletionCreateParamsNonStreaming) == []


@pytest.mark.parametrize("base", ["", "/", "/openai", "/openai/", "/openai/v1", "/openai/v1/"])
def test_what_the_portal_shows_as_endpoint_is_completed(base: str) -> None:
    assert VENDOR.encode(CALL, account("azure", RESOURCE + base)).url == (
        f"{RESOURCE}/openai/v1/responses"
    )


def test_a_query_of_the_base_url_is_kept() -> None:
    base = f"{RESOURCE}/openai/v1?api-version=preview"

    assert VENDOR.encode(CALL, account("azure", base, api="chat")).url == (
        f"{RESOURCE}/openai/v1/chat/completions?api-version=preview"
    )


def test_the_model_is_the_name_of_a_deployment() -> None:
    body = sent_body(VENDOR, make_call("azure/my-deployment"), account("azure", RESOURCE))

    assert body["model"] == "my-deployment"


def test_the_key_goes_into_azures_own_header() -> None:
    headers = VENDOR.encode(CALL, account("azure", RESOURCE)).headers

    assert headers["api-key"] == KEY
    assert "Authorization" not in headers


@pytest.mark.parametrize("base", ["", "my-resource", "ftp://x.test", "https://", "https://[::1"])
def test_an_address_that_is_none_says_what_to_set(base: str) -> None:
    with pytest.raises(ProviderError, match="base URL") as caught:
        VENDOR.encode(CALL, account("azure", base))

    assert (caught.value.remedy, caught.value.bad_key) == (Remedy.FIX_ACCOUNT, False)


@pytest.mark.parametrize(("body", "expected"), [RESPONSES_ANSWERS["answer"], CHAT_ANSWERS["tool"]])
def test_answers_of_both_apis_are_read(body: Json, expected: object) -> None:
    assert VENDOR.decode(orjson.dumps(body)) == expected


FILTERED = {"code": "content_filter", "message": "The response was filtered.", "param": "prompt"}
UNKNOWN = {"code": "DeploymentNotFound", "message": "The API deployment does not exist."}
BUSY = {"code": "429", "message": "Requests have exceeded the token rate limit."}
WRONG = {"code": "401", "message": "Access denied due to invalid subscription key."}


@pytest.mark.parametrize(
    ("status", "body", "remedy", "bad_key"),
    [
        (400, {"error": FILTERED}, Remedy.FIX_REQUEST, False),
        (404, {"error": UNKNOWN}, Remedy.FIX_ACCOUNT, False),
        (
            404,
            {"error": {"code": "404", "message": "Resource not found"}},
            Remedy.FIX_ACCOUNT,
            False,
        ),
        (429, {"error": BUSY}, Remedy.WAIT, False),
        (401, {"error": WRONG}, Remedy.FIX_ACCOUNT, True),
        (401, {"statusCode": 401, "message": "Unauthorized."}, Remedy.FIX_ACCOUNT, True),
        (500, {"error": {"code": "InternalServerError", "message": ""}}, Remedy.RETRY, False),
    ],
)
def test_an_error_is_understood(status: int, body: Json, remedy: Remedy, bad_key: bool) -> None:
    error = VENDOR.classify(error_response(status, body, retry_after="3"))

    assert (error.remedy, error.bad_key) == (remedy, bad_key)
    assert error.retry_after == (3.0 if remedy in (Remedy.WAIT, Remedy.RETRY) else None)
    assert str(error).startswith(f"azure {status}: ")


def test_a_response_that_failed_unpaid_is_an_error() -> None:
    body, _ = FAILED_UNPAID["broken down"]

    assert VENDOR.error_in_success(orjson.dumps(body)) is not None
