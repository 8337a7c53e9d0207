"""Schemas that people write by hand, with records that fit and records that do not."""

from typing import Any, NamedTuple

OPENAI, ANTHROPIC = "openai", "anthropic"
BOTH = (OPENAI, ANTHROPIC)


class SchemaCase(NamedTuple):
    """One schema; `bound` names whose strict mode can take it."""

    name: str
    source: Any
    good: tuple[Any, ...]
    bad: tuple[Any, ...] = ()
    bound: tuple[str, ...] = BOTH


def fields(required: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:
    """A hand-written schema of an object, as short as people write it."""
    named = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **named}


TOOL = fields(("city",), city={"type": "string"}, unit={"type": "string", "enum": ["c", "f"]})
STEPS = {
    "type": "object",
    "properties": {
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "explanation": {"type": "string"},
                    "output": {"type": "string"},
                },
                "required": ["explanation", "output"],
                "additionalProperties": False,
            },
        },
        "final_answer": {"type": "string"},
    },
    "required": ["steps", "final_answer"],
    "additionalProperties": False,
}
STEPS_DATA = {"steps": [{"explanation": "a", "output": "b"}], "final_answer": "c"}

ENVELOPES = [
    SchemaCase(
        "OpenAI's response format",
        {
            "type": "json_schema",
            "json_schema": {"name": "math_response", "strict": True, "schema": STEPS},
        },
        (STEPS_DATA,),
        ({"steps": [], "final_answer": 1},),
    ),
    SchemaCase(
        "OpenAI's text format",
        {"format": {"type": "json_schema", "name": "math", "schema": STEPS, "strict": True}},
        (STEPS_DATA,),
    ),
    SchemaCase(
        "OpenAI's function",
        {
            "type": "function",
            "function": {"name": "weather", "description": "The weather.", "parameters": TOOL},
        },
        ({"city": "Rome"}, {"city": "Rome", "unit": "c"}),
        ({"unit": "c"}, {"city": "Rome", "unit": "k"}),
    ),
    SchemaCase(
        "Anthropic's tool",
        {"name": "weather", "description": "The weather.", "input_schema": TOOL},
        ({"city": "Rome", "unit": None},),
        ({"city": None},),
    ),
    SchemaCase(
        "Gemini's response schema",
        {
            "type": "OBJECT",
            "properties": {
                "name": {"type": "STRING"},
                "year": {"type": "INTEGER", "nullable": True},
                "tags": {"type": "ARRAY", "items": {"type": "STRING"}},
            },
            "propertyOrdering": ["name", "year"],
            "required": ["name"],
        },
        ({"name": "x", "year": None, "tags": ["a"]},),
        ({"year": 1}, {"name": "x", "year": "1"}),
    ),
]

DRAFTS = [
    SchemaCase(
        "draft 7 definitions",
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"city": {"type": "string", "minLength": 2}},
            **fields(("from",), **{"from": {"$ref": "#/definitions/city"}}),
        },
        ({"from": "Rome"},),
        ({"from": "R"},),
    ),
    SchemaCase(
        "draft 2020 definitions in definitions",
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": {
                "line": fields(("sum",), sum={"$ref": "#/$defs/money"}),
                "money": {"type": "number", "exclusiveMinimum": 0},
            },
            **fields(("lines",), lines={"type": "array", "items": {"$ref": "#/$defs/line"}}),
        },
        ({"lines": [{"sum": 0.5}]},),
        ({"lines": [{"sum": 0}]}, {"lines": [{"sum": 1, "x": 1}]}),
    ),
    SchemaCase(
        "reference to another field",
        fields(("a", "b"), a={"type": "integer", "minimum": 3}, b={"$ref": "#/properties/a"}),
        ({"a": 3, "b": 4},),
        ({"a": 3, "b": 2},),
    ),
    SchemaCase(
        "reference beside a description",
        {
            "$defs": {"name": {"type": "string", "description": "a name"}},
            **fields((), owner={"$ref": "#/$defs/name", "description": "the owner's"}),
        },
        ({"owner": "x"},),
        ({"owner": 1},),
    ),
    SchemaCase(
        "escaped reference",
        {
            "$defs": {"a/b ~c": {"type": "boolean"}},
            **fields(("x",), x={"$ref": "#/$defs/a~1b ~0c"}),
        },
        ({"x": True},),
        ({"x": 1},),
    ),
    SchemaCase(
        "root that is a reference",
        {
            "$defs": {"Ticket": fields(("id",), id={"type": "integer"})},
            "$ref": "#/$defs/Ticket",
        },
        ({"id": 1},),
        ({"id": "1"},),
    ),
    SchemaCase(
        "draft 4 flags",
        fields(("x",), x={"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 9}),
        ({"x": 9},),
        ({"x": 0}, {"x": 10}),
    ),
    SchemaCase(
        "draft 7 tuple",
        fields(
            ("x",),
            x={
                "type": "array",
                "items": [{"type": "string"}, {"type": "integer"}],
                "additionalItems": False,
                "minItems": 2,
            },
        ),
        ({"x": ["a", 1]},),
        ({"x": [1, "a"]}, {"x": ["a", 1, 2]}),
    ),
    SchemaCase(
        "draft 2020 tuple",
        fields(
            ("x",),
            x={"type": "array", "prefixItems": [{"type": "number"}] * 2, "items": False},
        ),
        ({"x": [1, 2]},),
        ({"x": [1, 2, 3]}, {"x": ["a"]}),
    ),
    SchemaCase(
        "draft 7 dependencies",
        {
            **fields((), card={"type": "string"}, address={"type": "string"}),
            "dependencies": {"card": ["address"]},
        },
        ({}, {"card": "1", "address": "a"}),
        ({"card": "1"},),
    ),
    SchemaCase(
        "conditions",
        {
            **fields(
                ("country",),
                country={"type": "string", "enum": ["us", "nl"]},
                code={"type": "string"},
            ),
            "if": {"properties": {"country": {"const": "us"}}},
            "then": {"properties": {"code": {"pattern": "^[0-9]{5}$"}}, "required": ["code"]},
        },
        ({"country": "nl"}, {"country": "us", "code": "12345"}),
        ({"country": "us"}, {"country": "us", "code": "1"}),
    ),
    SchemaCase(
        "conditions one after the other",
        {
            **fields(("a",), a={"type": "integer"}, b={"type": "integer"}),
            "allOf": [
                {"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}},
                {
                    "if": {"properties": {"a": {"const": 2}}},
                    "then": {"properties": {"b": {"minimum": 5}}},
                },
            ],
        },
        ({"a": 1, "b": 1}, {"a": 2, "b": 5}, {"a": 3}),
        ({"a": 1}, {"a": 2, "b": 4}),
    ),
    SchemaCase(
        "one of two fields",
        {
            **fields((), email={"type": "string"}, phone={"type": "string"}),
            "anyOf": [{"required": ["email"]}, {"required": ["phone"]}],
        },
        ({"email": "a"}, {"phone": "1"}),
        ({},),
    ),
    SchemaCase(
        "not this",
        fields(("x",), x={"type": "string", "not": {"enum": ["n/a", "unknown"]}}),
        ({"x": "a"},),
        ({"x": "n/a"},),
    ),
]

KEYWORDS = [
    SchemaCase("nothing but properties", {"properties": {"a": {"type": "string"}}}, ({"a": "x"},)),
    SchemaCase(
        "open at the top",
        {**fields(("a",), a={"type": "string"}), "additionalProperties": True},
        ({"a": "x"},),
        ({"a": "x", "b": 1},),
    ),
    SchemaCase(
        "nested objects without a word",
        fields(("o",), o={"properties": {"a": {"type": "integer"}}, "required": ["a"]}),
        ({"o": {"a": 1}},),
        ({"o": {"a": 1, "b": 2}}, {"o": 1}),
    ),
    SchemaCase(
        "nested objects that stay open",
        fields(("o",), o={**fields(("a",), a={}), "additionalProperties": True}),
        ({"o": {"a": 1, "b": 2}},),
        ({"o": {}},),
        bound=(),
    ),
    SchemaCase(
        "this or null",
        fields(("a",), a={"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]}),
        ({"a": None}, {"a": "abc"}),
        ({"a": "abcd"}, {}),
    ),
    SchemaCase(
        "one of with null",
        fields(("a",), a={"oneOf": [{"type": "null"}, {"type": "integer"}]}),
        ({"a": None}, {"a": 1}),
        ({"a": "x"},),
    ),
    SchemaCase(
        "OpenAPI's nullable",
        fields(("a", "b"), a={"type": "string", "nullable": True}, b={"type": "string"}),
        ({"a": None, "b": "x"},),
        ({"a": "x", "b": None},),
    ),
    SchemaCase(
        "OpenAPI's nullable enum",
        fields(("a",), a={"type": "string", "enum": ["x"], "nullable": True, "example": "x"}),
        ({"a": None}, {"a": "x"}),
        ({"a": "y"},),
    ),
    SchemaCase(
        "OpenAPI's inheritance",
        {
            "$defs": {"base": fields(("id",), id={"type": "integer", "format": "int64"})},
            "allOf": [{"$ref": "#/$defs/base"}, fields(("name",), name={"type": "string"})],
        },
        ({"id": 1, "name": "x"},),
        ({"name": "x"}, {"id": 1, "name": "x", "more": 1}),
    ),
    SchemaCase(
        "OpenAPI's annotations",
        fields(
            ("a",),
            a={
                "type": "string",
                "readOnly": True,
                "deprecated": False,
                "xml": {},
                "x-order": 3,
                "externalDocs": {},
            },
        ),
        ({"a": "x"},),
    ),
    SchemaCase(
        "reference in allOf, as older Pydantic wrote it",
        {
            "definitions": {"Mood": {"title": "Mood", "enum": ["good", "bad"], "type": "string"}},
            **fields(
                ("mood",),
                mood={
                    "title": "Mood",
                    "default": "good",
                    "allOf": [{"$ref": "#/definitions/Mood"}],
                },
            ),
        },
        ({"mood": "bad"},),
        ({"mood": "x"},),
    ),
    SchemaCase(
        "tagged objects by hand",
        fields(
            ("event",),
            event={
                "oneOf": [
                    fields(("type", "by"), type={"const": "paid"}, by={"type": "string"}),
                    fields(("type",), type={"const": "sent"}, on={"type": "string"}),
                ],
                "discriminator": {"propertyName": "type"},
            },
        ),
        (
            {"event": {"type": "paid", "by": "x"}},
            {"event": {"type": "sent", "on": None}},
        ),
        ({"event": {"type": "paid"}}, {"event": {"type": "sent", "by": "x"}}),
    ),
    SchemaCase(
        "constants",
        fields(("a", "b"), a={"const": 3}, b={"const": None}),
        ({"a": 3, "b": None},),
        ({"a": 4, "b": None},),
    ),
    SchemaCase(
        "enum of several types",
        fields(("a",), a={"enum": ["x", 1, None, True]}),
        ({"a": None}, {"a": True}),
        ({"a": 2},),
    ),
    SchemaCase(
        "list of types",
        fields(("a",), a={"type": ["string", "number", "null"]}),
        ({"a": "x"}, {"a": 1.5}, {"a": None}),
        ({"a": True},),
    ),
    SchemaCase(
        "unique items",
        fields(("a",), a={"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        ({"a": ["x", "y"]},),
        ({"a": ["x", "x"]},),
    ),
    SchemaCase(
        "contains",
        fields(
            ("a",),
            a={"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 5}},
        ),
        ({"a": [1, 5]},),
        ({"a": [1]},),
    ),
    SchemaCase(
        "matrix",
        fields(
            ("a",),
            a={"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
        ),
        ({"a": [[1, 2], []]},),
        ({"a": [1]},),
    ),
    SchemaCase(
        "keys by a pattern",
        fields(
            ("a",),
            a={
                "type": "object",
                "patternProperties": {"^[a-z]+$": {"type": "integer"}},
                "additionalProperties": False,
            },
        ),
        ({"a": {"x": 1}},),
        ({"a": {"X": 1}}, {"a": {"x": "1"}}),
        bound=(),
    ),
    SchemaCase(
        "so many keys",
        fields(
            ("a",),
            a={
                "type": "object",
                "additionalProperties": {"type": "number"},
                "minProperties": 1,
                "propertyNames": {"maxLength": 5},
            },
        ),
        ({"a": {"x": 1}},),
        ({"a": {}}, {"a": {"longer": 1}}),
        bound=(),
    ),
    SchemaCase(
        "formats",
        fields(
            ("mail", "day"),
            mail={"type": "string", "format": "email"},
            day={"type": "string", "format": "date"},
            other={"type": "string", "format": "iban"},
        ),
        ({"mail": "a@example.org", "day": "2026-01-02", "other": "x"},),
        ({"mail": "nobody", "day": "2026-01-02"}, {"mail": "a@example.org", "day": "today"}),
    ),
    SchemaCase(
        "defaults and examples",
        fields((), a={"type": "integer", "default": 3, "examples": [4]}),
        ({}, {"a": 1}, {"a": None}),
        ({"a": "x"},),
    ),
    SchemaCase(
        "fields with names of ours",
        fields(("data", "block_uid"), data={"type": "string"}, block_uid={"type": "integer"}),
        ({"data": "x", "block_uid": 1},),
        ({"data": "x"},),
    ),
    SchemaCase(
        "an instruction beside the schema",
        {
            **fields(("a",), a={"type": "string"}),
            "prompt_config": {"system_instructions": "Read.", "pack_size": 5},
        },
        ({"a": "x"},),
    ),
]

HAND_WRITTEN = [*ENVELOPES, *DRAFTS, *KEYWORDS]
