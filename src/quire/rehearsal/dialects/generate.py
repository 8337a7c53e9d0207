"""Gemini's generateContent, as Google's servers speak it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from quire.domain.data import Json, JsonObject
from quire.domain.models import Marking, Usage
from quire.domain.requests import Stop
from quire.rehearsal.asked import Asked, Part, Problem, Said, Trouble
from quire.rehearsal.dialects.dialect import Incoming
from quire.rehearsal.dialects.forms import (
    ANYTHING,
    FLAG,
    OBJECT,
    TEXT,
    WHOLE,
    Body,
    Form,
    between,
    choice,
    closed,
    several,
)
from quire.rehearsal.dialects.gemini import Gemini, worded
from quire.rehearsal.models import Known
from quire.rehearsal.schemas import camel, from_openapi, plain

# What is the user's own, names included.
_OPAQUE = ("responseSchema", "responseJsonSchema", "parameters", "parametersJsonSchema", "labels")
_LEVELS = ("minimal", "low", "medium", "high")
_PART = closed({"text": TEXT, "thought": FLAG, "thoughtSignature": TEXT}, ["text"])
_CONTENT = closed(
    {"role": choice("user", "model", "system"), "parts": several(_PART, 1)}, ["parts"]
)
_THINKING = closed(
    {
        "thinkingLevel": choice(*_LEVELS, *map(str.upper, _LEVELS)),
        "thinkingBudget": WHOLE,
        "includeThoughts": FLAG,
    }
)
_CONFIG: dict[str, Form] = {
    "maxOutputTokens": between(1, whole=True),
    "responseMimeType": choice("text/plain", "application/json", "text/x.enum"),
    "responseJsonSchema": OBJECT,
    "responseSchema": OBJECT,
    "responseModalities": several(TEXT),
    "temperature": between(0, 2),
    "topP": between(0, 1),
    "topK": between(1),
    "seed": WHOLE,
    "candidateCount": {"enum": [1]},
    "stopSequences": several(TEXT),
    "presencePenalty": between(-2, 2),
    "frequencyPenalty": between(-2, 2),
    "thinkingConfig": _THINKING,
    "mediaResolution": TEXT,
}
_FUNCTION = closed(
    {
        "name": TEXT,
        "description": TEXT,
        "parameters": OBJECT,
        "parametersJsonSchema": OBJECT,
        "behavior": TEXT,
    },
    ["name"],
)
_CALLING = closed(
    {
        "mode": choice("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"),
        "allowedFunctionNames": several(TEXT),
    }
)
_BODY = Body(
    closed(
        {
            "contents": several(_CONTENT, 1),
            "systemInstruction": _CONTENT,
            "generationConfig": closed(_CONFIG),
            "safetySettings": several(OBJECT),
            "tools": several(closed({"functionDeclarations": several(_FUNCTION)})),
            "toolConfig": closed({"functionCallingConfig": _CALLING}),
            "labels": {"type": "object", "additionalProperties": TEXT},
            "serviceTier": ANYTHING,
            "store": FLAG,
            "model": TEXT,
        },
        ["contents"],
    )
)


class Generate(Gemini):
    """POST …/models/{model}:generateContent."""

    endpoint = "generate"

    def read(self, body: Json, incoming: Incoming) -> Asked:
        """Understand a call."""
        mistake = _BODY.mistake(body)
        if mistake and mistake.place:  # one without a place is too deep to be renamed
            body = _renamed(body)
            mistake = _BODY.mistake(body)
        if mistake:
            raise worded(mistake)
        asked: Any = body
        config = asked.get("generationConfig", {})
        bound_to = _bound(asked, config)
        return Asked(
            model=incoming.named["model"],
            parts=tuple(_parts(asked)),
            body=asked,
            schema=bound_to.schema,
            form=bound_to.form,
            max_tokens=config.get("maxOutputTokens"),
            tool=bound_to.tool,
        )

    def check(self, asked: Asked, model: Known) -> Asked:
        """Refuse what this model does not take."""
        if asked.max_tokens is not None and asked.max_tokens > model.most_output:
            raise Problem(
                Trouble.INVALID,
                f"Unable to submit request because it has a maxOutputTokens value of"
                f" {asked.max_tokens} but the supported range is from 1 (inclusive) to"
                f" {model.most_output + 1} (exclusive). Update the value and try again.",
            )
        marking = model.marking or Marking.AUTOMATIC
        return replace(asked, free=True, caching=marking is not Marking.NONE)

    def write(self, said: Said) -> tuple[JsonObject, Usage]:
        """Write an answer; a blocked prompt has no candidate, and no output to pay for."""
        usage = said.usage
        written: dict[str, Json] = {}
        if said.stop is Stop.REFUSAL:
            usage = usage._replace(output=0, reasoning=0)
            # Google blocks in two ways; the server takes turns, so that both are met.
            if said.number % 2:
                written["promptFeedback"] = {"blockReason": "PROHIBITED_CONTENT"}
            else:
                written["candidates"] = [{"index": 0, "finishReason": "SAFETY"}]
        else:
            written["candidates"] = [
                {
                    "content": {"role": "model", **_said_parts(said)},
                    "finishReason": "MAX_TOKENS" if said.stop is Stop.LENGTH else "STOP",
                    "index": 0,
                }
            ]
        written["usageMetadata"] = _metadata(usage, vertex=self.vertex)
        written["modelVersion"] = said.asked.model
        written["responseId"] = said.id("", 20)
        return written, usage


def _renamed(value: Json, opaque: bool = False) -> Json:
    """Write every name in the one way; Google's own client mixes both."""
    if opaque or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        return [_renamed(each) for each in value]
    named = {camel(name): inner for name, inner in value.items()}
    return {name: _renamed(inner, name in _OPAQUE) for name, inner in named.items()}


def _metadata(usage: Usage, *, vertex: bool) -> dict[str, Json]:
    prompt = usage.input_total
    metadata: dict[str, Json] = {
        "promptTokenCount": prompt,
        "totalTokenCount": prompt + usage.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}],
    }
    # As in every message of Google's, what is zero is left out.
    if usage.output - usage.reasoning:
        metadata["candidatesTokenCount"] = usage.output - usage.reasoning
    if usage.cached:
        metadata["cachedContentTokenCount"] = usage.cached
    if usage.reasoning:
        metadata["thoughtsTokenCount"] = usage.reasoning
    if vertex:
        metadata["trafficType"] = "ON_DEMAND"
    return metadata


def _said_parts(said: Said) -> dict[str, Json]:
    if said.asked.tool and said.text:
        call: JsonObject = {"name": said.asked.tool, "args": said.arguments}
        return {"parts": [{"functionCall": call}]}
    return {"parts": [{"text": said.text}]} if said.text else {}


def _parts(body: Any) -> Iterator[Part]:
    for part in body.get("systemInstruction", {}).get("parts", ()):
        yield Part(part["text"], system=True)
    for content in body["contents"]:
        for part in content["parts"]:
            yield Part(part["text"], system=False)


class _Bound(NamedTuple):
    """What an answer is bound to: a schema, as it was sent too, and the function it belongs to."""

    schema: JsonObject | None = None
    form: JsonObject | None = None
    tool: str = ""


def _bound(body: Any, config: Any) -> _Bound:
    """The schema of the answer, and the function whose argument it is."""
    bound = [name for name in ("responseJsonSchema", "responseSchema") if name in config]
    thinking = config.get("thinkingConfig", {})
    if len(bound) > 1:
        raise _invalid("Only one of response_schema and response_json_schema may be set.")
    if "thinkingLevel" in thinking and "thinkingBudget" in thinking:
        raise _invalid("You can only set only one of thinking budget and thinking level.")
    if bound and config.get("responseMimeType") != "application/json":
        raise _invalid("Response schema requires the response mime type application/json.")
    calling = body.get("toolConfig", {}).get("functionCallingConfig", {})
    functions = {
        each["name"]: each
        for tool in body.get("tools", ())
        for each in tool.get("functionDeclarations", ())
    }
    if calling.get("mode") == "ANY":
        name = next(iter(calling.get("allowedFunctionNames") or functions), "")
        if name not in functions:
            raise _invalid(f"Function {name!r} is not declared.")
        function = functions[name]
        if "parametersJsonSchema" in function:
            form = function["parametersJsonSchema"]
            return _Bound(plain(form), form, name)
        form = function.get("parameters", {})
        return _Bound(from_openapi(form), form, name)
    if "responseJsonSchema" in config:
        form = config["responseJsonSchema"]
        return _Bound(plain(form), form)
    form = config["responseSchema"] if bound else None
    return _Bound(None if form is None else from_openapi(form), form)


def _invalid(message: str) -> Problem:
    return Problem(Trouble.INVALID, message)
