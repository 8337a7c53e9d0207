"""Rescue: the calls of dead workers are lost and go again; lost ones are written off in time.

A worker's lease is its heartbeat. Whoever is silent for longer is taken for dead, and its calls are
rescued: nobody knows how they ended, so their cost is presumed and their requests go again. If it
lives after all, its answers still count, because an attempt moves by compare-and-set from whatever
state it is in, and it signs on anew. A lost call that brought no answer for a while is written off
at what was presumed, so that sums come to rest; an answer that comes even later still counts.

A run's history tells where its worker stopped or was lost, and that another goes on with it.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.domain.ids import AttemptId, RunId, WorkerId
from quire.domain.reasons import EventKind, StopCause
from quire.domain.requests import AttemptRow
from quire.domain.states import AttemptState
from quire.ledger.ledger import Transaction
from quire.ledger.tables.workers import EndedWorker
from quire.pipeline.calls.funds import end_slices_of_workers
from quire.pipeline.calls.record import lose_attempts, write_off_reserved

WRITE_OFF_AFTER = timedelta(seconds=300)  # since a call was lost; a later answer corrects it
WRITE_OFF_CHUNK = 1000


class ReclaimedCalls(NamedTuple):
    """What one sweep found."""

    workers: int
    calls: int
    written_off: int


def reclaim_expired_leases(
    tx: Transaction, lease: timedelta, now: datetime, dead: Sequence[WorkerId] = ()
) -> ReclaimedCalls:
    """Take over from workers whose lease ran out, and from those known to be dead."""
    gone = sorted({*tx.workers.silent_workers(now - lease), *dead})
    calls = 0
    if gone:
        rows = tx.attempts.open_attempts_of_workers(gone)
        lost = lose_attempts(tx, rows, "the worker that sent this call is gone", now)
        calls = len(lost)
        tx.batches.end_leases_of_workers(gone)
        ended = tx.workers.end_workers(gone, now)
        _end_slices(tx, ended, now)
        served = {worker.run_id for worker in ended if worker.run_id is not None}
        going = {run for run in served if tx.runs.wishes_of_run(run) is not None}
        for run in sorted(going | {row.run_id for row in lost}):
            calls_lost, presumed = _cut_off(lost, run)
            tx.events.add_event(
                run, EventKind.WORKER_LOST, now, calls=calls_lost, presumed=presumed
            )
        tx.notify()
    tx.extracts.release_compressions()
    expired = dict(tx.attempts.unknown_attempts(now - WRITE_OFF_AFTER, WRITE_OFF_CHUNK))
    written_off = write_off_reserved(tx, expired, "written off: no answer came", now)
    return ReclaimedCalls(len(gone), calls, len(written_off))


class WorkerStop(NamedTuple):
    """How a worker ended that could still say so."""

    cause: StopCause | None = None  # None: it was through
    cut_off: Sequence[AttemptId] = ()  # calls that it waited for no longer


def sign_off(
    tx: Transaction, worker: WorkerId, stop: WorkerStop, lease: timedelta, now: datetime
) -> None:
    """Sign a worker off: what it has out is lost, and goes again.

    A stop is told to runs that lost calls by it, and to those that nobody works on any more.
    """
    mine = tx.attempts.open_attempts_of_workers([worker])
    ended = tx.workers.end_workers([worker], now)
    tx.extracts.release_compressions()
    lose_attempts(tx, mine, "interrupted", now)
    _end_slices(tx, ended, now)
    if stop.cause is None:
        return
    cut_off = tx.attempts.attempts_by_id([*stop.cut_off, *(row.id for row in mine)])
    lost = [row for row in cut_off if row.state == AttemptState.UNKNOWN]  # others came home
    runs = {row.run_id for row in lost}
    for gone in ended:
        going = _unheld(tx, gone.run_id)
        runs |= {other for other in going if not tx.workers.live_workers(now - lease, other)}
    for run in sorted(runs):
        calls, presumed = _cut_off(lost, run)
        tx.events.add_event(
            run, EventKind.STOPPED, now, cause=stop.cause, calls=calls, presumed=presumed
        )


def _end_slices(tx: Transaction, ended: Sequence[EndedWorker], now: datetime) -> None:
    if holders := [worker.id for worker in ended if worker.has_slices]:
        end_slices_of_workers(tx, holders, now)


def sign_on(
    tx: Transaction, host: str, pid: int, version: str, now: datetime, serves: RunId | None
) -> WorkerId:
    """Sign a new worker on, for every run or for one."""
    for run in _unheld(tx, serves):
        last = tx.events.events_of_run(run, 1)
        if last and last[0].kind in (EventKind.STOPPED, EventKind.WORKER_LOST):
            tx.events.add_event(run, EventKind.WENT_ON, now)
    return tx.workers.add_worker(host, pid, version, now, serves)


def cut_off_calls(
    tx: Transaction, run: RunId, lease: timedelta, now: datetime, dead: Sequence[WorkerId] = ()
) -> list[int]:
    """What is reserved for each call of a run that is out with a worker that is gone."""
    gone = {*tx.workers.silent_workers(now - lease), *dead}
    rows = tx.attempts.open_attempts_of_workers(sorted(gone)) if gone else []
    return [row.reserved for row in rows if row.run_id == run]


def _unheld(tx: Transaction, only: RunId | None) -> Collection[RunId]:
    """The runs that go on, or the one among them that a worker serves."""
    going = [wish.run_id for wish in tx.runs.running_wishes() if only in (None, wish.run_id)]
    return [run for run in going if not tx.holds.holds_of_run(run)]


def _cut_off(lost: Sequence[AttemptRow], run: RunId) -> tuple[int, int]:
    """How many calls of a run were lost, and what may be billed for them."""
    mine = [row.reserved for row in lost if row.run_id == run]
    return len(mine), sum(mine)
