"""Budgets close to what a run costs: calls are made to fit them, and what is missing is told."""

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from quire.domain.pricing import DOLLAR
from quire.domain.recipes import Recipe
from quire.domain.runs import Progress
from quire.domain.states import RunState
from quire.domain.wording import needs_text
from quire.engine import RunHandle
from quire.pipeline.calls.learn import learn_sizes
from quire.pipeline.calls.packs import Money, are_covered, fit_packs, form_packs
from quire.pipeline.calls.render import gather_ready
from quire.pipeline.stages.advance import advance
from quire.planning.failure_limits import COST, EXPECTED
from tests.crash.test_recipe_simulation import fill, simulated_recipe
from tests.pipeline.recipe_stages import SMALL
from tests.pipeline.test_continuation import essay
from tests.world import METADATA, NOW, World, sentences, until_rest

Worlds = Callable[..., World]


def assert_books_balance(here: World) -> None:
    """Every grant and slice is what it should be, and a recount agrees with what is told."""
    with here.engine.ledger.snapshot() as tx:
        assert tx.checks.miscounts() == []
        assert tx.checks.unbalanced_runs() == []
        assert tx.checks.unbalanced_slices() == []


def assert_expected_once(here: World, run: RunHandle) -> None:
    """What was forecast of tasks is counted for calls that went, and no more."""
    with here.engine.ledger.snapshot() as tx:
        (stage,) = tx.runs.stages_of_run(run.id)
        sums = tx.tallies.tallies_of_stage(stage.id)
    assert sums[EXPECTED] == pytest.approx(sums[COST], rel=0.1)


def pay_what_it_says(run: RunHandle, budget: int, held: Progress) -> int:
    """Raise a held run's budget by what it reads that it needs; returns the new budget."""
    said = needs_text(held.holds[0].fields)
    more = re.findall(r"\$([\d.]+) more", said)
    enough = budget + int(Decimal(more[0]) * DOLLAR)
    run.resume(budget_usd=str(Decimal(enough) / DOLLAR))
    return enough


@pytest.mark.parametrize(("pack", "percent"), [(10, 110), (10, 150), (1, 110)])
def test_a_budget_just_above_what_a_run_costs_lets_it_go_to_its_end(
    world: Worlds, pack: int, percent: int
) -> None:
    here = world()
    here.ingest(sentences(97))
    policy: Any = {"pack_size": pack, "reuse": False}
    order = here.engine.orders.resolve(schema=METADATA, model="simulated/small", policy=policy)
    cost = here.engine.start(order).wait().cost_pico
    budget = cost * percent // 100

    after = until_rest(here.engine.start(replace(order, budget=budget, new=True)))

    assert (after.done, after.state) == (97, RunState.FINISHED)
    assert after.cost_pico <= budget
    assert after.packed_tasks == 97  # of packs that were made anew in another size, the last
    assert after.packs == after.calls
    assert_books_balance(here)


@pytest.mark.parametrize("percent", [25, 60, 100])
def test_what_a_held_run_says_it_needs_is_enough(world: Worlds, percent: int) -> None:
    here = world()
    here.ingest(sentences(97))
    policy: Any = {"pack_size": 10, "reuse": False}
    order = here.engine.orders.resolve(schema=METADATA, model="simulated/small", policy=policy)
    cost = here.engine.start(order).wait().cost_pico
    budget = cost * percent // 100
    run = here.engine.start(replace(order, budget=budget, new=True))

    held = until_rest(run)
    enough = pay_what_it_says(run, budget, held)
    after = until_rest(run)

    assert 0 < held.done < 97
    assert held.cost_pico <= budget
    assert (after.done, after.state) == (97, RunState.FINISHED)
    assert after.cost_pico <= enough
    assert after.packed_tasks == 97
    assert_expected_once(here, run)
    assert_books_balance(here)


@pytest.mark.parametrize(
    ("stages", "percent"),
    [(simulated_recipe(), 5), (simulated_recipe(), 95), (essay(60), 30)],
)
def test_stages_and_continuations_to_come_are_in_what_a_run_says_it_needs(
    world: Worlds, stages: Recipe, percent: int
) -> None:
    here = world()
    fill(here)
    asked: Any = {"recipe": stages, "model": SMALL, "pack_size": 4, "reuse": False}
    asked["max_continuations"] = 9
    cost = until_rest(here.engine.run(**asked)).cost_pico
    budget = cost * percent // 100
    run = here.engine.run(**asked, budget_usd=str(Decimal(budget) / DOLLAR), new=True)

    held = until_rest(run)
    enough = pay_what_it_says(run, budget, held)
    after = until_rest(run)

    assert held.state == RunState.RUNNING
    assert (after.state, after.holds) == (RunState.FINISHED, ())
    assert after.cost_pico <= enough
    assert_books_balance(here)


@pytest.mark.parametrize("words", [1, 60])
def test_the_smallest_budget_that_a_plan_names_sends_a_call(world: Worlds, words: int) -> None:
    here = world()
    here.ingest([" ".join(sentences(words)) + f" {number}" for number in range(12)])
    order = here.engine.orders.resolve(schema=METADATA, model="simulated/small", policy={})

    least = here.engine.forecasts.plan(order).least_budget
    held = until_rest(here.engine.start(replace(order, budget=1)))
    after = until_rest(here.engine.start(replace(order, budget=least, new=True)))

    assert held.done == 0
    assert int(held.holds[0].fields["least"]) <= least < 2 * int(held.holds[0].fields["least"])
    assert after.done > 0


def test_calls_that_are_surely_covered_need_not_be_fitted(world: Worlds) -> None:
    here = world()
    here.ingest([*sentences(40), "long " * 900])
    run = here.start(pack_size=10)
    with here.engine.ledger.transaction() as tx:
        contexts = here.engine.context.contexts
        advance(tx, contexts, NOW)
        (stage,) = tx.runs.stages_of_run(run.id)
        context = contexts.any_of_stage(tx, run.id, stage.id)
        gathered, known = gather_ready(tx, context, 100), learn_sizes(tx, contexts, context, 0)
        packs = form_packs(context, known, gathered.tasks, more=False, left=False)

        sure = [
            money
            for money in (DOLLAR // 1000 * thousandth for thousandth in range(1, 400))
            if are_covered(context, known, packs, gathered, money)
        ]
        fitted = [
            fit_packs(context, known, packs, gathered, Money(money, calls_out=False))
            for money in sure
        ]

    assert len(packs) > 3
    assert 0 < len(sure) < 399
    assert all(kept is packs for kept in fitted)
