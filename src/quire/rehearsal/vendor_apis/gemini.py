"""Gemini's API, as Google's servers speak it: keys, errors, models, generateContent."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil
from typing import Any

from quire.domain.data import Json, JsonObject
from quire.domain.models import CacheMarking, Usage
from quire.domain.requests import Stop
from quire.rehearsal.rate_limits import BucketLevel
from quire.rehearsal.response_schemas import camel_case, convert_openapi, inline_references
from quire.rehearsal.vendor_apis.body_forms import (
    ANYTHING,
    FLAG,
    OBJECT,
    TEXT,
    WHOLE,
    BodyForm,
    BodyMistake,
    Form,
    choice,
    dotted_path,
    list_of,
    number_between,
    record,
)
from quire.rehearsal.vendor_protocol import (
    AnswerFormat,
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

_RPC = "type.googleapis.com/google.rpc."

_ERRORS: dict[ProblemKind, tuple[int, str]] = {
    ProblemKind.NO_KEY: (403, "PERMISSION_DENIED"),
    ProblemKind.SPENT: (429, "RESOURCE_EXHAUSTED"),
    ProblemKind.NO_MODEL: (404, "NOT_FOUND"),
    ProblemKind.NO_PATH: (404, "NOT_FOUND"),
    ProblemKind.NO_THING: (404, "NOT_FOUND"),
    ProblemKind.RATE: (429, "RESOURCE_EXHAUSTED"),
    ProblemKind.BROKEN: (500, "INTERNAL"),
    ProblemKind.OVERLOADED: (503, "UNAVAILABLE"),
}
_ERROR_MESSAGES = {
    ProblemKind.NO_KEY: "Method doesn't allow unregistered callers (callers without established"
    " identity). Please use API Key or other form of API consumer identity to call this API.",
    ProblemKind.BAD_KEY: "API key not valid. Please pass a valid API key.",
    ProblemKind.SPENT: "You exceeded your current quota, please check your plan and"
    " billing details.",
    ProblemKind.NOT_JSON: "Invalid JSON payload received. Unexpected token.",
    ProblemKind.TOO_LARGE: "Request payload size exceeds the limit: 20971520 bytes.",
    ProblemKind.BROKEN: "An internal error has occurred. Please retry.",
    ProblemKind.OVERLOADED: "The model is overloaded. Please try again later.",
    ProblemKind.NO_PATH: "The requested URL was not found on this server.",
}


class GeminiEndpoint(EndpointDefaults):
    """Google's manners; Vertex differs in its keys."""

    name = "gemini"
    least_prefix = 4_096

    def __init__(self, *providers: str, vertex: bool = False) -> None:
        """Answer for the models of these providers."""
        self.providers = providers
        self.vertex = vertex

    def key(self, incoming: IncomingRequest) -> str:
        """The key that a request brought."""
        token = bearer_token(incoming)
        key = incoming.headers.get("x-goog-api-key") or incoming.query.get("key") or ""
        return token or key.strip() if self.vertex else key.strip() or token

    def error(self, problem: ApiProblem, number: int) -> ErrorResponse:
        """Say what is wrong."""
        status, name = _ERRORS.get(problem.kind, (400, "INVALID_ARGUMENT"))
        if self.vertex and problem.kind in (ProblemKind.NO_KEY, ProblemKind.BAD_KEY):
            status, name = 401, "UNAUTHENTICATED"
        message = _ERROR_MESSAGES.get(problem.kind, problem.message)
        if problem.kind is ProblemKind.NO_MODEL:
            message = f"models/{problem.message} is not found for API version v1."
        error: dict[str, Json] = {"code": status, "message": message, "status": name}
        details = list(_details(problem))
        if details:
            error["details"] = details
        return ErrorResponse(status, {"error": error})

    def headers(self, number: int, levels: Mapping[str, BucketLevel], now: float) -> dict[str, str]:
        """The headers of every answer; Google says nothing of its limits."""
        return {"server-timing": "gfet4t7; dur=1", "x-rehearsal-request": str(number)}

    def list_models(self, models: list[KnownModel]) -> JsonObject:
        """List models."""
        return {"models": [self.describe_model(model) for model in models]}

    def describe_model(self, model: KnownModel) -> JsonObject:
        """Describe one model."""
        return {
            "name": f"models/{model.id}",
            "displayName": model.id,
            "inputTokenLimit": model.most_input,
            "outputTokenLimit": model.most_output,
            "supportedGenerationMethods": ["generateContent"],
        }


def body_problem(mistake: BodyMistake) -> ApiProblem:
    """Say what is wrong with a body."""
    place = dotted_path(mistake.place)
    name, parent = mistake.place[-1:], dotted_path(mistake.place[:-1])
    match mistake.kind:
        case ProblemKind.UNKNOWN_FIELD:
            where = f'"{name[0]}" at "{parent}"' if parent else f'"{name[0]}"'
            message = f"Invalid JSON payload received. Unknown name {where}: Cannot find field."
        case ProblemKind.MISSING_FIELD:
            message = f"* GenerateContentRequest.{place}: {place} is not specified"
        case ProblemKind.MISTYPED_FIELD:
            message = f"Invalid value at '{place}' (expected {mistake.expected}), {mistake.detail}"
        case _:
            message = f"Invalid value at '{place}': {mistake.detail}"
    return ApiProblem(mistake.kind, message, place=place)


def _details(problem: ApiProblem) -> list[JsonObject]:
    match problem.kind:
        case ProblemKind.BAD_KEY:
            info: JsonObject = {"reason": "API_KEY_INVALID", "domain": "googleapis.com"}
            return [{"@type": f"{_RPC}ErrorInfo", **info}]
        case ProblemKind.SPENT:
            return [_quota("GenerateRequestsPerDayPerProjectPerModel")]
        case ProblemKind.RATE:
            quota = _quota("GenerateRequestsPerMinutePerProjectPerModel")
            if problem.retry_after is None:
                return [quota]
            wait: JsonObject = {"retryDelay": f"{max(1, ceil(problem.retry_after))}s"}
            return [quota, {"@type": f"{_RPC}RetryInfo", **wait}]
        case ProblemKind.UNKNOWN_FIELD | ProblemKind.MISTYPED_FIELD | ProblemKind.MISSING_FIELD:
            violation = {"field": problem.place, "description": problem.message}
            return [{"@type": f"{_RPC}BadRequest", "fieldViolations": [violation]}]
        case _:
            return []


def _quota(name: str) -> JsonObject:
    metric = "generativelanguage.googleapis.com/generate_content_requests"
    violation: JsonObject = {"quotaMetric": metric, "quotaId": name}
    return {"@type": f"{_RPC}QuotaFailure", "violations": [violation]}


# What is the user's own, names included.
_OPAQUE = ("responseSchema", "responseJsonSchema", "parameters", "parametersJsonSchema", "labels")
_LEVELS = ("minimal", "low", "medium", "high")
_PART = record("text", text=TEXT, thought=FLAG, thoughtSignature=TEXT)
_CONTENT = record("parts", role=choice("user", "model", "system"), parts=list_of(_PART, 1))
_THINKING = record(
    thinkingLevel=choice(*_LEVELS, *map(str.upper, _LEVELS)),
    thinkingBudget=WHOLE,
    includeThoughts=FLAG,
)
_CONFIG: dict[str, Form] = {
    "maxOutputTokens": number_between(1, whole=True),
    "responseMimeType": choice("text/plain", "application/json", "text/x.enum"),
    "responseJsonSchema": OBJECT,
    "responseSchema": OBJECT,
    "responseModalities": list_of(TEXT),
    "temperature": number_between(0, 2),
    "topP": number_between(0, 1),
    "topK": number_between(1),
    "seed": WHOLE,
    "candidateCount": {"enum": [1]},
    "stopSequences": list_of(TEXT),
    "presencePenalty": number_between(-2, 2),
    "frequencyPenalty": number_between(-2, 2),
    "thinkingConfig": _THINKING,
    "mediaResolution": TEXT,
}
_FUNCTION = record(
    "name",
    name=TEXT,
    description=TEXT,
    parameters=OBJECT,
    parametersJsonSchema=OBJECT,
    behavior=TEXT,
)
_CALLING = record(
    mode=choice("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"),
    allowedFunctionNames=list_of(TEXT),
)
_BODY = BodyForm(
    record(
        "contents",
        contents=list_of(_CONTENT, 1),
        systemInstruction=_CONTENT,
        generationConfig=record(**_CONFIG),
        safetySettings=list_of(OBJECT),
        tools=list_of(record(functionDeclarations=list_of(_FUNCTION))),
        toolConfig=record(functionCallingConfig=_CALLING),
        labels={"type": "object", "additionalProperties": TEXT},
        serviceTier=ANYTHING,
        store=FLAG,
        model=TEXT,
    )
)


class GenerateEndpoint(GeminiEndpoint):
    """POST …/models/{model}:generateContent."""

    endpoint_name = "generate"

    def read(self, body: Json, incoming: IncomingRequest) -> ParsedCall:
        """Understand a call."""
        mistake = _BODY.mistake(body)
        if mistake and mistake.place:  # one without a place is too deep to be renamed
            body = _camel_names(body)
        call = _BODY.check(body, body_problem)
        config = call.get("generationConfig", {})
        return ParsedCall(
            model=incoming.path_params["model"],
            parts=tuple(_parts(call)),
            body=call,
            max_tokens=config.get("maxOutputTokens"),
            sampling=sampling_of(config),
            **_answer_format(call, config)._asdict(),
        )

    def check(self, call: ParsedCall, model: KnownModel) -> ParsedCall:
        """Refuse what this model does not take."""
        if call.max_tokens is not None and call.max_tokens > model.most_output:
            raise invalid(
                f"Unable to submit request because it has a maxOutputTokens value of"
                f" {call.max_tokens} but the supported range is from 1 (inclusive) to"
                f" {model.most_output + 1} (exclusive). Update the value and try again."
            )
        marking = model.marking or CacheMarking.AUTOMATIC
        return replace(call, free=True, caching=marking is not CacheMarking.NONE)

    def write(self, answer: ModelAnswer) -> tuple[JsonObject, Usage]:
        """Write an answer; a blocked prompt has no candidate, and no output to pay for."""
        usage = answer.usage
        written: dict[str, Json] = {}
        if answer.stop is Stop.REFUSAL:
            usage = usage._replace(output=0, reasoning=0)
            # Google blocks in two ways; the server takes turns, so that both are met.
            if answer.number % 2:
                written["promptFeedback"] = {"blockReason": "PROHIBITED_CONTENT"}
            else:
                written["candidates"] = [{"index": 0, "finishReason": "SAFETY"}]
        else:
            written["candidates"] = [
                {
                    "content": {"role": "model", **_answer_parts(answer)},
                    "finishReason": "MAX_TOKENS" if answer.stop is Stop.LENGTH else "STOP",
                    "index": 0,
                }
            ]
        written["usageMetadata"] = _metadata(usage, vertex=self.vertex)
        written["modelVersion"] = answer.call.model
        written["responseId"] = answer.id("", 20)
        return written, usage


def _camel_names(value: Json, opaque: bool = False) -> Json:
    """Write every name in the one way; Google's own client mixes both."""
    if opaque or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        return [_camel_names(item) for item in value]
    named = {camel_case(name): inner for name, inner in value.items()}
    return {name: _camel_names(inner, name in _OPAQUE) for name, inner in named.items()}


def _metadata(usage: Usage, *, vertex: bool) -> dict[str, Json]:
    prompt = usage.input_total
    metadata: dict[str, Json] = {
        "promptTokenCount": prompt,
        "totalTokenCount": prompt + usage.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}],
    }
    optional: dict[str, Json] = {
        "candidatesTokenCount": usage.output - usage.reasoning,
        "cachedContentTokenCount": usage.cached,
        "thoughtsTokenCount": usage.reasoning,
        "trafficType": "ON_DEMAND" if vertex else "",
    }
    # As in every message of Google's, what is zero is left out.
    return metadata | {name: value for name, value in optional.items() if value}


def _answer_parts(answer: ModelAnswer) -> dict[str, Json]:
    if answer.call.tool and answer.text:
        return {"parts": [{"functionCall": {"name": answer.call.tool, "args": answer.arguments}}]}
    return {"parts": [{"text": answer.text}]} if answer.text else {}


def _parts(body: Any) -> Iterator[CallPart]:
    for part in body.get("systemInstruction", {}).get("parts", ()):
        yield CallPart(part["text"], system=True)
    for content in body["contents"]:
        for part in content["parts"]:
            yield CallPart(part["text"], system=False, assistant=content.get("role") == "model")


def _answer_format(body: Any, config: Any) -> AnswerFormat:
    """The schema of the answer, and the function whose argument it is."""
    given = [name for name in ("responseJsonSchema", "responseSchema") if name in config]
    thinking = config.get("thinkingConfig", {})
    if len(given) > 1:
        raise invalid("Only one of response_schema and response_json_schema may be set.")
    if "thinkingLevel" in thinking and "thinkingBudget" in thinking:
        raise invalid("You can only set only one of thinking budget and thinking level.")
    if given and config.get("responseMimeType") != "application/json":
        raise invalid("Response schema requires the response mime type application/json.")
    calling = body.get("toolConfig", {}).get("functionCallingConfig", {})
    functions = {
        item["name"]: item
        for tool in body.get("tools", ())
        for item in tool.get("functionDeclarations", ())
    }
    if calling.get("mode") == "ANY":
        name = next(iter(calling.get("allowedFunctionNames") or functions), "")
        if name not in functions:
            raise invalid(f"Function {name!r} is not declared.")
        function = functions[name]
        if "parametersJsonSchema" in function:
            form = function["parametersJsonSchema"]
            return AnswerFormat(inline_references(form), form, name)
        form = function.get("parameters", {})
        return AnswerFormat(convert_openapi(form), form, name)
    if not given:
        return AnswerFormat()
    form = config[given[0]]
    read = inline_references if given[0] == "responseJsonSchema" else convert_openapi
    return AnswerFormat(read(form), form)
