"""Routes about policy: what a workspace decides about runs that begin, and who decided it."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Response
from pydantic import Field

from quire.server.access import AccessRole, AskedEngine, Principal, find_principal, requires
from quire.server.json_answers import (
    FIRST,
    USUAL_ITEMS,
    AnswerShape,
    Body,
    Cursor,
    Limit,
    Page,
    Settings,
    SettingValue,
    answer_json,
    answer_page,
    read_cursor,
)
from quire.server.routes.run_shapes import SourcedValueShape

router = APIRouter(tags=["settings"])


class PolicyShape(AnswerShape):
    """Every setting as a run that begins now would get it: its value and its source."""

    policy: dict[str, SourcedValueShape] = Field(
        description="Every setting.", examples=[{"pack_size": {"value": 10, "source": "built-in"}}]
    )


class PolicyChangeShape(AnswerShape):
    """A decision."""

    id: int
    name: str
    value: SettingValue = Field(description="Of the setting's own type; null: it was taken back.")
    who: str = Field(description="Who decided it.")
    at: datetime


class PolicyBody(Body):
    """What is decided; null leaves a setting to quire.toml and what comes after it."""

    policy: Settings = Field(min_length=1, examples=[{"pack_size": 10}])


@router.get("/v1/policy", response_model=PolicyShape, dependencies=[requires(AccessRole.VIEWER)])
def get_policy(engine: AskedEngine) -> Response:
    """Show what holds for runs that begin now, each value with its source."""
    return answer_json({"policy": engine.workspace_policy.show()})


@router.put("/v1/policy", response_model=PolicyShape, dependencies=[requires(AccessRole.ADMIN)])
def set_policy(
    engine: AskedEngine,
    asked: PolicyBody,
    principal: Annotated[Principal, Depends(find_principal)],
) -> Response:
    """Decide about runs that begin from now on, all of it or nothing."""
    who = principal.name or "local"
    return answer_json({"policy": engine.workspace_policy.set(asked.policy, who)})


@router.get(
    "/v1/policy/history",
    response_model=Page[PolicyChangeShape],
    dependencies=[requires(AccessRole.VIEWER)],
)
def list_policy_changes(
    engine: AskedEngine, cursor: Cursor = None, limit: Limit = USUAL_ITEMS
) -> Response:
    """Say who decided what, the newest first."""
    found = engine.workspace_policy.history(read_cursor(cursor, FIRST), limit + 1)
    return answer_page(found, limit, lambda change: change.id)
