"""Data: JSON, the one canonical form that fingerprints are taken of, and rows with names."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TypeAlias, TypeVar

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]

NOTHING: JsonObject = MappingProxyType({})


def plain_json(value: Json) -> str:
    """Write JSON in the order it was given: fields are read, and answered, in that order."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Json) -> str:
    """Write JSON with keys sorted at every depth, no spaces, and non-ASCII text as it is."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


Row = TypeVar("Row", bound=tuple[object, ...])


def to_named_tuples(kind: type[Row], rows: Iterable[tuple[object, ...]]) -> list[Row]:
    """Give the columns of many rows the names of a NamedTuple, at the speed of C.

    The same as `map(kind._make, rows)` without its check: rows must have all columns.
    """
    return list(map(partial(tuple.__new__, kind), rows))
