"""What a call says, whatever vendor's words it came in; and what can be wrong with one."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import orjson

from quire.domain.data import Json, JsonObject
from quire.domain.models import Usage
from quire.domain.requests import Stop


class Part(NamedTuple):
    """One text of a call, in the order the vendor reads them."""

    text: str
    system: bool
    lifetime: str = ""  # of the cache breakpoint behind it, such as 5m; "" where there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One call, understood."""

    model: str  # as the vendor names it
    parts: tuple[Part, ...]
    body: JsonObject  # as it came, for what an answer repeats
    schema: JsonObject | None = None  # that the answer is bound to
    form: JsonObject | None = None  # the same as it was sent, which is what is billed
    max_tokens: int | None = None
    tool: str = ""  # that the model is forced to call
    named: bool = False  # the tool was asked for by its name
    prewarm: bool = False  # nothing is to be said, only the cache filled
    implicit: str = ""  # the lifetime of a breakpoint at the end that nobody asked for
    caching: bool = True  # False where the call forbids it
    free: bool = False  # equal prefixes are found without being marked, and kept for nothing
    step: int = 1  # tokens; such prefixes are found in multiples of this

    @property
    def system(self) -> str:
        """The instructions."""
        return "\n\n".join(part.text for part in self.parts if part.system)

    @property
    def user(self) -> str:
        """The question."""
        return "\n\n".join(part.text for part in self.parts if not part.system)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the model answered, and what it cost."""

    number: int  # of the request, on this server
    asked: Asked
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


class Trouble(StrEnum):
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


class Problem(Exception):
    """A call that is answered with an error; each vendor gives it a form."""

    def __init__(
        self, trouble: Trouble, message: str, *, place: str = "", retry_after: float | None = None
    ) -> None:
        """Say what is wrong, where, and how long to wait where waiting helps."""
        super().__init__(message)
        self.trouble = trouble
        self.message = message
        self.place = place  # of the field that is wrong
        self.retry_after = retry_after
