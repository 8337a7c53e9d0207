"""Batches at providers, as people list, cancel and adopt them."""

from datetime import datetime

from quire.domain.batches import Batch, BatchView
from quire.domain.errors import IllegalMove, NotFound, UsageError
from quire.domain.ids import BatchId, RunId
from quire.domain.models import ModelFacts
from quire.domain.reasons import MENDED_OUTSIDE, EventKind, HoldKind, ResumeCause
from quire.domain.states import BatchState
from quire.engine.context import EngineContext
from quire.ledger.ledger import Transaction
from quire.pipeline.answers.notifications import lift_holds
from quire.pipeline.batches.reconcile import abandon_batch, mark_absent
from quire.pipeline.batches.submit import confirm_created


class BatchAdmin:
    """What an engine knows of its batches."""

    def __init__(self, context: EngineContext) -> None:
        """Know the batches of the context's ledger."""
        self._context = context

    def __call__(self, run: int | None = None) -> list[BatchView]:
        """The batches of a run, or of all, the newest first."""
        with self._context.ledger.snapshot() as tx:
            return tx.views.list_batches(run=RunId(run) if run is not None else None)

    def get(self, batch: int) -> BatchView:
        """One batch."""
        with self._context.ledger.snapshot() as tx:
            found = tx.views.list_batches(batch=BatchId(batch))
        if not found:
            raise NotFound(f"there is no batch {batch}; `quire batches` lists them")
        return found[0]

    def has_visible_tag(self, batch: BatchView) -> bool:
        """Whether the provider's list shows our name for a batch."""
        with self._context.ledger.snapshot() as tx:
            model = ModelFacts.from_json(tx.runs.must_get_run(batch.run_id).model)
        vendor = self._context.providers.batch_api(model.provider)
        return bool(batch.tag) and vendor is not None and vendor.rules.lookup == "tag"

    def lines(self, batch: int) -> list[bytes]:
        """The lines of a batch's results that nobody could read and that name no call of ours."""
        with self._context.ledger.snapshot() as tx:
            return tx.views.unreadable_lines(BatchId(batch))

    def cancel(self, batch: int) -> bool:
        """Ask the provider to end a batch; what it has answered is kept, the rest goes again."""
        now = self._context.runtime.now()
        with self._context.ledger.transaction() as tx:
            found = _get_batch(tx, batch)
            if not tx.batches.ask_cancel_batch(found.id, now):
                raise IllegalMove(f"batch {batch} is {found.state}; there is nothing to cancel")
            if found.cancel_asked_at is None:
                tx.events.add_event(found.run_id, EventKind.BATCH_CANCEL_ASKED, now, batch=batch)
            tx.notify()
        return found.cancel_asked_at is None

    def adopt(self, batch: int, ref: str) -> None:
        """Say under which name the provider has a batch that nobody knew the fate of."""
        now = self._context.runtime.now()
        with self._context.ledger.transaction() as tx:
            found = _get_submitted(tx, batch)
            _check_reference(tx, found, ref)
            if found.state == BatchState.UNKNOWN:
                confirm_created(tx, found, ref, now, now)
            else:  # it was adopted under a wrong name
                tx.batches.set_provider_ref(found.id, ref, now, now)
            _lift_holds(tx, found, now)

    def mark_absent(self, batch: int) -> None:
        """Say that the provider does not have a batch: never had it, or has it no more."""
        now = self._context.runtime.now()
        with self._context.ledger.transaction() as tx:
            found = _get_submitted(tx, batch)
            if found.state == BatchState.UNKNOWN:
                mark_absent(tx, found, now)
            elif not _is_in_doubt(tx, found):
                raise IllegalMove(
                    f"batch {batch} is {found.state}, and was there at the last look: made again,"
                    f" it would be paid twice; `quire batches cancel {batch}` ends it"
                )
            else:
                abandon_batch(tx, found, now)
            _lift_holds(tx, found, now)


def _get_batch(tx: Transaction, batch: int) -> Batch:
    found = tx.batches.get_batch(BatchId(batch))
    if found is None:
        raise NotFound(f"there is no batch {batch}; `quire batches` lists them")
    return found


def _get_submitted(tx: Transaction, batch: int) -> Batch:
    found = _get_batch(tx, batch)
    if found.state not in (BatchState.UNKNOWN, BatchState.OPEN, BatchState.ENDED):
        raise IllegalMove(
            f"batch {batch} is {found.state}; only one that the provider has, or may have,"
            " can be adopted"
        )
    return found


def _check_reference(tx: Transaction, batch: Batch, ref: str) -> None:
    if not ref.strip():
        raise UsageError("the provider's name of the batch is empty")
    if ref != batch.ref and ref in tx.batches.refs_of_credential(batch.credential_id):
        raise IllegalMove(f"{ref} is another batch of this ledger; `quire batches` lists them")


def _is_in_doubt(tx: Transaction, batch: Batch) -> bool:
    """Whether nobody has seen a batch at the last look, or a person is asked about it."""
    kinds = {run.kind for run in tx.holds.holds_of_run(batch.run_id)}
    return batch.failures > 0 or bool(kinds & {HoldKind.UNKNOWN_SUBMIT, *MENDED_OUTSIDE})


def _lift_holds(tx: Transaction, batch: Batch, now: datetime) -> None:
    kinds = [HoldKind.UNKNOWN_SUBMIT, *MENDED_OUTSIDE]
    lift_holds(tx, batch.run_id, kinds, ResumeCause.BATCH_SETTLED, now)
    tx.notify()
