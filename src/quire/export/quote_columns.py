"""Quote columns: the words that prove values, with where they stand, for lines and flat rows."""

from collections.abc import Iterable, Sequence
from itertools import chain

import orjson

from quire.domain.data import Json, as_object, plain_json, stored_json
from quire.domain.quotes import Quote, QuotedField, split_notes
from quire.domain.recipes import Stage
from quire.export.column_types import INTEGER, JSON, TEXT, Column, ColumnType

_MARK = '"kind": "quoted"'  # as notes are written


def quotes_of(notes: str | None) -> list[Quote]:
    """The quotes among stored notes."""
    return split_notes(stored_json(notes)).quotes if notes and _MARK in notes else []


def without_quotes(notes: str | None) -> str | None:
    """Stored notes but for quotes, which are shown apart."""
    if not notes or _MARK not in notes:
        return notes
    kept = split_notes(stored_json(notes)).notes
    return plain_json(kept) if kept else None


def quotes_json(
    notes: str | None, locator: str | None, content: str | None
) -> list[dict[str, Json]]:
    """Quotes as lines have them, with their place in the block, and in the source where known."""
    begin = _source_offset(locator, content)
    return [_quote_json(quote, begin) for quote in quotes_of(notes)]


def _quote_json(quote: Quote, begin: int | None) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "path": quote.path,
        "quote": quote.text,
        "start": quote.start,
        "end": quote.end,
    }
    if begin is None:
        return shown
    return {**shown, "source_start": begin + quote.start, "source_end": begin + quote.end}


def _source_offset(locator: str | None, content: str | None) -> int | None:
    """How many characters of the source come before a block that is an exact slice of it."""
    place = as_object(orjson.loads(locator)) if locator else {}
    start, end = place.get("start_offset"), place.get("end_offset")
    if place.get("type") != "text_offset_range" or not isinstance(start, int):
        return None
    return start if isinstance(end, int) and end - start == len(content or "") else None


def quoted_fields_of(stages: Iterable[Stage]) -> tuple[QuotedField, ...]:
    """The fields of some stages that ask for their quotes, each once."""
    found = chain.from_iterable(stage.schema.quoted_fields for stage in stages if stage.schema)
    return tuple(dict.fromkeys(found))


def quote_columns(fields: Sequence[QuotedField]) -> tuple[Column, ...]:
    """Columns of flat rows: three for a field at the top, one for all quotes of a list."""
    kinds: dict[str, ColumnType] = {}
    for quoted in fields:
        if quoted.list_name:
            kinds[f"{quoted.list_name}_quotes"] = JSON
        else:
            kinds |= {f"{quoted.field}_quote": TEXT}
            kinds |= {f"{quoted.field}_{end}": INTEGER for end in ("start", "end")}
    return tuple(Column(name, kind) for name, kind in kinds.items())


def quote_values(columns: Sequence[Column], notes: str | None) -> tuple[Json, ...]:
    """The values of those columns in one row."""
    values: dict[str, Json] = {}
    lists: dict[str, list[Json]] = {}
    for quote in quotes_of(notes):
        first, _, inside = quote.path.removeprefix("/").partition("/")
        name = first.replace("~1", "/").replace("~0", "~")
        if inside:
            lists.setdefault(f"{name}_quotes", []).append(_quote_json(quote, None))
        else:
            values[f"{name}_quote"] = quote.text
            values |= {f"{name}_start": quote.start, f"{name}_end": quote.end}
    return tuple((values | lists).get(column.name) for column in columns)
