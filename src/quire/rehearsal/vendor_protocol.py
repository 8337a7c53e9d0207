"""What server and vendors' endpoints pass to each other: calls, answers, problems, models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple, Protocol

import orjson

from quire.domain.data import Json, JsonObject
from quire.domain.models import CacheMarking, ModelFacts, Params, StructuredOutput, Usage
from quire.domain.requests import Role, Stop, Turn
from quire.rehearsal.rate_limits import BucketLevel


class CallPart(NamedTuple):
    """One text of a call, in the order the vendor reads them."""

    text: str
    system: bool
    lifetime: str = ""  # of the cache breakpoint behind it, such as 5m; "" where there is none
    assistant: bool = False  # said by the model


class AnswerFormat(NamedTuple):
    """What an answer is bound to: a schema, as it was sent too, and the tool it belongs to."""

    schema: JsonObject | None = None  # that the answer is bound to
    form: JsonObject | None = None  # the same as it was sent, which is what is billed
    tool: str = ""  # that the model is forced to call
    tool_named: bool = False  # the tool was asked for by its name


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCall:
    """One call, understood."""

    model: str  # as the vendor names it
    parts: tuple[CallPart, ...]
    body: JsonObject  # as it came, for what an answer repeats
    schema: JsonObject | None = None  # that the answer is bound to
    form: JsonObject | None = None  # the same as it was sent, which is what is billed
    max_tokens: int | None = None
    sampling: Params = field(default_factory=Params)  # how the answer is to be drawn
    tool: str = ""  # that the model is forced to call
    tool_named: bool = False  # the tool was asked for by its name
    prewarm: bool = False  # nothing is to be said, only the cache filled
    implicit: str = ""  # the lifetime of a breakpoint at the end that nobody asked for
    caching: bool = True  # False where the call forbids it
    free: bool = False  # equal prefixes are found without being marked, and kept for nothing
    apart: bool = False  # its parts are read one by one, and have nothing to do with each other
    step: int = 1  # tokens; such prefixes are found in multiples of this

    @property
    def system(self) -> str:
        """The instructions."""
        return "\n\n".join(part.text for part in self.parts if part.system)

    @property
    def user(self) -> str:
        """The question: what was said last, by whom it may be."""
        return self.conversation[-1].text if self.conversation else ""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """What was said before the question."""
        return self.conversation[:-1]

    @property
    def conversation(self) -> tuple[Turn, ...]:
        """All that was said, in turns."""
        parts = [part for part in self.parts if not part.system]
        return tuple(
            Turn(
                Role.ASSISTANT if assistant else Role.USER,
                "\n\n".join(part.text for part in group),
            )
            for assistant, group in groupby(parts, lambda part: part.assistant)
        )


def sampling_of(fields: JsonObject) -> Params:
    """How an answer is to be drawn, of the fields that a vendor has for it."""
    temperature, seed = fields.get("temperature"), fields.get("seed", fields.get("random_seed"))
    return Params(
        temperature=temperature if isinstance(temperature, int | float) else None,
        seed=seed if isinstance(seed, int) else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """What the model answered, and what it cost."""

    number: int  # of the request, on this server
    call: ParsedCall
    text: str
    stop: Stop
    usage: Usage
    now: float

    def id(self, prefix: str, length: int = 32) -> str:
        """A name in the vendor's style, unlike any other on this server."""
        return f"{prefix}{self.number:0{length}x}"

    @property
    def arguments(self) -> dict[str, Json]:
        """The text as a forced tool's argument; what is cut off or malformed cannot be one."""
        try:
            read = orjson.loads(self.text)
        except ValueError:
            # A tool's argument is always an object: a model that slips puts text inside it.
            return {} if self.stop is Stop.LENGTH else {"results": self.text}
        return read if isinstance(read, dict) else {}


class ProblemKind(StrEnum):
    """Why a call is not answered."""

    INVALID = "invalid"  # something in the body
    UNKNOWN_FIELD = "unknown_field"
    MISSING_FIELD = "missing_field"
    MISTYPED_FIELD = "mistyped_field"
    UNSUPPORTED = "unsupported"  # by this model
    BAD_SCHEMA = "bad_schema"
    NOT_JSON = "not_json"
    NO_KEY = "no_key"
    BAD_KEY = "bad_key"
    SPENT = "spent"
    NO_MODEL = "no_model"
    NO_PATH = "no_path"
    NO_THING = "no_thing"  # a batch or a file that is not there, or not for this key
    CONFLICT = "conflict"  # with how the thing stands
    TOO_LARGE = "too_large"  # in bytes
    TOO_LONG = "too_long"  # in tokens
    RATE = "rate"
    BROKEN = "broken"
    OVERLOADED = "overloaded"


class ApiProblem(Exception):
    """A call that is answered with an error; each vendor gives it a form."""

    def __init__(
        self,
        kind: ProblemKind,
        message: str,
        *,
        place: str = "",
        retry_after: float | None = None,
        of_tokens: bool = False,
    ) -> None:
        """Say what is wrong, where, and how long to wait where waiting helps."""
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.place = place  # of the field that is wrong
        self.retry_after = retry_after
        self.of_tokens = of_tokens  # of a rate: it is that of tokens, not that of requests


def invalid(message: str, place: str = "") -> ApiProblem:
    """A call that breaks a rule of the vendor's."""
    return ApiProblem(ProblemKind.INVALID, message, place=place)


GENEROUS_WINDOW = 1_000_000
GENEROUS_OUTPUT = 128_000


class KnownModel(NamedTuple):
    """What the server goes by for one model."""

    name: str  # ours where we have one, else the vendor's
    id: str  # the vendor's
    most_input: int = GENEROUS_WINDOW
    most_output: int = GENEROUS_OUTPUT
    cache_minimum: int | None = None  # tokens a prefix must have to be kept; None: not known
    marking: CacheMarking | None = None  # None: not known
    can_force_tools: bool = True  # may be forced to call a tool
    sampling: bool = True  # takes temperature and top_p
    token_factor: float = 1.0  # tokens that it counts where others count one
    retires: str = ""


class KnownModels:
    """The models by the names that travel over the wire."""

    def __init__(self, facts: Mapping[str, ModelFacts], *, strict: bool = False) -> None:
        """Index what is known; strict means that there are no other models."""
        self._strict = strict
        self._by_id: dict[str, list[KnownModel]] = {}
        self._all: list[KnownModel] = []
        for fact in facts.values():
            known = _known_model(fact)
            self._all.append(known)
            self._by_id.setdefault(known.id, []).append(known)

    def find(self, wire_id: str, providers: Sequence[str]) -> KnownModel:
        """Look a model up, first among the providers that are found where the call arrived."""
        candidates = self._by_id.get(wire_id, ())
        for known in candidates:
            if known.name.partition("/")[0] in providers:
                return known
        if candidates:
            return candidates[0]
        if self._strict:
            raise ApiProblem(ProblemKind.NO_MODEL, wire_id, place="model")
        return KnownModel(wire_id, wire_id)

    def list_for(self, providers: Sequence[str]) -> list[KnownModel]:
        """The models of some providers."""
        return [model for model in self._all if model.name.partition("/")[0] in providers]


def _known_model(facts: ModelFacts) -> KnownModel:
    return KnownModel(
        name=facts.name,
        id=facts.wire.id or facts.name.partition("/")[2],
        most_input=facts.max_input or facts.window,
        most_output=facts.max_output,
        cache_minimum=facts.cache_minimum or None,
        marking=facts.wire.marking,
        can_force_tools=facts.provider != "anthropic"
        or facts.wire.structured is not StructuredOutput.SCHEMA,
        sampling=facts.wire.sampling,
        token_factor=facts.token_factor,
        retires=facts.retires,
    )


class IncomingRequest(NamedTuple):
    """A request as it came; header names are in lower case."""

    method: str
    path: str
    path_params: Mapping[str, str]  # what the path names
    query: Mapping[str, str]
    headers: Mapping[str, str]


class ErrorResponse(NamedTuple):
    """An error as the vendor sends it."""

    status: int
    body: JsonObject
    headers: Mapping[str, str] = {}


class VendorEndpoint(Protocol):
    """What all endpoints of a vendor share."""

    name: str
    providers: tuple[str, ...]  # whose models are asked for here

    def key(self, incoming: IncomingRequest) -> str:
        """The key that a request brought; "" where there is none."""

    def error(self, problem: ApiProblem, number: int) -> ErrorResponse:
        """Say what is wrong, in the vendor's form."""

    def headers(self, number: int, levels: Mapping[str, BucketLevel], now: float) -> dict[str, str]:
        """The headers of every answer; those about limits only where there are any."""

    def list_models(self, models: list[KnownModel]) -> JsonObject:
        """List models."""

    def describe_model(self, model: KnownModel) -> JsonObject:
        """Describe one model."""


class EndpointDefaults:
    """What most vendors' endpoints do alike."""

    least_prefix = 1_024

    def cache_minimum(self, model: KnownModel) -> int:
        """How many tokens a prefix must have to be kept."""
        return self.least_prefix if model.cache_minimum is None else model.cache_minimum

    def rate_limited_tokens(self, usage: Usage) -> int:
        """All input counts against the limits, read from the cache or not."""
        return usage.input_total


def bearer_token(incoming: IncomingRequest) -> str:
    """The token of a request's Authorization header; "" where there is none."""
    bearer = incoming.headers.get("authorization", "")
    return bearer[7:].strip() if bearer[:7].lower() == "bearer " else ""


class CallEndpoint(VendorEndpoint, Protocol):
    """One endpoint that answers calls."""

    endpoint_name: str

    def read(self, body: Json, incoming: IncomingRequest) -> ParsedCall:
        """Understand a call, or raise Problem."""

    def check(self, call: ParsedCall, model: KnownModel) -> ParsedCall:
        """Refuse what this model does not take, and settle how its cache works."""

    def cache_minimum(self, model: KnownModel) -> int:
        """How many tokens a prefix must have to be kept."""

    def rate_limited_tokens(self, usage: Usage) -> int:
        """How much of the input counts against the limits."""

    def write(self, answer: ModelAnswer) -> tuple[JsonObject, Usage]:
        """Write an answer, and say what of the usage is billed."""
