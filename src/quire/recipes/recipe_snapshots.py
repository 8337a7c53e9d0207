"""Recipe snapshots: the JSON that a run keeps, so that a changed file cannot change a run."""

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
    fields = _require_object(body)
    return Recipe(
        name=_require(fields, "name", str),
        stages=tuple(_stage_from_json(item) for item in _require(fields, "stages", list)),
        facts=_require_object(fields["facts"]),
        version=_optional(fields, "version", str) or "1",
        description=_optional(fields, "description", str) or "",
        parameters=_require_object(fields.get("parameters") or {}),
        inputs=_texts(fields, "inputs"),
    )


def _stage_to_json(stage: Stage) -> dict[str, Json]:
    return {
        "name": stage.name,
        "about": stage.about,
        "schema": _schema_to_json(stage.schema),
        "instructions": stage.instructions,
        "prompt": stage.prompt,
        "params": {**stage.params.as_json(), "stop": list(stage.params.stop)},
        "gates": [{"name": gate.name, "params": gate.params} for gate in stage.gates],
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
    fields = _require_object(body)
    return Stage(
        name=_require(fields, "name", str),
        about=_require(fields, "about", str),
        schema=_schema_from_json(fields["schema"]),
        instructions=_require(fields, "instructions", str),
        prompt=_require(fields, "prompt", str),
        params=_params_from_json(_require_object(fields["params"])),
        gates=_gates_from_json(fields.get("gates")),
        needs=_texts(fields, "needs"),
        of=_optional(fields, "of", str) or "",
        over=_optional(fields, "over", str) or "",
        samples=_optional(fields, "samples", int) or 1,
        critic=_optional(fields, "critic", str) or "",
        accepts=_optional(fields, "accepts", str) or "",
        models=_texts(fields, "models"),
        policy=_require_object(fields.get("policy") or {}),
        settings=_require_object(fields.get("settings") or {}),
        templated=_optional(fields, "templated", bool) or False,
        max_tokens_per_block=_optional(fields, "max_tokens_per_block", int),
        max_batch_size=_optional(fields, "max_batch_size", int),
    )


def _schema_to_json(schema: Schema | None) -> Json:
    if schema is None:
        return None
    return {"ref": schema.ref, "uid": schema.uid, "body": schema.body}


def _schema_from_json(body: Json) -> Schema | None:
    if body is None:
        return None
    fields = _require_object(body)
    ref, uid = _require(fields, "ref", str), _require(fields, "uid", str)
    return Schema(ref=ref, uid=uid, body=_require_object(fields["body"]))


def _gates_from_json(body: Json) -> tuple[GateUse, ...]:
    if body is None:  # written before a stage could have others
        return (JSON_GATE,)
    assert isinstance(body, list)
    uses = [_require_object(item) for item in body]
    return tuple(
        GateUse(_require(use, "name", str), _require_object(use["params"])) for use in uses
    )


def _params_from_json(fields: JsonObject) -> Params:
    return Params(
        temperature=_optional_float(fields, "temperature"),
        top_p=_optional_float(fields, "top_p"),
        seed=_optional(fields, "seed", int),
        max_tokens=_optional(fields, "max_tokens", int),
        effort=_optional(fields, "effort", str),
        stop=tuple(str(item) for item in _require(fields, "stop", list)),
    )


def _require_object(value: Json) -> JsonObject:
    assert isinstance(value, Mapping)
    return value


def _require(fields: JsonObject, name: str, kind: type[Kind]) -> Kind:
    value = fields[name]
    assert isinstance(value, kind)
    return value


def _optional(fields: JsonObject, name: str, kind: type[Kind]) -> Kind | None:
    return None if fields.get(name) is None else _require(fields, name, kind)


def _texts(fields: JsonObject, name: str) -> tuple[str, ...]:
    return tuple(str(item) for item in _optional(fields, name, list) or ())


def _optional_float(fields: JsonObject, name: str) -> float | None:
    value = fields.get(name)
    return float(value) if isinstance(value, (int, float)) else None
