"""User schemas: checked from a file, a body or a Python class, and the built-in recipe of one.

The built-in recipe has one stage that asks a schema's fields of every block, or of every document,
section or page.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import NamedTuple

from quire.domain.class_schemas import class_body
from quire.domain.data import Json
from quire.domain.errors import Mistake, SchemaInvalid, UsageError
from quire.domain.ids import SCHEMA_REF, schema_uid, slug
from quire.domain.models import Params
from quire.domain.recipes import (
    DEFAULT_INSTRUCTIONS,
    DEFAULT_PROMPT,
    EACH_BLOCK,
    EXTRACTION,
    UNITS,
    Recipe,
    Schema,
    Stage,
)
from quire.gates.shape import Shape
from quire.planning.spans import LEVEL
from quire.recipes.schema_contract import find_mistakes, pointer
from quire.recipes.schema_envelopes import open_envelope
from quire.recipes.schema_normaliser import normalise_schema

_HEADING_LEVEL = re.compile(r"[1-9]")


class Per(NamedTuple):
    """What a schema's record is of."""

    about: str  # the grouping
    level: int | None = None  # of the headings that sections begin with; None: the usual one


EVERY_BLOCK = Per(EACH_BLOCK)


def load_schema(body: Json, *, name: str, ref: str | None = None) -> Schema:
    """Check a schema's body; `name` is what its mistakes are reported under, such as its file."""
    if isinstance(body, Mapping):
        body = normalise_schema(open_envelope(body), name)
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
    return Schema(ref=ref or _derive_ref(body, name), uid=schema_uid(body), body=body)


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


def _derive_ref(body: Mapping[str, Json], name: str) -> str:
    """What a schema calls itself; else its file's name, which people then ask for."""
    given_id, title = body.get("$id"), body.get("title")
    tail = re.split("[:/]", given_id)[-1] if isinstance(given_id, str) else ""
    said = slug(tail) or slug(title if isinstance(title, str) else "")
    return said or slug(PurePath(name).stem) or "schema"


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


def schema_of(model_class: type[object], *, ref: str | None = None) -> Schema:
    """Turn a class into a schema: a Pydantic model, a dataclass or a typed dictionary."""
    return load_schema(class_body(model_class), name=model_class.__name__, ref=ref)


def parse_per(text: str) -> Per:
    """What a schema is asked of: block, document, section, section:2 or page."""
    name, colon, level = text.partition(":")
    about = {unit: grouping for grouping, unit in UNITS.items()}.get(name)
    if about is None or (colon and (name != "section" or not _HEADING_LEVEL.fullmatch(level))):
        raise UsageError(
            f"per takes {', '.join(UNITS.values())} or section:2 (by the headings of a level),"
            f" not {text!r}"
        )
    return Per(about, int(level) if colon else None)


def extraction_recipe(schema: Schema, params: Params, per: Per = EVERY_BLOCK) -> Recipe:
    """Make the recipe of a checked schema; what `params` chose wins over the schema's wishes."""
    config = schema.prompt_config
    temperature = config.get("temperature")
    if params.temperature is None and isinstance(temperature, (int, float)):
        params = replace(params, temperature=float(temperature))
    effort = config.get("effort")
    if params.effort is None and isinstance(effort, str):
        params = replace(params, effort=effort)
    instructions, prompt = _usual_words(UNITS[per.about])
    stage = Stage(
        name=EXTRACTION,
        about=per.about,
        schema=schema,
        instructions=_text_or_empty(config.get("system_instructions")) or instructions,
        prompt=_text_or_empty(config.get("per_block_prompt")) or prompt,
        params=params,
        max_tokens_per_block=_integer_or_none(config.get("max_tokens_per_block")),
        max_batch_size=_integer_or_none(config.get("max_batch_size")),
        settings={} if per.level is None else {LEVEL: per.level},
    )
    return Recipe(name=EXTRACTION, stages=(stage,))


def _usual_words(unit: str) -> tuple[str, str]:
    """Instructions and prompt where the schema has none of its own."""
    if unit == UNITS[EVERY_BLOCK.about]:
        return DEFAULT_INSTRUCTIONS, DEFAULT_PROMPT
    whole = "document" if unit == "document" else f"{unit} of a document"
    return (
        f"Extract the requested fields from each {whole}. Each block that you are given is one"
        f" whole {unit}: fill in the fields once, for all of it.",
        f"Fill in the fields for each {unit} below.",
    )


def _text_or_empty(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _integer_or_none(value: Json) -> int | None:
    return value if isinstance(value, int) else None
