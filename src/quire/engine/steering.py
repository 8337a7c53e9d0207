"""Steering: what a person may tell a run, each in one transaction."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from quire.dispatch.outside import Outside
from quire.domain.data import Json, JsonObject
from quire.domain.ids import RunId, TaskId
from quire.ledger.ledger import Ledger, Transaction
from quire.pipeline import control
from quire.pipeline.contexts import Contexts
from quire.pipeline.decide import Act, Decision, approve, current_data, edit, reject, run_of
from quire.pipeline.regate import Regated, Regating, regate
from quire.pipeline.rerun import rerun
from quire.pipeline.retry import retry, retry_stale
from quire.pipeline.told import Told, read_told
from quire.pipeline.waive import waive
from quire.recipes.registry import Registry

Done = TypeVar("Done")


class Steering:
    """The controls of an engine."""

    ledger: Ledger
    registry: Registry
    _outside: Outside

    def pause(self, run: RunId, command: str | None = None) -> bool:
        """Send nothing more for a run."""
        now = self._outside.now()
        return self._carry_out(lambda tx: control.pause(tx, run, now, command))

    def resume(self, run: RunId, command: str | None = None) -> bool:
        """Let a run go on."""
        now = self._outside.now()
        return self._carry_out(lambda tx: control.resume(tx, run, now, command))

    def cancel(self, run: RunId, command: str | None = None) -> bool:
        """Ask for a run's end."""
        now = self._outside.now()
        return self._carry_out(lambda tx: control.cancel(tx, run, now, command))

    def stop_after(self, run: RunId, stage: str | None, command: str | None = None) -> bool:
        """Begin no stage after this one; None takes that back."""
        now = self._outside.now()
        return self._carry_out(
            lambda tx: control.stop_after(tx, self._told(tx, run), stage, now, command)
        )

    def retry(
        self,
        run: RunId,
        command: str | None = None,
        *,
        stage: str | None = None,
        stale: bool = False,
    ) -> int:
        """Owe a run's failed tasks again, or its stale ones; returns how many."""
        again, now = retry_stale if stale else retry, self._outside.now()
        return self._carry_out(lambda tx: again(tx, self._told(tx, run), now, command, stage=stage))

    def waive(self, tasks: Sequence[TaskId], command: str | None = None) -> int:
        """Go on without failed tasks of an exact run; returns how many are new to that."""
        now = self._outside.now()
        return self._carry_out(lambda tx: waive(tx, tasks, now, command))

    def approve(self, task: TaskId, who: str = "", command: str | None = None) -> Decision:
        """Confirm a task's result: no machine replaces it any more."""
        act = Act(who, self._outside.now(), command)
        return self._carry_out(lambda tx: approve(tx, self._told_of(tx, task), task, act))

    def edit(self, task: TaskId, data: Json, who: str = "", command: str | None = None) -> Decision:
        """Put a person's own data in the place of a task's result."""
        act = Act(who, self._outside.now(), command)
        return self._carry_out(lambda tx: edit(tx, self._told_of(tx, task), task, data, act))

    def reject(
        self, task: TaskId, note: str, who: str = "", command: str | None = None
    ) -> Decision:
        """Refuse a task's result; it is asked again with the note."""
        act = Act(who, self._outside.now(), command)
        return self._carry_out(lambda tx: reject(tx, self._told_of(tx, task), task, note, act))

    def editable(self, task: TaskId) -> Json:
        """The data of a result that may be edited, as it is now."""
        with self.ledger.snapshot() as tx:
            return current_data(tx, self._told_of(tx, task), task)

    def rerun(self, run: RunId, from_stage: str, command: str | None = None) -> int:
        """Ask a stage and all after it again; returns how many tasks that is."""
        now = self._outside.now()
        return self._carry_out(lambda tx: rerun(tx, self._told(tx, run), from_stage, now, command))

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

    def _carry_out(self, act: Callable[[Transaction], Done]) -> Done:
        return control.carry_out(self.ledger, act)

    def _told_of(self, tx: Transaction, task: TaskId) -> Told:
        return self._told(tx, run_of(tx, task))

    def _told(self, tx: Transaction, run: RunId) -> Told:
        return read_told(tx, run, self.registry)
