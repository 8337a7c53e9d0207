"""Data: JSON, the one canonical form that fingerprints are taken of, and rows with names."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, time
from functools import cache, partial
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]

NOTHING: JsonObject = MappingProxyType({})


def plain_json(value: Json) -> str:
    """Write JSON in the order it was given: fields are read, and answered, in that order."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)
_PLAIN = frozenset((str, int, bool, type(None)))  # which orjson writes as Python does


@cache
def _sorted_writer() -> Callable[[Json], bytes]:
    import orjson  # not for --help, and once: to import costs as much as to write

    return partial(orjson.dumps, default=None, option=orjson.OPT_SORT_KEYS)


@cache
def _reader() -> Callable[..., Any]:
    import jiter  # not for --help

    return jiter.from_json


@cache
def _strict_reader() -> Callable[[bytes], Any]:
    return partial(_reader(), allow_inf_nan=False, catch_duplicate_keys=True)


def canonical_json(value: Json) -> str:
    """Write JSON with keys sorted at every depth, no spaces, and non-ASCII text as it is."""
    if type(value) is dict and _PLAIN.issuperset(map(type, value.values())):
        try:
            return _sorted_writer()(value).decode()
        except TypeError:  # numbers beyond 64 bits, half surrogate pairs
            pass
    return _CANONICAL.encode(value)


def stored_json(text: str | None) -> Any:
    """Read JSON of our own from the ledger; None where there is none.

    Integers are exact at any size; orjson would read those beyond 64 bits as floats.
    """
    if not text:
        return None
    try:
        return _reader()(text.encode())
    except ValueError:  # nested deeper than it goes, or half of a surrogate pair
        return json.loads(text)


def strict_json(raw: bytes) -> Any:
    """Read JSON from outside; ValueError also at repeated keys, NaN and half surrogate pairs."""
    return _strict_reader()(raw)


def json_object(raw: bytes | str) -> dict[str, Json] | None:
    """The JSON object that somebody sent; None where it is none."""
    import orjson  # not for --help

    try:
        value = orjson.loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def json_or_text(text: str) -> Json:
    """Read what somebody typed: JSON where it is that, else the text itself."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def readable_json(data: Json) -> str:
    """JSON as people read it, always the same for the same data."""
    return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False)


def text_of_result(data: Json) -> str | None:
    """What a result says where it is text and nothing besides; None of a record."""
    text = data.get("text") if isinstance(data, Mapping) and len(data) == 1 else data
    return text if isinstance(text, str) else None


def mend_text(text: str) -> str:
    """Half of a surrogate pair and NUL may stand in JSON, but in no block and no file."""
    return text.encode(errors="replace").decode().replace("\0", "\ufffd")


def as_object(value: Json) -> JsonObject:
    """An object as it is; anything else has no fields."""
    return value if type(value) is dict or isinstance(value, Mapping) else {}  # one is quicker told


def dates_as_text(value: Any) -> Any:
    """TOML's dates become text, as they would have been in quotes: JSON has none."""
    if isinstance(value, dict):
        return {name: dates_as_text(item) for name, item in value.items()}
    if isinstance(value, list):
        return [dates_as_text(item) for item in value]
    return value.isoformat() if isinstance(value, date | time) else value


Row = TypeVar("Row", bound=tuple[object, ...])


def to_named_tuples(kind: type[Row], rows: Iterable[tuple[object, ...]]) -> list[Row]:
    """Give the columns of many rows the names of a NamedTuple, at the speed of C."""
    return list(stream_named_tuples(kind, rows))


def stream_named_tuples(kind: type[Row], rows: Iterable[tuple[object, ...]]) -> Iterator[Row]:
    """The same one by one.

    Like `map(kind._make, rows)`, but without its check: rows must have all columns.
    """
    return map(partial(tuple.__new__, kind), rows)
