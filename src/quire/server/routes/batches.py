"""Routes about batches at providers: listed, shown, cancelled."""

from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import Field

from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import (
    USUAL_ITEMS,
    AnswerShape,
    Cursor,
    Limit,
    Number,
    answer_json,
    answer_part,
)

router = APIRouter(tags=["batches"])


class BatchShape(AnswerShape):
    """A provider's batch."""

    id: int = Field(description="The number of the batch.")
    run_id: int
    model: str
    state: str = Field(examples=["open"])
    end_reason: str | None = Field(description="Why it ended, as the provider says.")
    ref: str = Field(description="The provider's name for it; empty: it has none yet.")
    credential: str = Field(description="The name of the key that it went out with.")
    rows: int = Field(description="Calls in it.")
    tasks: int = Field(description="Tasks of its calls.")
    tokens: int = Field(description="The most that it may send.")
    counts: dict[str, int] = Field(
        description="What the provider counts, under its own names.", examples=[{"succeeded": 97}]
    )
    attempts: dict[str, int] = Field(
        description="Its calls by how they stand here.", examples=[{"settled": 97}]
    )
    answered: int = Field(description="Calls whose answer is here.")
    cost_usd: float
    duplicates: int = Field(description="Answers that came twice.")
    strangers: int = Field(description="Answers to calls that are not in it.")
    missing: int = Field(description="Calls that were not answered when it ended.")
    unread: int = Field(description="Lines of its results that nobody could read.")
    kept: int = Field(description="Of them, those kept with the batch.")
    created_at: datetime
    submitted_at: datetime | None = Field(description="When it was handed over.")
    next_at: datetime | None = Field(description="When it is looked at next.")
    ended_at: datetime | None
    problem: str = Field(description="What went wrong at the last look; empty: nothing.")
    cancelling: bool
    tag: str = Field(description="Our name for it at the provider.")


class BatchListShape(AnswerShape):
    """The newest batches first."""

    items: list[BatchShape]
    next: str | None = None


class CancelledBatchShape(AnswerShape):
    """Whether a batch is asked to end by this."""

    batch: int
    changed: bool


@router.get(
    "/v1/batches", response_model=BatchListShape, dependencies=[requires(AccessRole.VIEWER)]
)
def list_batches(
    engine: AskedEngine, cursor: Cursor = None, limit: Limit = USUAL_ITEMS
) -> Response:
    """List the batches of all runs, the newest first."""
    return answer_part(engine.batches(), cursor, limit)


@router.get(
    "/v1/runs/{run}/batches",
    response_model=BatchListShape,
    dependencies=[requires(AccessRole.VIEWER)],
)
def list_run_batches(
    engine: AskedEngine, run: Number, cursor: Cursor = None, limit: Limit = USUAL_ITEMS
) -> Response:
    """List the batches of a run, the newest first."""
    found = engine.batches(engine.queries.must_get(run).id)
    return answer_part(found, cursor, limit)


@router.get(
    "/v1/batches/{batch}", response_model=BatchShape, dependencies=[requires(AccessRole.VIEWER)]
)
def get_batch(engine: AskedEngine, batch: Number) -> Response:
    """Show one batch."""
    return answer_json(engine.batches.get(batch))


@router.post(
    "/v1/batches/{batch}/cancel",
    response_model=CancelledBatchShape,
    dependencies=[requires(AccessRole.OPERATOR)],
)
def cancel_batch(engine: AskedEngine, batch: Number) -> Response:
    """Ask the provider to end a batch; what it has answered is kept, the rest goes again."""
    return answer_json({"batch": batch, "changed": engine.batches.cancel(batch)})
