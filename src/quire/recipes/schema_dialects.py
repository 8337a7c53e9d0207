"""Schema dialects: keywords of older drafts, OpenAPI and Gemini under their names of today."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from quire.domain.data import Json, JsonObject
from quire.domain.quotes import QUOTE

TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_NUMERIC = ({"integer"}, {"number"})
_DROPPED = (  # they say nothing about a value
    *("$comment", "$anchor", "$id", "$schema", "$defs", "definitions", "discriminator", "xml"),
    *("externalDocs", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType"),
    *("contentSchema", "propertyOrdering", "unevaluatedProperties", "unevaluatedItems", "strict"),
)
_Rewrite: TypeAlias = Callable[[dict[str, Json]], None]


def modernise(schema: JsonObject) -> dict[str, Json]:
    """One schema, without those inside of it, in the words of draft 2020."""
    plain = {key: value for key, value in schema.items() if not _is_dropped(key)}
    for rewrite in _REWRITES:
        rewrite(plain)
    return plain


def _is_dropped(key: str) -> bool:
    return key in _DROPPED or (key.startswith("x-") and key != QUOTE)


def _lower_types(plain: dict[str, Json]) -> None:
    """Gemini and OpenAPI generators write STRING."""
    kind = plain.get("type")
    if isinstance(kind, str) and kind.isupper() and kind.lower() in TYPES:
        plain["type"] = kind.lower()


def _imply_type(plain: dict[str, Json]) -> None:
    if plain.keys() & {"type", "enum", "const", "anyOf", "oneOf", "allOf"}:
        return
    if "required" in plain and "properties" not in plain:
        return  # a part of a rule, such as: one of these two fields
    for keyword, kind in (("properties", "object"), ("items", "array"), ("prefixItems", "array")):
        if keyword in plain:
            plain["type"] = kind
            return


def _rename_example(plain: dict[str, Json]) -> None:
    if "example" in plain:
        example = plain.pop("example")
        plain.setdefault("examples", [example])


def _rewrite_nullable(plain: dict[str, Json]) -> None:
    """OpenAPI 3.0: a type that may be null beside."""
    if isinstance(plain.get("nullable"), bool) and plain.pop("nullable"):
        plain.update(make_nullable(plain))


def _rewrite_strict_bounds(plain: dict[str, Json]) -> None:
    """Draft 4: a bound is made strict by a flag; of whole numbers strict bounds are not needed."""
    for strict, bound, step in (
        ("exclusiveMinimum", "minimum", 1),
        ("exclusiveMaximum", "maximum", -1),
    ):
        limit = plain.get(strict)
        if isinstance(limit, bool):
            del plain[strict]
            if limit and bound in plain:
                limit = plain[strict] = plain.pop(bound)
        whole = isinstance(limit, int) and not isinstance(limit, bool)
        if whole and plain.get("type") == "integer" and bound not in plain:
            plain[bound] = plain.pop(strict) + step  # type: ignore[operator]  # a whole number


def _rewrite_tuple(plain: dict[str, Json]) -> None:
    """Draft 7: a list of schemas as `items`, and `additionalItems` for what follows them."""
    more = plain.pop("additionalItems", True)
    items = plain.get("items")
    if isinstance(items, list):
        del plain["items"]
        plain["prefixItems"] = items
        if isinstance(more, Mapping):
            plain["items"] = more
    closed = more is False and isinstance(items, list)
    first = plain.get("prefixItems")
    if (closed or plain.get("items") is False) and isinstance(first, list):
        plain.pop("items", None)
        plain.setdefault("maxItems", len(first))


def _rewrite_dependencies(plain: dict[str, Json]) -> None:
    rules = plain.get("dependencies")
    if not isinstance(rules, Mapping):
        return
    del plain["dependencies"]
    names = {name: rule for name, rule in rules.items() if isinstance(rule, list)}
    schemas = {name: rule for name, rule in rules.items() if isinstance(rule, Mapping)}
    plain.update({"dependentRequired": names} if names else {})
    plain.update({"dependentSchemas": schemas} if schemas else {})


def _drop_number_formats(plain: dict[str, Json]) -> None:
    """OpenAPI: int64, double."""
    if types_of(plain) in _NUMERIC:
        plain.pop("format", None)


def types_of(schema: JsonObject) -> set[str]:
    """The types that a schema names, but for null."""
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    return {item for item in kinds if isinstance(item, str) and item != "null"}


def make_nullable(field: JsonObject) -> dict[str, Json]:
    """The schema of a value that may also be null."""
    wider = dict(field)
    kind = wider.get("type")
    if kind is not None:
        kinds = kind if isinstance(kind, list) else [kind]
        wider["type"] = [*kinds, *(["null"] if "null" not in kinds else [])]
    if "const" in wider:
        wider["enum"] = [wider.pop("const")]
    listed = wider.get("enum")
    if isinstance(listed, list) and None not in listed:
        wider["enum"] = [*listed, None]
    for choice in ("anyOf", "oneOf"):
        options = wider.get(choice)
        if isinstance(options, list) and {"type": "null"} not in options:
            wider[choice] = [*options, {"type": "null"}]
    return wider


_REWRITES: tuple[_Rewrite, ...] = (
    _lower_types,
    _rewrite_tuple,
    _imply_type,
    _rename_example,
    _rewrite_nullable,
    _rewrite_strict_bounds,
    _rewrite_dependencies,
    _drop_number_formats,
)
