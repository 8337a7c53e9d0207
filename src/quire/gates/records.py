"""Records: the items of an answer, each with what is wrong with it apart from its fields."""

from collections.abc import Iterable
from typing import NamedTuple

from quire.domain.data import Json

DEPTH_LIMIT = 100  # far above any real schema, far below where parsers and writers give up
# jsonschema-rs lets integers of 4,300 digits pass any maximum; and a number like 1e400 is read as
# infinity, which JSON cannot carry on
HIGHEST = 10**1000
LOWEST = -HIGHEST


class Record(NamedTuple):
    """One closed item of the answer; a flawed one is kept only to say whose it was."""

    value: Json
    flaw: str = ""


class Records(NamedTuple):
    """What could be read of an answer: every closed record, in order."""

    records: tuple[Record, ...]
    complete: bool  # the answer was read to its end
    problem: str = ""  # why it was not


def flaw_of(value: Json, room: int = DEPTH_LIMIT) -> str:
    """Say what no field's schema can be asked about; empty where there is nothing."""
    if isinstance(value, dict):
        children: Iterable[Json] = value.values()
    elif isinstance(value, list):
        children = value
    else:
        children = (value,)
    for child in children:
        kind = type(child)
        if kind is str:
            continue  # most values are text: not worth a call
        if kind is dict or kind is list:
            flaw = flaw_of(child, room - 1) if room else f"is nested more than {DEPTH_LIMIT} deep"
            if flaw:
                return flaw
        elif (kind is int or kind is float) and not LOWEST < child < HIGHEST:  # type: ignore[operator]
            return "holds a number too large to keep"
    return ""
