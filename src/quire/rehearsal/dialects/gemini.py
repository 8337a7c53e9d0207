"""What Google's endpoints share: keys, errors, and the list of models."""

from collections.abc import Mapping
from math import ceil

from quire.domain.data import Json, JsonObject
from quire.domain.models import Usage
from quire.rehearsal.asked import Problem, Trouble
from quire.rehearsal.dialects.dialect import Incoming, Wording
from quire.rehearsal.dialects.forms import Mistake, dotted
from quire.rehearsal.limiting import Level
from quire.rehearsal.models import Known

LEAST_PREFIX = 4_096
_RPC = "type.googleapis.com/google.rpc."

_ERRORS: dict[Trouble, tuple[int, str]] = {
    Trouble.NO_KEY: (403, "PERMISSION_DENIED"),
    Trouble.SPENT: (429, "RESOURCE_EXHAUSTED"),
    Trouble.NO_MODEL: (404, "NOT_FOUND"),
    Trouble.NO_PATH: (404, "NOT_FOUND"),
    Trouble.NO_THING: (404, "NOT_FOUND"),
    Trouble.RATE: (429, "RESOURCE_EXHAUSTED"),
    Trouble.BROKEN: (500, "INTERNAL"),
    Trouble.OVERLOADED: (503, "UNAVAILABLE"),
}
_SAID = {
    Trouble.NO_KEY: "Method doesn't allow unregistered callers (callers without established"
    " identity). Please use API Key or other form of API consumer identity to call this API.",
    Trouble.BAD_KEY: "API key not valid. Please pass a valid API key.",
    Trouble.SPENT: "You exceeded your current quota, please check your plan and billing details.",
    Trouble.NOT_JSON: "Invalid JSON payload received. Unexpected token.",
    Trouble.TOO_LARGE: "Request payload size exceeds the limit: 20971520 bytes.",
    Trouble.BROKEN: "An internal error has occurred. Please retry.",
    Trouble.OVERLOADED: "The model is overloaded. Please try again later.",
    Trouble.NO_PATH: "The requested URL was not found on this server.",
}


class Gemini:
    """Google's manners; Vertex differs in its keys."""

    name = "gemini"

    def __init__(self, *providers: str, vertex: bool = False) -> None:
        """Answer for the models of these providers."""
        self.providers = providers
        self.vertex = vertex

    def key(self, incoming: Incoming) -> str:
        """The key that a request brought."""
        bearer = incoming.headers.get("authorization", "")
        token = bearer[7:].strip() if bearer[:7].lower() == "bearer " else ""
        key = incoming.headers.get("x-goog-api-key") or incoming.query.get("key") or ""
        return token or key.strip() if self.vertex else key.strip() or token

    def error(self, problem: Problem, number: int) -> Wording:
        """Say what is wrong."""
        status, name = _ERRORS.get(problem.trouble, (400, "INVALID_ARGUMENT"))
        if self.vertex and problem.trouble in (Trouble.NO_KEY, Trouble.BAD_KEY):
            status, name = 401, "UNAUTHENTICATED"
        message = _SAID.get(problem.trouble, problem.message)
        if problem.trouble is Trouble.NO_MODEL:
            message = f"models/{problem.message} is not found for API version v1."
        error: dict[str, Json] = {"code": status, "message": message, "status": name}
        details = list(_details(problem))
        if details:
            error["details"] = details
        return Wording(status, {"error": error})

    def headers(self, number: int, levels: Mapping[str, Level], now: float) -> dict[str, str]:
        """The headers of every answer; Google says nothing of its limits."""
        return {"server-timing": "gfet4t7; dur=1", "x-rehearsal-request": str(number)}

    def listing(self, models: list[Known]) -> JsonObject:
        """List models."""
        return {"models": [self.described(each) for each in models]}

    def described(self, model: Known) -> JsonObject:
        """Describe one model."""
        return {
            "name": f"models/{model.id}",
            "displayName": model.id,
            "inputTokenLimit": model.most_input,
            "outputTokenLimit": model.most_output,
            "supportedGenerationMethods": ["generateContent"],
        }

    def minimum(self, model: Known) -> int:
        """How many tokens a prefix must have to be kept."""
        return LEAST_PREFIX if model.minimum is None else model.minimum

    def counted(self, usage: Usage) -> int:
        """All input counts against the limits."""
        return usage.input_total


def worded(mistake: Mistake) -> Problem:
    """Say what is wrong with a body."""
    place = dotted(mistake.place)
    name, parent = mistake.place[-1:], dotted(mistake.place[:-1])
    match mistake.trouble:
        case Trouble.UNKNOWN_FIELD:
            where = f' at "{parent}"' if parent else ""
            message = f'Invalid JSON payload received. Unknown name "{name[0]}"{where}: Cannot find'
            message += " field."
        case Trouble.MISSING_FIELD:
            message = f"* GenerateContentRequest.{place}: {place} is not specified"
        case Trouble.MISTYPED_FIELD:
            message = f"Invalid value at '{place}' (expected {mistake.expected}), {mistake.detail}"
        case _:
            message = f"Invalid value at '{place}': {mistake.detail}"
    return Problem(mistake.trouble, message, place=place)


def _details(problem: Problem) -> list[JsonObject]:
    match problem.trouble:
        case Trouble.BAD_KEY:
            told: JsonObject = {"reason": "API_KEY_INVALID", "domain": "googleapis.com"}
            return [{"@type": f"{_RPC}ErrorInfo", **told}]
        case Trouble.SPENT:
            return [_quota("GenerateRequestsPerDayPerProjectPerModel")]
        case Trouble.RATE:
            wait: JsonObject = {"retryDelay": f"{max(1, ceil(problem.retry_after or 0))}s"}
            quota = _quota("GenerateRequestsPerMinutePerProjectPerModel")
            return [quota, {"@type": f"{_RPC}RetryInfo", **wait}]
        case Trouble.UNKNOWN_FIELD | Trouble.MISTYPED_FIELD | Trouble.MISSING_FIELD:
            violation = {"field": problem.place, "description": problem.message}
            return [{"@type": f"{_RPC}BadRequest", "fieldViolations": [violation]}]
        case _:
            return []


def _quota(name: str) -> JsonObject:
    metric = "generativelanguage.googleapis.com/generate_content_requests"
    violation: JsonObject = {"quotaMetric": metric, "quotaId": name}
    return {"@type": f"{_RPC}QuotaFailure", "violations": [violation]}
