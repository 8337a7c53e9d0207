"""The schema normaliser: files, mappings and classes in every usual dialect become one form.

People bring JSON Schema of drafts 4 to 2020, OpenAPI's and Gemini's variants, and what Pydantic
writes. Here references are put in place, older keywords get their newer names, what says nothing
about values is dropped, "this or null" becomes a nullable type, and objects are closed. What is in
this form already stays as it is. Mistakes are left for the contract to tell, but for cycles.
"""

from collections.abc import Mapping
from typing import NamedTuple

from quire.domain.data import Json, JsonObject
from quire.domain.errors import Mistake, SchemaInvalid
from quire.recipes.schema_choices import merge_parts, simplify_choice
from quire.recipes.schema_dialects import modernise

DEEPEST = 60  # levels that are rewritten; the contract refuses far fewer
MOST_NODES = 20_000  # of a schema with its references in place

_WHOLE_LISTS = ("anyOf", "oneOf", "prefixItems")
_WHOLE_CHILDREN = ("items", "additionalProperties", "contains")
_PART_CHILDREN = ("not", "if", "then", "else", "propertyNames")  # they say a part of the rules
_PART_MAPPINGS = ("dependentSchemas",)
_DEFINITIONS = ("$defs", "definitions")
_OF_ROOT = ("$id", "$schema", "$comment", "prompt_config")  # kept only there


class _Step(NamedTuple):
    """A definition that is being put in place, or a field on the way to the next one."""

    pointer: str  # "" = a field
    name: str


class _Place(NamedTuple):
    """Where a schema stands: what is around it, and whether it is all that rules its value."""

    trail: tuple[_Step, ...]
    depth: int
    whole: bool


def normalise_schema(body: JsonObject, name: str) -> dict[str, Json]:
    """Bring a schema into the one form; a schema that contains itself is refused."""
    return _Normaliser(body, name).root()


class _Normaliser:
    def __init__(self, root: JsonObject, name: str) -> None:
        self._root = root
        self._name = name
        self._nodes = 0

    def root(self) -> dict[str, Json]:
        """The whole schema; its top is closed whatever it says, because its fields are columns."""
        kept = {key: self._root[key] for key in _OF_ROOT if key in self._root}
        title = self._root.get("title")
        first = _Step("#", title if isinstance(title, str) else self._name)
        body = {key: value for key, value in self._root.items() if key not in _OF_ROOT}
        rules = self._node(body, _Place((first,), 0, whole=True))
        if not isinstance(rules, dict):
            return {**kept, **body}
        if rules.get("additionalProperties", True) is True:
            rules["additionalProperties"] = False
        return {**kept, **rules}

    def _node(self, value: Json, place: _Place) -> Json:
        if value is True:
            return {}
        if not isinstance(value, Mapping) or place.depth > DEEPEST:
            return value
        self._nodes += 1
        if self._nodes > MOST_NODES:
            message = f"has more than {MOST_NODES:,} parts when its references are put in place"
            raise SchemaInvalid(self._name, [Mistake("", message)])
        if "$ref" in value:
            inlined = self._inline(value, place)
            if inlined is not None:
                return inlined
        plain = modernise(value)
        plain = self._with_children(plain, place)
        parts = plain.get("allOf")
        if isinstance(parts, list):
            plain = merge_parts(plain, parts)
        plain = simplify_choice(plain)
        if place.whole and "properties" in plain and "patternProperties" not in plain:
            plain.setdefault("additionalProperties", False)
        return plain

    def _with_children(self, plain: dict[str, Json], place: _Place) -> dict[str, Json]:
        """The same with every schema inside of it rewritten."""
        deeper = place._replace(depth=place.depth + 1)
        inner, part = deeper._replace(whole=True), deeper._replace(whole=False)
        # where the schema itself has fields, its alternatives only add to them
        branch = part if "properties" in plain else deeper
        rewritten = dict(plain)
        for key, child in plain.items():
            if key in ("properties", "patternProperties") and isinstance(child, Mapping):
                rewritten[key] = {
                    name: self._node(
                        field, inner._replace(trail=(*place.trail, _Step("", str(name))))
                    )
                    for name, field in child.items()
                }
            elif key in _PART_MAPPINGS and isinstance(child, Mapping):
                rewritten[key] = {name: self._node(field, part) for name, field in child.items()}
            elif key in _WHOLE_CHILDREN and not isinstance(child, bool):
                rewritten[key] = self._node(child, inner)
            elif key in _PART_CHILDREN:
                rewritten[key] = self._node(child, part)
            elif key in (*_WHOLE_LISTS, "allOf") and isinstance(child, list):
                where = {"prefixItems": inner, "allOf": part}.get(key, branch)
                rewritten[key] = [self._node(option, where) for option in child]
        return rewritten

    def _inline(self, value: JsonObject, place: _Place) -> Json:
        """What a reference means, with what stands beside it; None where it leads nowhere."""
        target = value["$ref"]
        if not isinstance(target, str) or not target.startswith("#"):
            return None
        self._refuse_cycle(target, place.trail)
        found = self._resolve(target)
        if found is None:
            return None
        step = _Step(target, target.rpartition("/")[2].lstrip("#") or place.trail[0].name)
        inside = place._replace(trail=(*place.trail, step), depth=place.depth + 1)
        beside = {key: item for key, item in value.items() if key not in ("$ref", *_DEFINITIONS)}
        if isinstance(found, Mapping):
            return self._node({**found, **beside}, inside)
        return self._node(found, inside)

    def _resolve(self, target: str) -> Json:
        found: Json = self._root
        for step in target.removeprefix("#").split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and name.isdigit() and int(name) < len(found):
                found = found[int(name)]
            elif isinstance(found, Mapping):
                found = found.get(name)
            else:
                return None
        return found

    def _refuse_cycle(self, target: str, trail: tuple[_Step, ...]) -> None:
        pointers = [step.pointer for step in trail]
        if target not in pointers:
            return
        around = trail[pointers.index(target) :]
        shown = around[0].name
        for step in around[1:]:
            shown += f" → {step.name}" if step.pointer else f".{step.name}"
        message = (
            f"{around[0].name} contains itself ({shown} → {around[0].name}): a record has a fixed"
            " depth, so write as many levels as you need"
        )
        raise SchemaInvalid(self._name, [Mistake("", message)])
