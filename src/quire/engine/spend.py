"""Spend: what was paid, and what for, in every view; the same numbers as rows for data frames."""

from dataclasses import asdict, dataclass
from datetime import datetime

from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.pricing import to_usd
from quire.domain.spend import DaySpend, ForecastRow, SpendBy, SpendGroup
from quire.engine.context import EngineContext
from quire.engine.foreign_values import ForeignFrame
from quire.export.column_types import DATE, INTEGER, NUMBER, TEXT, Column
from quire.ledger.ledger import Transaction
from quire.ledger.tables.spend import EVERY_RUN
from quire.pipeline.commands.again_costs import stale_cost
from quire.planning.forecast_corrections import NOTHING_TAKEN, StageSpend, spend_by_stage
from quire.planning.job_forecasts import percent_over
from quire.planning.rendering import USUAL_OVERHEAD
from quire.planning.spend_views import (
    NOTHING_SPENT,
    PricedModels,
    SpendLine,
    SpendSums,
    smallest_tier,
    total_spend,
    view_spend,
)

MONEY = (
    *("cost", "simulated", "presumed"),
    *("caching_saved", "batches_saved", "packing_saved", "reuse_saved"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendView:
    """What was spent, by one thing, and in all."""

    by: SpendBy
    run_id: RunId | None  # None: all runs
    lines: tuple[SpendLine, ...]

    @property
    def total(self) -> SpendSums:
        """All of it."""
        return total_spend(self.lines)


class SpendViews:
    """What an engine says of money."""

    def __init__(self, context: EngineContext) -> None:
        """Ask the context's ledger."""
        self._context = context

    def __call__(self, by: str | None = None, run: int | None = None) -> list[dict[str, Json]]:
        """One flat row a line, ready for a data frame: `engine.spend(by="stage", run=3)`.

        `by` is run, stage, model, day (UTC), key or outcome; of one run its stages by default.
        Money is exact in whole picodollars, and beside it in dollars.
        """
        return [spend_row(line) for line in self.view(by, run).lines]

    def to_pandas(self, by: str | None = None, run: int | None = None) -> ForeignFrame:
        """The same lines as a pandas frame, with typed columns."""
        return self._frame("pandas", by, run)

    def to_polars(self, by: str | None = None, run: int | None = None) -> ForeignFrame:
        """The same lines as a polars frame."""
        return self._frame("polars", by, run)

    def to_arrow(self, by: str | None = None, run: int | None = None) -> ForeignFrame:
        """The same lines as an Arrow table."""
        return self._frame("arrow", by, run)

    def _frame(self, kind: str, by: str | None, run: int | None) -> ForeignFrame:
        from quire.export.data_frames import make_frame

        view = self.view(by, run)
        columns = spend_columns(view.by)
        rows = map(spend_row, view.lines)
        return make_frame(kind, columns, ([row[it.name] for it in columns] for row in rows))

    def view(self, by: str | None = None, run: int | None = None) -> SpendView:
        """What was spent on a run or on all, by one thing."""
        way = _read_by(by or (SpendBy.RUN if run is None else SpendBy.STAGE))
        with self._context.ledger.snapshot() as tx:
            only = EVERY_RUN if run is None else tx.runs.must_get_run(RunId(run)).id
            models = tx.spend.priced_models(only)
            groups = read_groups(tx, models, only, outcomes=way is SpendBy.OUTCOME)
            groups += tx.spend.reuse_groups(only)
        groups.sort(key=lambda group: (group.run_id, group.stage_id))
        return SpendView(
            by=way,
            run_id=None if run is None else only,
            lines=tuple(view_spend(groups, way, models)),
        )

    def of_day(self, moment: datetime) -> DaySpend:
        """What calls cost that were sent since midnight (UTC) before a moment."""
        midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
        with self._context.ledger.snapshot() as tx:
            return tx.spend.spend_since(midnight)

    def forecast_cost(self, run: int) -> int | None:
        """Picodollars that a run was forecast to cost when it began; None where nobody said."""
        with self._context.ledger.snapshot() as tx:
            rows = tx.spend.stage_forecasts(RunId(run))
        return sum(row.cost for row in rows) if rows else None

    def stale_cost(self, run: int) -> int | None:
        """Picodollars that making a run's stale results again will cost; None: nobody can tell."""
        with self._context.ledger.snapshot() as tx:
            spec = self._context.contexts.spec_of(tx, tx.runs.must_get_run(RunId(run)).id)
            return stale_cost(tx, spec)

    def compare_forecast(self, run: int) -> list[dict[str, Json]]:
        """Forecast beside actual, one flat row for each stage and model; none was kept: none."""
        with self._context.ledger.snapshot() as tx:
            found = tx.runs.must_get_run(RunId(run)).id
            forecasts = tx.spend.stage_forecasts(found)
            groups = read_groups(tx, tx.spend.priced_models(found), found, outcomes=False)
        spent = spend_by_stage(groups)
        return [
            _compare(row, spent.get((row.stage, row.model), NOTHING_TAKEN)) for row in forecasts
        ]


def _compare(row: ForecastRow, spent: StageSpend) -> dict[str, Json]:
    money = {"low": row.low, "forecast_cost": row.cost, "high": row.high, "cost": spent.cost}
    return {
        "stage": row.stage,
        "model": row.model,
        "tasks": row.tasks,
        "forecast_calls": row.calls,
        "calls": spent.calls,
        "forecast_input_tokens": row.input_tokens,
        "input_tokens": spent.input_tokens,
        "forecast_output_tokens": row.output_tokens,
        "output_tokens": spent.output_tokens,
        **{f"{name}_pico": amount for name, amount in money.items()},
        **{f"{name}_usd": to_usd(amount) for name, amount in money.items()},
        "percent_over": percent_over(row.cost, spent.cost),
    }


def read_groups(
    tx: Transaction, models: PricedModels, run: RunId = EVERY_RUN, *, outcomes: bool
) -> list[SpendGroup]:
    """The groups that every view is a sum of."""
    tier = smallest_tier(models.values())
    return tx.spend.spend_groups(run, tier, USUAL_OVERHEAD, outcomes=outcomes)


def spend_row(line: SpendLine) -> dict[str, Json]:
    """A line, flat: what it is about, counts, and money both exact and in dollars."""
    return {**line.about, **sums_json(line.sums)}


def spend_columns(by: SpendBy) -> list[Column]:
    """The columns of a view's rows, with what they hold; the same where it has no line."""
    about = ("run", "stage") if by is SpendBy.STAGE else (by.value,)
    kinds = {"run": INTEGER, "day": DATE}
    named = [Column(name, kinds.get(name, TEXT)) for name in about]
    sums = [
        Column(name, NUMBER if name.endswith("_usd") else INTEGER)
        for name in sums_json(NOTHING_SPENT)
    ]
    return [*named, *sums]


def sums_json(sums: SpendSums) -> dict[str, Json]:
    """Sums by name; money in picodollars, and beside it in dollars."""
    row: dict[str, Json] = {}
    for name, value in asdict(sums).items():
        if name in MONEY:
            row[f"{name}_pico"], row[f"{name}_usd"] = value, to_usd(value)
        else:
            row[name] = value
    return row


def _read_by(by: str) -> SpendBy:
    try:
        return SpendBy(by)
    except ValueError:
        names = ", ".join(SpendBy)
        raise UsageError(f"spend is grouped by {names}; not by {by!r}") from None
