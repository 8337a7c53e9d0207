"""A look at an earlier submission of a batch changes nothing about a later one."""

from quire.domain.batches import Batch
from quire.ledger.ledger import Ledger, Transaction
from quire.pipeline.submit import absent, begin, confirm, lose, refuse
from tests.ledger.making import NOW, owing


def test_news_of_an_earlier_submission_is_too_late(ledger: Ledger) -> None:
    place = owing(ledger, ["one"])
    with ledger.transaction() as tx:
        draft = tx.batches.add(place.lane, NOW)
        first = _submitted(tx, draft, "qfirst")
        assert absent(tx, first, NOW)
        second = _submitted(tx, draft, "qsecond")

        assert not absent(tx, first, NOW)
        assert not confirm(tx, first, "ref", NOW, NOW)
        assert not refuse(tx, first, "no", NOW)

        found = tx.batches.get(draft)
        assert found is not None
        assert (found.state, found.nonce) == ("unknown", "qsecond")
        assert confirm(tx, second, "ref", NOW, NOW)


def _submitted(tx: Transaction, draft: int, nonce: str) -> Batch:
    batch = begin(tx, draft, None, nonce, NOW)  # type: ignore[arg-type]
    assert batch is not None
    assert lose(tx, batch, "nobody knows", NOW)
    return batch
