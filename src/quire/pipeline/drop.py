"""Drop: requests that will not be sent go, and their tasks are owed again."""

from collections.abc import Sequence

from quire.domain.ids import RequestId
from quire.domain.tasks import Member
from quire.ledger.ledger import Transaction


def drop(
    tx: Transaction, requests: Sequence[RequestId], sources: Sequence[str] = ("queued",)
) -> int:
    """Drop requests and give their tasks back; returns how many were dropped."""
    if not requests:
        return 0
    dropped = tx.requests.move("drop", requests, sources)
    give_back(tx, tx.requests.members(dropped), dropped)
    return len(dropped)


def give_back(tx: Transaction, members: Sequence[Member], requests: Sequence[RequestId]) -> None:
    """Packed tasks are ready again, unless another live request carries the same version."""
    packed = [each.task_id for each in members if each.state == "packed" and each.current]
    if packed:
        elsewhere = tx.requests.carried_elsewhere(packed, requests)
        tx.tasks.move("return", [task for task in packed if task not in elsewhere])
