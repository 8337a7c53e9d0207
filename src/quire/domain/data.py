"""JSON data: its type, and the one canonical form that fingerprints are taken of."""

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]


def plain_json(value: Json) -> str:
    """Write JSON in the order it was given: fields are read, and answered, in that order."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Json) -> str:
    """Write JSON with keys sorted at every depth, no spaces, and non-ASCII text as it is."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
