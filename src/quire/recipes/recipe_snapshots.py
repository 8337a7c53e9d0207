"""Recipe snapshots: the JSON that a run keeps, so that a changed file cannot change a run."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from quire.domain.data import Json, JsonObject
from quire.domain.models import Params
from quire.domain.recipes import JSON_GATE, GateUse, HistoryEntry, Recipe, Schema, Stage

Kind = TypeVar("Kind")

_PLAIN = {  # fields that are written as they are
    **dict.fromkeys(("name", "about", "instructions", "prompt"), str),
    **dict.fromkeys(("of", "over", "critic", "accepts"), str),
    **dict.fromkeys(("samples_parameter", "missing"), str),
    **dict.fromkeys(("samples", "max_tokens_per_block", "max_batch_size"), int),
    **dict.fromkeys(("templated", "all_models"), bool),
}
_WRITTEN = [  # `prompt_in_items` follows from the prompt
    item.name for item in fields(Stage) if item.name != "prompt_in_items"
]
# written only where they say something, so that orders of before are still known by their keys
_ADDED_LATER = ("samples_parameter", "all_models", "own_model", "missing", "relevance", "history")


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
        **({"attach": recipe.attach} if recipe.attach else {}),
    }


def recipe_from_json(body: Json) -> Recipe:
    """Read what `recipe_to_json` wrote."""
    table = _require_object(body)
    return Recipe(
        name=_require(table, "name", str),
        stages=tuple(_stage_from_json(item) for item in _require(table, "stages", list)),
        facts=_require_object(table["facts"]),
        version=_optional(table, "version", str) or "1",
        description=_optional(table, "description", str) or "",
        parameters=_require_object(table.get("parameters") or {}),
        inputs=_texts(table, "inputs"),
        attach=_optional(table, "attach", str) or "",
    )


def _stage_to_json(stage: Stage) -> dict[str, Json]:
    written: dict[str, Json] = {name: getattr(stage, name) for name in _WRITTEN}
    written["own_model"] = list(stage.own_model)
    written["history"] = [list(entry) for entry in stage.history]
    for name in _ADDED_LATER:
        if not written[name]:
            del written[name]
    return written | {
        "schema": _schema_to_json(stage.schema),
        "params": {**stage.params.as_json(), "stop": list(stage.params.stop)},
        "gates": [{"name": gate.name, "params": gate.params} for gate in stage.gates],
        "needs": list(stage.needs),
        "models": list(stage.models),
        "policy": dict(stage.policy),
        "settings": dict(stage.settings),
    }


def _stage_from_json(body: Json) -> Stage:
    table = _require_object(body)
    given = {name: kind for name, kind in _PLAIN.items() if table.get(name) is not None}
    plain: dict[str, Any] = {name: _require(table, name, kind) for name, kind in given.items()}
    return Stage(
        **plain,
        schema=_schema_from_json(table["schema"]),
        params=_params_from_json(_require_object(table["params"])),
        gates=_gates_from_json(table.get("gates")),
        needs=_texts(table, "needs"),
        models=_texts(table, "models"),
        own_model=_texts(table, "own_model"),
        policy=_require_object(table.get("policy") or {}),
        settings=_require_object(table.get("settings") or {}),
        relevance=_numbers(table.get("relevance")),
        history=tuple(
            HistoryEntry(*map(str, entry))
            for entry in _optional(table, "history", list) or ()
            if isinstance(entry, list)
        ),
    )


def _schema_to_json(schema: Schema | None) -> Json:
    if schema is None:
        return None
    later = {"version": schema.version} if schema.version > 1 else {}
    return {"ref": schema.ref, "uid": schema.uid, "body": schema.body, **later}


def _schema_from_json(body: Json) -> Schema | None:
    if body is None:
        return None
    table = _require_object(body)
    ref, uid = _require(table, "ref", str), _require(table, "uid", str)
    version = _optional(table, "version", int) or 1
    return Schema(ref=ref, uid=uid, body=_require_object(table["body"]), version=version)


def _gates_from_json(body: Json) -> tuple[GateUse, ...]:
    if body is None:  # written before a stage could have others
        return (JSON_GATE,)
    assert isinstance(body, list)
    uses = [_require_object(item) for item in body]
    return tuple(
        GateUse(_require(use, "name", str), _require_object(use["params"])) for use in uses
    )


def _params_from_json(table: JsonObject) -> Params:
    return Params(
        temperature=_optional_float(table, "temperature"),
        top_p=_optional_float(table, "top_p"),
        seed=_optional(table, "seed", int),
        max_tokens=_optional(table, "max_tokens", int),
        effort=_optional(table, "effort", str),
        stop=tuple(str(item) for item in _require(table, "stop", list)),
    )


def _require_object(value: Json) -> JsonObject:
    assert isinstance(value, Mapping)
    return value


def _require(table: JsonObject, name: str, kind: type[Kind]) -> Kind:
    value = table[name]
    assert isinstance(value, kind)
    return value


def _optional(table: JsonObject, name: str, kind: type[Kind]) -> Kind | None:
    return None if table.get(name) is None else _require(table, name, kind)


def _texts(table: JsonObject, name: str) -> tuple[str, ...]:
    return tuple(str(item) for item in _optional(table, name, list) or ())


def _numbers(body: Json) -> dict[str, float]:
    table = _require_object(body or {})
    return {name: float(value) for name, value in table.items() if isinstance(value, int | float)}


def _optional_float(table: JsonObject, name: str) -> float | None:
    value = table.get(name)
    return float(value) if isinstance(value, (int, float)) else None
