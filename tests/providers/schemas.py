"""Schemas of many forms, each with a value that satisfies it."""

from typing import Any, NamedTuple

import jsonschema_rs
from hypothesis import strategies as st

Schema = dict[str, Any]


class Pair(NamedTuple):
    """A schema, and a value of it with every field present."""

    schema: Schema
    value: Any


NAMES = st.text("abcxyz_ é", min_size=1, max_size=4)
TEXTS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), max_size=8)
WHOLE = st.integers(-1_000, 1_000)
EXTRAS: st.SearchStrategy[Schema] = st.fixed_dictionaries(
    {},
    optional={
        "description": st.sampled_from(["", "How it is.", "(odd) one"]),
        "title": st.just("A title"),
        "default": st.just(None),
        "examples": st.just([1, "x"]),
    },
)


@st.composite
def strings(draw: st.DrawFn) -> Pair:
    value = draw(TEXTS)
    schema: Schema = {"type": "string"}
    if draw(st.booleans()):
        schema |= {"minLength": draw(st.integers(0, len(value)))}
    if draw(st.booleans()):
        schema |= {"maxLength": len(value) + draw(st.integers(0, 3))}
    if draw(st.booleans()):
        schema |= {"pattern": "^.*$"}
    elif draw(st.booleans()):
        name, value = draw(st.sampled_from(FORMATS))
        schema = {"type": "string", "format": name}
    return Pair(schema, value)


FORMATS = [
    ("date", "2026-11-15"),
    ("uri", "https://example.org/a"),
    ("email", "a@example.org"),
    ("json-pointer", "/a/b"),
]


@st.composite
def numbers(draw: st.DrawFn) -> Pair:
    value = draw(WHOLE)
    schema: Schema = {"type": draw(st.sampled_from(["integer", "number", ["integer", "number"]]))}
    bounds: Schema = {
        "minimum": value - draw(st.integers(0, 3)),
        "maximum": value + draw(st.integers(0, 3)),
        "exclusiveMinimum": value - 1,
        "exclusiveMaximum": value + 0.5,
        "multipleOf": 1,
    }
    chosen = draw(st.sets(st.sampled_from(list(bounds))))
    return Pair(schema | {key: bounds[key] for key in bounds if key in chosen}, value)


@st.composite
def enums(draw: st.DrawFn) -> Pair:
    scalars = TEXTS | WHOLE | st.booleans() | st.none() | st.just(1.5) | st.just(2.0)
    members: list[Any] = draw(
        st.lists(scalars | st.just({"a": [1]}) | st.just([]), min_size=1, max_size=4)
    )
    value = draw(st.sampled_from(members))
    schema: Schema = {"enum": members} if draw(st.booleans()) else {"const": value}
    if draw(st.booleans()):
        schema["type"] = sorted({kind_of(member) for member in members})
    return Pair(schema, value)


PLAIN = st.sampled_from([Pair({"type": "boolean"}, True), Pair({"type": "null"}, None)]) | st.just(
    Pair({}, {"any": ["thing"]})
)
LEAVES: st.SearchStrategy[Pair] = strings() | numbers() | enums() | PLAIN


@st.composite
def dress_schemas(draw: st.DrawFn, pairs: st.SearchStrategy[Pair]) -> Pair:
    """Add what says nothing, or null, or an alternative, or a conjunction."""
    schema, value = draw(pairs)
    schema = schema | draw(EXTRAS)
    dress = draw(st.sampled_from(["", "", "", "null", "anyOf", "oneOf", "allOf", "not", "both"]))
    if dress == "null" and schema.get("type") in ("string", "object", "array", "boolean"):
        schema = schema | {"type": [schema["type"], "null"]}
        value = draw(st.sampled_from([value, None]))
    elif dress in ("anyOf", "oneOf"):
        schema = {dress: [schema, {"const": "another world"}], "description": "Either."}
    elif dress == "allOf":
        schema = {"allOf": [schema, draw(st.sampled_from([{}, {"title": "T"}, schema]))]}
    elif dress == "not":
        schema = schema | {"not": {"const": "another world"}}
    elif dress == "both" and "type" in schema:
        schema = schema | {"anyOf": [{}, {"minLength": 1}]}
    return Pair(schema, value)


@st.composite
def objects(draw: st.DrawFn, pairs: st.SearchStrategy[Pair]) -> Pair:
    fields = draw(st.dictionaries(NAMES, pairs, max_size=3))
    schema: Schema = {
        "type": "object",
        "properties": {name: pair.schema for name, pair in fields.items()},
    }
    value = {name: pair.value for name, pair in fields.items()}
    if fields:
        schema["required"] = draw(st.lists(st.sampled_from(sorted(fields)), unique=True))
    extra = draw(st.sampled_from([None, False, True, {"type": "integer"}]))
    if extra is not None:
        schema["additionalProperties"] = extra
    if extra is not None and extra is not False and draw(st.booleans()):
        value["beside"] = 1
    return Pair(schema, value)


@st.composite
def arrays(draw: st.DrawFn, pairs: st.SearchStrategy[Pair]) -> Pair:
    items = draw(pairs)
    many = draw(st.integers(0, 3))
    schema: Schema = {"type": "array", "items": items.schema}
    if draw(st.booleans()):
        schema |= {"minItems": draw(st.integers(0, many)), "maxItems": many + 1}
    if draw(st.booleans()):
        schema |= {"prefixItems": [{"const": "first"}]}
        return Pair(schema, ["first", *[items.value] * max(0, many - 1)][:many])
    return Pair(schema, [items.value] * many)


def kind_of(value: object) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return "null" if value is None else names.get(type(value), "object")


FIELDS: st.SearchStrategy[Pair] = st.recursive(
    dress_schemas(LEAVES), lambda inner: dress_schemas(objects(inner) | arrays(inner)), max_leaves=6
)


@st.composite
def roots(draw: st.DrawFn) -> Pair:
    """A wire schema: a closed object with results, some of its fields referred to."""
    fields = draw(st.dictionaries(NAMES, FIELDS, max_size=3))
    held = draw(st.booleans())
    places = {
        name: {"$ref": f"#/$defs/d{at}", "description": "Seen there."} if held else pair.schema
        for at, (name, pair) in enumerate(fields.items())
    }
    record: Schema = {
        "type": "object",
        "properties": {"block_uid": {"type": "string"}, **places},
        "required": ["block_uid", *(name for name in fields if draw(st.booleans()))],
        "additionalProperties": False,
    }
    root: Schema = {
        "type": "object",
        "properties": {"results": {"type": "array", "items": record}},
        "required": ["results"],
        "additionalProperties": False,
    }
    if held:
        root["$defs"] = {f"d{at}": pair.schema for at, pair in enumerate(fields.values())}
    value = {"block_uid": "1x", **{name: pair.value for name, pair in fields.items()}}
    return Pair(root, {"results": [value]})


def accepts(schema: Schema, value: object) -> bool:
    """Whether a value satisfies a schema, formats included."""
    return jsonschema_rs.validator_for(schema, validate_formats=True).is_valid(value)
