"""Spend: what attempts took and cost, added up by the database, whatever it is grouped by."""

from collections.abc import Sequence
from datetime import datetime

from quire.domain.data import stored_json
from quire.domain.ids import RunId
from quire.domain.models import ModelFacts
from quire.domain.spend import DaySpend, ForecastRow, RunMoneySums, SpendGroup
from quire.ledger.stored_values import to_micros
from quire.ledger.tables.table import Table

EVERY_RUN = RunId(0)


class Spend(Table):
    """What the workspace's attempts come to."""

    def spend_groups(
        self, run: RunId, tier: int, overhead: int, *, outcomes: bool
    ) -> list[SpendGroup]:
        """Attempts of a run or of all, added up; calls of more input than `tier` by their size.

        `overhead` is the size of a task's frame in a pack. What became of calls takes a look at
        every task they carried, so it is asked for.
        """
        judged = int(outcomes)
        values = {"run": run, "tier": tier, "overhead": overhead, "judged": judged}
        return self._list(SpendGroup, "spend_groups", **values)

    def priced_models(self, run: RunId) -> dict[tuple[RunId, str], ModelFacts]:
        """The models of a run or of all, by run and name, with the prices that each was told."""
        known: dict[str, ModelFacts] = {}
        found: dict[tuple[RunId, str], ModelFacts] = {}
        for number, text in self._run("priced_models", run=run):
            if text not in known:
                known[text] = ModelFacts.from_json(stored_json(text))
            found[number, known[text].name] = known[text]
        return found

    def reuse_groups(self, run: RunId) -> list[SpendGroup]:
        """Answers of a run or of all that were taken instead of asked for, and what that saved."""
        return self._list(SpendGroup, "reuse_groups", run=run)

    def money_of_runs(self) -> list[RunMoneySums]:
        """What each run spent: by its tallies, by its attempts, and by its wallet's entries."""
        return self._list(RunMoneySums, "money_of_runs")

    def spend_since(self, moment: datetime) -> DaySpend:
        """What calls cost that were sent since a moment; reads no others."""
        return self._list(DaySpend, "spend_since", since=to_micros(moment))[0]

    def add_stage_forecasts(self, run: RunId, forecasts: Sequence[ForecastRow]) -> None:
        """Keep what a run was forecast to take when it began."""
        rows = [(run, ordinal, *forecast) for ordinal, forecast in enumerate(forecasts)]
        self._connection.run_many("add_stage_forecasts", rows)

    def stage_forecasts(self, run: RunId) -> list[ForecastRow]:
        """What a run was forecast to take, stage by stage and model by model; or nothing."""
        return self._list(ForecastRow, "stage_forecasts", run=run)
