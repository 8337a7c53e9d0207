"""A wire schema becomes what a vendor accepts; what the vendor cannot bind is said in words."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from quire.domain.data import Json, JsonObject, plain_json
from quire.providers.constraints import SPEAKS_OF, described, in_words
from quire.providers.kinds import are_scalars, items_of, kinds_of, members_of, nullable


class Dialect(Enum):
    """Whose subset of JSON Schema."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"


_BOUNDS = frozenset(("minimum", "maximum", "minItems", "maxItems"))
# Patterns and lengths are words for everybody: dialects of regular expressions differ, and one that
# a vendor refuses would fail every call of a run.
_KEPT = {
    Dialect.OPENAI: _BOUNDS | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
    Dialect.ANTHROPIC: frozenset[str](),
    Dialect.GEMINI: _BOUNDS,
}
_COMMON_FORMATS = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
)
_FORMATS = {
    Dialect.OPENAI: _COMMON_FORMATS,
    Dialect.ANTHROPIC: _COMMON_FORMATS | {"uri"},
    Dialect.GEMINI: frozenset(("date-time", "date", "time")),
}
_SILENT = frozenset(  # about the schema, not about the value
    ("title", "default", "definitions", "examples", "deprecated", "readOnly", "writeOnly")
)
_SHAPING = frozenset(("type", "enum", "properties", "items", "prefixItems"))


_ROOT = "#"  # the reference that every other one stands inside


def portable(schema: JsonObject, dialect: Dialect) -> dict[str, Json]:
    """Rewrite a schema for a vendor: never stricter, but that listed fields are all there are.

    With OpenAI every field is required, and one that need not be there may be null.
    """
    return _Writer(schema, dialect).node(schema, (_ROOT,))


class _Flat(NamedTuple):
    """A schema with its references and simple conjunctions put in place."""

    keywords: dict[str, Json]
    words: list[str]
    inside: tuple[str, ...]  # the references being put in place around it


class _Writer:
    def __init__(self, root: JsonObject, dialect: Dialect) -> None:
        self._root = root
        self._dialect = dialect
        self._kept = _KEPT[dialect]

    def node(self, schema: Json, inside: tuple[str, ...]) -> dict[str, Json]:
        """Rewrite one schema."""
        if not isinstance(schema, Mapping):
            return {}  # `true`: anything will do
        keywords, words, inside = self._flatten(schema, inside)
        description = keywords.pop("description", None)
        options = items_of(keywords.get("anyOf"))
        if options and not _SHAPING & keywords.keys():
            del keywords["anyOf"]
            alternatives = [self.node(each, inside) for each in options]
            words.extend(in_words(keywords))
            return described({"anyOf": alternatives}, description, words)
        kinds = kinds_of(keywords)
        general = {
            key: value
            for key, value in keywords.items()
            if key not in SPEAKS_OF and key not in ("type", "enum")
        }
        words.extend(in_words(general))
        if not self._one_node(kinds, keywords):
            alternatives = [self._typed(keywords, [kind], inside, None, ()) for kind in kinds]
            return described({"anyOf": alternatives}, description, words)
        return self._typed(keywords, kinds, inside, description, words)

    def _one_node(self, kinds: Sequence[str], keywords: JsonObject) -> bool:
        """Whether a node of several types needs no alternatives."""
        members = items_of(keywords.get("enum"))
        if len(kinds) < 2 or (self._dialect is Dialect.ANTHROPIC and members):
            return are_scalars(members) or len(kinds) < 2
        if len(kinds) > 2 or "null" not in kinds or self._dialect is Dialect.ANTHROPIC:
            return False
        plain = "enum" not in keywords and not {"object", "array"} & set(kinds)
        return self._dialect is Dialect.OPENAI or plain

    def _flatten(self, schema: JsonObject, inside: tuple[str, ...]) -> _Flat:
        own = {
            key: value
            for key, value in schema.items()
            if key not in _SILENT and not key.startswith("$")
        }
        words: list[str] = []
        around = inside
        for part in _parts(schema, own.pop("allOf", None)):
            target = part.get("$ref")
            if target in inside:
                words.append(f"of the same form as the {_name(target)} around it")
                continue
            if isinstance(target, str):
                around = (*around, target)
                part = self._resolve(target)
            flat = self._flatten(part, around)
            merged = _merge(own, flat.keywords)
            if merged is None:
                words.append(f"also of the form {plain_json(part)}")
            else:
                own, around = merged, flat.inside
                words.extend(flat.words)
        return _Flat(_plain_choices(own), words, around)

    def _resolve(self, target: str) -> JsonObject:
        found: Json = self._root
        for step in target.removeprefix(_ROOT).split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    def _typed(
        self,
        keywords: JsonObject,
        kinds: Sequence[str],
        inside: tuple[str, ...],
        description: Json,
        before: Sequence[str],
    ) -> dict[str, Json]:
        node: dict[str, Json] = {}
        left = _spoken_of(keywords, kinds)
        enum = members_of(keywords, kinds)
        if enum and self._binds_enum(enum, kinds):
            node["enum"] = enum
        elif enum and kinds != ["null"]:
            left["enum"] = enum
        if kinds and not ("enum" in node and self._dialect is Dialect.ANTHROPIC):
            node = {"type": kinds[0] if len(kinds) == 1 else list(kinds), **node}
        if "object" in kinds:
            node.update(self._object(left, inside))
        if "array" in kinds:
            node.update(self._array(left, inside))
        node.update({key: left.pop(key) for key in tuple(left) if key in self._kept})
        if left.get("format") in _FORMATS[self._dialect]:
            node["format"] = left.pop("format")
        return described(node, description, [*before, *in_words(left)])

    def _binds_enum(self, members: Sequence[Json], kinds: Sequence[str]) -> bool:
        if self._dialect is Dialect.GEMINI:
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
        if self._dialect is Dialect.OPENAI:
            properties = {
                name: field if name in listed else nullable(field)
                for name, field in properties.items()
            }
            required = list(properties)
        if extra is None and self._dialect is not Dialect.GEMINI:
            extra = not properties
        node: dict[str, Json] = {}
        if properties or self._dialect is not Dialect.GEMINI:
            node["properties"] = properties
        if required or self._dialect is Dialect.OPENAI:
            node["required"] = required
        if extra is not None:
            node["additionalProperties"] = (
                extra if extra in (True, False) else self.node(extra, inside)
            )
        return node

    def _array(self, left: dict[str, Json], inside: tuple[str, ...]) -> dict[str, Json]:
        node: dict[str, Json] = {}
        items, first = left.pop("items", None), items_of(left.get("prefixItems"))
        if first and self._dialect is Dialect.GEMINI:
            left.pop("prefixItems")
            node["prefixItems"] = [self.node(each, inside) for each in first]
        if isinstance(items, Mapping) and (not first or self._dialect is Dialect.GEMINI):
            node["items"] = self.node(items, inside)
        least = left.get("minItems")
        if self._dialect is Dialect.ANTHROPIC and isinstance(least, int):
            node["minItems"] = min(least, 1)  # the only two it can bind
            if least < 2:
                del left["minItems"]
        return node


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


def _plain_choices(keywords: dict[str, Json]) -> dict[str, Json]:
    if "const" in keywords:
        keywords["enum"] = [keywords.pop("const")]
    if "oneOf" in keywords and "anyOf" not in keywords:
        keywords["anyOf"] = keywords.pop("oneOf")
    return keywords


def _spoken_of(keywords: JsonObject, kinds: Sequence[str]) -> dict[str, Json]:
    """Pick the keywords that say something about values of these types."""
    groups = {*kinds, *(["number"] if "integer" in kinds else [])} or set(SPEAKS_OF.values())
    return {key: value for key, value in keywords.items() if SPEAKS_OF.get(key) in groups}


def _fields(properties: Json) -> JsonObject:
    return properties if isinstance(properties, Mapping) else {}


def _name(target: Json) -> str:
    return str(target).rpartition("/")[2].lstrip(_ROOT) or "whole"
