"""Unsent packs: what was counted of packs that go nowhere is taken back.

Packs are counted when they are made, with what their tasks are forecast to cost. Some are dropped
before they are sent, and made anew in another size, as where money is short: each task would count
as often as it was packed. What was forecast of them is their part of what was forecast of all that
is packed, so that a task's mean, which forecasts go by, stays what it was.
"""

from collections.abc import Sequence

from quire.domain.ids import RequestId
from quire.ledger.ledger import Transaction
from quire.planning.failure_limits import EXPECTED

PACKS, PACKED_TASKS = "packs", "packed_tasks"


def take_back_packs(tx: Transaction, dropped: Sequence[RequestId]) -> None:
    """Count those of some dropped requests no longer of which nothing was sent."""
    for unsent in tx.requests.unsent_packs(dropped) if dropped else ():
        sums = tx.tallies.tallies_of_stage(unsent.stage_id)
        packed = max(1, sums.get(PACKED_TASKS, 0))
        expected = sums.get(EXPECTED, 0) * unsent.tasks // packed
        deltas = {PACKS: -unsent.packs, PACKED_TASKS: -unsent.tasks, EXPECTED: -expected}
        tx.tallies.add_tallies(unsent.stage_id, deltas)
