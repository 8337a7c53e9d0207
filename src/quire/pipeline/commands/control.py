"""Control: pause, resume, cancel, stop; each idempotent by the caller's own command id."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

from quire.accounts.credentials import clear
from quire.domain.errors import IllegalMove, LedgerUnavailable
from quire.domain.ids import RunId
from quire.domain.reasons import EventKind, HoldCause, HoldKind, ResumeCause
from quire.domain.runs import Run
from quire.domain.states import RunState
from quire.ledger.ledger import Ledger, Transaction
from quire.pipeline.answers.notifications import lift_holds
from quire.pipeline.calls.failure_holds import allow_as_seen
from quire.pipeline.calls.funds import end_slices_of_run
from quire.pipeline.run_spec import RunSpec
from quire.pipeline.stages.advance import wind_down_run

Done = TypeVar("Done")
COMMAND_TRIES = 4  # that a command has, before its caller is told

# What a person's `resume` lifts. An answer nobody can read needs a newer decoder, or `retry`.
LIFTED_BY_RESUME = tuple(kind for kind in HoldKind if kind is not HoldKind.UNDECODABLE)


def pause(tx: Transaction, run: RunId, now: datetime, command: str | None = None) -> bool:
    """Send nothing more; what is out is still collected."""
    if not register_command(tx, run, "pause", now, command):
        return False
    state = tx.runs.must_get_run(run).state
    if state != RunState.RUNNING:
        raise IllegalMove(f"run {run} is {state}; there is nothing to pause")
    held = tx.holds.add_hold(run, HoldCause.PAUSED, now)
    if held:
        tx.events.add_event(run, EventKind.PAUSED, now)
    return held


def resume(tx: Transaction, run: RunId, now: datetime, command: str | None = None) -> bool:
    """Lift every hold; false if there was none."""
    if not register_command(tx, run, "resume", now, command):
        return False
    if any(hold.kind is HoldKind.STOP_AFTER for hold in tx.holds.holds_of_run(run)):
        tx.runs.set_stop_after(run, None)
    if any(hold.kind is HoldKind.FAILURES for hold in tx.holds.holds_of_run(run)):
        allow_as_seen(tx, run)
    lifted = tx.holds.lift_holds(run, LIFTED_BY_RESUME)
    tx.batches.poll_batches_now(run)
    for provider in {model.provider for model in tx.runs.models_of_run(tx.runs.must_get_run(run))}:
        clear(tx, now, provider)  # the keys are tried again
    for hold in tx.holds.holds_of_run(run):
        raise IllegalMove(f"run {run} cannot go on: {hold.detail}")
    if lifted:
        tx.requests.forget_lane_waits(run)
        tx.requests.forget_request_waits(run)
        tx.runs.mark_early_judged(run, now)
        tx.events.add_event(run, EventKind.RESUMED, now, cause=ResumeCause.BY_HAND)
        tx.notify()
    return lifted > 0


def lift_task_limit(tx: Transaction, run: RunId) -> bool:
    """Let a run ask all that it is about; false if nothing bounds it, or it has ended."""
    found = tx.runs.must_get_run(run)
    if found.task_limit is None or found.state != RunState.RUNNING:
        return False
    tx.runs.set_task_limit(run, None)
    tx.notify()
    return True


def cancel(tx: Transaction, run: RunId, now: datetime, command: str | None = None) -> bool:
    """Wish for the end: unsent tasks go at once, what is out is accepted if it was paid for."""
    if not register_command(tx, run, "cancel", now, command):
        return False
    found = tx.runs.must_get_run(run)
    if found.state == RunState.FINISHED:
        raise IllegalMove(f"run {run} is finished; there is nothing to cancel")
    if found.state == RunState.CANCELLED or found.cancel_asked_at is not None:
        return False
    tx.runs.ask_cancel_run(run, now)
    tx.events.add_event(run, EventKind.CANCEL_ASKED, now)
    if wind_down_run(tx, run, now):
        end_slices_of_run(tx, run, now)
    tx.notify()
    return True


def stop_after(
    tx: Transaction, spec: RunSpec, stage: str | None, now: datetime, command: str | None = None
) -> bool:
    """Wish for no stage after this one to begin, or with None take the wish back."""
    run = spec.run_id
    if not register_command(tx, run, "stop_after", now, command):
        return False
    found = uncancelled_run(tx, run)
    spec.stages_named(stage)
    if found.state != RunState.RUNNING:
        raise IllegalMove(f"run {run} is {found.state}; there is nothing to stop")
    wishes = tx.runs.wishes_of_run(run)
    if wishes is not None and wishes.stop_after == stage:
        return False
    tx.runs.set_stop_after(run, stage)
    # a stage that is over holds it again
    lift_holds(tx, run, [HoldKind.STOP_AFTER], ResumeCause.BY_HAND, now)
    tx.events.add_event(run, EventKind.STOP_AFTER_ASKED, now, stage=stage or "")
    tx.notify()
    return True


def transact_with_retry(ledger: Ledger, act: Callable[[Transaction], Done]) -> Done:
    """Carry out a command in one transaction; it waits its turn where workers are in the way.

    A command changes whole stages, so that it and a worker may each wait for what the other has:
    the database then undoes all that one of them did, and it can be done again.
    """
    for _ in range(COMMAND_TRIES - 1):
        with suppress(LedgerUnavailable), ledger.transaction() as tx:
            return act(tx)
    with ledger.transaction() as tx:
        return act(tx)


def register_command(
    tx: Transaction, run: RunId, name: str, now: datetime, command: str | None
) -> bool:
    """Take the run for this command; false if the same command was carried out before."""
    tx.runs.lock_run(run)
    tx.runs.must_get_run(run)
    return command is None or tx.runs.add_command(command, run, name, now)


def check_not_cancelled(tx: Transaction, run: RunId, then: str = "") -> None:
    """Refuse what makes no sense in a run that is cancelled, or about to be."""
    if uncancelled_run(tx, run).state == RunState.CANCELLED:
        raise IllegalMove(f"run {run} is cancelled; `quire retry {run}` opens it again{then}")


def uncancelled_run(tx: Transaction, run: RunId) -> Run:
    """A run that is not on its way to being cancelled."""
    found = tx.runs.must_get_run(run)
    if found.cancel_asked_at is not None and found.state == RunState.RUNNING:
        raise IllegalMove(f"run {run} is being cancelled; try again when it is")
    return found
