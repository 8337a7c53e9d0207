"""Results: the grid of a stage a page at a time, filtered, from anywhere in a million."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel, Field

from quire.engine.result_pages import ResultFilter
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import Record

router = APIRouter(tags=["results"], dependencies=[requires(AccessRole.VIEWER)])
FIELD = "field."  # before the name of a field in a query


class GridRowShape(BaseModel):
    """One task with its result."""

    task_id: int
    title: str  # of its document
    part: str  # where in it
    text: str  # of its block
    model: str
    status: str
    data: Record | None  # accepted data, by field
    error: str | None
    score: float | None  # the lowest that a critic gave
    review: str
    stale: bool


class GridPageShape(BaseModel):
    """A page of results; it may be short, or empty, and still have a next one."""

    stage: str
    fields: list[str]
    items: list[GridRowShape]
    next: str | None
    looked_at: int = Field(description="Tasks of which the items were chosen.")


def read_filter(
    request: Request,
    only: Annotated[str, Query(max_length=20)] = "all",
    q: Annotated[str, Query(max_length=500, description="In the block or the data.")] = "",
    score_min: Annotated[float | None, Query(allow_inf_nan=False)] = None,
    score_max: Annotated[float | None, Query(allow_inf_nan=False)] = None,
) -> ResultFilter:
    """Which results a query asks for; `field.NAME=VALUE` takes those with a value."""
    fields = {
        name.removeprefix(FIELD): value
        for name, value in request.query_params.items()
        if name.startswith(FIELD)
    }
    return ResultFilter(only=only, text=q, fields=fields, score_min=score_min, score_max=score_max)


@router.get("/v1/runs/{run}/results", response_model=GridPageShape)
def list_results(
    engine: AskedEngine,
    run: Annotated[int, Path(ge=1, le=2**63 - 1)],
    chosen: Annotated[ResultFilter, Depends(read_filter)],
    stage: Annotated[str | None, Query(max_length=200)] = None,
    cursor: Annotated[str | None, Query(max_length=500)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> dict[str, Any]:
    """List results of a stage in order; `field.NAME=VALUE` takes those with a value."""
    page = engine.result_pages.page(run, stage, chosen, after=cursor, limit=limit)
    return page._asdict() | {"items": [row.as_json() for row in page.rows]}
