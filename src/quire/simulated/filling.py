"""The stated rules: a JSON Schema is compiled once into a function from one block to its data.

Each value depends on the field's name, its schema and the text of its own block, on nothing else:

- const is written as it is; a block without a word gets the default where a valid one is declared.
- `word_count` is the number of \\S+ runs, `first_40_chars` the first 40 code points,
  `has_question` whether a "?" occurs; each only where the type allows it, fitted to the bounds.
- Enums: a stable hash of (field, content) over the non-null members of the right type.
- Nullable fields are null for one block in four, by the same hash; never those named above, nor
  those that restate the block.
- Strings: a pattern's or a format's first match in the block, else an invented one; a key that
  contains content, revised or rewrite restates the block with its whitespace normalised; any other
  is the first eight words. Clipped to maxLength, padded with dots to minLength.
- Integers and numbers: within the bounds and steps, by hash. Booleans: by hash.
- Arrays of plain strings: the block's distinct capitalised words, at most five unless minItems asks
  for more; of anything else: one to three elements, each by its own hash.
- Objects: every property, required or not. Of anyOf and oneOf the first that is not null.

What is written satisfies its schema within the subset users may write; exotic patterns excepted.
"""

import re
from collections.abc import Callable
from itertools import chain, repeat
from typing import TypeAlias

from quire.domain.data import Json, JsonObject
from quire.simulated.counting import integers, numbers
from quire.simulated.keywords import listed, types, whole
from quire.simulated.subject import Subject, choose, seed_of
from quire.simulated.wording import fitted, restates, satisfies, strings

Filler: TypeAlias = Callable[[Subject], Json]

PROBES = ("word_count", "first_40_chars", "has_question")  # computed exactly, so never left out
_CAPITALISED = re.compile(r"\b[A-Z]\w+")
_MOST_WORDS = 5
_NULL_SEED = 0x6E756C6C
_ELEMENT_SEED = 0x656C656D


def compile_filler(schema: Json, name: str = "") -> Filler:
    """Compile what one field asks for."""
    if not isinstance(schema, dict):
        return strings({}, name)
    if "const" in schema:
        constant = schema["const"]
        return lambda _subject: constant
    filler = _nullable(schema, name, _typed(schema, name))
    if "default" in schema and satisfies(schema)(schema["default"]):
        default = schema["default"]
        return lambda subject: filler(subject) if subject.words else default
    return filler


def compile_fields(
    schema: JsonObject, *, without: str = ""
) -> Callable[[Subject], dict[str, Json]]:
    """Compile an object's properties, one of them left out because the caller writes it."""
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    names = dict.fromkeys(chain(known, (str(each) for each in listed(schema, "required"))))
    fields = [(each, compile_filler(known.get(each), each)) for each in names if each != without]
    return lambda subject: {name: fill(subject) for name, fill in fields}


def _typed(schema: JsonObject, name: str) -> Filler:
    """Choose the rule for the first type that is not null."""
    if "enum" in schema:
        return _member(schema, name)
    branches = [*listed(schema, "anyOf"), *listed(schema, "oneOf")]
    if branches:
        other = [each for each in branches if each != {"type": "null"}]
        return compile_filler(other[0], name) if other else lambda _subject: None
    kind = next((each for each in types(schema) if each != "null"), None)
    if kind is None:
        return (lambda _subject: None) if types(schema) else strings(schema, name)
    return _RULES.get(kind, strings)(schema, name)


def _nullable(schema: JsonObject, name: str, filler: Filler) -> Filler:
    """Leave out one in four, where the schema allows null and the name does not forbid it."""
    if "enum" in schema:
        allowed = None in listed(schema, "enum") and (not types(schema) or "null" in types(schema))
    else:
        branches = [*listed(schema, "anyOf"), *listed(schema, "oneOf")]
        allowed = "null" in types(schema) or {"type": "null"} in branches
    if not allowed or name in PROBES or restates(name):
        return filler
    seed = seed_of(name) ^ _NULL_SEED
    return lambda subject: filler(subject) if choose(subject.choice, seed) % 4 else None


def _member(schema: JsonObject, name: str) -> Filler:
    members = [each for each in listed(schema, "enum") if each is not None]
    fitting = [*filter(satisfies(schema), members)] or members
    if not fitting:
        return lambda _subject: None
    size, seed = len(fitting), seed_of(name)
    return lambda subject: fitting[choose(subject.choice, seed) % size]


def _boolean(_schema: JsonObject, name: str) -> Filler:
    if name == "has_question":
        return lambda subject: "?" in subject.content
    seed = seed_of(name)
    return lambda subject: choose(subject.choice, seed) % 2 == 1


def _array(schema: JsonObject, name: str) -> Filler:
    items = schema.get("items")
    plain = isinstance(items, dict) and types(items) == ("string",)
    if plain and isinstance(items, dict) and not {"enum", "const", "pattern", "format"} & {*items}:
        return _names(schema, items)
    least, most = whole(schema, "minItems") or 0, whole(schema, "maxItems")
    element, seed = compile_filler(items, name), seed_of(name)
    unique = schema.get("uniqueItems") is True

    def write(subject: Subject) -> Json:
        wanted = max(least, 1 + choose(subject.choice, seed) % 3)
        wanted = wanted if most is None else min(wanted, most)
        # Repeats are dropped where they are forbidden, so more are tried than are wanted.
        written: list[Json] = []
        for ordinal in range(wanted * 16 if unique else wanted):
            choice = choose(subject.choice, _ELEMENT_SEED + ordinal)
            value = element(Subject(subject.content, subject.words, choice))
            if not unique or value not in written:
                written.append(value)
            if len(written) == wanted:
                break
        return written

    return write


def _names(schema: JsonObject, items: JsonObject) -> Filler:
    least, most = whole(schema, "minItems") or 0, whole(schema, "maxItems")
    count = max(least, _MOST_WORDS) if most is None else min(max(least, _MOST_WORDS), most)
    fit = fitted(items)

    def write(subject: Subject) -> Json:
        found = dict.fromkeys(map(fit, _CAPITALISED.findall(subject.content)))
        if len(found) < least:
            spare = chain(subject.words, (f"n{each}" for each in range(least)))
            found.update(dict.fromkeys(map(fit, spare)))
        names = list(found)[: count if len(found) >= least else None]
        # Too tight a maxLength leaves too few distinct names: repeat one rather than fall short.
        return [*names, *repeat(fit("n"), least - len(names))]

    return write


_RULES: dict[str, Callable[[JsonObject, str], Filler]] = {
    "string": strings,
    "integer": integers,
    "number": numbers,
    "boolean": _boolean,
    "array": _array,
    "object": lambda schema, _name: compile_fields(schema),
}
