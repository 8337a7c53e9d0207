"""What OpenAI's endpoints share: keys, errors, headers about limits, and the list of models."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any

from quire.domain.data import JsonObject
from quire.domain.models import CacheMarking
from quire.rehearsal.rate_limits import BucketLevel
from quire.rehearsal.response_schemas import SCHEMA_NAME, inline_references, refuse_for_openai
from quire.rehearsal.vendor_apis.body_forms import BodyMistake, dotted_path
from quire.rehearsal.vendor_protocol import (
    AnswerFormat,
    ApiProblem,
    EndpointDefaults,
    ErrorResponse,
    IncomingRequest,
    KnownModel,
    ParsedCall,
    ProblemKind,
    bearer_token,
    invalid,
)

_STEP = 128  # tokens; a prefix that nobody marked is found in multiples of this

_INVALID = "invalid_request_error"
# Status, type, code.
_ERRORS: dict[ProblemKind, tuple[int, str, str | None]] = {
    ProblemKind.INVALID: (400, _INVALID, "invalid_value"),
    ProblemKind.UNKNOWN_FIELD: (400, _INVALID, "unknown_parameter"),
    ProblemKind.MISSING_FIELD: (400, _INVALID, "missing_required_parameter"),
    ProblemKind.MISTYPED_FIELD: (400, _INVALID, "invalid_type"),
    ProblemKind.UNSUPPORTED: (400, _INVALID, "unsupported_parameter"),
    ProblemKind.BAD_SCHEMA: (400, _INVALID, "invalid_json_schema"),
    ProblemKind.NOT_JSON: (400, _INVALID, None),
    ProblemKind.NO_KEY: (401, _INVALID, None),
    ProblemKind.BAD_KEY: (401, _INVALID, "invalid_api_key"),
    ProblemKind.SPENT: (429, "insufficient_quota", "insufficient_quota"),
    ProblemKind.NO_MODEL: (404, _INVALID, "model_not_found"),
    ProblemKind.NO_PATH: (404, _INVALID, None),
    ProblemKind.NO_THING: (404, _INVALID, None),
    ProblemKind.CONFLICT: (409, _INVALID, None),
    ProblemKind.TOO_LARGE: (413, _INVALID, None),
    ProblemKind.TOO_LONG: (400, _INVALID, "context_length_exceeded"),
    ProblemKind.RATE: (429, "requests", "rate_limit_exceeded"),
    ProblemKind.BROKEN: (500, "server_error", None),
    ProblemKind.OVERLOADED: (503, "server_error", "server_is_overloaded"),
}
_ERROR_MESSAGES = {
    ProblemKind.NO_KEY: "You didn't provide an API key. You need to provide your API key in an "
    "Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
    ProblemKind.BAD_KEY: "Incorrect API key provided.",
    ProblemKind.SPENT: "You exceeded your current quota, please check your plan and"
    " billing details.",
    ProblemKind.NOT_JSON: "We could not parse the JSON body of your request.",
    ProblemKind.TOO_LARGE: "The request body is too large.",
    ProblemKind.BROKEN: "The server had an error while processing your request. Sorry about that!",
    ProblemKind.OVERLOADED: "The server is currently overloaded with other requests. Sorry about"
    " that! You can retry your request, or contact us if the error persists.",
}


class OpenAIEndpoint(EndpointDefaults):
    """OpenAI's manners, shared by its endpoints and by those who copy them."""

    name = "openai"

    def __init__(self, *providers: str) -> None:
        """Answer for the models of these providers."""
        self.providers = providers

    def key(self, incoming: IncomingRequest) -> str:
        """The key that a request brought."""
        bearer = incoming.headers.get("authorization", "")[:7].lower() == "bearer "
        return bearer_token(incoming) if bearer else incoming.headers.get("api-key", "").strip()

    def error(self, problem: ApiProblem, number: int) -> ErrorResponse:
        """Say what is wrong."""
        status, kind, code = _ERRORS[problem.kind]
        message = _ERROR_MESSAGES.get(problem.kind, problem.message)
        if problem.kind is ProblemKind.NO_MODEL:
            message = f"The model `{problem.message}` does not exist or you do not have access."
        if problem.kind is ProblemKind.RATE and problem.of_tokens:
            kind = "tokens"
        error = {"message": message, "type": kind, "param": problem.place or None, "code": code}
        headers: dict[str, str] = {}
        if problem.retry_after is not None:
            headers["retry-after"] = str(max(1, ceil(problem.retry_after)))
            headers["retry-after-ms"] = f"{max(1, round(problem.retry_after * 1000))}"
        return ErrorResponse(status, {"error": error}, headers)

    def headers(self, number: int, levels: Mapping[str, BucketLevel], now: float) -> dict[str, str]:
        """The headers of every answer."""
        headers = {"x-request-id": f"req_{number:032x}", "openai-version": "2020-10-01"}
        tokens = "total" if "total" in levels else "input"
        for kind, name in (("requests", "requests"), (tokens, "tokens")):
            if kind in levels:
                level = levels[kind]
                headers[f"x-ratelimit-limit-{name}"] = str(level.limit)
                headers[f"x-ratelimit-remaining-{name}"] = str(level.left)
                headers[f"x-ratelimit-reset-{name}"] = duration(level.full_in)
        return headers

    def list_models(self, models: list[KnownModel]) -> JsonObject:
        """List models."""
        return {"object": "list", "data": [self.describe_model(model) for model in models]}

    def describe_model(self, model: KnownModel) -> JsonObject:
        """Describe one model."""
        owner = model.name.partition("/")[0]
        return {"id": model.id, "object": "model", "created": 1_780_000_000, "owned_by": owner}


def body_problem(mistake: BodyMistake) -> ApiProblem:
    """Say what is wrong with a body."""
    place = dotted_path(mistake.place)
    match mistake.kind:
        case ProblemKind.UNKNOWN_FIELD:
            message = f"Unknown parameter: '{place}'."
        case ProblemKind.MISSING_FIELD:
            message = f"Missing required parameter: '{place}'."
        case ProblemKind.MISTYPED_FIELD:
            message = (
                f"Invalid type for '{place}': expected {mistake.expected},"
                f" but got {mistake.detail} instead."
            )
        case _:
            message = f"Invalid '{place}': {mistake.detail}."
    return ApiProblem(mistake.kind, message, place=place)


def refuse_unsupported(call: ParsedCall, model: KnownModel, names: tuple[str, ...]) -> None:
    """Refuse what a reasoning model does not take."""
    for name in names if not model.sampling else ():
        if call.body.get(name) is not None:
            raise _unsupported_error(f"'{name}' is", name)


def _unsupported_error(what: str, place: str) -> ApiProblem:
    message = f"Unsupported parameter: {what} not supported with this model."
    return ApiProblem(ProblemKind.UNSUPPORTED, message, place=place)


def refuse_output(call: ParsedCall, model: KnownModel, name: str) -> None:
    """Refuse an output limit beyond what the model can write."""
    if call.max_tokens is not None and call.max_tokens > model.most_output:
        raise invalid(
            f"Invalid '{name}': {call.max_tokens} is too large. This model supports at most"
            f" {model.most_output} output tokens.",
            place=name,
        )


def with_cache(call: ParsedCall, model: KnownModel, options: object) -> ParsedCall:
    """Settle how the cache works for one call: by marks, by itself for nothing, or not at all."""
    cache_options = options if isinstance(options, dict) else {}
    marked = any(part.lifetime for part in call.parts)
    usual = CacheMarking.BREAKPOINT if marked or cache_options else CacheMarking.AUTOMATIC
    marking = model.marking or usual
    if marking is CacheMarking.NONE:
        return replace(call, caching=False)
    if marking is CacheMarking.AUTOMATIC:
        if marked or cache_options:
            raise _unsupported_error("explicit prompt caching is", "prompt_cache_options")
        return replace(call, free=True, step=_STEP)
    by_itself = cache_options.get("mode", "implicit") == "implicit"
    return replace(call, implicit=cache_options.get("ttl", "30m") if by_itself else "")


def cache_lifetime(part: object, options: object) -> str:
    """How long the prefix that ends with a content part is asked to live; "" where it is not."""
    fields = part if isinstance(part, dict) else {}
    if isinstance(fields.get("cache_control"), dict):  # as a router passes it on to others
        return str(fields["cache_control"].get("ttl", "5m"))
    mark = fields.get("prompt_cache_breakpoint")
    if not isinstance(mark, dict):
        return ""
    inherited = options.get("ttl", "30m") if isinstance(options, dict) else "30m"
    return str(mark.get("ttl", inherited))


def answer_format(schema: JsonObject | None, tools: Sequence[Any], choice: Any) -> AnswerFormat:
    """Settle what the answer is bound to; a tool that must be called comes first."""
    known = {tool["name"]: tool for tool in tools}
    for name, tool in known.items():
        if tool.get("strict") and tool.get("parameters"):
            refuse_for_openai(tool["parameters"], name, "tools")
    tool_named = isinstance(choice, dict)
    chosen = choice["name"] if tool_named else next(iter(known), "") if choice == "required" else ""
    if (tool_named or choice == "required") and chosen not in known:
        raise invalid(f"Tool choice '{chosen}' not found in 'tools'.", place="tool_choice")
    if chosen:
        form = known[chosen].get("parameters") or {}
        return AnswerFormat(inline_references(form), form, chosen, tool_named)
    return AnswerFormat(None if schema is None else inline_references(schema), schema)


def refuse_name(name: str, place: str) -> None:
    """Refuse a schema's name that OpenAI does not take."""
    if not SCHEMA_NAME.fullmatch(name):
        raise invalid(
            f"Invalid '{place}': string does not match pattern. Expected a string that matches the"
            " pattern '^[a-zA-Z0-9_-]+$' of at most 64 characters.",
            place=place,
        )


def refuse_unmentioned_json(call: ParsedCall, place: str) -> None:
    """Refuse to write JSON for a call that does not mention it."""
    if not any("json" in part.text.lower() for part in call.parts):
        raise invalid(
            f"The messages must contain the word 'json' in some form, to use '{place}' of type"
            " 'json_object'.",
            place=place,
        )


def duration(seconds: float) -> str:
    """Write a wait as OpenAI does: 6ms, 1s, 1m30s."""
    if seconds < 1:
        return f"{max(0, round(seconds * 1000))}ms"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
