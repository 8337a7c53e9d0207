"""Null fields: where null stands for a field that is absent, and answers without such nulls."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jsonschema_rs

from quire.domain.data import Json, JsonObject

_DEEPEST = 20  # schemas nested further, or in themselves, are left as they are


class _Branch(NamedTuple):
    """One alternative of a value: where null stands for absent in it, and whether it is met."""

    optional: "OptionalFields | None"
    fits: Callable[[Json], bool]


class OptionalFields(NamedTuple):
    """Where null stands for absent: which fields of an object, and what is inside it."""

    fields: frozenset[str]
    inner: Mapping[str, "OptionalFields"]
    items: "OptionalFields | None" = None  # of every element of a list
    others: "OptionalFields | None" = None  # of every field that has no rules of its own
    branches: tuple[_Branch, ...] = ()


def find_optional_fields(schema: Json, depth: int = 0) -> OptionalFields | None:
    """Find optional fields that may not be null; None where there are none at any depth."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    properties, required = schema.get("properties"), schema.get("required")
    fields = properties if isinstance(properties, Mapping) else {}
    needed = required if isinstance(required, list | tuple) else ()
    absent = frozenset(
        name for name, field in fields.items() if name not in needed and not allows_null(field)
    )
    inner = {
        name: found
        for name, field in fields.items()
        if (found := find_optional_fields(field, depth + 1)) is not None
    }
    items = find_optional_fields(schema.get("items"), depth + 1)
    free = None if fields else schema.get("additionalProperties")
    found = OptionalFields(
        absent, inner, items, find_optional_fields(free, depth + 1), _branches(schema, depth + 1)
    )
    return found if any(found) else None


def _branches(schema: JsonObject, depth: int) -> tuple[_Branch, ...]:
    """The alternatives of a choice; none where null stands for absent in none of them."""
    options = schema.get("anyOf") or schema.get("oneOf")
    found = [dict(option) for option in _mappings(options)]
    rules = [find_optional_fields(option, depth) for option in found]
    if not any(rules):
        return ()
    checks = (jsonschema_rs.validator_for(option, offline=True).is_valid for option in found)
    return tuple(_Branch(rule, check) for rule, check in zip(rules, checks, strict=True))


def _mappings(options: Json) -> list[JsonObject]:
    listed = options if isinstance(options, list | tuple) else ()
    return [option for option in listed if isinstance(option, Mapping)]


def drop_null_fields(data: Json, rule: OptionalFields) -> Json:
    """Copy an answer without the fields whose null means that there is nothing to say."""
    for branch in rule.branches:
        pruned = data if branch.optional is None else drop_null_fields(data, branch.optional)
        if branch.fits(pruned):
            return pruned
    if isinstance(data, Mapping):
        return {
            name: drop_null_fields(value, inner)
            if (inner := rule.inner.get(name, rule.others)) is not None
            else value
            for name, value in data.items()
            if value is not None or name not in rule.fields
        }
    if isinstance(data, list) and rule.items is not None:
        return [drop_null_fields(item, rule.items) for item in data]
    return data


def allows_null(field: Json) -> bool:
    """Whether null may stand where this schema of a field rules."""
    if not isinstance(field, Mapping):
        return True
    try:
        return bool(jsonschema_rs.validator_for(dict(field), offline=True).is_valid(None))
    except ValueError:  # it refers to what stands outside of it
        return True
