"""Pack strips: how the packs of a run stand, in order, one cell each, or many to a cell."""

from collections.abc import Mapping
from dataclasses import dataclass

from quire.domain.errors import UsageError
from quire.domain.ids import RunId, StageId
from quire.domain.pricing import to_usd
from quire.domain.runs import Progress, StageProgress
from quire.domain.states import RunState, TaskState
from quire.engine.context import EngineContext
from quire.ledger.tables.strips import StripBin
from quire.pipeline.answers.progress import progress

MOST_CELLS = 600  # that a strip has, however many packs there are
STATES = ("done", "failed", "again", "out", "waiting")  # in which packs are told
NOT_PACKED = (TaskState.WAITING, TaskState.READY)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackStrip:
    """The packs of a run, in order."""

    run_id: RunId
    packs: int
    to_come: int  # packs that are not made yet, about
    bins: tuple[StripBin, ...]
    stages: Mapping[StageId, str]  # names
    last_event: int  # that had happened when it was made
    ended: bool  # the run

    @property
    def cells(self) -> int:
        """How many cells it has, with those that are to come."""
        packs = self.packs + self.to_come
        return packs if packs <= MOST_CELLS else MOST_CELLS

    @property
    def counts(self) -> dict[str, int]:
        """Packs by state."""
        return {state: sum(getattr(cell, state) for cell in self.bins) for state in STATES}

    def as_json(self) -> dict[str, object]:
        """The same for programs; each bin names the states that it has packs in."""
        return {
            "run": self.run_id,
            "packs": self.packs,
            "to_come": self.to_come,
            "cells": self.cells,
            "counts": self.counts,
            "bins": [self._bin_json(cell) for cell in self.bins],
            "last_event": self.last_event,
            "ended": self.ended,
        }

    def _bin_json(self, cell: StripBin) -> dict[str, object]:
        states = {state: getattr(cell, state) for state in STATES if getattr(cell, state)}
        several = cell.model != cell.other_model
        return {
            "packs": cell.packs,
            "request": cell.request_id,
            "stage": self.stages[cell.first_stage],
            "model": f"{cell.model} and others" if several else cell.model,
            "tasks": cell.tasks,
            "sent": cell.sent,
            "cost_usd": to_usd(cell.cost_pico),
            "states": states,
        }


class PackStrips:
    """Makes strips of an engine's runs."""

    def __init__(self, context: EngineContext) -> None:
        """Look at the context's ledger."""
        self._context = context

    def make(self, run: int, stage: str | None = None) -> PackStrip:
        """The strip of a run, or of one of its stages, read in one statement."""
        with self._context.ledger.snapshot() as tx:
            found = tx.runs.must_get_run(RunId(run)).id
            names = {item.id: item.name for item in tx.runs.stages_of_run(found)}
            chosen = next((number for number, name in names.items() if name == stage), None)
            if stage is not None and chosen is None:
                raise UsageError(
                    f"run {run} has no stage {stage!r}; it has {', '.join(names.values())}"
                )
            now = progress(tx, found, self._context.contexts)
            to_come = _packs_to_come(now, stage)
            share = now.packs / (now.packs + to_come) if now.packs + to_come > MOST_CELLS else 1.0
            bins = max(1, int(MOST_CELLS * share))
            cells = tuple(tx.strips.strip_bins(found, chosen, bins))
            last = tx.strips.last_event_of_run(found)
        return PackStrip(
            run_id=found,
            packs=sum(cell.packs for cell in cells),
            to_come=to_come,
            bins=cells,
            stages=names,
            last_event=last,
            ended=now.state != RunState.RUNNING,
        )

    def last_event(self, run: int) -> int:
        """The number of what last happened to a run: while it is the same, so is an ended run."""
        with self._context.ledger.snapshot() as tx:
            return tx.strips.last_event_of_run(RunId(run))


def _packs_to_come(now: Progress, stage: str | None) -> int:
    """How many packs are not made yet, if they are as large as those that are; 0 at the end."""
    if now.state != RunState.RUNNING or not now.packs:
        return 0
    chosen = [item for item in now.stages if stage in (None, item.name)]
    owed = sum(_unpacked_tasks(item) for item in chosen)
    if stage is None and not now.is_staged:
        owed += max(0, (now.task_limit or now.total) - now.expanded)
    return -(-owed * now.packs // max(1, now.packed_tasks))


def _unpacked_tasks(stage: StageProgress) -> int:
    return stage.count(*NOT_PACKED)
