"""Omitting: null in fields that may be absent, which strict schemas make models write."""

from collections.abc import Mapping
from typing import NamedTuple

import jsonschema_rs

from quire.domain.data import Json

_DEEPEST = 20  # schemas nested further, or in themselves, are left as they are


class Omissible(NamedTuple):
    """Where null stands for absent: which fields of an object, and what is inside it."""

    fields: frozenset[str]
    inner: Mapping[str, "Omissible"]
    items: "Omissible | None"


def omissible(schema: Json, depth: int = 0) -> Omissible | None:
    """Find optional fields that may not be null; None where there are none at any depth."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    properties, required = schema.get("properties"), schema.get("required")
    fields = properties if isinstance(properties, Mapping) else {}
    needed = required if isinstance(required, list | tuple) else ()
    absent = frozenset(
        name for name, field in fields.items() if name not in needed and not _takes_null(field)
    )
    inner = {
        name: found
        for name, field in fields.items()
        if (found := omissible(field, depth + 1)) is not None
    }
    items = omissible(schema.get("items"), depth + 1)
    return Omissible(absent, inner, items) if absent or inner or items else None


def without_nulls(data: Json, rule: Omissible) -> Json:
    """Copy an answer without the fields whose null means that there is nothing to say."""
    if isinstance(data, Mapping):
        kept = {
            name: value
            for name, value in data.items()
            if value is not None or name not in rule.fields
        }
        return {
            name: without_nulls(value, rule.inner[name]) if name in rule.inner else value
            for name, value in kept.items()
        }
    if isinstance(data, list) and rule.items is not None:
        return [without_nulls(each, rule.items) for each in data]
    return data


def _takes_null(field: Json) -> bool:
    if not isinstance(field, Mapping):
        return True
    try:
        return bool(jsonschema_rs.validator_for(dict(field), offline=True).is_valid(None))
    except ValueError:  # it refers to what stands outside of it
        return True
