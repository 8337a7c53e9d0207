"""Schemas that cannot be asked for, each with the words that say so."""

from typing import Any, NamedTuple

from tests.recipes import schema_classes as classes
from tests.recipes.schema_cases import fields


class RefusedCase(NamedTuple):
    """One schema that cannot be asked for, and the words that say so."""

    name: str
    source: Any
    says: str


REFUSED = [
    RefusedCase("a tree", classes.Node, "Node contains itself (Node.children → Node)"),
    RefusedCase(
        "two that hold each other",
        classes.Author,
        "Author contains itself (Author.books → Book.author → Author)",
    ),
    RefusedCase(
        "a root in itself",
        {"title": "Part", **fields((), parts={"type": "array", "items": {"$ref": "#"}})},
        "Part contains itself (Part.parts → Part)",
    ),
    RefusedCase(
        "a list of records", classes.Listing, 'must be "object": a record is an object, so put the'
    ),
    RefusedCase(
        "free keys at the top", {"type": "object", "additionalProperties": {}}, "must be f"
    ),
    RefusedCase("what has no form", classes.Callback, "Callback: 1 mistake"),
    RefusedCase("another class", classes.NoSchema, "give a Pydantic model, a dataclass or a Typed"),
    RefusedCase("no fields", {"type": "object", "properties": {}}, "must have at least one field"),
    RefusedCase(
        "a reference to elsewhere",
        fields((), a={"$ref": "https://example.org/a.json"}),
        "/properties/a/$ref: refers to 'https://example.org/a.json', which is not in this schema",
    ),
    RefusedCase(
        "a reference to nothing",
        fields((), a={"$ref": "#/$defs/a"}),
        "refers to '#/$defs/a', which is not in this schema: put it under $defs",
    ),
    RefusedCase(
        "a misspelt keyword",
        fields((), a={"type": "string", "maxlength": 3}),
        "/properties/a/maxlength: is not known; did you mean maxLength?",
    ),
    RefusedCase(
        "a misspelt type", fields((), a={"type": "int"}), "/properties/a/type: must be one of"
    ),
    RefusedCase(
        "a flag where names belong",
        fields((), a={"type": "string", "required": True}),
        "/properties/a/required: must be a list of field names",
    ),
    RefusedCase(
        "names in short",
        fields((), name="string"),
        "/properties/name: must be an object that describes the field",
    ),
    RefusedCase(
        "nothing in between",
        fields((), a={"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 1}),
        "nothing lies between them",
    ),
    RefusedCase(
        "a required field that is not there", fields(("b",), a={}), "no field is named 'b'"
    ),
    RefusedCase("no choice", fields((), a={"anyOf": []}), "must be a list of at least one schema"),
]
