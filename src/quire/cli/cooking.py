"""Cooking: what is typed of a schema or a recipe becomes what the engine is asked for."""

import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from quire.cli.printing import note
from quire.domain.data import Json
from quire.domain.errors import NotFound, UsageError

if TYPE_CHECKING:
    from quire.domain.ids import DocumentId
    from quire.engine import Engine
    from quire.recipes.parameters import Parameter

TEXT = "string"


class Typed(NamedTuple):
    """What was typed of what is to be asked, and about what."""

    schema: str | None
    recipe: str | None
    document: Sequence[str] | None = None
    param: Sequence[str] | None = None
    input: Sequence[str] | None = None
    stop_after: str | None = None


def asked(engine: "Engine", typed: Typed) -> dict[str, Any]:
    """The same as arguments of `run` and `plan`; what only recipes know is refused of a schema."""
    if (typed.schema is None) == (typed.recipe is None):
        raise UsageError("give --schema NAME or --recipe NAME, one of the two")
    if typed.recipe is None:
        _refuse_of_schemas(typed)
        over = engine.look.documents(typed.document) if typed.document else None
        return {"schema": typed.schema, "over": over}
    return {
        "recipe": typed.recipe,
        "parameters": _parameters(engine, typed.recipe, typed.param or ()),
        "over": _over(engine, typed),
    }


def _refuse_of_schemas(typed: Typed) -> None:
    told = {"--param": typed.param, "--input": typed.input, "--stop-after": typed.stop_after}
    for name, value in told.items():
        if value:
            raise UsageError(f"{name} is for recipes: it goes with --recipe, not with --schema")


def _parameters(engine: "Engine", recipe: str, typed: Sequence[str]) -> dict[str, Json]:
    """Parameters by name, each read as the recipe declares it; the recipe checks them."""
    from quire.recipes.reading import open_recipe

    if not typed:
        return {}
    declared = open_recipe(recipe, engine.registry).parameters
    values: dict[str, Json] = {}
    for each in typed:
        name, value = _pair("--param", "NAME=VALUE", each)
        if name in values:
            raise UsageError(f"--param {name} is given twice")
        values[name] = _value(declared, name, value)
    return values


def _value(declared: "Mapping[str, Parameter]", name: str, text: str) -> Json:
    """A value as TOML says it; text needs no quotes where the recipe wants text."""
    if name not in declared or declared[name].kind == TEXT:
        return text
    try:
        value = tomllib.loads(f"it = {text}")["it"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text  # whoever checks it says what is wanted
    return text if isinstance(value, date | time) else value


def _over(engine: "Engine", typed: Typed) -> Any:
    if typed.input and typed.document:
        raise UsageError("give --input or --document, not both: --input names documents too")
    if typed.document:
        return engine.look.documents(typed.document)
    if not typed.input:
        return None
    named: dict[str, list[DocumentId]] = defaultdict(list)
    for each in typed.input:
        name, where = _pair("--input", "NAME=PATH", each)
        named[name] += _documents(engine, where)
    return dict(named)


def _documents(engine: "Engine", where: str) -> "list[DocumentId]":
    """Documents of files, which are taken in on the way, or one that is in the ledger."""
    if not (Path(where).exists() or any(each in where for each in "*?[")):
        try:
            return engine.look.documents([where])
        except NotFound:
            raise NotFound(
                f"there is no such file or document: {where!r}; `quire documents` lists documents"
            ) from None
    taken = engine.ingest(where)
    for line in taken.refused:
        note(f"quire: {line}")
    if not taken.documents:
        raise UsageError(f"nothing of {where} could be read")
    return [each.document_id for each in taken.documents]


def _pair(option: str, form: str, typed: str) -> tuple[str, str]:
    name, sign, value = typed.partition("=")
    if not sign or not name.strip():
        raise UsageError(f"{option} takes {form}, not {typed!r}")
    return name.strip(), value
