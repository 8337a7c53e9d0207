"""What Anthropic's endpoints share: keys, versions, errors, headers about limits, the models."""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import ceil

from quire.domain.data import Json, JsonObject
from quire.domain.models import Usage
from quire.rehearsal.asked import Problem, Trouble
from quire.rehearsal.dialects.dialect import Incoming, Wording
from quire.rehearsal.dialects.forms import Mistake, dotted
from quire.rehearsal.limiting import Level
from quire.rehearsal.models import Known

CURRENT, OLDER = "2026-10-21", "2023-06-01"
LEAST_PREFIX = 1_024

_INVALID = "invalid_request_error"
_ERRORS: dict[Trouble, tuple[int, str]] = {
    Trouble.NO_KEY: (401, "authentication_error"),
    Trouble.BAD_KEY: (401, "authentication_error"),
    Trouble.SPENT: (429, "rate_limit_error"),
    Trouble.NO_MODEL: (404, "not_found_error"),
    Trouble.NO_PATH: (404, "not_found_error"),
    Trouble.NO_THING: (404, "not_found_error"),
    Trouble.TOO_LARGE: (413, "request_too_large"),
    Trouble.RATE: (429, "rate_limit_error"),
    Trouble.BROKEN: (500, "api_error"),
    Trouble.OVERLOADED: (529, "overloaded_error"),
}
_SAID = {
    Trouble.NO_KEY: "x-api-key or Authorization header is required",
    Trouble.BAD_KEY: "invalid x-api-key",
    Trouble.SPENT: "This request would exceed the spend limit that is enforced for your workspace.",
    Trouble.NOT_JSON: "The request body is not valid JSON",
    Trouble.TOO_LARGE: "Request exceeds the maximum size",
    Trouble.BROKEN: "Internal server error",
    Trouble.OVERLOADED: "Overloaded",
    Trouble.NO_PATH: "Not Found",
}
_TYPES = {
    "string": "a valid string",
    "integer": "a valid integer",
    "number": "a valid number",
    "boolean": "a valid boolean",
    "array": "a valid list",
    "object": "a valid dictionary",
}


class Anthropic:
    """Anthropic's manners."""

    name = "anthropic"
    providers: tuple[str, ...] = ("anthropic",)

    def key(self, incoming: Incoming) -> str:
        """The key that a request brought; the older header wins."""
        key = incoming.headers.get("x-api-key", "").strip()
        bearer = incoming.headers.get("authorization", "")
        return key or (bearer[7:].strip() if bearer[:7].lower() == "bearer " else "")

    def error(self, problem: Problem, number: int) -> Wording:
        """Say what is wrong."""
        status, kind = _ERRORS.get(problem.trouble, (400, _INVALID))
        message = _SAID.get(problem.trouble, problem.message)
        if problem.trouble is Trouble.NO_MODEL:
            message = f"model: {problem.message}"
        error: dict[str, Json] = {"type": kind, "message": message}
        headers: dict[str, str] = {}
        if problem.trouble is Trouble.SPENT:
            error["details"] = {"error_code": "enforced_spend_limit_reached"}
            headers["x-should-retry"] = "false"
        if problem.retry_after is not None:
            headers["retry-after"] = str(max(1, ceil(problem.retry_after)))
        body: JsonObject = {"type": "error", "error": error, "request_id": _request_id(number)}
        return Wording(status, body, headers)

    def headers(self, number: int, levels: Mapping[str, Level], now: float) -> dict[str, str]:
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

    def listing(self, models: list[Known]) -> JsonObject:
        """List models."""
        data = [self.described(each) for each in models]
        ends = (data[0]["id"], data[-1]["id"]) if data else (None, None)
        return {"data": data, "has_more": False, "first_id": ends[0], "last_id": ends[1]}

    def described(self, model: Known) -> JsonObject:
        """Describe one model."""
        yes: JsonObject = {"supported": True}
        no: JsonObject = {"supported": False}
        efforts = {name: yes for name in ("low", "medium", "high", "xhigh", "max", "supported")}
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
                "effort": {**efforts, "supported": True},
                "image_input": no,
                "pdf_input": no,
                "server_tools": {"supported": False, "code_execution": no, "web_search": no},
                "structured_outputs": yes,
                "thinking": {"supported": True, "types": {"adaptive": yes, "enabled": no}},
            },
        }

    def minimum(self, model: Known) -> int:
        """How many tokens a prefix must have to be kept."""
        return LEAST_PREFIX if model.minimum is None else model.minimum

    def counted(self, usage: Usage) -> int:
        """What is read from the cache does not count against the limits."""
        return usage.input_total - usage.cached


def version_of(incoming: Incoming) -> str:
    """The version of the API that a request speaks."""
    version = incoming.headers.get("anthropic-version", "")
    if not version:
        raise Problem(Trouble.INVALID, "anthropic-version: header is required")
    if version not in (CURRENT, OLDER):
        raise Problem(
            Trouble.INVALID, f'anthropic-version: "{version[:40]}" is not a valid version'
        )
    return version


def worded(mistake: Mistake) -> Problem:
    """Say what is wrong with a body."""
    place = dotted(mistake.place, brackets=False)
    match mistake.trouble:
        case Trouble.UNKNOWN_FIELD:
            message = f"{place}: Extra inputs are not permitted"
        case Trouble.MISSING_FIELD:
            message = f"{place}: Field required"
        case Trouble.MISTYPED_FIELD:
            first = mistake.expected.partition(",")[0]
            message = f"{place}: Input should be {_TYPES.get(first, first)}"
        case _:
            message = f"{place}: {mistake.detail}"
    return Problem(mistake.trouble, message.removeprefix(": "), place=place)


def _request_id(number: int) -> str:
    return f"req_{number:024x}"
