"""Recipes as JSON: what a run keeps, so that a changed file cannot change a run under way."""

from collections.abc import Mapping
from typing import TypeVar

from quire.domain.data import Json, JsonObject
from quire.domain.models import Params
from quire.domain.recipes import Recipe, Schema, Stage

Kind = TypeVar("Kind")


def recipe_to_json(recipe: Recipe) -> dict[str, Json]:
    """Write a recipe with all it refers to."""
    return {
        "name": recipe.name,
        "stages": [_stage_to_json(stage) for stage in recipe.stages],
        "facts": dict(recipe.facts),
    }


def recipe_from_json(body: Json) -> Recipe:
    """Read what `recipe_to_json` wrote."""
    fields = _object(body)
    return Recipe(
        name=_get(fields, "name", str),
        stages=tuple(_stage_from_json(each) for each in _get(fields, "stages", list)),
        facts=_object(fields["facts"]),
    )


def _stage_to_json(stage: Stage) -> dict[str, Json]:
    return {
        "name": stage.name,
        "about": stage.about,
        "schema": {"ref": stage.schema.ref, "uid": stage.schema.uid, "body": stage.schema.body},
        "instructions": stage.instructions,
        "prompt": stage.prompt,
        "params": {**stage.params.as_json(), "stop": list(stage.params.stop)},
        "gate": stage.gate,
        "max_tokens_per_block": stage.max_tokens_per_block,
        "max_batch_size": stage.max_batch_size,
    }


def _stage_from_json(body: Json) -> Stage:
    fields = _object(body)
    schema = _object(fields["schema"])
    return Stage(
        name=_get(fields, "name", str),
        about=_get(fields, "about", str),
        schema=Schema(
            ref=_get(schema, "ref", str),
            uid=_get(schema, "uid", str),
            body=_object(schema["body"]),
        ),
        instructions=_get(fields, "instructions", str),
        prompt=_get(fields, "prompt", str),
        params=_params_from_json(_object(fields["params"])),
        gate=_get(fields, "gate", str),
        max_tokens_per_block=_maybe(fields, "max_tokens_per_block", int),
        max_batch_size=_maybe(fields, "max_batch_size", int),
    )


def _params_from_json(fields: JsonObject) -> Params:
    return Params(
        temperature=_fraction(fields, "temperature"),
        top_p=_fraction(fields, "top_p"),
        seed=_maybe(fields, "seed", int),
        max_tokens=_maybe(fields, "max_tokens", int),
        effort=_maybe(fields, "effort", str),
        stop=tuple(str(each) for each in _get(fields, "stop", list)),
    )


def _object(value: Json) -> JsonObject:
    assert isinstance(value, Mapping)
    return value


def _get(fields: JsonObject, name: str, kind: type[Kind]) -> Kind:
    value = fields[name]
    assert isinstance(value, kind)
    return value


def _maybe(fields: JsonObject, name: str, kind: type[Kind]) -> Kind | None:
    return None if fields.get(name) is None else _get(fields, name, kind)


def _fraction(fields: JsonObject, name: str) -> float | None:
    value = fields.get(name)
    return float(value) if isinstance(value, (int, float)) else None
