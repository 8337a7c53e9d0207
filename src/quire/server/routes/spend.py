"""Routes about spending: what was paid and what for, and how right forecasts were."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from quire.domain.spend import SpendBy
from quire.engine.json_views.money_views import spend_json
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import LARGEST, AnswerShape, Number, answer_json

router = APIRouter(tags=["money"], dependencies=[requires(AccessRole.VIEWER)])


class SpendSumsShape(AnswerShape):
    """What some attempts come to; money in dollars, and exactly in picodollars."""

    attempts: int = Field(description="Sent.")
    calls: int = Field(description="Answered.")
    batched_calls: int = Field(description="Of the answered ones, those inside batches.")
    tasks: int = Field(description="Tasks in the answered calls.")
    input_tokens: int
    cached_tokens: int
    written_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost_pico: int
    cost_usd: float
    simulated_pico: int
    simulated_usd: float
    presumed_pico: int
    presumed_usd: float
    caching_saved_pico: int
    caching_saved_usd: float
    batches_saved_pico: int
    batches_saved_usd: float
    packing_saved_pico: int
    packing_saved_usd: float
    reused: int
    reuse_saved_pico: int
    reuse_saved_usd: float


class SpendRowShape(SpendSumsShape):
    """One row; of what it is about it says what was asked for."""

    run: int = Field(0, description="By run and by stage.")
    stage: str = Field("", description="By stage.")
    model: str = Field("", description="By model.")
    day: str = Field("", description="By day, in UTC.", examples=["2026-11-18"])
    key: str = Field("", description="By key: its provider and name.")
    outcome: str = Field("", description="By outcome.", examples=["accepted"])


class ForecastRowShape(AnswerShape):
    """What a stage was forecast to take with one model, and what it took."""

    stage: str
    model: str
    tasks: int = Field(description="Tasks that were forecast.")
    forecast_calls: int
    calls: int = Field(description="Calls it took.")
    forecast_input_tokens: int
    input_tokens: int
    forecast_output_tokens: int
    output_tokens: int
    low_pico: int
    forecast_cost_pico: int
    high_pico: int
    cost_pico: int
    low_usd: float
    forecast_cost_usd: float
    high_usd: float
    cost_usd: float
    percent_over: float | None = Field(
        description="By how much the cost passed the forecast; below 0, it stayed under."
    )


class SpendShape(AnswerShape):
    """What was spent, by one thing."""

    by: SpendBy
    run: int | None = Field(description="The number of the run; null: all runs.")
    rows: list[SpendRowShape]
    total: SpendSumsShape = Field(description="All rows together.")
    simulated_usd: float = Field(description="The same as of `total`.")


class ForecastShape(AnswerShape):
    """Forecast beside actual, a row for each stage and model."""

    run: int
    rows: list[ForecastRowShape]


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
