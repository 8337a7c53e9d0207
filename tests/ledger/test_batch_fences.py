"""A look at an earlier submission of a batch changes nothing about a later one."""

from quire.domain.batches import Batch
from quire.ledger.ledger import Ledger, Transaction
from quire.pipeline.batches.reconcile import mark_absent, mark_unknown
from quire.pipeline.batches.submit import confirm_created, record_intent, return_to_draft
from tests.ledger.factories import NOW, run_with_ready_tasks


def test_news_of_an_earlier_submission_is_too_late(ledger: Ledger) -> None:
    place = run_with_ready_tasks(ledger, ["one"])
    with ledger.transaction() as tx:
        draft = tx.batches.add_batch(place.lane, NOW)
        first = _submit_and_lose(tx, draft, "qfirst")
        assert mark_absent(tx, first, NOW)
        second = _submit_and_lose(tx, draft, "qsecond")

        assert not mark_absent(tx, first, NOW)
        assert not confirm_created(tx, first, "ref", NOW, NOW)
        assert not return_to_draft(tx, first, "no", NOW)

        found = tx.batches.get_batch(draft)
        assert found is not None
        assert (found.state, found.nonce) == ("unknown", "qsecond")
        assert confirm_created(tx, second, "ref", NOW, NOW)


def _submit_and_lose(tx: Transaction, draft: int, nonce: str) -> Batch:
    batch = record_intent(tx, draft, None, nonce, NOW)  # type: ignore[arg-type]
    assert batch is not None
    assert mark_unknown(tx, batch, "nobody knows", NOW)
    return batch
