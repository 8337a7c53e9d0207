"""Tallies: append-only counts whose sum is the progress; no hot row in the way of settling.

The idea. How many tasks of a stage are ready, packed or done is asked several times a second, and a
stage may have a million tasks. So nobody counts them: whoever moves tasks appends one row for the
state they left and one for the state they came to (`ready, -8`, `packed, +8`), in the transaction
that moves them, and progress is the sum of a stage's rows. Calls, packs, tokens and money are
tallied alike.

What could go wrong. One row with a counter in it would be simpler, and every worker would queue for
it: PostgreSQL locks a row until the commit of whoever changed it, which is slow, and deadlocks when
two stages are counted in another order. Rows that are only ever appended are in nobody's way, but
there are more of them with every step, and a sum over all of history is slow again. And a tally
written apart from its move, or of a move that somebody else has made already, is wrong for ever.

Why this way. A move says from which one state to which one state, and how many rows really moved,
so its tally needs no look at the rows. Both commit together or not at all. `fold_tallies` replaces
a crowded stage's rows by their sums, and deletes just the rows that it has read: what others append
meanwhile stays. `recount_tasks` is the truth that tests and the doctor compare the sums with.
"""

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
        return dict(self._run("tallies_of_run", run=run))

    def tallies_by_stage(self, run: RunId) -> dict[StageId, dict[str, int]]:
        """The sums of each stage of a run."""
        found: dict[StageId, dict[str, int]] = defaultdict(dict)
        for stage, what, total in self._connection.run("tallies_by_stage", run=run):
            found[stage][what] = total
        return found

    def tallies_of_stage(self, stage: StageId) -> dict[str, int]:
        """The sums of a stage."""
        return dict(self._run("tallies_of_stage", stage=stage))

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
