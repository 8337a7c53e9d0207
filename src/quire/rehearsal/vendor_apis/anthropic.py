"""Anthropic's Messages API, as its server speaks it: keys, errors, limits, models, calls."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from math import ceil
from typing import Any

from quire.domain.data import Json, JsonObject
from quire.domain.models import CacheMarking, Usage
from quire.domain.requests import Stop
from quire.rehearsal.rate_limits import BucketLevel
from quire.rehearsal.response_schemas import inline_references, refuse_for_anthropic
from quire.rehearsal.vendor_apis.body_forms import (
    ANYTHING,
    FLAG,
    OBJECT,
    TEXT,
    WORD,
    BodyForm,
    BodyMistake,
    Form,
    any_of,
    choice,
    dotted_path,
    list_of,
    nullable,
    number_between,
    record,
)
from quire.rehearsal.vendor_apis.replies import list_page
from quire.rehearsal.vendor_protocol import (
    ApiProblem,
    CallPart,
    EndpointDefaults,
    ErrorResponse,
    IncomingRequest,
    KnownModel,
    ModelAnswer,
    ParsedCall,
    ProblemKind,
    bearer_token,
    invalid,
    sampling_of,
)

_CACHE = nullable(record("type", type=choice("ephemeral"), ttl=choice("5m", "1h")))
_TEXT_BLOCK = record(
    "type text",
    type=choice("text"),
    text=WORD,
    cache_control=_CACHE,
    citations=nullable({"type": "array", "maxItems": 0}),
)
_CONTENT = any_of(WORD, list_of(_TEXT_BLOCK, 1))
_MESSAGE = record("role content", role=choice("user", "assistant"), content=_CONTENT)
_DISPLAY: Form = {"enum": ["summarized", "omitted", None]}
_THINKING = any_of(
    record("type", type=choice("adaptive"), display=_DISPLAY),
    record(
        "type budget_tokens",
        type=choice("enabled"),
        budget_tokens={"type": "integer", "minimum": 1024},
        display=_DISPLAY,
    ),
    record("type", type=choice("disabled", "between_tools")),
)
_TOOL = record(
    "name input_schema",
    type={"enum": ["custom", None]},
    name={"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,128}$"},
    description=TEXT,
    input_schema={"type": "object", "properties": {"type": choice("object")}, "required": ["type"]},
    cache_control=_CACHE,
    strict=FLAG,
    input_examples=list_of(OBJECT),
    eager_input_streaming=nullable(FLAG),
)
_CHOICE = any_of(
    record("type", type=choice("auto", "any"), disable_parallel_tool_use=FLAG),
    record("type", type=choice("none")),
    record("type name", type=choice("tool"), name=WORD, disable_parallel_tool_use=FLAG),
)
_OUTPUT = record(
    effort={"enum": ["low", "medium", "high", "xhigh", "max", None]},
    format=nullable(record("type schema", type=choice("json_schema"), schema=OBJECT)),
)
_COUNTED_FIELDS: dict[str, Form] = {
    "model": WORD,
    "messages": {"type": "array", "items": _MESSAGE, "minItems": 1, "maxItems": 100_000},
    "system": any_of(TEXT, list_of(_TEXT_BLOCK)),
    "output_config": _OUTPUT,
    "thinking": _THINKING,
    "tools": list_of(_TOOL),
    "tool_choice": _CHOICE,
    "cache_control": _CACHE,
    "speed": {"enum": ["standard", "fast", None]},
}
_FIELDS: dict[str, Form] = {
    **_COUNTED_FIELDS,
    "max_tokens": {"type": "integer", "minimum": 0},
    "metadata": record(user_id=nullable(TEXT)),
    "service_tier": choice("auto", "standard_only"),
    "stop_sequences": list_of(WORD),
    "inference_geo": nullable(TEXT),
    "diagnostics": nullable(ANYTHING),
    "stream": {"enum": [False, None]},
}
MESSAGES = BodyForm(record("model messages max_tokens", **_FIELDS))
# The version before took what steers chance.
OLDER_MESSAGES = BodyForm(
    record(
        "model messages max_tokens",
        **_FIELDS,
        temperature=number_between(0, 1),
        top_p=number_between(0, 1),
        top_k=number_between(0, whole=True),
    )
)
COUNT_TOKENS = BodyForm(record("model messages", **_COUNTED_FIELDS))


CURRENT_VERSION, OLDER_VERSION = "2026-10-21", "2023-06-01"

_INVALID = "invalid_request_error"
_ERRORS: dict[ProblemKind, tuple[int, str]] = {
    ProblemKind.NO_KEY: (401, "authentication_error"),
    ProblemKind.BAD_KEY: (401, "authentication_error"),
    ProblemKind.SPENT: (429, "rate_limit_error"),
    ProblemKind.NO_MODEL: (404, "not_found_error"),
    ProblemKind.NO_PATH: (404, "not_found_error"),
    ProblemKind.NO_THING: (404, "not_found_error"),
    ProblemKind.TOO_LARGE: (413, "request_too_large"),
    ProblemKind.RATE: (429, "rate_limit_error"),
    ProblemKind.BROKEN: (500, "api_error"),
    ProblemKind.OVERLOADED: (529, "overloaded_error"),
}
_ERROR_MESSAGES = {
    ProblemKind.NO_KEY: "x-api-key or Authorization header is required",
    ProblemKind.BAD_KEY: "invalid x-api-key",
    ProblemKind.SPENT: "This request would exceed the spend limit that is enforced for"
    " your workspace.",
    ProblemKind.NOT_JSON: "The request body is not valid JSON",
    ProblemKind.TOO_LARGE: "Request exceeds the maximum size",
    ProblemKind.BROKEN: "Internal server error",
    ProblemKind.OVERLOADED: "Overloaded",
    ProblemKind.NO_PATH: "Not Found",
}
_TYPES = {
    "string": "a valid string",
    "integer": "a valid integer",
    "number": "a valid number",
    "boolean": "a valid boolean",
    "array": "a valid list",
    "object": "a valid dictionary",
}


class AnthropicEndpoint(EndpointDefaults):
    """Anthropic's manners."""

    name = "anthropic"
    providers: tuple[str, ...] = ("anthropic",)

    def key(self, incoming: IncomingRequest) -> str:
        """The key that a request brought; the older header wins."""
        return incoming.headers.get("x-api-key", "").strip() or bearer_token(incoming)

    def error(self, problem: ApiProblem, number: int) -> ErrorResponse:
        """Say what is wrong."""
        status, kind = _ERRORS.get(problem.kind, (400, _INVALID))
        message = _ERROR_MESSAGES.get(problem.kind, problem.message)
        if problem.kind is ProblemKind.NO_MODEL:
            message = f"model: {problem.message}"
        error: dict[str, Json] = {"type": kind, "message": message}
        headers: dict[str, str] = {}
        if problem.kind is ProblemKind.SPENT:
            error["details"] = {"error_code": "enforced_spend_limit_reached"}
            headers["x-should-retry"] = "false"
        if problem.retry_after is not None:
            headers["retry-after"] = str(max(1, ceil(problem.retry_after)))
        body: JsonObject = {"type": "error", "error": error, "request_id": _request_id(number)}
        return ErrorResponse(status, body, headers)

    def headers(self, number: int, levels: Mapping[str, BucketLevel], now: float) -> dict[str, str]:
        """The headers of every answer."""
        headers = {"request-id": _request_id(number)}
        for kind, level in levels.items():
            name = {"requests": "requests", "total": "tokens"}.get(kind, f"{kind}-tokens")
            left = level.left if kind == "requests" else level.left // 1000 * 1000
            reset = datetime.fromtimestamp(now + level.full_in, UTC)
            stem = f"anthropic-ratelimit-{name}"
            headers[f"{stem}-limit"] = str(level.limit)
            headers[f"{stem}-remaining"] = str(left)
            headers[f"{stem}-reset"] = reset.isoformat(timespec="seconds").replace("+00:00", "Z")
        return headers

    def list_models(self, models: list[KnownModel]) -> JsonObject:
        """List models."""
        return list_page([self.describe_model(model) for model in models], more=False)

    def describe_model(self, model: KnownModel) -> JsonObject:
        """Describe one model."""
        yes: JsonObject = {"supported": True}
        no: JsonObject = {"supported": False}
        efforts = dict.fromkeys(("low", "medium", "high", "xhigh", "max"), yes)
        return {
            "type": "model",
            "id": model.id,
            "display_name": model.id,
            "created_at": "2026-01-01T00:00:00Z",
            "lifecycle": "active",
            "deprecated_at": None,
            "retires_at": f"{model.retires}T00:00:00Z" if model.retires else None,
            "line": None,
            "max_input_tokens": model.most_input,
            "max_tokens": model.most_output,
            "capabilities": {
                "batch": yes,
                "citations": no,
                "code_execution": no,
                "context_management": no,
                "effort": {**efforts, **yes},
                "image_input": no,
                "pdf_input": no,
                "server_tools": {**no, "code_execution": no, "web_search": no},
                "structured_outputs": yes,
                "thinking": {**yes, "types": {"adaptive": yes, "enabled": no}},
            },
        }

    def rate_limited_tokens(self, usage: Usage) -> int:
        """What is read from the cache does not count against the limits."""
        return usage.input_total - usage.cached


def version_of(incoming: IncomingRequest) -> str:
    """The version of the API that a request speaks."""
    version = incoming.headers.get("anthropic-version", "")
    if not version:
        raise invalid("anthropic-version: header is required")
    if version not in (CURRENT_VERSION, OLDER_VERSION):
        raise invalid(f'anthropic-version: "{version[:40]}" is not a valid version')
    return version


def body_problem(mistake: BodyMistake) -> ApiProblem:
    """Say what is wrong with a body."""
    place = dotted_path(mistake.place, brackets=False)
    match mistake.kind:
        case ProblemKind.UNKNOWN_FIELD:
            message = "Extra inputs are not permitted"
        case ProblemKind.MISSING_FIELD:
            message = "Field required"
        case ProblemKind.MISTYPED_FIELD:
            first = mistake.expected.partition(",")[0]
            message = f"Input should be {_TYPES.get(first, first)}"
        case _:
            message = mistake.detail
    return ApiProblem(mistake.kind, f"{place}: {message}" if place else message, place=place)


def _request_id(number: int) -> str:
    return f"req_{number:024x}"


_MOST_BREAKPOINTS = 4
_STOPS = {Stop.END: "end_turn", Stop.LENGTH: "max_tokens", Stop.REFUSAL: "refusal"}


class MessagesEndpoint(AnthropicEndpoint):
    """POST /v1/messages."""

    endpoint_name = "messages"

    def read(self, body: Json, incoming: IncomingRequest) -> ParsedCall:
        """Understand a call."""
        form = OLDER_MESSAGES if version_of(incoming) == OLDER_VERSION else MESSAGES
        call = form.check(body, body_problem)
        _refuse_contradictions(call)
        return _parse_call(call)

    def read_for_counting(self, body: Json, incoming: IncomingRequest) -> ParsedCall:
        """Understand a call that is only to be counted."""
        version_of(incoming)
        return _parse_call(COUNT_TOKENS.check(body, body_problem))

    def check(self, call: ParsedCall, model: KnownModel) -> ParsedCall:
        """Refuse what this model does not take."""
        if call.tool and not model.can_force_tools:
            raise invalid("tool_choice forces tool use is not compatible with this model.")
        for name in ("temperature", "top_p", "top_k") if not model.sampling else ():
            if call.body.get(name) is not None:
                raise invalid(f"{name}: is not supported by this model")
        if call.max_tokens is not None and call.max_tokens > model.most_output:
            raise invalid(
                f"max_tokens: {call.max_tokens} > {model.most_output}, which is the maximum"
                f" allowed number of output tokens for {call.model}"
            )
        if model.marking in (CacheMarking.NONE, CacheMarking.AUTOMATIC):
            return replace(call, caching=False)
        return call

    def write(self, answer: ModelAnswer) -> tuple[JsonObject, Usage]:
        """Write an answer."""
        usage, refused = answer.usage, answer.stop is Stop.REFUSAL
        called = bool(answer.call.tool) and answer.stop is Stop.END
        details = {"type": "refusal", "category": None, "explanation": None}
        written: JsonObject = {
            "id": answer.id("msg_", 24),
            "type": "message",
            "role": "assistant",
            "model": answer.call.model,
            "content": list(_content(answer)),
            "stop_reason": "tool_use" if called else _STOPS[answer.stop],
            "stop_sequence": None,
            "stop_details": details if refused else None,
            "usage": {
                "input_tokens": usage.input,
                "cache_creation_input_tokens": usage.written_short + usage.written_long,
                "cache_read_input_tokens": usage.cached,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": usage.written_short,
                    "ephemeral_1h_input_tokens": usage.written_long,
                },
                "output_tokens": usage.output,
                "output_tokens_details": {"thinking_tokens": usage.reasoning},
                "service_tier": "standard",
            },
        }
        return written, usage


def _content(answer: ModelAnswer) -> Iterator[JsonObject]:
    if answer.usage.reasoning:
        yield {"type": "thinking", "thinking": "", "signature": answer.id("sig", 24)}
    if answer.call.tool and answer.stop is not Stop.REFUSAL and answer.text:
        yield {
            "type": "tool_use",
            "id": answer.id("toolu_", 24),
            "name": answer.call.tool,
            "input": answer.arguments,
        }
    elif answer.text:  # an empty text block is never sent
        yield {"type": "text", "text": answer.text, "citations": None}


def _parse_call(body: Any) -> ParsedCall:
    form, tool = _answer_format(body)
    top = body.get("cache_control")
    parts = tuple(_parts(body))
    marks = sum(bool(part.lifetime) for part in parts) + bool(top)
    if marks > _MOST_BREAKPOINTS:
        raise invalid(
            f"A maximum of {_MOST_BREAKPOINTS} blocks with cache_control may be provided."
            f" Found {marks}."
        )
    most = body.get("max_tokens")
    return ParsedCall(
        model=body["model"],
        parts=parts,
        body=body,
        schema=None if form is None else inline_references(form),
        form=form,
        max_tokens=most,
        sampling=sampling_of(body),
        tool=tool,
        tool_named=bool(tool),
        prewarm=most == 0,
        implicit=top.get("ttl", "5m") if top else "",
    )


def _parts(body: Any) -> Iterator[CallPart]:
    texts: list[tuple[str, Any]] = [("system", body.get("system") or [])]
    texts += [(message["role"], message["content"]) for message in body["messages"]]
    for role, content in texts:
        blocks: list[Any] = [{"text": content}] if isinstance(content, str) else content
        for block in blocks:
            mark = block.get("cache_control")
            lifetime = mark.get("ttl", "5m") if mark else ""
            yield CallPart(block["text"], role == "system", lifetime, role == "assistant")


def _answer_format(body: Any) -> tuple[JsonObject | None, str]:
    """The schema of the answer, and the tool whose argument it is."""
    tools = {tool["name"]: tool["input_schema"] for tool in body.get("tools", ())}
    for ordinal, tool in enumerate(body.get("tools", ())):
        if tool.get("strict"):
            refuse_for_anthropic(tool["input_schema"], f"tools.{ordinal}.custom.input_schema")
    choice = body.get("tool_choice") or {}
    form = (body.get("output_config") or {}).get("format")
    if form:
        refuse_for_anthropic(form["schema"], "output_config.format.schema")
    if choice.get("type") in ("tool", "any"):
        name = choice.get("name") or next(iter(tools), "")
        if name not in tools:
            raise invalid(f"tool_choice: Tool '{name}' not found in provided tools")
        return tools[name], name
    return (form["schema"] if form else None), ""


def _refuse_contradictions(body: Any) -> None:
    if body["messages"][-1]["role"] == "assistant":
        raise invalid(
            "This model does not support assistant message prefill. The conversation must end with"
            " a user message."
        )
    thinking = body.get("thinking") or {}
    if thinking.get("budget_tokens", 0) >= max(1, body["max_tokens"]):
        raise invalid("`max_tokens` must be greater than `thinking.budget_tokens`.")
    bound = (body.get("output_config") or {}).get("format")
    if body["max_tokens"] == 0 and (bound or body.get("tool_choice")):
        raise invalid("max_tokens: 0 cannot be combined with structured outputs or tool_choice")
