"""Recipes as JSON: what a run keeps, so that a changed file cannot change a run under way."""

from collections.abc import Mapping
from typing import TypeVar

from quire.domain.data import Json, JsonObject
from quire.domain.models import Params
from quire.domain.recipes import JSON_GATE, GateUse, Recipe, Schema, Stage

Kind = TypeVar("Kind")


def recipe_to_json(recipe: Recipe) -> dict[str, Json]:
    """Write a recipe with all it refers to."""
    return {
        "name": recipe.name,
        "stages": [_stage_to_json(stage) for stage in recipe.stages],
        "facts": dict(recipe.facts),
        "version": recipe.version,
        "description": recipe.description,
        "parameters": dict(recipe.parameters),
        "inputs": list(recipe.inputs),
    }


def recipe_from_json(body: Json) -> Recipe:
    """Read what `recipe_to_json` wrote."""
    fields = _object(body)
    return Recipe(
        name=_get(fields, "name", str),
        stages=tuple(_stage_from_json(each) for each in _get(fields, "stages", list)),
        facts=_object(fields["facts"]),
        version=_maybe(fields, "version", str) or "1",
        description=_maybe(fields, "description", str) or "",
        parameters=_object(fields.get("parameters") or {}),
        inputs=_words(fields, "inputs"),
    )


def _stage_to_json(stage: Stage) -> dict[str, Json]:
    return {
        "name": stage.name,
        "about": stage.about,
        "schema": _schema_to_json(stage.schema),
        "instructions": stage.instructions,
        "prompt": stage.prompt,
        "params": {**stage.params.as_json(), "stop": list(stage.params.stop)},
        "gates": [{"name": each.name, "params": each.params} for each in stage.gates],
        "needs": list(stage.needs),
        "of": stage.of,
        "over": stage.over,
        "samples": stage.samples,
        "critic": stage.critic,
        "accepts": stage.accepts,
        "models": list(stage.models),
        "policy": dict(stage.policy),
        "settings": dict(stage.settings),
        "templated": stage.templated,
        "max_tokens_per_block": stage.max_tokens_per_block,
        "max_batch_size": stage.max_batch_size,
    }


def _stage_from_json(body: Json) -> Stage:
    fields = _object(body)
    return Stage(
        name=_get(fields, "name", str),
        about=_get(fields, "about", str),
        schema=_schema_from_json(fields["schema"]),
        instructions=_get(fields, "instructions", str),
        prompt=_get(fields, "prompt", str),
        params=_params_from_json(_object(fields["params"])),
        gates=_gates_from_json(fields.get("gates")),
        needs=_words(fields, "needs"),
        of=_maybe(fields, "of", str) or "",
        over=_maybe(fields, "over", str) or "",
        samples=_maybe(fields, "samples", int) or 1,
        critic=_maybe(fields, "critic", str) or "",
        accepts=_maybe(fields, "accepts", str) or "",
        models=_words(fields, "models"),
        policy=_object(fields.get("policy") or {}),
        settings=_object(fields.get("settings") or {}),
        templated=_maybe(fields, "templated", bool) or False,
        max_tokens_per_block=_maybe(fields, "max_tokens_per_block", int),
        max_batch_size=_maybe(fields, "max_batch_size", int),
    )


def _schema_to_json(schema: Schema | None) -> Json:
    if schema is None:
        return None
    return {"ref": schema.ref, "uid": schema.uid, "body": schema.body}


def _schema_from_json(body: Json) -> Schema | None:
    if body is None:
        return None
    fields = _object(body)
    ref, uid = _get(fields, "ref", str), _get(fields, "uid", str)
    return Schema(ref=ref, uid=uid, body=_object(fields["body"]))


def _gates_from_json(body: Json) -> tuple[GateUse, ...]:
    if body is None:  # written before a stage could have others
        return (JSON_GATE,)
    assert isinstance(body, list)
    uses = [_object(each) for each in body]
    return tuple(GateUse(_get(each, "name", str), _object(each["params"])) for each in uses)


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


def _words(fields: JsonObject, name: str) -> tuple[str, ...]:
    return tuple(str(each) for each in _maybe(fields, name, list) or ())


def _fraction(fields: JsonObject, name: str) -> float | None:
    value = fields.get(name)
    return float(value) if isinstance(value, (int, float)) else None
