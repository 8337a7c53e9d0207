"""A run's handle: wait for it, query it, steer it, take its rows."""

from collections.abc import Callable, Sequence
from typing import Protocol

from quire.domain.data import Json
from quire.domain.ids import RunId, TaskId
from quire.domain.runs import Progress
from quire.pipeline.commands.decide import DecisionOutcome
from quire.pipeline.commands.regate import RegateReport


class RunHost(Protocol):
    """What a run in hand needs of its engine."""

    def drive(self, run: RunId, watch: Callable[[Progress], None] | None = None, /) -> Progress: ...
    def progress(self, run: RunId, /) -> Progress: ...
    def rows(self, run: RunId, only: str, stage: str | None, /) -> list[dict[str, Json]]: ...
    def export(self, run: RunId, path: str, only: str, stage: str | None, form: str, /) -> int: ...
    def pause(self, run: RunId, /) -> bool: ...
    def resume(self, run: RunId, /) -> bool: ...
    def cancel(self, run: RunId, /) -> bool: ...
    def stop_after(self, run: RunId, stage: str | None, /) -> bool: ...
    def retry(self, run: RunId, /, *, stage: str | None, stale: bool) -> int: ...
    def waive(self, tasks: Sequence[TaskId], /) -> int: ...
    def approve(self, task: TaskId, who: str, /) -> DecisionOutcome: ...
    def edit(self, task: TaskId, data: Json, who: str, /) -> DecisionOutcome: ...
    def reject(self, task: TaskId, note: str, who: str, /) -> DecisionOutcome: ...
    def rerun(self, run: RunId, from_stage: str, /) -> int: ...
    def regate(self, run: RunId, stage: str | None, /, *, apply: bool) -> list[RegateReport]: ...


class RunHandle:
    """One run of an engine's ledger."""

    def __init__(self, engine: RunHost, run: RunId, *, goes_on: bool) -> None:
        """Refer to a run by its key."""
        self._engine = engine
        self.id = run
        self.goes_on = goes_on  # the same order was given before

    def __repr__(self) -> str:
        """Say which run, and how it stands."""
        return f"<quire run {self.id}: {self.progress().state}>"

    def wait(self, watch: Callable[[Progress], None] | None = None) -> Progress:
        """Work on it in this process until there is nothing more to do; safe to interrupt.

        That is not always the end: a run that is held comes back too. Then `held` is true of the
        progress, and its `holds` say why; mend that, `resume()`, and wait again.
        """
        return self._engine.drive(self.id, watch)

    def progress(self) -> Progress:
        """How far it is."""
        return self._engine.progress(self.id)

    def rows(self, only: str = "all", stage: str | None = None) -> list[dict[str, Json]]:
        """One flat mapping a block or task, in order, with the answer's fields as columns.

        Of a recipe they are the results of its last stage, or of the one that `stage` names.
        """
        return self._engine.rows(self.id, only, stage)

    def export(
        self, path: str, only: str = "all", stage: str | None = None, form: str = "jsonl"
    ) -> int:
        """Write JSON lines or another format, of the last stage or of another; returns how many."""
        return self._engine.export(self.id, path, only, stage, form)

    def pause(self) -> bool:
        """Send nothing more until `resume`."""
        return self._engine.pause(self.id)

    def resume(self) -> bool:
        """Go on."""
        return self._engine.resume(self.id)

    def cancel(self) -> bool:
        """Ask for the end."""
        return self._engine.cancel(self.id)

    def stop_after(self, stage: str | None) -> bool:
        """Begin no stage after this one; None takes that back."""
        return self._engine.stop_after(self.id, stage)

    def retry(self, *, stage: str | None = None, stale: bool = False) -> int:
        """Owe failed tasks again, or stale ones, of all stages or of one; returns how many."""
        return self._engine.retry(self.id, stage=stage, stale=stale)

    def waive(self, *tasks: int) -> int:
        """Go on without failed tasks, in an exact run; returns how many are new to that."""
        return self._engine.waive([TaskId(task) for task in tasks])

    def approve(self, task: int, *, who: str = "") -> DecisionOutcome:
        """Confirm one result: no machine replaces it any more."""
        return self._engine.approve(TaskId(task), who)

    def edit(self, task: int, data: Json, *, who: str = "") -> DecisionOutcome:
        """Put your own data in the place of one result; it must pass the gates of its stage."""
        return self._engine.edit(TaskId(task), data, who)

    def reject(self, task: int, note: str, *, who: str = "") -> DecisionOutcome:
        """Refuse one result; it is asked again with the note, at a price."""
        return self._engine.reject(TaskId(task), note, who)

    def rerun(self, from_stage: str) -> int:
        """Ask a stage and all after it again, at a price; returns how many tasks that is."""
        return self._engine.rerun(self.id, from_stage)

    def regate(self, stage: str | None = None, *, apply: bool = False) -> list[RegateReport]:
        """Judge stored answers with the gates as they are now, for nothing, a report a stage."""
        return self._engine.regate(self.id, stage, apply=apply)
