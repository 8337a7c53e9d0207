"""Control: pause, resume, cancel, retry; each idempotent by the caller's own command id."""

from datetime import datetime

from quire.accounts.credentials import clear
from quire.domain.errors import IllegalMove, NotFound
from quire.domain.ids import RunId
from quire.domain.models import ModelFacts
from quire.domain.runs import HoldKind, Run
from quire.ledger.ledger import Transaction
from quire.pipeline.advance import let_go, reopen
from quire.pipeline.drop import drop

# What a person's `resume` lifts. An answer nobody can read needs a newer decoder, or `retry`.
LIFTED = tuple(kind for kind in HoldKind if kind is not HoldKind.UNDECODABLE)


def pause(tx: Transaction, run: RunId, now: datetime, command: str | None = None) -> bool:
    """Send nothing more; what is out is still collected."""
    if not _begin(tx, run, "pause", now, command):
        return False
    if _get(tx, run).state != "running":
        raise IllegalMove(f"run {run} is {_get(tx, run).state}; there is nothing to pause")
    held = tx.holds.add(run, HoldKind.USER, f"paused; `quire resume {run}` goes on", now)
    if held:
        tx.events.add(run, "paused", "by hand", now)
    return held


def resume(tx: Transaction, run: RunId, now: datetime, command: str | None = None) -> bool:
    """Lift every hold; false if there was none."""
    if not _begin(tx, run, "resume", now, command):
        return False
    lifted = tx.holds.lift(run, LIFTED)
    tx.batches.hurry(run)
    clear(tx, now, ModelFacts.from_json(_get(tx, run).model).provider)  # the keys are tried again
    for hold in tx.holds.of_run(run):
        raise IllegalMove(f"run {run} cannot go on: {hold.detail}")
    if lifted:
        tx.runs.mark_early_judged(run, now)
        tx.events.add(run, "resumed", "by hand", now)
        tx.notify()
    return lifted > 0


def cancel(tx: Transaction, run: RunId, now: datetime, command: str | None = None) -> bool:
    """Wish for the end: unsent tasks go at once, what is out is accepted if it was paid for."""
    if not _begin(tx, run, "cancel", now, command):
        return False
    found = _get(tx, run)
    if found.state == "finished":
        raise IllegalMove(f"run {run} is finished; there is nothing to cancel")
    if found.state == "cancelled" or found.cancel_asked_at is not None:
        return False
    tx.runs.ask_cancel(run, now)
    tx.events.add(run, "cancel_asked", "by hand", now)
    let_go(tx, run, now)
    tx.notify()
    return True


def retry(tx: Transaction, run: RunId, now: datetime, command: str | None = None) -> int:
    """Owe failed tasks again (cancelled ones too, in a cancelled run), with fresh tries."""
    if not _begin(tx, run, "retry", now, command):
        return 0
    found = _get(tx, run)
    if found.cancel_asked_at is not None and found.state == "running":
        raise IllegalMove(f"run {run} is being cancelled; try again when it is")
    sources = ["failed", "cancelled"] if found.state == "cancelled" else ["failed"]
    granted = _give_up_unreadable(tx, run)
    for stage in tx.runs.stages(run):
        owed = tx.tasks.move_stage("retry", stage.id, sources)
        if owed or found.state == "cancelled":
            reopen(tx, run, stage.id, now)
        granted += owed
    if granted or found.state == "cancelled":
        tx.runs.ask_cancel(run, None)
        tx.events.add(run, "retried", f"{granted} tasks go again", now)
        tx.notify()
    return granted


def _give_up_unreadable(tx: Transaction, run: RunId) -> int:
    """Ask again, and pay again, where an answer is here that nobody can read."""
    unreadable = tx.requests.unreadable(run)
    tasks = len(tx.requests.members(unreadable)) if unreadable else 0
    drop(tx, unreadable, ["out"])
    tx.holds.lift(run, [HoldKind.UNDECODABLE])
    return tasks


def _begin(tx: Transaction, run: RunId, name: str, now: datetime, command: str | None) -> bool:
    """Take the run for this command; false if the same command was carried out before."""
    tx.runs.lock(run)
    _get(tx, run)
    return command is None or tx.runs.command(command, run, name, now)


def _get(tx: Transaction, run: RunId) -> Run:
    found = tx.runs.get(run)
    if found is None:
        raise NotFound(f"there is no run {run}; `quire runs` lists them")
    return found
