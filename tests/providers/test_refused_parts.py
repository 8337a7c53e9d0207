"""Which part of every call a server refuses, told by its codes, its paths or its words."""

from typing import Any

import orjson
import pytest

from quire.domain.errors import CallFault, Remedy
from quire.domain.fallbacks import PartRefusal, RefusedPart
from quire.providers.anthropic import Anthropic
from quire.providers.compatible import Compatible
from quire.providers.gemini import Gemini
from quire.providers.openai import OpenAI
from quire.providers.protocol import HttpResponse, WireFormat

PART = RefusedPart
OTHERS = Compatible("compatible")


def openai_error(message: str, param: str | None = None, code: str | None = None) -> Any:
    """An error as OpenAI writes it."""
    kind = "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def vllm_error(message: str) -> Any:
    """An error as vLLM writes it."""
    return {"object": "error", "message": message, "type": "BadRequestError", "code": 400}


def llamacpp_error(message: str) -> Any:
    """An error as llama.cpp writes it."""
    return {"error": {"code": 400, "message": message, "type": "invalid_request_error"}}


def fastapi_error(message: str, *path: str | int) -> Any:
    """What a server that checks calls by a form says."""
    return {"detail": [{"type": "wrong", "loc": ["body", *path], "msg": message}]}


SAID: dict[str, tuple[Any, RefusedPart]] = {
    "openai type": (
        openai_error(
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this"
            " model. Learn more about supported models.",
            "response_format",
        ),
        PART.FORMAT_TYPE,
    ),
    "openai value": (
        openai_error(
            "Unsupported value: 'response_format' does not support 'json_schema' with this model.",
            "response_format",
            "unsupported_value",
        ),
        PART.FORMAT_TYPE,
    ),
    "openai unknown": (
        openai_error("Unrecognized request argument supplied: response_format"),
        PART.FORMAT,
    ),
    "openai json": (
        openai_error(
            "'messages' must contain the word 'json' in some form, to use 'response_format' of"
            " type 'json_object'.",
            "messages",
        ),
        PART.FORMAT_TYPE,
    ),
    "openai max_tokens": (
        openai_error(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
            " 'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        ),
        PART.MAX_TOKENS,
    ),
    "openai max_completion_tokens": (
        openai_error("Unrecognized request argument supplied: max_completion_tokens"),
        PART.MAX_COMPLETION_TOKENS,
    ),
    "words max_tokens": (
        {"error": "Use `max_completion_tokens` instead of `max_tokens`, which is not supported"},
        PART.MAX_TOKENS,
    ),
    "openai system": (
        openai_error(
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            "messages[0].role",
            "unsupported_value",
        ),
        PART.SYSTEM_ROLE,
    ),
    "openai developer": (
        openai_error(
            "Unsupported value: 'messages[0].role' does not support 'developer' with this model.",
            "messages[0].role",
            "unsupported_value",
        ),
        PART.DEVELOPER_ROLE,
    ),
    "old developer": (
        openai_error(
            "'developer' is not one of ['system', 'assistant', 'user', 'function'] -"
            " 'messages.0.role'"
        ),
        PART.DEVELOPER_ROLE,
    ),
    "openai temperature": (
        openai_error(
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default"
            " (1) value is supported.",
            "temperature",
            "unsupported_value",
        ),
        PART.TEMPERATURE,
    ),
    "seed": (vllm_error("Unsupported parameter: `seed` is not supported."), PART.SEED),
    "vllm type": (
        vllm_error(
            "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'response_format',"
            " 'type'), 'msg': \"Input should be 'text' or 'json_object'\", 'input': 'json_schema'}"
        ),
        PART.FORMAT_TYPE,
    ),
    "vllm grammar": (
        vllm_error("The provided JSON schema contains features not supported by xgrammar."),
        PART.FORMAT_TYPE,
    ),
    "vllm template": (vllm_error("System role not supported"), PART.SYSTEM_ROLE),
    "vllm alternate": (
        vllm_error("Conversation roles must alternate user/assistant/user/assistant/..."),
        PART.SYSTEM_ROLE,
    ),
    "gateway system": (vllm_error("role 'system' unsupported, use user"), PART.SYSTEM_ROLE),
    "gateway unknown": (vllm_error("Role: system is unknown."), PART.SYSTEM_ROLE),
    "mistral role": (vllm_error("Only user and assistant roles are supported!"), PART.SYSTEM_ROLE),
    "tgi template": (
        {
            "error": "Template error: invalid operation: System role not supported (in <string>:1)",
            "error_type": "template_error",
        },
        PART.SYSTEM_ROLE,
    ),
    "lmstudio template": (
        {"error": 'Error rendering prompt with jinja template: "System role not supported".'},
        PART.SYSTEM_ROLE,
    ),
    "lmstudio type": (
        {"error": "'response_format.type' must be 'json_schema' or 'text'"},
        PART.FORMAT_TYPE,
    ),
    "llamacpp type": (
        llamacpp_error(
            'response_format type must be one of "text" or "json_object", but got: json_schema'
        ),
        PART.FORMAT_TYPE,
    ),
    "llamacpp grammar": (
        llamacpp_error("Failed to initialize samplers: failed to parse grammar"),
        PART.FORMAT_TYPE,
    ),
    "llamacpp schema": (
        llamacpp_error("JSON schema conversion failed:\nUnrecognized schema: true"),
        PART.FORMAT_TYPE,
    ),
    "llamacpp tools": (llamacpp_error("tools param requires --jinja flag"), PART.TOOLS),
    "ollama tools": (
        openai_error("registry.ollama.ai/library/gemma:2b does not support tools"),
        PART.TOOLS,
    ),
    "ollama form": (
        openai_error(
            "json: cannot unmarshal object into Go struct field"
            " ChatCompletionRequest.response_format of type string"
        ),
        PART.FORMAT,
    ),
    "ollama schema": (
        openai_error('invalid format: "x"; expected "json" or a valid JSON Schema object'),
        PART.FORMAT_TYPE,
    ),
    "together": (
        openai_error("json_schema response format is not supported for this model"),
        PART.FORMAT_TYPE,
    ),
    "groq": (
        openai_error(
            "This model does not support response format `json_schema`. See supported models at"
            " https://console.groq.example/docs",
            "response_format",
        ),
        PART.FORMAT_TYPE,
    ),
    "deepseek": (openai_error("This response_format type is unavailable now"), PART.FORMAT_TYPE),
    "litellm": (
        openai_error(
            "litellm.UnsupportedParamsError: ollama does not support parameters:"
            " ['response_format'], for model=x. To drop these, set `litellm.drop_params=True`"
        ),
        PART.FORMAT,
    ),
    "mistral": (
        {
            "object": "error",
            "message": {
                "detail": [
                    {
                        "type": "literal_error",
                        "loc": ["body", "response_format", "type"],
                        "msg": "Input should be 'text' or 'json_object'",
                    }
                ]
            },
        },
        PART.FORMAT_TYPE,
    ),
    "a router": (
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {
                    "raw": '{"error":{"message":"response_format is not supported by this model"}}'
                },
            }
        },
        PART.FORMAT,
    ),
    "fastapi extra": (
        fastapi_error("Extra inputs are not permitted", "response_format"),
        PART.FORMAT,
    ),
    "fastapi type": (
        fastapi_error("Input should be 'text' or 'json_object'", "response_format", "type"),
        PART.FORMAT_TYPE,
    ),
    "fastapi developer": (
        fastapi_error("Input should be 'system', 'user' or 'assistant'", "messages", 0, "role"),
        PART.DEVELOPER_ROLE,
    ),
    "fastapi system": (
        fastapi_error("Input should be 'user' or 'assistant'", "messages", 0, "role"),
        PART.SYSTEM_ROLE,
    ),
    "fastapi max_completion_tokens": (
        fastapi_error("Extra inputs are not permitted", "max_completion_tokens"),
        PART.MAX_COMPLETION_TOKENS,
    ),
    "fastapi seed": (fastapi_error("Extra inputs are not permitted", "seed"), PART.SEED),
    "stream param": (fastapi_error("Input should be True", "stream"), PART.STREAM),
}
SAID |= {
    said: (openai_error(said), PART.STREAM)
    for said in (
        "only stream=true is supported",
        "Non-streaming requests are not supported.",
        "This model only support stream mode, please enable the stream parameter to access it.",
        "<400> X.InvalidParameter: enable_thinking must be set to false for non-streaming calls",
    )
}


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("name", SAID)
def test_a_part_that_is_refused_is_known_whoever_says_so(name: str, status: int) -> None:
    body, part = SAID[name]

    for vendor in (OTHERS, OpenAI()):
        error = vendor.classify(HttpResponse(status, {}, orjson.dumps(body)))

        assert (error.refusal, error.fault, error.remedy) == (
            PartRefusal(part),
            CallFault.FORM,
            Remedy.FIX_ACCOUNT,
        )
        assert "change the run" not in str(error)


LIMITS: dict[str, tuple[str, int]] = {
    "groq": (
        "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is"
        " less than the `context_window` for this model",
        8192,
    ),
    "openai": (
        "max_tokens is too large: 64000. This model supports at most 16384 completion tokens,"
        " whereas you provided 64000.",
        16384,
    ),
    "deepseek": ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
    "together": ("`max_tokens` must be <= 8,192", 8192),
    "cannot": ("max_completion_tokens cannot exceed 4096", 4096),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_that_is_said_readably_is_read(name: str) -> None:
    said, most = LIMITS[name]

    error = OTHERS.classify(HttpResponse(400, {}, orjson.dumps(openai_error(said))))

    assert error.refusal == PartRefusal(PART.OUTPUT_LIMIT, most)


@pytest.mark.parametrize(
    ("vendor", "body", "part", "most"),
    [
        (
            Anthropic(),
            {
                "type": "error",
                "error": {
                    "type": "invalid_request_error",
                    "message": "max_tokens: 64000 > 8192, which is the maximum allowed number of"
                    " output tokens for claude-3-5-haiku",
                },
            },
            PART.OUTPUT_LIMIT,
            8192,
        ),
        (
            Anthropic(),
            {
                "type": "error",
                "error": {
                    "type": "invalid_request_error",
                    "message": "output_config.format: Extra inputs are not permitted",
                },
            },
            PART.FORMAT,
            0,
        ),
        (
            Gemini(),
            {
                "error": {
                    "code": 400,
                    "message": "Developer instruction is not enabled for models/gemma-3-27b-it",
                    "status": "INVALID_ARGUMENT",
                }
            },
            PART.SYSTEM_ROLE,
            0,
        ),
        (
            Gemini(),
            {
                "error": {
                    "code": 400,
                    "message": "JSON mode is not enabled for models/gemma-3-27b-it",
                    "status": "INVALID_ARGUMENT",
                }
            },
            PART.FORMAT,
            0,
        ),
        (
            Gemini(),
            {
                "error": {
                    "code": 400,
                    "message": "Unable to submit request because it has a maxOutputTokens value of"
                    " 100000 but the supported range is from 1 (inclusive) to 8193 (exclusive).",
                    "status": "INVALID_ARGUMENT",
                }
            },
            PART.OUTPUT_LIMIT,
            8192,
        ),
    ],
)
def test_vendors_with_formats_of_their_own_are_read_alike(
    vendor: WireFormat, body: Any, part: RefusedPart, most: int
) -> None:
    error = vendor.classify(HttpResponse(400, {}, orjson.dumps(body)))

    assert (error.refusal, error.fault) == (PartRefusal(part, most), CallFault.FORM)


UNKNOWN_MODELS = [
    openai_error("The model `x` does not exist or you do not have access to it."),
    openai_error("model 'x' not found"),
    vllm_error("The model `x` does not exist."),
    {"error": 'model "x" not found, try pulling it first'},
    {"error": "No models loaded. Please load a model in the developer page."},
    openai_error("Model Not Exist"),
    openai_error("x/y is not a valid model ID"),
    openai_error("Invalid model: x"),
    openai_error("litellm.BadRequestError: Invalid model name passed in model=x."),
    {"detail": "Model not found: x"},
]


@pytest.mark.parametrize("body", UNKNOWN_MODELS)
@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_model_that_nobody_knows_there_is_known_by_its_words(body: Any, status: int) -> None:
    error = OTHERS.classify(HttpResponse(status, {}, orjson.dumps(body)))

    assert (error.fault, error.refusal) == (CallFault.MODEL, None)


def test_a_template_that_fails_with_a_500_is_a_refused_role() -> None:
    body = orjson.dumps({"error": {"code": 500, "message": "System role not supported"}})

    assert OTHERS.classify(HttpResponse(500, {}, body)).refusal == PartRefusal(PART.SYSTEM_ROLE)


@pytest.mark.parametrize(
    "said",
    [
        "Invalid request: could not process text 'The model does not exist in the warehouse'",
        "messages[0].content: 'the system role is not supported by a beam' is not allowed",
        "Invalid 'messages[1].content': string too short, must be at least 1 character",
        "This request was refused by our content policy",
        "Invalid value: 'the seed must be sown in May'",
        "max_tokens is invalid",
        "Invalid text: 'this river only supports streaming'",
        "After the optional system message, conversation roles must alternate user/assistant",
    ],
)
def test_what_is_about_a_block_or_unclear_blames_no_part(said: str) -> None:
    error = OTHERS.classify(HttpResponse(400, {}, orjson.dumps(openai_error(said))))

    assert (error.refusal, error.fault) == (None, None)


def test_a_window_that_is_too_small_for_both_is_no_limit_of_answers() -> None:
    said = (
        "'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context"
        " length is 8192 tokens and your request has 500 input tokens (64000 > 8192 - 500)."
    )

    error = OTHERS.classify(HttpResponse(400, {}, orjson.dumps(vllm_error(said))))

    assert (error.refusal, error.remedy) == (None, Remedy.SPLIT)


def test_a_schema_that_is_refused_by_its_code_holds_without_a_weaker_way_for_all() -> None:
    body = openai_error(
        "Invalid schema for response_format 'answer': In context=(), …",
        "response_format",
        "invalid_json_schema",
    )

    error = OpenAI().classify(HttpResponse(400, {}, orjson.dumps(body)))

    assert (error.refusal, error.fault) == (None, CallFault.FORM)
