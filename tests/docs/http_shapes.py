"""Shapes of the OpenAPI document in a reader's words: what fields are, and what answers hold."""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from quire.server.json_answers import LARGEST

Document = dict[str, Any]
Shape = Mapping[str, Any]
ANYTHING = "anything"
PAGED = {"items", "next"}  # the fields of a page
LONG_EXAMPLE = 60  # characters; what is longer stands in the example of its route
OPEN = "AnswerShape"  # of which nothing is said
WORDS = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "null": "null",
    "object": "object",
    "binary": "file",
    "date-time": "moment",
}


def name_of(shape: Shape) -> str:
    """The component that a shape refers to; empty: it is written out."""
    reference = shape.get("$ref", "")
    return reference.rpartition("/")[2] if isinstance(reference, str) else ""


def follow(document: Document, shape: Shape) -> Shape:
    """A shape written out; of one that may be null, what it is otherwise."""
    choices = [item for item in shape.get("anyOf", ()) if item.get("type") != "null"]
    named = choices[0] if len(choices) == 1 else shape
    found: Shape = document["components"]["schemas"][name_of(named)] if name_of(named) else named
    return found


def fields_of(document: Document, shape: Shape) -> tuple[dict[str, Shape], set[str]]:
    """The fields of a shape, and those that are needed."""
    found = follow(document, shape)
    return found.get("properties", {}), set(found.get("required", ()))


def field_rows(
    document: Document, fields: Mapping[str, Shape], needed: Collection[str], place: str = ""
) -> Iterator[str]:
    """A row of a table for every field."""
    for key, field in fields.items():
        said = tell_shape(document, field)
        if place and key not in needed:  # left out says the same as null
            said = said.removesuffix(" or null")
        words = [_capital(said) + "."]
        words += [_sentence(field["description"])] if "description" in field else []
        words += [f"Default: `{_json(default)}`."] if (default := field.get("default")) else []
        words += ["Needed."] if key in needed and place != "path" else []
        if "examples" in field and len(example := _json(field["examples"][0])) <= LONG_EXAMPLE:
            words.append(f"Such as `{example}`.")
        cells = [f"`{key}`", *filter(None, [place]), " ".join(words).replace("|", "\\|")]
        yield f"| {' | '.join(cells)} |"


def tell_shape(document: Document, shape: Shape) -> str:
    """What a value is, in a few words."""
    if name := name_of(shape):
        return _tell_component(document, name)
    if choices := shape.get("anyOf"):
        return " or ".join(dict.fromkeys(tell_shape(document, choice) for choice in choices))
    if values := shape.get("enum", [shape["const"]] if "const" in shape else []):
        return " or ".join(f"`{_json(value)}`" for value in values)
    if shape.get("type") == "array":
        items = tell_shape(document, shape.get("items", {}))
        return "list" if items == ANYTHING else f"list of {items}"
    kind = shape.get("format", shape.get("type", ""))
    return " ".join([WORDS.get(kind, WORDS.get(shape.get("type", ""), ANYTHING)), *_range(shape)])


def _tell_component(document: Document, name: str) -> str:
    found = document["components"]["schemas"][name]
    if found.get("properties"):
        return f"[{name}](#{name.lower()})"
    return "object" if name == OPEN else tell_shape(document, found)


def tell_answer(document: Document, answer: Shape) -> str:
    """What an answer holds: its fields, and where each of them is explained."""
    found = [
        _tell_content(document, media, said.get("schema", {}))
        for media, said in answer.get("content", {}).items()
    ]
    return "; or ".join(found) + "." if found else "nothing."


def _tell_content(document: Document, media: str, shape: Shape) -> str:
    if media != "application/json":
        return f"`{media}`"
    name, (fields, _) = name_of(shape), fields_of(document, shape)
    if set(fields) == PAGED:
        items = fields["items"]["items"]
        inner, _ = fields_of(document, items)
        return f"a page of {tell_shape(document, items)}" + _list_names(inner)
    if not fields:
        return "a JSON object" if name == OPEN else "JSON"
    return tell_shape(document, shape) + _list_names(fields)


def _list_names(fields: Mapping[str, Shape]) -> str:
    return ": " + ", ".join(f"`{key}`" for key in fields) if fields else ""


def _range(shape: Shape) -> Iterator[str]:
    low, above, high = (shape.get(key) for key in ("minimum", "exclusiveMinimum", "maximum"))
    if high is None or high >= LARGEST:
        return
    if low is not None:
        yield f"from {_number(low)}"
    if above is not None:
        yield f"above {_number(above)}"
    yield f"{'up ' if low is None else ''}to {_number(high)}"


def _number(value: float) -> str:
    return f"{value:,}".removesuffix(".0")


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(text: str) -> str:
    words = _capital(" ".join(text.split()))
    return words if words.endswith((".", "`")) else f"{words}."
