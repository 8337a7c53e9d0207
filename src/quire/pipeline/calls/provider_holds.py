"""Provider holds: a long wait that was asked for, or nothing but errors, holds a run.

A provider that breaks down comes back: calls go again, later and later, and nobody need look. Two
things are different. Where nothing has ever come back from a model, it is more likely that the
address or the model is wrong than that it is down. And who asks us to come back tomorrow means it:
whoever waits at a screen is told so, and lets the run go on when the time has come.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from quire.domain.errors import Remedy
from quire.domain.reasons import EventKind, HoldCause
from quire.domain.requests import AttemptRow, CallFailure
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.record import hold_run
from quire.pipeline.contexts import Contexts
from quire.planning.retrying import LONGEST_WAIT

LONG_WAIT = 600.0  # seconds that a provider asks for; then nobody waits at the screen
HOLD_WHEN_FAILING_FOR = timedelta(minutes=5)  # where nothing ever succeeded
FEWEST_ERRORS = 5  # that show it


def hold_for_provider(
    tx: Transaction, contexts: Contexts, failures: Sequence[CallFailure], now: datetime
) -> None:
    """Hold the runs of calls that came to nothing, if it is of no use to wait for the next."""
    failing = {
        failure.attempt_id: failure
        for failure in failures
        if failure.error.remedy in (Remedy.RETRY, Remedy.WAIT, Remedy.LOST)  # lost: may be billed
    }
    rows = tx.attempts.attempts_by_id(list(failing)) if failing else []
    for row in {row.lane_id: row for row in rows}.values():  # one of each lane says it
        error = failing[row.id].error
        if error.retry_after is None:
            _hold_if_never_answered(tx, contexts, row, str(error), now)
        elif error.retry_after >= LONG_WAIT:
            seconds = min(error.retry_after, LONGEST_WAIT)
            _hold_until(tx, contexts, row, str(error), now, now + timedelta(seconds=seconds))


def _hold_until(
    tx: Transaction,
    contexts: Contexts,
    row: AttemptRow,
    problem: str,
    now: datetime,
    until: datetime,
) -> None:
    """Say until when a model is not to be asked; a run that asks no other waits for a person."""
    model = contexts.of_lane_id(tx, row.run_id, row.lane_id).facts.name
    fields = {"model": model, "problem": problem, "until": f"{until:%Y-%m-%d %H:%M} UTC"}
    if all(lane.model == model for lane in tx.requests.lanes_of_run(row.run_id)):
        hold_run(tx, row.run_id, HoldCause.PROVIDER_WAITS, now, **fields)
    elif contexts.announced_waits.get(row.lane_id, now) <= now:  # the other models go on
        contexts.announced_waits[row.lane_id] = until
        tx.events.add_event(row.run_id, EventKind.PROVIDER_WAITS, now, **fields)


def _hold_if_never_answered(
    tx: Transaction, contexts: Contexts, row: AttemptRow, problem: str, now: datetime
) -> None:
    model = contexts.of_lane_id(tx, row.run_id, row.lane_id).facts.name
    if model in contexts.answered_models:
        return
    if tx.attempts.has_answered(model):
        contexts.answered_models.add(model)
        return
    first, calls = tx.attempts.first_sending(row.lane_id)
    if first is None or calls < FEWEST_ERRORS or now - first < HOLD_WHEN_FAILING_FOR:
        return
    minutes = int((now - first).total_seconds() // 60)
    hold_run(
        tx,
        row.run_id,
        HoldCause.NOTHING_SUCCEEDED,
        now,
        model=model,
        calls=calls,
        minutes=minutes,
        problem=problem,
    )
