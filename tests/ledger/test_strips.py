"""Strips: many packs come in few bins."""

from quire.ledger.ledger import Ledger
from tests.ledger.crowd import fill_ledger

BINS = 60


def test_many_packs_come_in_few_bins_and_none_is_lost(ledger: Ledger) -> None:
    place = fill_ledger(ledger, 2_000)  # half of them answered, ten a pack

    with ledger.snapshot() as tx:
        found = tx.strips.strip_bins(place.run, None, BINS)

    assert len(found) == BINS
    assert sum(cell.packs for cell in found) == 100
    assert sum(cell.done for cell in found) == 100
    assert [cell.no for cell in found] == list(range(BINS))
