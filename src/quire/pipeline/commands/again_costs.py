"""Again costs: what asking some tasks again will cost, before anybody says so.

Every such price on a screen is made here. What was rejected goes alone, stale results in packs as
before, and the critics of a stage judge each new result. What each call took last is the measure
(`planning/again_costs.py`), also of an answer that was taken from elsewhere; where there was none,
what the run was forecast to take.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from quire.domain.ids import TaskId
from quire.domain.models import ModelFacts
from quire.domain.recipes import Stage
from quire.domain.reviews import RejectCost
from quire.domain.runs import BATCH
from quire.domain.spend import ForecastRow
from quire.ledger.ledger import Transaction
from quire.ledger.tables.inbox import LastCall
from quire.pipeline.run_spec import RunSpec
from quire.planning.again_costs import NextCall, PastCall, price_again
from quire.planning.job_costs import TokenUse
from quire.planning.prompt_variables import repair_note
from quire.planning.rendering import render_prefix
from quire.planning.sizing import pack_cap
from quire.planning.token_estimates import guess_token_use

CALLS, FORECAST, UNKNOWN = "calls", "forecast", "unknown"
MOST = 2_000  # tasks whose calls are looked at; of more, these stand for all
MOST_STALE = 20_000  # tasks of a stage that are listed
USUAL_NOTE = 60  # bytes in which a person says what is wrong
NOTE_BYTES = len(repair_note("")) + USUAL_NOTE


class _Order(NamedTuple):
    """Tasks of a stage that are to be asked again."""

    stage: Stage
    known: Sequence[TaskId]  # whose last calls are the measure
    tasks: int  # in all
    note: int = 0  # bytes that say what was wrong: then they go alone


def reject_cost(tx: Transaction, spec: RunSpec, name: str, tasks: Sequence[TaskId]) -> RejectCost:
    """What rejecting results of a stage will cost, as far as one can tell; critics included."""
    return _judged_cost(tx, spec, _Order(spec.stage_named(name), tasks, len(tasks), NOTE_BYTES))


def stale_cost(tx: Transaction, spec: RunSpec) -> int | None:
    """What making stale results again will cost: theirs, and of all that is made from them.

    None where nobody can tell. What a person confirmed stays.
    """
    stale = tx.lineage.count_stale(spec.run_id)
    again: dict[str, list[TaskId]] = {}
    total = 0
    for stage in spec.recipe.stages if stale else ():
        if stage.critic:
            continue
        read = [task for name in stage.upstream for task in again.get(name, ())]
        key = spec.stage_ids[stage.name]
        listed = tx.controls.stale_tasks(key, MOST_STALE)
        tasks = sorted({*listed, *tx.controls.readers_to_renew(key, read)})
        again[stage.name] = tasks
        more = stale.get(stage.name, 0) if len(listed) == MOST_STALE else 0
        order = _Order(stage, tasks, max(len(tasks), more))
        cost = _judged_cost(tx, spec, order).cost_pico if tasks else 0
        if cost is None:
            return None
        total += cost
    return total


def _judged_cost(tx: Transaction, spec: RunSpec, order: _Order) -> RejectCost:
    """What some tasks of an ordinary stage will cost, and their critics, who each go alone."""
    own, total = _cost_of(tx, spec, order), 0
    for critic in spec.critics_of(order.stage):
        known = tx.inbox.critics_of_tasks(spec.stage_ids[critic.name], _sample(order.known))
        judged = order.tasks * (len(set(critic.models)) or 1)
        cost = _cost_of(tx, spec, _Order(critic, known, judged)).cost_pico
        if cost is None:
            return RejectCost(cost_pico=None, basis=UNKNOWN)
        total += cost
    return own if own.cost_pico is None else replace(own, cost_pico=own.cost_pico + total)


def _cost_of(tx: Transaction, spec: RunSpec, order: _Order) -> RejectCost:
    """What the tasks themselves will cost, and whether their own calls said so."""
    calls = tx.inbox.last_calls_of_tasks(_sample(order.known))
    prices = _Prices(spec, order)
    if calls:
        by_model = Counter(call.model_no for call in calls)
        share = order.tasks / len(calls)
        costs = [prices.price(call, by_model[call.model_no] * share) for call in calls]
        return RejectCost(cost_pico=round(sum(costs) * share), basis=CALLS)
    found = tx.spend.stage_forecasts(spec.run_id)
    rows = [row for row in found if row.stage == order.stage.name and row.tasks and row.calls]
    tasks = sum(row.tasks for row in rows)
    if not tasks:
        return RejectCost(cost_pico=None, basis=UNKNOWN)
    cost = 0.0
    for row in rows:
        part = order.tasks * row.tasks / tasks
        cost += part * prices.price_forecast(row, part)
    return RejectCost(cost_pico=round(cost), basis=FORECAST)


def _sample(tasks: Sequence[TaskId]) -> Sequence[TaskId]:
    return tasks[:: -(-len(tasks) // MOST)] if tasks else tasks


class _Prices:
    """What tasks of one stage will cost each."""

    def __init__(self, spec: RunSpec, order: _Order) -> None:
        self._spec, self._order = spec, order
        prompt = spec.stage_prompts[order.stage.name]
        self._by_block = prompt.by_block
        self._stage, self._head = prompt.stage, render_prefix(prompt.stage)
        self._cap = 1 if order.note else pack_cap(prompt.stage, spec.policy_of(prompt.stage))

    def price(self, call: LastCall, together: float) -> int:
        """What one will cost, by its last call; so many are asked of its model."""
        tasks = max(1, call.tasks)
        own = call.block_bytes if self._by_block else call.content_bytes / tasks
        taken, written = call.input_tokens, call.output_tokens
        past = PastCall(tasks, call.content_bytes, own, taken, call.cached_tokens, written)
        following = self._next_call(together, call.route == BATCH)
        if call.pack_cap == 1:
            following = following._replace(tasks=1)
        return self._price(call.model_no, past, following) + call.pieces_cost

    def price_forecast(self, row: ForecastRow, together: float) -> int:
        """The same by what a call of the stage was forecast to take."""
        no, tasks = self._spec.model_numbers[row.model], row.tasks / row.calls
        use, taken = self._use(self._spec.models[no]), row.input_tokens / row.calls
        content = max(0.0, (taken - use.prefix - use.input(1, tasks, 0)) / use.byte_input)
        past = PastCall(tasks, content, content / tasks, taken, 0, row.output_tokens / row.calls)
        return self._price(no, past, self._next_call(together, batched=False))

    def _next_call(self, together: float, batched: bool) -> NextCall:
        calls = max(1, -(-together // self._cap))
        share = max(1, together / calls)
        return NextCall(share, self._order.note, follows=calls > 1, batched=batched)

    def _price(self, no: int, past: PastCall, following: NextCall) -> int:
        facts = self._spec.models[no]
        return price_again(past, following, self._use(facts), facts)

    def _use(self, facts: ModelFacts) -> TokenUse:
        return guess_token_use(self._stage, facts, self._head)
