"""Routes about runs: started, listed, how one stands, and why its tasks failed."""

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.runs import Run
from quire.engine.json_views.run_views import (
    failure_group_json,
    progress_json,
)
from quire.engine.run_time_left import timed_run_json
from quire.engine.status_json import run_json
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.command_ids import CommandId
from quire.server.json_answers import (
    FIRST,
    LARGEST,
    USUAL_ITEMS,
    Budget,
    Cursor,
    Dollars,
    Limit,
    Number,
    Page,
    answer_json,
    answer_page,
    read_cursor,
)
from quire.server.routes.plans import AskedOrder, order_arguments
from quire.server.routes.run_shapes import (
    FailuresShape,
    RunPolicyShape,
    RunShape,
    StartedRunShape,
    TimedRunShape,
)
from quire.server.stated_models import Asker

router = APIRouter(tags=["runs"])
EXAMPLES = 200  # failures of each cause whose refused answer is told
RunStates = Literal["running", "finished", "cancelled"]


class NewRun(AskedOrder):
    """An order that is to be carried out."""

    limit: int | None = Field(
        default=None, ge=1, le=LARGEST, description="Tasks of its first stages."
    )
    stop_after: str | None = Field(default=None, max_length=200)
    reuse: bool | tuple[int, str] | None = Field(
        None, description="false: ask all; [run, stage]: keep its results before that stage."
    )
    new: bool = False
    max_cost_usd: Dollars | None = None
    wallet: str | None = Field(default=None, max_length=200)
    budget_usd: Budget | None = None


@router.get("/v1/runs", response_model=Page[RunShape], dependencies=[requires(AccessRole.VIEWER)])
def list_runs(
    engine: AskedEngine,
    state: RunStates | None = None,
    drafts: Annotated[bool, Query(description="Those that drafted schemas too.")] = False,
    cursor: Cursor = None,
    limit: Limit = USUAL_ITEMS,
) -> Response:
    """List runs, the newest first."""
    found = engine.listings.runs(read_cursor(cursor, FIRST), limit + 1, state or "", drafts=drafts)

    def show(run: Run) -> dict[str, object]:
        head, now = engine.queries.head(run.id), engine.progress(run.id)
        return progress_json(head, now, (), engine.workers(run.id))

    return answer_page(found, limit, lambda run: run.id, show)


@router.post(
    "/v1/runs",
    response_model=StartedRunShape,
    status_code=201,
    dependencies=[requires(AccessRole.OPERATOR)],
)
def start_run(
    engine: AskedEngine, asker: Asker, asked: NewRun, command: CommandId = None
) -> Response:
    """Start a run, or go on with that of the same order; workers carry it out."""
    order = engine.orders.resolve(
        **order_arguments(engine, asker, asked),
        limit=asked.limit,
        stop_after=asked.stop_after,
        new=asked.new,
        reuse=_read_reuse(asked),
        policy=asked.policy,
    )
    order = engine.orders.with_blocks(order, asked.block_types)
    order = engine.orders.with_funds(order, asked.wallet, asked.budget_usd)
    order = replace(order, command=command, person=asker.name)
    started = engine.start(order, asked.max_cost_usd)
    return answer_json(run_json(engine, started.id) | {"goes_on": started.goes_on}, 201)


def _read_reuse(asked: NewRun) -> tuple[int, str] | bool | None:
    match asked.reuse:
        case None | bool():
            return asked.reuse
        case [int(run), str(stage)] if 0 < run <= LARGEST:
            return run, stage
    raise UsageError("reuse: true, false, or a run and the stage before which results are kept")


@router.get(
    "/v1/runs/{run}", response_model=TimedRunShape, dependencies=[requires(AccessRole.VIEWER)]
)
def get_run(engine: AskedEngine, run: Number) -> Response:
    """Show how a run stands, and why nothing moves when nothing moves."""
    return answer_json(timed_run_json(engine, RunId(run)))


@router.get(
    "/v1/runs/{run}/failures",
    response_model=FailuresShape,
    dependencies=[requires(AccessRole.VIEWER)],
)
def list_failures(
    engine: AskedEngine,
    run: Number,
    blocked: Annotated[bool, Query(description="What is blocked, in their place.")] = False,
) -> Response:
    """Say why tasks failed, the commonest cause first; of a recipe by stage."""
    number = RunId(run)
    groups = engine.queries.failures(number, blocked=blocked)
    staged = engine.progress(number).is_staged
    tasks = [item.task_id for group in groups for item in group.failures[:EXAMPLES]]
    refused = {} if blocked else engine.queries.refused_answers(tasks)
    items = [failure_group_json(group, refused, staged=staged) for group in groups]
    return answer_json({"items": items, "next": None})


@router.get(
    "/v1/runs/{run}/policy",
    response_model=RunPolicyShape,
    dependencies=[requires(AccessRole.VIEWER)],
)
def get_run_policy(engine: AskedEngine, run: Number) -> Response:
    """Show what a run was told, each value with its source; it never changes."""
    number = RunId(run)
    head = engine.queries.head(number)
    return answer_json({"policy": head.policy, "stage_policies": engine.stage_policies(number)})
