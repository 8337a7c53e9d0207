"""Rows: named fields become one block, all of them or the one that is asked about."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import date, time
from math import isfinite
from typing import Any

from quire.domain.data import Json, canonical_json, mend_text
from quire.domain.documents import Block, BlockType, LeftOut, ReadOptions
from quire.sources.source_parts import BadContent

OTHER = BlockType.OTHER  # an enum looks its members up, each time


def row_block(
    index: int, row: Mapping[str, Json], locator: Mapping[str, Json], options: ReadOptions
) -> Block:
    """The block of a row; what its fields lack is told without saying where."""
    place = locator
    if options.key_column is not None:
        place = {**locator, "key": _field(row, options.key_column)}
    if options.text_column is not None:
        content = _text(row, options.text_column)
    else:
        content = canonical_json(row)
    return Block(index, OTHER, content, place)


def plain_text(row: Mapping[str, Json], options: ReadOptions) -> str | None:
    """What a row is asked about, where that is all that is wanted of it and nothing is amiss.

    None where somebody has to look closer: that way costs as much again.
    """
    if options.text_column is None or options.key_column is not None:
        return None
    text = row.get(options.text_column)
    if type(text) is not str or not text or text.isspace() or "\0" in text:
        return None
    return text


def lacks_text(row: Mapping[str, Json], options: ReadOptions) -> bool:
    """Whether a row has the column that is asked about, and nothing in it."""
    if options.text_column is None or options.text_column not in row:
        return False
    value = row[options.text_column]
    return value is None or (isinstance(value, str) and not value.strip())


def row_without_text(place: str) -> LeftOut:
    """A row that is not asked about: whatever a model said of it would be invented."""
    return LeftOut(place, "there is no text in this row", without_text=True)


def plain_value(value: object) -> Json:
    """A cell's value as JSON has it: dates as ISO text, exact numbers as text, bytes in base64."""
    if value is None or isinstance(value, bool | int):
        return value
    for types, convert in _CONVERSIONS:
        if isinstance(value, types):
            return convert(value)
    return mend_text(str(value))


_CONVERSIONS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Json]], ...] = (
    (str, mend_text),
    (float, lambda value: value if isfinite(value) else str(value)),
    ((date, time), lambda value: value.isoformat()),
    (bytes, lambda value: b64encode(value).decode()),
    (
        Mapping,
        lambda value: {mend_text(str(name)): plain_value(item) for name, item in value.items()},
    ),
    ((list, tuple), lambda value: [plain_value(item) for item in value]),
)


def _field(row: Mapping[str, Json], name: str) -> Json:
    if name not in row:
        raise BadContent(f"has no field {name!r}")
    return row[name]


def _text(row: Mapping[str, Json], name: str) -> str:
    value = _field(row, name)
    if not isinstance(value, str):
        raise BadContent(f"its field {name!r} is not text")
    if "\0" in value:
        raise BadContent(f"its field {name!r} has a NUL character")
    return value
