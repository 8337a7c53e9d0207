"""Tallies: append-only counts whose sum is the progress; no hot row in the way of settling."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from quire.domain.ids import RunId, StageId
from quire.ledger.tables.table import Table


class Tallies(Table):
    """Counts by stage."""

    def add_tallies(self, stage: StageId, deltas: Mapping[str, int]) -> None:
        """Append what changed."""
        rows = [(stage, str(what), delta) for what, delta in deltas.items() if delta]
        self._connection.run_many("add_tallies", rows)

    def tallies_of_run(self, run: RunId) -> dict[str, int]:
        """The sums of a run."""
        return {row[0]: row[1] for row in self._connection.run("tallies_of_run", run=run)}

    def tallies_by_stage(self, run: RunId) -> dict[StageId, dict[str, int]]:
        """The sums of each stage of a run."""
        found: dict[StageId, dict[str, int]] = defaultdict(dict)
        for stage, what, total in self._connection.run("tallies_by_stage", run=run):
            found[stage][what] = total
        return found

    def tallies_of_stage(self, stage: StageId) -> dict[str, int]:
        """The sums of a stage."""
        return {row[0]: row[1] for row in self._connection.run("tallies_of_stage", stage=stage)}

    def crowded_stages(self, limit: int) -> list[StageId]:
        """Stages of running runs with more rows than this."""
        return self._column("crowded_stages", limit=limit)

    def fold_tallies(self, stage: StageId) -> None:
        """Replace a stage's rows by their sums."""
        sums: Counter[str] = Counter()
        for what, delta in self._connection.run("take_tallies", stage=stage):
            sums[what] += delta
        self.add_tallies(stage, sums)

    def recount_tasks(self, stage: StageId) -> dict[str, int]:
        """Count the tasks themselves: the truth the tallies must equal."""
        return dict(self._run("recount_tasks", stage=stage))
