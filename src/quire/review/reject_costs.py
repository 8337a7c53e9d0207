"""Reject costs: what asking again would cost, before anybody says so.

What a task's share of its last call was is the estimate. It is asked again alone, so that of a call
with several this is what can be said at least: the instructions are paid for once more. Where
nothing was paid, for the answer was taken from elsewhere, the run's forecast is taken for a task.
"""

from collections.abc import Sequence

from quire.domain.ids import RunId, TaskId
from quire.domain.reviews import RejectCost
from quire.ledger.ledger import Transaction

CALLS, FORECAST, UNKNOWN = "calls", "forecast", "unknown"
GROUP = 5_000


def reject_cost(tx: Transaction, run: RunId, stage: str, tasks: Sequence[TaskId]) -> RejectCost:
    """What asking some tasks of a stage again would cost, as far as one can tell."""
    total, known = 0, 0
    for start in range(0, len(tasks), GROUP):
        costs = tx.inbox.last_costs_of_tasks(tasks[start : start + GROUP])
        total += sum(cost for cost, _ in costs.values())
        known += len(costs)
    missing = len(tasks) - known
    if not missing:
        return RejectCost(cost_pico=total, basis=CALLS)
    mean = total // known if known else _forecast_cost(tx, run, stage)
    if mean is None:
        return RejectCost(cost_pico=None, basis=UNKNOWN)
    return RejectCost(cost_pico=total + mean * missing, basis=CALLS if known else FORECAST)


def _forecast_cost(tx: Transaction, run: RunId, stage: str) -> int | None:
    """What a task of a stage was forecast to cost."""
    rows = [row for row in tx.inbox.forecasts_of_stage(run, stage) if row[0]]
    tasks, cost = sum(row[0] for row in rows), sum(row[1] for row in rows)
    return cost // tasks if tasks else None
