"""Steering: what a person may tell a run, each in one transaction."""

from collections.abc import Sequence

from quire.dispatch.outside import Outside
from quire.domain.data import JsonObject
from quire.domain.ids import RunId, TaskId
from quire.ledger.ledger import Ledger, Transaction
from quire.pipeline import control
from quire.pipeline.contexts import Contexts
from quire.pipeline.regate import Regated, Regating, regate
from quire.pipeline.rerun import rerun
from quire.pipeline.retry import retry, retry_stale
from quire.pipeline.told import Told, read_told
from quire.pipeline.waive import waive
from quire.recipes.registry import Registry


class Steering:
    """The controls of an engine."""

    ledger: Ledger
    registry: Registry
    _outside: Outside

    def pause(self, run: RunId, command: str | None = None) -> bool:
        """Send nothing more for a run."""
        with self.ledger.transaction() as tx:
            return control.pause(tx, run, self._outside.now(), command)

    def resume(self, run: RunId, command: str | None = None) -> bool:
        """Let a run go on."""
        with self.ledger.transaction() as tx:
            return control.resume(tx, run, self._outside.now(), command)

    def cancel(self, run: RunId, command: str | None = None) -> bool:
        """Ask for a run's end."""
        with self.ledger.transaction() as tx:
            return control.cancel(tx, run, self._outside.now(), command)

    def stop_after(self, run: RunId, stage: str | None, command: str | None = None) -> bool:
        """Begin no stage after this one; None takes that back."""
        with self.ledger.transaction() as tx:
            told = self._told(tx, run)
            return control.stop_after(tx, told, stage, self._outside.now(), command)

    def retry(
        self,
        run: RunId,
        command: str | None = None,
        *,
        stage: str | None = None,
        stale: bool = False,
    ) -> int:
        """Owe a run's failed tasks again, or its stale ones; returns how many."""
        again = retry_stale if stale else retry
        with self.ledger.transaction() as tx:
            return again(tx, self._told(tx, run), self._outside.now(), command, stage=stage)

    def waive(self, tasks: Sequence[TaskId], command: str | None = None) -> int:
        """Go on without failed tasks of an exact run; returns how many are new to that."""
        with self.ledger.transaction() as tx:
            return waive(tx, tasks, self._outside.now(), command)

    def rerun(self, run: RunId, from_stage: str, command: str | None = None) -> int:
        """Ask a stage and all after it again; returns how many tasks that is."""
        with self.ledger.transaction() as tx:
            return rerun(tx, self._told(tx, run), from_stage, self._outside.now(), command)

    def regate(
        self,
        run: RunId,
        stage: str | None = None,
        *,
        apply: bool = False,
        command: str | None = None,
    ) -> list[Regated]:
        """Judge stored answers with the gates as they are now; `apply` carries out what changes."""
        asked = Regating(run, stage, apply=apply, command=command)
        return regate(self.ledger, Contexts(self.registry), asked, self._outside.now)

    def stage_policies(self, run: RunId) -> dict[str, JsonObject]:
        """What stages of a run are told in the place of its policy, by name."""
        with self.ledger.snapshot() as tx:
            told = self._told(tx, run)
        own = {each.name: told.own_words(each) for each in told.recipe.stages}
        return {name: words for name, words in own.items() if words}

    def _told(self, tx: Transaction, run: RunId) -> Told:
        return read_told(tx, run, self.registry)
