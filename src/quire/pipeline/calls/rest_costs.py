"""Rest costs: what a run will probably still spend, and the most that one call of it reserves."""

import math
from typing import NamedTuple

from quire.domain.ids import RunId
from quire.domain.runs import Lane
from quire.domain.spend import ForecastRow
from quire.domain.states import TASK, TASK_OWED
from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import Contexts, LaneContext
from quire.planning.failure_limits import EXPECTED
from quire.planning.sizing import BOUND_BYTES, FORECAST_BYTES, limit_alone, max_tokens


class Rest(NamedTuple):
    """What a run has still to do, as money; in picodollars."""

    cost: int
    largest_call: int  # what a call alone may reserve at most, as far as that was forecast


def rest_of_run(tx: Transaction, contexts: Contexts, run: RunId) -> Rest:
    """What the tasks of a run that are not done will probably cost.

    By what those before them in their stage cost; in one where nothing was answered yet, by what
    was forecast. Stages that have not begun count as they were forecast when the run began.
    """
    by_stage = tx.tallies.tallies_by_stage(run)
    wishes = tx.runs.wishes_of_run(run)
    limited = tx.runs.must_get_run(run).task_limit is not None
    begun_only = limited or bool(wishes and wishes.stop_after)
    forecasts = tx.spend.stage_forecasts(run)
    lanes = [lane for lane in tx.requests.lanes_of_run(run) if lane.serves]
    cost = largest = 0
    for stage in tx.runs.stages_of_run(run):
        rows = [row for row in forecasts if row.stage == stage.name]
        counts = by_stage.get(stage.id, {})
        if rest := _tasks_left(counts, rows, begun_only):
            cost += _cost_of(rest, counts, rows)
            mine = [lane for lane in lanes if lane.stage_id == stage.id]
            largest = max([largest, *_largest_calls(tx, contexts, mine, rows)])
    return Rest(cost, largest)


def _tasks_left(counts: dict[str, int], forecasts: list[ForecastRow], begun_only: bool) -> int:
    owed = sum(counts.get(state, 0) for state in TASK_OWED)
    begun = sum(counts.get(state, 0) for state in TASK.states)
    planned = sum(row.tasks for row in forecasts)
    return owed if begun_only else max(owed, planned - (begun - owed))


def _cost_of(rest: int, counts: dict[str, int], forecasts: list[ForecastRow]) -> int:
    owed = sum(counts.get(state, 0) for state in TASK_OWED)
    ended = sum(counts.get(state, 0) for state in TASK.states) - owed
    spent = counts.get("cost", 0) + counts.get("presumed", 0)
    if not (ended and spent):
        ended, spent = sum(row.tasks for row in forecasts), sum(row.cost for row in forecasts)
    if not (ended and spent):  # what was forecast of those that are packed
        ended, spent = counts.get("packed_tasks", 0), counts.get(EXPECTED, 0)
    return -(-rest * spent // ended) if ended else 0


def _largest_calls(
    tx: Transaction, contexts: Contexts, lanes: list[Lane], forecasts: list[ForecastRow]
) -> list[int]:
    """What a call of each lane reserves whose input is as it was forecast, by the bound."""
    inputs = {row.model: row.input_tokens / row.calls for row in forecasts if row.calls}
    found = [contexts.of_lane(tx, lane) for lane in lanes if lane.model in inputs]
    bound = FORECAST_BYTES / BOUND_BYTES
    return [
        context.most_cost(math.ceil(inputs[context.facts.name] * bound), _longest_answer(context))
        for context in found
        if not context.embeds
    ]


def _longest_answer(context: LaneContext) -> int:
    """What a call about one task may write; one that goes on with a text, as much as can be."""
    facts, stage = context.facts, context.stage
    if stage.schema is None and context.policy.max_continuations:
        return facts.max_output
    return max_tokens([context.output_shape.fixed], facts, limit_alone(stage), 0)
