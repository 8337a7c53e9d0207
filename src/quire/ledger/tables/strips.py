"""Strips: the packs of a run in order, so many to a bin that there are never many bins."""

from typing import NamedTuple

from quire.domain.ids import RequestId, RunId, StageId
from quire.ledger.tables.table import Table


class StripBin(NamedTuple):
    """Packs that follow each other: of a small run one, of a large one many."""

    no: int
    packs: int
    request_id: RequestId  # the first of them
    first_stage: StageId
    last_stage: StageId
    model: str
    other_model: str  # another one where there are several; else the same
    tasks: int
    sent: int  # how often they were sent
    cost_pico: int
    done: int
    failed: int
    again: int  # some of their tasks were asked again, in other packs
    out: int
    waiting: int


class Strips(Table):
    """The packs of the workspace's runs, at a glance."""

    def strip_bins(self, run: RunId, stage: StageId | None, bins: int) -> list[StripBin]:
        """The packs of a run, or of one of its stages, in at most so many bins."""
        return self._list(StripBin, "strip_bins", run=run, stage=stage or 0, bins=bins)

    def last_event_of_run(self, run: RunId) -> int:
        """The number of what last happened to a run."""
        return self._count("last_event_of_run", run=run)
