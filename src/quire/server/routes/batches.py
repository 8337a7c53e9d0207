"""Routes about batches at providers: listed, shown, cancelled."""

from fastapi import APIRouter, Response

from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import AnswerShape, Number, answer_json

router = APIRouter(tags=["batches"])


class BatchShape(AnswerShape):
    """A provider's batch."""

    id: int
    run_id: int
    model: str
    state: str


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
def list_batches(engine: AskedEngine) -> Response:
    """List the batches of all runs, the newest first."""
    return answer_json({"items": engine.batches(), "next": None})


@router.get(
    "/v1/runs/{run}/batches",
    response_model=BatchListShape,
    dependencies=[requires(AccessRole.VIEWER)],
)
def list_run_batches(engine: AskedEngine, run: Number) -> Response:
    """List the batches of a run, the newest first."""
    return answer_json({"items": engine.batches(engine.queries.must_get(run).id), "next": None})


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
