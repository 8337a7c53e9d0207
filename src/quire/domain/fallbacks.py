"""Fallbacks: what of a call a server refuses, and the weaker way that it is asked in instead."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit


class RefusedPart(StrEnum):
    """What goes out with every call alike, and is refused."""

    FORMAT = "format"  # that a form of the answer is asked for at all
    FORMAT_TYPE = "format_type"  # the kind of form, or the schema; another kind may be taken
    TOOLS = "tools"
    SYSTEM_ROLE = "system_role"
    DEVELOPER_ROLE = "developer_role"
    MAX_TOKENS = "max_tokens"  # the name, not the number
    MAX_COMPLETION_TOKENS = "max_completion_tokens"
    OUTPUT_LIMIT = "output_limit"  # the number: longer answers than this are not allowed
    TEMPERATURE = "temperature"
    TOP_P = "top_p"
    SEED = "seed"
    STREAM = "stream"  # that an answer is wanted whole, or how a stream is asked for


class PartRefusal(NamedTuple):
    """A part that a provider refuses, and how long an answer may be, if it is about that."""

    part: RefusedPart
    most_output: int = 0


class FallbackPart(StrEnum):
    """A part of a call that may be written in a weaker way."""

    STRUCTURED = "structured"  # the form of the answer
    SYSTEM = "system"  # whose words the prefix is said to be
    LIMIT = "limit"  # what the longest answer is called
    MAX_OUTPUT = "max_output"  # how long it may be
    TEMPERATURE = "temperature"
    TOP_P = "top_p"
    SEED = "seed"
    STREAM = "stream"  # whether the answer comes whole or piece by piece


LEFT_OUT = "none"  # the way of a part that is not sent at all
COUNTED_STREAM, PLAIN_STREAM = "counted", "plain"  # its end is to say what was used, or need not

Fallbacks = Mapping[FallbackPart, str]  # the weaker way that a part is written in
NO_FALLBACKS: Fallbacks = {}


class Fallback(NamedTuple):
    """A weaker way for one part of the calls."""

    part: FallbackPart
    way: str


class KnownFallback(NamedTuple):
    """A fallback that the ledger remembers: of which model, where, and what the server said."""

    model: str
    address: str  # "" = where its vendor is found
    part: FallbackPart
    way: str
    problem: str
    since: datetime


def plain_address(url: str) -> str:
    """A base URL as it may be written down: without a name, a key or anything after the path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
