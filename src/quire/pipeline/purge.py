"""Purge: a document leaves the ledger with its prompts, responses and results; money stays."""

from datetime import datetime
from typing import NamedTuple

from quire.domain.errors import Conflict
from quire.domain.ids import DocumentId
from quire.domain.states import TASK_OPEN
from quire.ledger.ledger import Transaction
from quire.pipeline.drop import drop


class Purged(NamedTuple):
    """What was erased."""

    requests: int
    tasks: int  # that were still owed, and are now cancelled


def purge(tx: Transaction, document: DocumentId, now: datetime) -> Purged:
    """Erase a document; refused while a call about it is out, for its answer is not here yet."""
    touched = tx.purges.touched(document)
    requests = touched.requests
    out = any(state == "out" for _, state in requests)
    if out or tx.purges.unsettled([request for request, _ in requests]):
        raise Conflict(
            "a call about this document is out; pause or cancel the run, or wait, then purge again"
        )
    drop(tx, [request for request, state in requests if state == "queued"])
    owed = [task for task, state in touched.tasks if state in TASK_OPEN]
    tx.tasks.move("cancel", owed)
    tx.purges.erase_exchanges([request for request, _ in requests], now)
    tx.purges.erase_document(document, now)
    return Purged(len(requests), len(owed))
