"""Requests, attempts and responses: one call, one sending of it, and what came back."""

from dataclasses import dataclass
from enum import StrEnum

from quire.domain.data import JsonObject
from quire.domain.ids import AttemptId
from quire.domain.models import Params, Usage


class Kind(StrEnum):
    """Why a request exists."""

    ANSWER = "answer"
    REPAIR = "repair"  # carries the gate's complaint and the previous answer
    CONTINUATION = "continuation"
    PRIMER = "primer"
    EMBED = "embed"


class Stop(StrEnum):
    """Why the model stopped writing."""

    END = "end"
    LENGTH = "length"  # cut off by the output limit
    REFUSAL = "refusal"  # the model or a filter declined the whole call


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Exactly what a provider is asked, in no vendor's words yet."""

    attempt_id: AttemptId  # the fencing token; also what a fault script draws from
    model: str
    system: str  # the cacheable prefix: instructions, framing, schema
    user: str
    output_schema: JsonObject | None  # the wire form of the answer; None asks for plain text
    params: Params


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A provider's response, decoded into our words."""

    text: str
    stop: Stop
    usage: Usage
    reasoning: str = ""
