"""Open lanes: which lanes may pack, send and submit now; all loops ask here, and nowhere else."""

from datetime import datetime

from quire.domain.ids import LaneId, RunId
from quire.domain.runs import Lane
from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import Contexts


def open_lanes(
    tx: Transaction, contexts: Contexts, now: datetime, only: RunId | None = None
) -> list[Lane]:
    """Lanes of runs that go on, or of one, as far as the stage that each is to stop after."""
    contexts.refresh_fallbacks(tx, now)
    lanes = [lane for lane in tx.requests.open_lanes(now) if only in (None, lane.run_id)]
    contexts.funded_runs = {lane.run_id for lane in lanes if lane.funded}
    stops = {(lane.run_id, lane.stop_after) for lane in lanes if lane.stop_after}
    kept_back = {
        stage for run, last in stops for stage in contexts.spec_of(tx, run).stages_beyond(last)
    }
    return [lane for lane in lanes if lane.stage_id not in kept_back]


def is_lane_open(tx: Transaction, contexts: Contexts, lane: LaneId, now: datetime) -> bool:
    """Whether one lane may still send: its run may have been held or told to stop meanwhile."""
    return any(found.id == lane for found in open_lanes(tx, contexts, now))
