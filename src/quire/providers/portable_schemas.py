"""Portable schemas: a schema becomes what a vendor accepts; what it cannot bind is put in words."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from quire.domain.data import Json, JsonObject, canonical_json, plain_json

_KINDS = ("object", "array", "string", "number", "integer", "boolean", "null")
_NULL: JsonObject = {"type": "null"}
_PYTHON_KINDS: dict[str, type] = {  # a boolean is an integer to Python, and so comes first
    "null": type(None),
    "boolean": bool,
    "integer": int,
    "number": float,
    "string": str,
    "object": Mapping,
}


def items_of(value: Json) -> list[Json]:
    """Read a keyword's list; anything else is an empty one."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []


def kinds_of(keywords: JsonObject) -> list[str]:
    """List the types a value may have, null last; none means any."""
    named = keywords.get("type")
    kinds = [named] if isinstance(named, str) else items_of(named)
    members = items_of(keywords.get("enum"))
    if members:  # a type that no listed value has is no choice
        possible = [kind for kind in kinds if any(is_kind(member, str(kind)) for member in members)]
        kinds = possible or [_kind_of(member) for member in members]
    found = [kind for kind in _KINDS if kind in kinds]
    if "number" in found and "integer" in found:
        found.remove("integer")
    return found


def members_of(keywords: JsonObject, kinds: Sequence[str]) -> list[Json]:
    """List the values that are allowed by name, once each, as far as they are of these types."""
    once = {canonical_json(member): member for member in items_of(keywords.get("enum"))}
    return [member for member in once.values() if any(is_kind(member, kind) for kind in kinds)]


def is_kind(value: Json, kind: str) -> bool:
    """Whether a value is of a type, as JSON Schema sees it."""
    own = _kind_of(value)
    whole = isinstance(value, float) and value.is_integer()
    return own == kind or (kind == "number" and own == "integer") or (kind == "integer" and whole)


def are_scalars(values: Sequence[Json]) -> bool:
    """Whether no value is a list or an object."""
    return all(_kind_of(value) not in ("object", "array") for value in values)


def make_nullable(node: JsonObject) -> dict[str, Json]:
    """Let a node be null besides."""
    wider = dict(node)
    options = items_of(node.get("anyOf"))
    if options and not any(_allows_null(option) for option in options):
        wider["anyOf"] = [*options, _NULL]
    named = node.get("type")
    kinds = [named] if isinstance(named, str) else items_of(named)
    if kinds and "null" not in kinds:
        wider["type"] = [*kinds, "null"]
    members = items_of(node.get("enum"))
    if members and None not in members:
        wider["enum"] = [*members, None]
    return wider


def _allows_null(option: Json) -> bool:
    kind = option.get("type") if isinstance(option, Mapping) else None
    return "null" in (kind, *items_of(kind))


def _kind_of(value: Json) -> str:
    for name, kinds in _PYTHON_KINDS.items():
        if isinstance(value, kinds):
            return name
    return "array"


# What a keyword speaks about; a keyword that is not here speaks about every value.
APPLIES_TO = {
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), "string"),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"
    ),
    **dict.fromkeys(
        ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"), "array"
    ),
    **dict.fromkeys(("properties", "required", "minProperties", "maxProperties"), "object"),
    **dict.fromkeys(("additionalProperties", "patternProperties", "propertyNames"), "object"),
}
_RANGES = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", "character"),
    ("minItems", "maxItems", "item"),
    ("minProperties", "maxProperties", "field"),
)
_PHRASES = {
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "pattern": "matches the pattern {}",
    "format": "in the format {}",
    "enum": "one of {}",
}


def describe_constraints(keywords: JsonObject) -> Iterator[str]:
    """Say each constraint, in the same order for the same keywords."""
    seen: set[str] = set()
    for low, high, noun in _RANGES:
        if low in keywords or high in keywords:
            seen |= {low, high}
            yield _range_phrase(keywords.get(low), keywords.get(high), noun)
    for keyword, value in keywords.items():
        if keyword in seen:
            continue
        if keyword == "uniqueItems":
            if value is True:
                yield "no item twice"
        elif keyword in _PHRASES:
            value_text = value if isinstance(value, str) else plain_json(value)
            yield _PHRASES[keyword].format(value_text)
        else:
            yield f"{keyword}: {plain_json(value)}"


def add_description(node: JsonObject, description: Json, words: Collection[str]) -> dict[str, Json]:
    """Put a description on a node, with what the vendor cannot bind in brackets after it."""
    said = "; ".join(words)
    before = description if isinstance(description, str) else ""
    text = f"{before} ({said})" if before and said else before or said
    return {**node, "description": text} if text else dict(node)


def _range_phrase(low: Json, high: Json, noun: str) -> str:
    shown = [plain_json(bound) for bound in (low, high) if bound is not None]
    plural = noun and (f" {noun}" if shown[-1] == "1" else f" {noun}s")
    if len(shown) == 2:
        return f"between {shown[0]} and {shown[1]}{plural}"
    return f"{'at least' if high is None else 'at most'} {shown[0]}{plural}"


class SchemaDialect(Enum):
    """Whose subset of JSON Schema."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"


_BOUNDS = frozenset(("minimum", "maximum", "minItems", "maxItems"))
# Patterns and lengths are words for everybody: dialects of regular expressions differ, and one that
# a vendor refuses would fail every call of a run.
_BINDABLE = {
    SchemaDialect.OPENAI: _BOUNDS | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
    SchemaDialect.ANTHROPIC: frozenset[str](),
    SchemaDialect.GEMINI: _BOUNDS,
}
_COMMON_FORMATS = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
)
_FORMATS = {
    SchemaDialect.OPENAI: _COMMON_FORMATS,
    SchemaDialect.ANTHROPIC: _COMMON_FORMATS | {"uri"},
    SchemaDialect.GEMINI: frozenset(("date-time", "date", "time")),
}
_ANNOTATIONS = frozenset(  # about the schema, not about the value
    ("title", "default", "definitions", "examples", "deprecated", "readOnly", "writeOnly")
)
_SHAPING = frozenset(("type", "enum", "properties", "items", "prefixItems"))


_ROOT = "#"  # the reference that every other one stands inside


def portable_schema(schema: JsonObject, dialect: SchemaDialect) -> dict[str, Json]:
    """Rewrite a schema for a vendor: never stricter, but that listed fields are all there are.

    With OpenAI every field is required, and one that need not be there may be null.
    """
    return _SchemaRewriter(schema, dialect).node(schema, (_ROOT,))


class _Flat(NamedTuple):
    """A schema with its references and simple conjunctions put in place."""

    keywords: dict[str, Json]
    words: list[str]
    inside: tuple[str, ...]  # the references being put in place around it


class _SchemaRewriter:
    def __init__(self, root: JsonObject, dialect: SchemaDialect) -> None:
        self._root = root
        self._dialect = dialect
        self._bindable = _BINDABLE[dialect]

    def node(self, schema: Json, inside: tuple[str, ...]) -> dict[str, Json]:
        """Rewrite one schema."""
        if not isinstance(schema, Mapping):
            return {}  # `true`: anything will do
        keywords, words, inside = self._flatten(schema, inside)
        description = keywords.pop("description", None)
        options = items_of(keywords.get("anyOf"))
        if options and not _SHAPING & keywords.keys():
            del keywords["anyOf"]
            alternatives = [self.node(option, inside) for option in options]
            words.extend(describe_constraints(keywords))
            return add_description({"anyOf": alternatives}, description, words)
        kinds = kinds_of(keywords)
        general = {
            key: value
            for key, value in keywords.items()
            if key not in APPLIES_TO and key not in ("type", "enum")
        }
        words.extend(describe_constraints(general))
        if not self._fits_one_node(kinds, keywords):
            alternatives = [self._typed_node(keywords, [kind], inside, None, ()) for kind in kinds]
            return add_description({"anyOf": alternatives}, description, words)
        return self._typed_node(keywords, kinds, inside, description, words)

    def _fits_one_node(self, kinds: Sequence[str], keywords: JsonObject) -> bool:
        """Whether a node of several types needs no alternatives."""
        members = items_of(keywords.get("enum"))
        if len(kinds) < 2 or (self._dialect is SchemaDialect.ANTHROPIC and members):
            return are_scalars(members) or len(kinds) < 2
        if len(kinds) > 2 or "null" not in kinds or self._dialect is SchemaDialect.ANTHROPIC:
            return False
        plain = "enum" not in keywords and not {"object", "array"} & set(kinds)
        return self._dialect is SchemaDialect.OPENAI or plain

    def _flatten(self, schema: JsonObject, inside: tuple[str, ...]) -> _Flat:
        plain = ((key, value) for key, value in schema.items() if not key.startswith("$"))
        own = {key: value for key, value in plain if key not in _ANNOTATIONS}
        words: list[str] = []
        outer = inside
        for part in _parts(schema, own.pop("allOf", None)):
            target = part.get("$ref")
            if target in inside:
                words.append(f"of the same form as the {_reference_name(target)} around it")
                continue
            if isinstance(target, str):
                outer = (*outer, target)
                part = self._resolve(target)
            flat = self._flatten(part, outer)
            merged = _merge(own, flat.keywords)
            if merged is None:
                words.append(f"also of the form {plain_json(part)}")
            else:
                own, outer = merged, flat.inside
                words.extend(flat.words)
        return _Flat(_normalise_choices(own), words, outer)

    def _resolve(self, target: str) -> JsonObject:
        found: Json = self._root
        for step in target.removeprefix(_ROOT).split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    def _typed_node(
        self,
        keywords: JsonObject,
        kinds: Sequence[str],
        inside: tuple[str, ...],
        description: Json,
        before: Sequence[str],
    ) -> dict[str, Json]:
        node: dict[str, Json] = {}
        left = _applicable_keywords(keywords, kinds)
        enum = members_of(keywords, kinds)
        if enum and self._binds_enum(enum, kinds):
            node["enum"] = enum
        elif enum and kinds != ["null"]:
            left["enum"] = enum
        if kinds and not ("enum" in node and self._dialect is SchemaDialect.ANTHROPIC):
            node = {"type": kinds[0] if len(kinds) == 1 else list(kinds), **node}
        if "object" in kinds:
            node.update(self._object(left, inside))
        if "array" in kinds:
            node.update(self._array(left, inside))
        node.update({key: left.pop(key) for key in tuple(left) if key in self._bindable})
        if left.get("format") in _FORMATS[self._dialect]:
            node["format"] = left.pop("format")
        return add_description(node, description, [*before, *describe_constraints(left)])

    def _binds_enum(self, members: Sequence[Json], kinds: Sequence[str]) -> bool:
        if self._dialect is SchemaDialect.GEMINI:
            return kinds in (["string"], ["integer"], ["number"])
        return are_scalars(members)

    def _object(self, left: dict[str, Json], inside: tuple[str, ...]) -> dict[str, Json]:
        fields = _fields(left.pop("properties", None))
        listed = items_of(left.pop("required", None))
        extra = left.pop("additionalProperties", None)
        if "patternProperties" in left:  # such fields are not listed, and yet not forbidden
            extra = True
        properties = {name: self.node(field, inside) for name, field in fields.items()}
        required = [name for name in properties if name in listed]
        if self._dialect is SchemaDialect.OPENAI:
            properties = {
                name: field if name in listed else make_nullable(field)
                for name, field in properties.items()
            }
            required = list(properties)
        if extra is None and self._dialect is not SchemaDialect.GEMINI:
            extra = not properties
        node: dict[str, Json] = {}
        if properties or self._dialect is not SchemaDialect.GEMINI:
            node["properties"] = properties
        if required or self._dialect is SchemaDialect.OPENAI:
            node["required"] = required
        if extra is not None:
            plain = extra in (True, False)
            node["additionalProperties"] = extra if plain else self.node(extra, inside)
        return node

    def _array(self, left: dict[str, Json], inside: tuple[str, ...]) -> dict[str, Json]:
        node: dict[str, Json] = {}
        items, first = left.pop("items", None), items_of(left.get("prefixItems"))
        if first and self._dialect is SchemaDialect.GEMINI:
            left.pop("prefixItems")
            node["prefixItems"] = [self.node(item, inside) for item in first]
        if isinstance(items, Mapping) and (not first or self._dialect is SchemaDialect.GEMINI):
            node["items"] = self.node(items, inside)
        elif first and self._dialect is not SchemaDialect.GEMINI and _is_closed_tuple(left):
            options = [self.node(item, inside) for item in first]
            once = list({canonical_json(option): option for option in options}.values())
            node["items"] = once[0] if len(once) == 1 else {"anyOf": once}
        least = left.get("minItems")
        if self._dialect is SchemaDialect.ANTHROPIC and isinstance(least, int):
            node["minItems"] = min(least, 1)  # the only two it can bind
            if least < 2:
                del left["minItems"]
        return node


def _is_closed_tuple(left: JsonObject) -> bool:
    """Whether nothing may follow the elements that have schemas of their own."""
    most = left.get("maxItems")
    return isinstance(most, int) and most <= len(items_of(left.get("prefixItems")))


def _parts(schema: JsonObject, conjunction: Json) -> list[JsonObject]:
    """List what a value must satisfy besides: what is referred to, and each part of an allOf."""
    parts = [part for part in items_of(conjunction) if isinstance(part, Mapping)]
    return [{"$ref": schema["$ref"]}, *parts] if "$ref" in schema else parts


def _merge(own: JsonObject, part: JsonObject) -> dict[str, Json] | None:
    """Join two schemas that must both hold; None where it takes more than putting them together."""
    joined = {"description", "properties", "required"}
    if any(own[key] != part[key] for key in own.keys() & part.keys() - joined):
        return None
    fields, others = _fields(own.get("properties")), _fields(part.get("properties"))
    if any(fields[name] != others[name] for name in fields.keys() & others.keys()):
        return None
    merged = {**part, **own}
    if fields or others:
        merged["properties"] = {**others, **fields}
    required = dict.fromkeys([*items_of(part.get("required")), *items_of(own.get("required"))])
    return {**merged, "required": list(required)} if required else merged


def _normalise_choices(keywords: dict[str, Json]) -> dict[str, Json]:
    if "const" in keywords:
        keywords["enum"] = [keywords.pop("const")]
    if "oneOf" in keywords and "anyOf" not in keywords:
        keywords["anyOf"] = keywords.pop("oneOf")
    return keywords


def _applicable_keywords(keywords: JsonObject, kinds: Sequence[str]) -> dict[str, Json]:
    """Pick the keywords that say something about values of these types."""
    groups = {*kinds, *(["number"] if "integer" in kinds else [])} or set(APPLIES_TO.values())
    return {key: value for key, value in keywords.items() if APPLIES_TO.get(key) in groups}


def _fields(properties: Json) -> JsonObject:
    return properties if isinstance(properties, Mapping) else {}


def _reference_name(target: Json) -> str:
    return str(target).rpartition("/")[2].lstrip(_ROOT) or "whole"
