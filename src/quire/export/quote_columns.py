"""Quote columns: the words that prove values, with where they stand, for lines and flat rows."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import orjson

from quire.domain.data import Json, JsonObject, as_object, plain_json, stored_json
from quire.domain.quotes import Quote, QuotedField, split_notes
from quire.domain.recipes import Stage
from quire.export.column_types import INTEGER, JSON, TEXT, Column, ColumnType

_MARK = '"kind": "quoted"'  # as notes are written
_RANGE = "text_offset_range"


def quotes_of(notes: str | None) -> list[Quote]:
    """The quotes among stored notes."""
    return split_notes(stored_json(notes)).quotes if notes and _MARK in notes else []


def without_quotes(notes: str | None) -> str | None:
    """Stored notes but for quotes, which are shown apart."""
    if not notes or _MARK not in notes:
        return notes
    kept = split_notes(stored_json(notes)).notes
    return plain_json(kept) if kept else None


class QuotePlace(NamedTuple):
    """Where words stand in their source."""

    locator: Json = None  # as those of blocks
    start: int | None = None  # characters of the source, where those are known
    end: int | None = None

    @classmethod
    def of_range(cls, start: int, end: int) -> "QuotePlace":
        """Words that are an exact slice of their source, or stand in one."""
        locator: Json = {"type": _RANGE, "start_offset": start, "end_offset": end}
        return cls(locator, start, end)


NOWHERE = QuotePlace()
Locate = Callable[[Quote], QuotePlace]


def in_block(locator: str | None, content: str | None) -> Locate:
    """What finds quotes of one block."""
    return lambda quote: place_in_block(locator, content, quote.start, quote.end - quote.start)


def place_in_block(locator: str | None, content: str | None, start: int, length: int) -> QuotePlace:
    """Some characters of a block: their own range where it is a slice, else the block's place."""
    place = as_object(orjson.loads(locator)) if locator else {}
    begin = _source_offset(place, content)
    if begin is None or start + length > len(content or ""):
        return QuotePlace(place or None)
    return QuotePlace.of_range(begin + start, begin + start + length)


def quotes_json(notes: str | None, locate: Locate) -> list[dict[str, Json]]:
    """Quotes as lines have them, with their place in the text, and in the source."""
    return [_quote_json(quote, locate(quote)) for quote in quotes_of(notes)]


def _quote_json(quote: Quote, place: QuotePlace) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "path": quote.path,
        "quote": quote.text,
        "start": quote.start,
        "end": quote.end,
    }
    if place.locator is not None:
        shown["locator"] = place.locator
    if place.start is None:
        return shown
    return {**shown, "source_start": place.start, "source_end": place.end}


def _source_offset(place: JsonObject, content: str | None) -> int | None:
    """How many characters of the source come before a block that is an exact slice of it."""
    start, end = place.get("start_offset"), place.get("end_offset")
    if place.get("type") != _RANGE or not isinstance(start, int):
        return None
    return start if isinstance(end, int) and end - start == len(content or "") else None


def quoted_fields_of(stages: Iterable[Stage]) -> tuple[QuotedField, ...]:
    """The fields of some stages that ask for their quotes, each once."""
    found = chain.from_iterable(stage.schema.quoted_fields for stage in stages if stage.schema)
    return tuple(dict.fromkeys(found))


def quote_columns(fields: Sequence[QuotedField], *, located: bool = False) -> tuple[Column, ...]:
    """Columns of flat rows: three or four for a field at the top, one for all quotes of a list.

    `located`: where they stand in the source is told too.
    """
    kinds: dict[str, ColumnType] = {}
    for quoted in fields:
        if quoted.list_name:
            kinds[f"{quoted.list_name}_quotes"] = JSON
            continue
        kinds |= {f"{quoted.field}_quote": TEXT}
        kinds |= {f"{quoted.field}_{end}": INTEGER for end in ("start", "end")}
        kinds |= {f"{quoted.field}_locator": JSON} if located else {}
    return tuple(Column(name, kind) for name, kind in kinds.items())


def quote_values(
    columns: Sequence[Column], notes: str | None, locate: Locate = lambda _: NOWHERE
) -> tuple[Json, ...]:
    """The values of those columns in one row."""
    values: dict[str, Json] = {}
    lists: dict[str, list[Json]] = {}
    for quote in quotes_of(notes):
        first, _, inside = quote.path.removeprefix("/").partition("/")
        name = first.replace("~1", "/").replace("~0", "~")
        place = locate(quote)
        if inside:
            lists.setdefault(f"{name}_quotes", []).append(_quote_json(quote, place))
        else:
            values[f"{name}_quote"] = quote.text
            values |= {f"{name}_start": quote.start, f"{name}_end": quote.end}
            values[f"{name}_locator"] = place.locator
    return tuple((values | lists).get(column.name) for column in columns)
