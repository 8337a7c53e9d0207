"""The route that forecasts a run, and what a request may say of one."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Response
from pydantic import Field

from quire.domain.errors import UsageError
from quire.domain.ids import DocumentId
from quire.domain.recipes import Schema
from quire.engine.context import POLICY_NAMES
from quire.engine.json_views.plan_views import plan_json
from quire.engine.kept_schemas import read_schema_source
from quire.recipes.setting_rules import nearest_name
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import Body, JsonSchema, Settings, answer_json
from quire.server.routes.plan_shapes import PlanShape
from quire.server.routes.recipes import check_recipe_name
from quire.server.stated_models import Asker, check_stated

router = APIRouter(tags=["runs"])
Documents = list[int | str]


class AskedOrder(Body):
    """What is to be asked, of which documents, and whom."""

    schema_: str | JsonSchema | None = Field(
        None,
        alias="schema",
        description="A kept schema by its name, or a schema itself.",
        examples=["clauses"],
    )
    recipe: str | None = Field(
        default=None, max_length=200, description="An installed recipe's name."
    )
    model: str | None = Field(default=None, max_length=200, examples=["simulated/small"])
    models: list[str] | None = Field(default=None, max_length=50)
    documents: Documents | dict[str, Documents] | None = Field(
        None, description="Numbers, titles or names; of a recipe with several inputs by input."
    )
    parameters: Settings | None = None
    per: str | None = Field(default=None, max_length=50, examples=["block", "document"])
    block_types: list[str] = Field(default=[], max_length=50)
    policy: Settings = Field(default={}, examples=[{"pack_size": 10}])


def order_arguments(engine: AskedEngine, asker: Asker, asked: AskedOrder) -> dict[str, Any]:
    """What an engine is told: no part of it names a file of this machine."""
    unknown = sorted(set(asked.policy) - set(POLICY_NAMES))
    if unknown:
        raise UsageError(
            f"policy: {unknown[0]} is not known", nearest_name(unknown[0], POLICY_NAMES)
        )
    named = asked.schema_
    schema = engine.library.schema(named) if isinstance(named, str) else named
    wishes = schema.prompt_config if isinstance(schema, Schema) else schema
    said = (asked.model, asked.models, asked.policy, asked.parameters, wishes)
    check_stated(asker, engine.settings, *said)
    recipe = asked.recipe and check_recipe_name(engine, asked.recipe)
    return {
        "schema": schema,
        "recipe": recipe,
        "model": asked.model,
        "models": asked.models,
        "over": _find_documents(engine, asked.documents),
        "parameters": asked.parameters,
        "per": asked.per,
    }


def _find_documents(
    engine: AskedEngine, named: Documents | dict[str, Documents] | None
) -> tuple[DocumentId, ...] | dict[str, tuple[DocumentId, ...]] | None:
    if named is None:
        return None
    if isinstance(named, Mapping):
        return {name: _resolve(engine, documents) for name, documents in named.items()}
    return _resolve(engine, named)


def _resolve(engine: AskedEngine, named: Documents) -> tuple[DocumentId, ...]:
    return tuple(engine.library.resolve_documents([str(name) for name in named]))


@router.post("/v1/plans", response_model=PlanShape, dependencies=[requires(AccessRole.VIEWER)])
def plan_run(engine: AskedEngine, asker: Asker, asked: AskedOrder) -> Response:
    """Forecast calls, tokens, time and dollars; spends nothing."""
    said = order_arguments(engine, asker, asked)
    if isinstance(asked.schema_, dict):  # to be looked at, and not kept
        said["schema"] = read_schema_source(asked.schema_, None)
    return answer_json(
        plan_json(engine.plan(**said, block_types=asked.block_types, **asked.policy))
    )
