"""What OpenAI's endpoints share: keys, errors, headers about limits, and the list of models."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any, NamedTuple

from quire.domain.data import JsonObject
from quire.domain.models import Marking, Usage
from quire.rehearsal.asked import Asked, Problem, Trouble
from quire.rehearsal.dialects.dialect import Incoming, Wording
from quire.rehearsal.dialects.forms import Mistake, dotted
from quire.rehearsal.limiting import Level
from quire.rehearsal.models import Known
from quire.rehearsal.schemas import plain
from quire.rehearsal.strictness import SCHEMA_NAME, refuse_for_openai

LEAST_PREFIX = 1_024
_STEP = 128  # tokens; a prefix that nobody marked is found in multiples of this

_INVALID = "invalid_request_error"
# Status, type, code.
_ERRORS: dict[Trouble, tuple[int, str, str | None]] = {
    Trouble.INVALID: (400, _INVALID, "invalid_value"),
    Trouble.UNKNOWN_FIELD: (400, _INVALID, "unknown_parameter"),
    Trouble.MISSING_FIELD: (400, _INVALID, "missing_required_parameter"),
    Trouble.MISTYPED_FIELD: (400, _INVALID, "invalid_type"),
    Trouble.UNSUPPORTED: (400, _INVALID, "unsupported_parameter"),
    Trouble.BAD_SCHEMA: (400, _INVALID, "invalid_json_schema"),
    Trouble.NOT_JSON: (400, _INVALID, None),
    Trouble.NO_KEY: (401, _INVALID, None),
    Trouble.BAD_KEY: (401, _INVALID, "invalid_api_key"),
    Trouble.SPENT: (429, "insufficient_quota", "insufficient_quota"),
    Trouble.NO_MODEL: (404, _INVALID, "model_not_found"),
    Trouble.NO_PATH: (404, _INVALID, None),
    Trouble.NO_THING: (404, _INVALID, None),
    Trouble.CONFLICT: (409, _INVALID, None),
    Trouble.TOO_LARGE: (413, _INVALID, None),
    Trouble.TOO_LONG: (400, _INVALID, "context_length_exceeded"),
    Trouble.RATE: (429, "requests", "rate_limit_exceeded"),
    Trouble.BROKEN: (500, "server_error", None),
    Trouble.OVERLOADED: (503, "server_error", "server_is_overloaded"),
}
_SAID = {
    Trouble.NO_KEY: "You didn't provide an API key. You need to provide your API key in an "
    "Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
    Trouble.BAD_KEY: "Incorrect API key provided.",
    Trouble.SPENT: "You exceeded your current quota, please check your plan and billing details.",
    Trouble.NOT_JSON: "We could not parse the JSON body of your request.",
    Trouble.TOO_LARGE: "The request body is too large.",
    Trouble.BROKEN: "The server had an error while processing your request. Sorry about that!",
    Trouble.OVERLOADED: "The server is currently overloaded with other requests. Sorry about that!"
    " You can retry your request, or contact us if the error persists.",
}


class OpenAI:
    """OpenAI's manners, shared by its endpoints and by those who copy them."""

    name = "openai"

    def __init__(self, *providers: str) -> None:
        """Answer for the models of these providers."""
        self.providers = providers

    def key(self, incoming: Incoming) -> str:
        """The key that a request brought."""
        bearer = incoming.headers.get("authorization", "")
        if bearer[:7].lower() == "bearer ":
            return bearer[7:].strip()
        return incoming.headers.get("api-key", "").strip()

    def error(self, problem: Problem, number: int) -> Wording:
        """Say what is wrong."""
        status, kind, code = _ERRORS[problem.trouble]
        message = _SAID.get(problem.trouble, problem.message)
        if problem.trouble is Trouble.NO_MODEL:
            message = f"The model `{problem.message}` does not exist or you do not have access."
        if problem.trouble is Trouble.RATE and "token" in problem.message:
            kind = "tokens"
        error = {"message": message, "type": kind, "param": problem.place or None, "code": code}
        headers: dict[str, str] = {}
        if problem.retry_after is not None:
            headers["retry-after"] = str(max(1, ceil(problem.retry_after)))
            headers["retry-after-ms"] = f"{max(1, round(problem.retry_after * 1000))}"
        return Wording(status, {"error": error}, headers)

    def headers(self, number: int, levels: Mapping[str, Level], now: float) -> dict[str, str]:
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

    def listing(self, models: list[Known]) -> JsonObject:
        """List models."""
        return {"object": "list", "data": [self.described(each) for each in models]}

    def described(self, model: Known) -> JsonObject:
        """Describe one model."""
        owner = model.name.partition("/")[0]
        return {"id": model.id, "object": "model", "created": 1_780_000_000, "owned_by": owner}

    def minimum(self, model: Known) -> int:
        """How many tokens a prefix must have to be kept."""
        return LEAST_PREFIX if model.minimum is None else model.minimum

    def counted(self, usage: Usage) -> int:
        """All input counts against the limits, read from the cache or not."""
        return usage.input_total


def worded(mistake: Mistake) -> Problem:
    """Say what is wrong with a body."""
    place = dotted(mistake.place)
    match mistake.trouble:
        case Trouble.UNKNOWN_FIELD:
            message = f"Unknown parameter: '{place}'."
        case Trouble.MISSING_FIELD:
            message = f"Missing required parameter: '{place}'."
        case Trouble.MISTYPED_FIELD:
            message = (
                f"Invalid type for '{place}': expected {mistake.expected},"
                f" but got {mistake.detail} instead."
            )
        case _:
            message = f"Invalid '{place}': {mistake.detail}."
    return Problem(mistake.trouble, message, place=place)


def refuse_unsupported(asked: Asked, model: Known, names: tuple[str, ...]) -> None:
    """Refuse what a reasoning model does not take."""
    for name in names if not model.sampling else ():
        if asked.body.get(name) is not None:
            raise Problem(
                Trouble.UNSUPPORTED,
                f"Unsupported parameter: '{name}' is not supported with this model.",
                place=name,
            )


def refuse_output(asked: Asked, model: Known, name: str) -> None:
    """Refuse an output limit beyond what the model can write."""
    if asked.max_tokens is not None and asked.max_tokens > model.most_output:
        raise Problem(
            Trouble.INVALID,
            f"Invalid '{name}': {asked.max_tokens} is too large. This model supports at most"
            f" {model.most_output} output tokens.",
            place=name,
        )


def with_cache(asked: Asked, model: Known, options: object) -> Asked:
    """Settle how the cache works for one call: by marks, by itself for nothing, or not at all."""
    told = options if isinstance(options, dict) else {}
    marked = any(part.lifetime for part in asked.parts)
    marking = model.marking or (Marking.BREAKPOINT if marked or told else Marking.AUTOMATIC)
    if marking is Marking.NONE:
        return replace(asked, caching=False)
    if marking is Marking.AUTOMATIC:
        if marked or told:
            raise Problem(
                Trouble.UNSUPPORTED,
                "Unsupported parameter: explicit prompt caching is not supported with this model.",
                place="prompt_cache_options",
            )
        return replace(asked, free=True, step=_STEP)
    implicit = told.get("ttl", "30m") if told.get("mode", "implicit") == "implicit" else ""
    return replace(asked, implicit=implicit)


def lifetime(part: object, options: object) -> str:
    """How long the prefix that ends with a content part is asked to live; "" where it is not."""
    told = part if isinstance(part, dict) else {}
    if isinstance(told.get("cache_control"), dict):  # as a router passes it on to others
        return str(told["cache_control"].get("ttl", "5m"))
    mark = told.get("prompt_cache_breakpoint")
    if not isinstance(mark, dict):
        return ""
    inherited = options.get("ttl", "30m") if isinstance(options, dict) else "30m"
    return str(mark.get("ttl", inherited))


class Bound(NamedTuple):
    """What an answer is bound to: a schema, and the tool whose argument it is."""

    schema: JsonObject | None
    tool: str = ""
    named: bool = False
    form: JsonObject | None = None  # the schema as it was sent


def bound(schema: JsonObject | None, tools: Sequence[Any], choice: Any) -> Bound:
    """Settle what the answer is bound to; a tool that must be called comes first."""
    known = {tool["name"]: tool for tool in tools}
    for name, tool in known.items():
        if tool.get("strict") and tool.get("parameters"):
            refuse_for_openai(tool["parameters"], name, "tools")
    named = isinstance(choice, dict)
    chosen = choice["name"] if named else next(iter(known), "") if choice == "required" else ""
    if (named or choice == "required") and chosen not in known:
        raise Problem(
            Trouble.INVALID, f"Tool choice '{chosen}' not found in 'tools'.", place="tool_choice"
        )
    if chosen:
        form = known[chosen].get("parameters") or {}
        return Bound(plain(form), chosen, named, form)
    return Bound(None if schema is None else plain(schema), form=schema)


def refuse_name(name: str, place: str) -> None:
    """Refuse a schema's name that OpenAI does not take."""
    if not SCHEMA_NAME.fullmatch(name):
        raise Problem(
            Trouble.INVALID,
            f"Invalid '{place}': string does not match pattern. Expected a string that matches the"
            " pattern '^[a-zA-Z0-9_-]+$' of at most 64 characters.",
            place=place,
        )


def refuse_wordless(asked: Asked, place: str) -> None:
    """Refuse to write JSON for a call that does not mention it."""
    if not any("json" in part.text.lower() for part in asked.parts):
        raise Problem(
            Trouble.INVALID,
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
