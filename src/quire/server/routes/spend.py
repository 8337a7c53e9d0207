"""Routes about spending: what was paid and what for, and how right forecasts were."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from quire.domain.spend import SpendBy
from quire.engine.json_views.money_views import spend_json
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import LARGEST, AnswerShape, Number, answer_json

router = APIRouter(tags=["money"], dependencies=[requires(AccessRole.VIEWER)])


class SpendShape(AnswerShape):
    """What was spent, by one thing."""

    by: str
    run: int | None
    rows: list[AnswerShape]
    total: AnswerShape
    simulated_usd: float


class ForecastShape(AnswerShape):
    """Forecast beside actual, a row for each stage and model."""

    run: int
    rows: list[AnswerShape]


@router.get("/v1/spend", response_model=SpendShape)
def get_spend(
    engine: AskedEngine,
    by: SpendBy | None = None,
    run: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
) -> Response:
    """Show what was spent on all runs or on one: by run, stage, model, day, key or outcome."""
    return answer_json(spend_json(engine.spend.view(by, run)))


@router.get("/v1/runs/{run}/spend", response_model=SpendShape)
def get_run_spend(engine: AskedEngine, run: Number, by: SpendBy | None = None) -> Response:
    """Show what was spent on a run; by stage, unless told."""
    return answer_json(spend_json(engine.spend.view(by, run)))


@router.get("/v1/runs/{run}/forecast", response_model=ForecastShape)
def get_forecast(engine: AskedEngine, run: Number) -> Response:
    """Show what each stage was forecast to take when the run began, and what it took."""
    return answer_json({"run": run, "rows": engine.spend.compare_forecast(run)})
