"""The stated rules: a JSON Schema is compiled once into a function from one block to its data.

Each value depends on the field's name, its schema and the text of its own block, on nothing else:

- const is written as it is; a block without a word gets the default where a valid one is declared.
- `word_count` is the number of \\S+ runs, `first_40_chars` the first 40 code points,
  `has_question` whether a "?" occurs; each only where the type allows it, fitted to the bounds.
- Enums: a stable hash of (field, content) over the non-null members of the right type.
- Nullable fields are null for one block in four, by the same hash; never those named above, nor
  those that restate or quote the block.
- Strings: a pattern's or a format's first match in the block, else an invented one; a key that
  contains content, revised or rewrite restates the block with its whitespace normalised; one that
  ends in _quote is a few words of it, to the letter; any other
  is the first eight words. Clipped to maxLength, padded with dots to minLength.
- Integers and numbers: within the bounds and steps, by hash. Booleans: by hash.
- Arrays of plain strings: the block's distinct capitalised words, at most five unless minItems asks
  for more; of anything else: one to three elements, each by its own hash.
- A record of title, instructions and fields is a schema's draft: schema_drafts.py has its rules.
- Tuples: each place by its own hash. Objects: every property, required or not, and as many free
  ones as must be there. Of anyOf and oneOf the first that is not null.

What is written satisfies its schema within the subset users may write; exotic patterns excepted,
and sizes beyond the longest answer of any model (`answer_sizes.py`).
"""

import re
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import TypeAlias

from quire.domain.data import Json, JsonObject
from quire.domain.quotes import is_quote_name
from quire.simulated.field_values import (
    BlockText,
    choose,
    integer_writer,
    is_restating_field,
    length_fitter,
    list_keyword,
    number_writer,
    schema_validator,
    seed_of,
    string_writer,
    type_names,
    whole_keyword,
)
from quire.simulated.schema_drafts import DRAFT_FIELDS, draft_record

Filler: TypeAlias = Callable[[BlockText], Json]

EXACT_FIELDS = ("word_count", "first_40_chars", "has_question")  # exact: never left out
_CAPITALISED = re.compile(r"\b[A-Z]\w+")
_MOST_WORDS = 5
_NULL_SEED = 0x6E756C6C
_ELEMENT_SEED = 0x656C656D


def compile_filler(schema: Json, name: str = "") -> Filler:
    """Compile what one field asks for."""
    if not isinstance(schema, dict):
        return string_writer({}, name)
    if "const" in schema:
        constant = schema["const"]
        return lambda _block: constant
    filler = _nullable_filler(schema, name, _type_filler(schema, name))
    if "default" in schema and schema_validator(schema)(schema["default"]):
        default = schema["default"]
        return lambda block: filler(block) if block.words else default
    return filler


def compile_fields(
    schema: JsonObject, *, without: str = ""
) -> Callable[[BlockText], dict[str, Json]]:
    """Compile an object's properties, one of them left out because the caller writes it."""
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    names = dict.fromkeys(chain(known, (str(item) for item in list_keyword(schema, "required"))))
    if names.keys() - {without} == DRAFT_FIELDS:
        return lambda block: draft_record(block.content)
    fields = [(text, compile_filler(known.get(text), text)) for text in names if text != without]
    return lambda block: {name: fill(block) for name, fill in fields}


def _type_filler(schema: JsonObject, name: str) -> Filler:
    """Choose the rule for the first type that is not null."""
    if "enum" in schema:
        return _enum_filler(schema, name)
    branches = [*list_keyword(schema, "anyOf"), *list_keyword(schema, "oneOf")]
    if branches:
        other = [branch for branch in branches if branch != {"type": "null"}]
        return compile_filler(other[0], name) if other else lambda _block: None
    kind = next((text for text in type_names(schema) if text != "null"), None)
    if kind is None:
        return (lambda _block: None) if type_names(schema) else string_writer(schema, name)
    return _TYPE_FILLERS.get(kind, string_writer)(schema, name)


def _nullable_filler(schema: JsonObject, name: str, filler: Filler) -> Filler:
    """Leave out one in four, where the schema allows null and the name does not forbid it."""
    if "enum" in schema:
        allowed = None in list_keyword(schema, "enum") and (
            not type_names(schema) or "null" in type_names(schema)
        )
    else:
        branches = [*list_keyword(schema, "anyOf"), *list_keyword(schema, "oneOf")]
        allowed = "null" in type_names(schema) or {"type": "null"} in branches
    if not allowed or name in EXACT_FIELDS or is_restating_field(name) or is_quote_name(name):
        return filler
    seed = seed_of(name) ^ _NULL_SEED
    return lambda block: filler(block) if choose(block.choice, seed) % 4 else None


def _enum_filler(schema: JsonObject, name: str) -> Filler:
    members = [item for item in list_keyword(schema, "enum") if item is not None]
    fitting = [*filter(schema_validator(schema), members)] or members
    if not fitting:
        return lambda _block: None
    size, seed = len(fitting), seed_of(name)
    return lambda block: fitting[choose(block.choice, seed) % size]


def _boolean_filler(_schema: JsonObject, name: str) -> Filler:
    if name == "has_question":
        return lambda block: "?" in block.content
    seed = seed_of(name)
    return lambda block: choose(block.choice, seed) % 2 == 1


def _array_filler(schema: JsonObject, name: str) -> Filler:
    items = schema.get("items")
    plain = isinstance(items, dict) and type_names(items) == ("string",)
    if plain and isinstance(items, dict) and not {"enum", "const", "pattern", "format"} & {*items}:
        return _names_filler(schema, items)
    least, most = whole_keyword(schema, "minItems") or 0, whole_keyword(schema, "maxItems")
    element, seed = compile_filler(items, name), seed_of(name)
    unique = schema.get("uniqueItems") is True
    if first := list_keyword(schema, "prefixItems"):
        return _tuple_filler([compile_filler(item, name) for item in first])

    def write(block: BlockText) -> Json:
        wanted = max(least, 1 + choose(block.choice, seed) % 3)
        wanted = wanted if most is None else min(wanted, most)
        # Repeats are dropped where they are forbidden, so more are tried than are wanted.
        written: list[Json] = []
        for ordinal in range(wanted * 16 if unique else wanted):
            choice = choose(block.choice, _ELEMENT_SEED + ordinal)
            value = element(BlockText(block.content, block.words, choice))
            if not unique or value not in written:
                written.append(value)
            if len(written) == wanted:
                break
        return written

    return write


def _tuple_filler(elements: Sequence[Filler]) -> Filler:
    """Fill each place, by a choice of its own."""

    def write(block: BlockText) -> Json:
        choices = (choose(block.choice, _ELEMENT_SEED + place) for place in range(len(elements)))
        return [
            element(BlockText(block.content, block.words, choice))
            for element, choice in zip(elements, choices, strict=True)
        ]

    return write


def _object_filler(schema: JsonObject, _name: str) -> Filler:
    """Every field; of free ones as many as must be there."""
    fill, least = compile_fields(schema), whole_keyword(schema, "minProperties") or 0
    free = compile_filler(schema.get("additionalProperties"), "")

    def write(block: BlockText) -> Json:
        fields = fill(block)
        for number in range(least - len(fields)):
            fields[f"key{number + 1}"] = free(block)
        return fields

    return write if least else fill


def _names_filler(schema: JsonObject, items: JsonObject) -> Filler:
    least, most = whole_keyword(schema, "minItems") or 0, whole_keyword(schema, "maxItems")
    count = max(least, _MOST_WORDS) if most is None else min(max(least, _MOST_WORDS), most)
    fit = length_fitter(items)

    def write(block: BlockText) -> Json:
        found = dict.fromkeys(map(fit, _CAPITALISED.findall(block.content)))
        if len(found) < least:
            spare = chain(block.words, (f"n{number}" for number in range(least)))
            found.update(dict.fromkeys(map(fit, spare)))
        names = list(found)[: count if len(found) >= least else None]
        # Too tight a maxLength leaves too few distinct names: repeat one rather than fall short.
        return [*names, *repeat(fit("n"), least - len(names))]

    return write


_TYPE_FILLERS: dict[str, Callable[[JsonObject, str], Filler]] = {
    "string": string_writer,
    "integer": integer_writer,
    "number": number_writer,
    "boolean": _boolean_filler,
    "array": _array_filler,
    "object": _object_filler,
}
