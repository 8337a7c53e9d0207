"""User schemas: checked from a file, a body or a Python class, and the built-in recipe of one.

A class is anything with `model_json_schema()`, such as a Pydantic model. The built-in recipe has
one stage that asks a schema's fields of every block.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from quire.domain.data import Json
from quire.domain.errors import Mistake, SchemaInvalid
from quire.domain.ids import SCHEMA_REF, schema_uid, slug
from quire.domain.models import Params
from quire.domain.recipes import DEFAULT_INSTRUCTIONS, DEFAULT_PROMPT, Recipe, Schema, Stage
from quire.gates.shape import Shape
from quire.recipes.schema_contract import find_mistakes, pointer


def load_schema(body: Json, *, name: str, ref: str | None = None) -> Schema:
    """Check a schema's body; `name` is what its mistakes are reported under, such as its file."""
    mistakes = find_mistakes(body)
    if ref is not None and not SCHEMA_REF.fullmatch(ref):
        mistakes.append(
            Mistake("", f"ref {ref!r} must be at most 64 of a-z, 0-9, _ and -, not _ or - first")
        )
    if not mistakes:
        mistakes.extend(_compile_mistakes(body))
    if mistakes:
        raise SchemaInvalid(name, mistakes)
    assert isinstance(body, Mapping)
    return Schema(ref=ref or _derive_ref(body), uid=schema_uid(body), body=body)


def read_schema(text: bytes, name: str, ref: str | None = None) -> Schema:
    """Read a schema file's bytes."""
    if not text.strip():
        raise SchemaInvalid(name, [Mistake("", "the file is empty")])
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SchemaInvalid(name, [Mistake("", f"not UTF-8 at byte {error.start}")]) from error
    repeated: list[str] = []

    def note_repeated(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        counts = Counter(key for key, _ in pairs)
        repeated.extend(key for key, count in counts.items() if count > 1)
        return dict(pairs)

    def refuse_constant(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        body: Json = json.loads(
            decoded, object_pairs_hook=note_repeated, parse_constant=refuse_constant
        )
        _require_utf8(body)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise SchemaInvalid(name, [Mistake("", f"not JSON: {error.msg} at {where}")]) from error
    except (ValueError, RecursionError) as error:
        raise SchemaInvalid(name, [Mistake("", f"not usable JSON: {error}")]) from error
    if repeated:
        raise SchemaInvalid(name, [Mistake("", f"has the key {key!r} twice") for key in repeated])
    return load_schema(body, name=name, ref=ref)


def _derive_ref(body: Mapping[str, Json]) -> str:
    given_id, title = body.get("$id"), body.get("title")
    tail = re.split("[:/]", given_id)[-1] if isinstance(given_id, str) else ""
    return slug(tail) or slug(title if isinstance(title, str) else "") or "schema"


def _require_utf8(body: Json) -> None:
    json.dumps(body, ensure_ascii=False, allow_nan=False).encode()


def _compile_mistakes(body: Json) -> list[Mistake]:
    assert isinstance(body, Mapping)
    rules = {key: value for key, value in body.items() if key != "prompt_config"}
    try:
        _require_utf8(body)  # infinity and half surrogate pairs have no fingerprint
        Shape(rules)
    except (ValueError, TypeError, RecursionError) as error:
        path = getattr(error, "instance_path", None) or ()
        return [Mistake(pointer(*path), getattr(error, "message", None) or str(error))]
    return []


_DEFINITIONS = "#/$defs/"


class ModelClass(Protocol):
    """What a class must offer."""

    def model_json_schema(self) -> dict[str, object]:
        """Return its JSON Schema."""
        ...


def schema_of(model_class: ModelClass, *, ref: str | None = None) -> Schema:
    """Turn a class into a schema of the user-schema contract.

    References are put in place, optional fields become nullable types, and objects are closed.
    """
    name = getattr(model_class, "__name__", "schema")
    # a round trip, so that enums, tuples and defaults are plain JSON from here on
    body: Json = json.loads(json.dumps(model_class.model_json_schema(), default=str))
    assert isinstance(body, dict)
    found = body.pop("$defs", {})
    definitions = found if isinstance(found, dict) else {}
    simplifier = _SchemaSimplifier(name, definitions)
    return load_schema(simplifier.simplify(body, ()), name=name, ref=ref)


class _SchemaSimplifier:
    """Rewrites a field into the supported subset, as far as that loses nothing."""

    def __init__(self, name: str, definitions: dict[str, Json]) -> None:
        self._name = name
        self._definitions = definitions

    def simplify(self, value: Json, inside: tuple[str, ...]) -> Json:
        """Rewrite one field; `inside` are the definitions being put in place around it."""
        if not isinstance(value, dict):
            return value
        target = value.get("$ref")
        if isinstance(target, str) and target.startswith(_DEFINITIONS):
            return self._inline_definition(target.removeprefix(_DEFINITIONS), value, inside)
        plain = dict(value)
        for keyword in ("items", "additionalProperties"):
            if keyword in plain:
                plain[keyword] = self.simplify(plain[keyword], inside)
        properties = plain.get("properties")
        if isinstance(properties, dict):
            plain["properties"] = {
                name: self.simplify(field, inside) for name, field in properties.items()
            }
            if plain.get("additionalProperties", True) is True:
                plain["additionalProperties"] = False
        options = plain.get("anyOf")
        if isinstance(options, list):
            plain["anyOf"] = [self.simplify(option, inside) for option in options]
        return _without_any_of(_integer_bounds(plain))

    def _inline_definition(
        self, name: str, value: dict[str, Json], inside: tuple[str, ...]
    ) -> Json:
        if name in inside:
            message = f"{name} contains itself, which a schema cannot express"
            raise SchemaInvalid(self._name, [Mistake("", message)])
        definition = self.simplify(self._definitions.get(name), (*inside, name))
        if not isinstance(definition, dict):
            raise SchemaInvalid(self._name, [Mistake("", f"{name} is not defined")])
        beside = {key: item for key, item in value.items() if key != "$ref"}
        return {**definition, **beside}


def _integer_bounds(field: dict[str, Json]) -> dict[str, Json]:
    """Write strict bounds of an integer as the ones that are supported."""
    for strict, bound, step in (
        ("exclusiveMinimum", "minimum", 1),
        ("exclusiveMaximum", "maximum", -1),
    ):
        limit = field.get(strict)
        if field.get("type") == "integer" and isinstance(limit, int) and bound not in field:
            field = {**field, bound: limit + step}
            del field[strict]
    return field


def _without_any_of(field: dict[str, Json]) -> dict[str, Json]:
    """Write "this or null" as a nullable type, and plain alternatives as a list of types."""
    options = field.get("anyOf")
    if not isinstance(options, list) or not all(isinstance(option, dict) for option in options):
        return field
    outer = {key: value for key, value in field.items() if key != "anyOf"}
    plain = [option for option in options if option != {"type": "null"}]
    if len(plain) == 1 and len(options) == 2:
        return {**_make_nullable(plain[0]), **outer}
    if all(set(option) == {"type"} and isinstance(option["type"], str) for option in options):
        return {**outer, "type": [option["type"] for option in options]}
    return field


def _make_nullable(field: dict[str, Json]) -> dict[str, Json]:
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
    return wider


def extraction_recipe(schema: Schema, params: Params) -> Recipe:
    """Make the recipe of a checked schema; what `params` chose wins over the schema's wishes."""
    config = schema.prompt_config
    temperature = config.get("temperature")
    if params.temperature is None and isinstance(temperature, (int, float)):
        params = replace(params, temperature=float(temperature))
    effort = config.get("effort")
    if params.effort is None and isinstance(effort, str):
        params = replace(params, effort=effort)
    stage = Stage(
        name="extract",
        about="each_block",
        schema=schema,
        instructions=_text_or_empty(config.get("system_instructions")) or DEFAULT_INSTRUCTIONS,
        prompt=_text_or_empty(config.get("per_block_prompt")) or DEFAULT_PROMPT,
        params=params,
        max_tokens_per_block=_integer_or_none(config.get("max_tokens_per_block")),
        max_batch_size=_integer_or_none(config.get("max_batch_size")),
    )
    return Recipe(name="extract", stages=(stage,))


def _text_or_empty(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _integer_or_none(value: Json) -> int | None:
    return value if isinstance(value, int) else None
