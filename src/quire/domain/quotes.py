"""Quotes: words of a block that prove a value; which fields ask for one, and how they are kept.

A field asks for its quote by `"x-quote": true`. What is sent asks for one text more before it,
called `<field>_quote`. The gate takes it out of the answer again, so that data has the fields of
its schema and no others, and looks it up in the block: where it stands is found by us, not by the
model. It is kept among the notes of the result.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from quire.domain.data import Json, JsonObject
from quire.domain.gates import NoteKind, ReadingNote

QUOTE = "x-quote"
SUFFIX = "_quote"


class QuotedField(NamedTuple):
    """A field that asks for its quote."""

    list_name: str  # the list whose elements have it; "" = it stands at the top
    field: str
    name: str  # of the text that is asked for besides


class Quote(NamedTuple):
    """Words of a block that prove a value."""

    path: str  # a JSON pointer to the value
    text: str  # as it stands in the block
    start: int  # characters of the block before it
    end: int

    def as_note(self) -> ReadingNote:
        """As it is kept."""
        return ReadingNote(NoteKind.QUOTED, self.path, self.text, f"{self.start}:{self.end}")


class SplitNotes(NamedTuple):
    """What was noted of a result, quotes apart."""

    notes: list[Mapping[str, str]]
    quotes: list[Quote]


def split_notes(stored: Json) -> SplitNotes:
    """Part stored notes into those about reading, and quotes."""
    notes: list[Mapping[str, str]] = []
    quotes: list[Quote] = []
    for note in stored if isinstance(stored, list) else ():
        if note["kind"] == NoteKind.QUOTED:
            start, _, end = note["read"].partition(":")
            quotes.append(Quote(note["path"], note["written"], int(start), int(end)))
        else:
            notes.append(note)
    return SplitNotes(notes, quotes)


def quoted_fields(schema: JsonObject) -> tuple[QuotedField, ...]:
    """The fields of a record's schema that ask for their quotes."""
    return tuple(_find_quoted(schema))


def _find_quoted(schema: JsonObject) -> Iterator[QuotedField]:
    fields = _mapping(schema.get("properties"))
    for name, field in fields.items():
        rules = _mapping(field)
        if rules.get(QUOTE) is True:
            yield QuotedField("", name, quote_name(name, fields))
        inner = _mapping(_mapping(rules.get("items")).get("properties"))
        for inner_name, inner_field in inner.items():
            if _mapping(inner_field).get(QUOTE) is True:
                yield QuotedField(name, inner_name, quote_name(inner_name, inner))


def quote_name(field: str, fields: Mapping[str, object]) -> str:
    """What the quote of a field is called beside it; never what another field is."""
    name = f"{field}{SUFFIX}"
    while name in fields:
        name += "_"
    return name


def is_quote_name(name: str) -> bool:
    """Whether a field may be a quote, by its name."""
    return name.rstrip("_").endswith(SUFFIX)


def asked_schema(schema: JsonObject) -> dict[str, Json]:
    """The schema of what is asked for: before each quoted field stands its quote."""
    if not quoted_fields(schema):
        return dict(schema)
    asked = _with_quotes(schema)
    fields = dict(_mapping(asked["properties"]))
    for name, field in fields.items():
        items = _mapping(_mapping(field).get("items"))
        if "properties" in items:
            fields[name] = {**_mapping(field), "items": _with_quotes(items)}
    return {**asked, "properties": fields}


def _with_quotes(schema: JsonObject) -> dict[str, Json]:
    """One object with a quote before each field that asks for one."""
    fields = _mapping(schema.get("properties"))
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    asked: dict[str, Json] = {}
    asked_needed: list[Json] = []
    for name, field in fields.items():
        rules = dict(_mapping(field))
        if rules.pop(QUOTE, False) is True:
            quote = quote_name(name, fields)
            asked[quote] = _quote_rules(name, rules, needed=name in needed)
            asked_needed += [quote] if name in needed else []
        asked[name] = rules
        asked_needed += [name] if name in needed else []
    known = {**schema, "properties": asked}
    return {**known, "required": asked_needed} if "required" in schema else known


def _quote_rules(name: str, rules: JsonObject, *, needed: bool) -> dict[str, Json]:
    may_lack = not needed or _may_be_null(rules)
    silent = f"; null where {name} is null" if may_lack else ""
    return {
        "type": ["string", "null"] if may_lack else "string",
        "description": f"the words of the block that show {name}, copied exactly{silent}",
    }


def _may_be_null(rules: JsonObject) -> bool:
    kinds = rules.get("type")
    listed = rules.get("enum")
    if isinstance(listed, list) and None not in listed:
        return False
    return not isinstance(kinds, str) and (not isinstance(kinds, list) or "null" in kinds)


class WrittenQuote(NamedTuple):
    """A value with the words that the model gave for it."""

    path: str
    name: str  # where the words stood
    value: Json
    words: Json


def take_quotes(
    data: Mapping[str, Json], fields: Sequence[QuotedField]
) -> tuple[dict[str, Json], list[WrittenQuote]]:
    """A record without its quotes, and those, each with the value that it is for."""
    kept = dict(data)
    written: list[WrittenQuote] = []
    for quoted in fields:
        if not quoted.list_name:
            written += _take(kept, quoted, "")
            continue
        items = kept.get(quoted.list_name)
        if isinstance(items, list):
            copies = [dict(item) if isinstance(item, Mapping) else item for item in items]
            kept[quoted.list_name] = copies
            for number, item in enumerate(copies):
                if isinstance(item, dict):
                    written += _take(item, quoted, f"/{_step(quoted.list_name)}/{number}")
    return kept, written


def _take(record: dict[str, Json], quoted: QuotedField, above: str) -> list[WrittenQuote]:
    words, value = record.pop(quoted.name, None), record.get(quoted.field)
    path, name = f"{above}/{_step(quoted.field)}", f"{above}/{_step(quoted.name)}"
    return [] if value in (None, "", [], {}) else [WrittenQuote(path, name, value, words)]


def value_at(data: Json, path: str) -> Json:
    """What stands at a JSON pointer of a record; None where nothing does."""
    found = data
    for step in path.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = found[int(name)] if int(name) < len(found) else None
        else:
            found = _mapping(found).get(name)
    return found


def _step(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _mapping(value: Json) -> JsonObject:
    # most are absent or dictionaries: to ask whether something is like one takes longer
    return value if type(value) is dict or (value and isinstance(value, Mapping)) else {}
