"""Answer sizes: how long an answer must be at least, and schemas that ask for no more than is made.

A schema may ask for a thousand million items. Nobody could answer that, and writing it here would
take all memory; so where the least that a schema allows is too much, its least sizes do not count.
What is written then breaks the schema, and the gates say which field is too short.
"""

from collections.abc import Iterator

from quire.domain.data import Json
from quire.simulated.field_values import whole_keyword

MOST_BYTES = 4_000_000  # above the longest answer of any model
_LEAST_SIZES = ("minLength", "minItems", "minProperties")


def within_reach(schema: Json) -> Json:
    """A schema whose shortest answer can be written; if it is too long, without least sizes."""
    return schema if least_bytes(schema) <= MOST_BYTES else _without_least_sizes(schema)


def least_bytes(schema: Json) -> int:
    """How long the shortest answer is that is ever written, about: it fills in every field."""
    if not isinstance(schema, dict) or {"const", "enum"} & schema.keys():
        return 1
    least_items = max(1, whole_keyword(schema, "minItems") or 0)
    least_fields = max(0, whole_keyword(schema, "minProperties") or 0)
    properties = schema.get("properties")
    fields = properties.values() if isinstance(properties, dict) else ()
    parts = schema.get("anyOf") or schema.get("oneOf") or ()
    first = next((part for part in _list_of(parts) if part != {"type": "null"}), None)
    return (
        max(1, whole_keyword(schema, "minLength") or 0)
        + (least_items * least_bytes(schema["items"]) if "items" in schema else 0)
        + least_fields * least_bytes(schema.get("additionalProperties"))
        + sum(map(least_bytes, fields))
        + sum(map(least_bytes, _list_of(schema.get("prefixItems"))))
        + (0 if first is None else least_bytes(first))
    )


def _without_least_sizes(schema: Json) -> Json:
    if isinstance(schema, list):
        return [_without_least_sizes(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_least_sizes(part)
        for key, part in schema.items()
        if not (key in _LEAST_SIZES and isinstance(part, int | float))  # a field may be called so
    }


def _list_of(value: Json) -> Iterator[Json]:
    yield from value if isinstance(value, list) else ()
