"""Rescue: the calls of dead workers are lost and go again; lost ones are written off in time.

A worker's lease is its heartbeat. Whoever is silent for longer is taken for dead, and its calls are
rescued: nobody knows how they ended, so their cost is presumed and their requests go again. If it
lives after all, its answers still count, because an attempt moves by compare-and-set from whatever
state it is in, and it signs on anew. A lost call that brought no answer for a while is written off
at what was presumed, so that sums come to rest; an answer that comes even later still counts.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.domain.ids import WorkerId
from quire.ledger.ledger import Transaction
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
        calls = lose_attempts(tx, rows, "the worker that sent this call is gone", now)
        tx.batches.end_leases_of_workers(gone)
        tx.workers.end_workers(gone, now)
        tx.notify()
    expired = dict(tx.attempts.unknown_attempts(now - WRITE_OFF_AFTER, WRITE_OFF_CHUNK))
    written_off = write_off_reserved(tx, expired, "written off: no answer came", now)
    return ReclaimedCalls(len(gone), calls, len(written_off))
