"""Failure holds: a stage whose answers fail too often, or cost too much, holds its run."""

from datetime import datetime

from quire.domain.ids import RunId
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.record import hold_run
from quire.pipeline.contexts import Contexts, LaneContext
from quire.planning.failure_limits import accepted_shares, find_excess, new_window, read_window


def check_failures(
    tx: Transaction, contexts: Contexts, context: LaneContext, now: datetime
) -> bool:
    """Whether a stage's answers do; looked at only where this worker saw some that did not."""
    stage = context.stage_id
    if stage not in contexts.stages_with_failures:
        return True
    sums = tx.tallies.tallies_of_stage(stage)
    window = read_window(sums)
    excess = find_excess(window, context.policy)
    if excess is not None:
        hold_run(
            tx,
            context.run_id,
            excess.cause,
            now,
            number=excess.number,
            of=excess.of,
            percent=excess.percent,
            stage=context.stage.name,
        )
        return False
    contexts.stages_with_failures.discard(stage)
    if window.is_full:
        tx.runs.lock_stage(stage)  # two who begin a window at once would count it twice
        tx.tallies.add_tallies(stage, new_window(tx.tallies.tallies_of_stage(stage)))
    return True


def begin_windows(tx: Transaction, run: RunId) -> None:
    """Let what is there already, of another run or asked again, say nothing of what comes."""
    for stage in tx.runs.stages_of_run(run):
        tx.runs.lock_stage(stage.id)
        tx.tallies.add_tallies(stage.id, new_window(tx.tallies.tallies_of_stage(stage.id)))


def allow_as_seen(tx: Transaction, run: RunId) -> None:
    """Somebody who has seen what went wrong goes on: only what is worse holds the run again."""
    for stage in tx.runs.stages_of_run(run):
        tx.runs.lock_stage(stage.id)
        sums = tx.tallies.tallies_of_stage(stage.id)
        tx.tallies.add_tallies(stage.id, new_window(sums, accepted_shares(read_window(sums))))
