"""Rescue: what dead workers had out goes again; calls lost for good are written off."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.domain.ids import WorkerId
from quire.ledger.ledger import Transaction
from quire.ledger.tables.attempts import Ending
from quire.pipeline.record import lose

GRACE = timedelta(seconds=300)  # how long a lost call may still be answered
CHUNK = 1000


class Rescued(NamedTuple):
    """What one sweep found."""

    workers: int
    calls: int
    written_off: int


def rescue(
    tx: Transaction, lease: timedelta, now: datetime, dead: Sequence[WorkerId] = ()
) -> Rescued:
    """Take over from workers whose lease ran out, and from those known to be dead."""
    gone = sorted({*tx.workers.silent(now - lease), *dead})
    calls = 0
    if gone:
        rows = tx.attempts.open_of(gone)
        calls = lose(tx, rows, "the worker that sent this call is gone", now)
        tx.batches.free_all_of(gone)
        tx.workers.end(gone, now)
        tx.notify()
    expired = dict(tx.attempts.unknown_since(now - GRACE, CHUNK))
    written_off = tx.attempts.move("write_off", list(expired))
    error = "written off: no answer came"
    endings = [Ending(each, error, expired[each], "presumed") for each in written_off]
    tx.attempts.end(endings, now)
    return Rescued(len(gone), calls, len(written_off))
