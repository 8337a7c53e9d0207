"""The batches: what providers have of ours, what nobody knows the fate of, what nobody asks for."""

from collections.abc import Iterator
from datetime import timedelta

from quire.domain.batches import BatchView
from quire.engine.examining.findings import Finding, Patient, counted, fine, odd

FORGOTTEN = timedelta(minutes=15)  # after it was due, nobody seems to look after it
OVER = ("collected", "abandoned")


def batches(patient: Patient) -> Iterator[Finding]:
    """How the batches stand that are not collected yet."""
    now = patient.outside.now()
    with patient.ledger.snapshot() as tx:
        out = [each for each in tx.batch_views.all() if each.state not in OVER]
    for each in out:
        named = f"batch {each.id} of run {each.run_id} ({counted(each.rows, 'call')})"
        if each.state == "unknown":
            yield odd("batches", f"{named} may or may not have been made", _unknown(each))
        elif each.next_at is not None and now - each.next_at > FORGOTTEN:
            yield odd(
                "batches",
                f"{named} is {each.state}, and nobody has looked at it lately",
                "start a worker: `quire work`, or `quire attach` to its run",
            )
        else:
            yield fine("batches", f"{named} is {each.state}")
    if not out:
        yield fine("batches", "none is out")


def _unknown(batch: BatchView) -> str:
    said = f"it said: {batch.problem}; " if batch.problem else ""
    return f"{said}a worker looks for it with the key that made it: `quire work`"
