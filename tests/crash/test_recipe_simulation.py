"""A seeded life of crashes for recipes: stages, critics and dependants come right after each."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from quire.domain.ids import RunId
from quire.domain.recipes import Recipe
from quire.domain.runs import HeldError
from quire.domain.states import RunState, TaskState
from tests.crash.test_simulation import (
    WALLET,
    Died,
    Mortal,
    assert_all_is_paid_from_the_wallet,
    lift_holds,
)
from tests.pipeline.recipe_stages import NOTED, SMALL, recipe, record_stage, text_stage
from tests.pipeline.test_money import assert_counts_agree
from tests.world import World

Worlds = Callable[..., World]

FAULTS = "skip=0.1,wrong=0.05,500=0.1,429=0.05,truncate=0.05,drop=0.05,refuse=0.05,seed=5"
DOCUMENTS, BLOCKS, SAMPLES = 3, 4, 3
MANY: dict[str, Any] = {"max_tries": 60, "max_calls": 600, "pack_size": 4, "concurrency": 3}


def simulated_recipe() -> Recipe:
    """Records of blocks under a critic that decides, texts of them, drawn thrice, then one."""
    heard = "Tell {{ inputs.read.data.word_count }} {{ block.text }}"
    accepts = "answer.word_count >= 0"
    return recipe(
        record_stage("read", "each_block", "Read."),
        record_stage(
            "check",
            "each_result",
            "{{ judged.answer }}",
            NOTED,
            of="read",
            critic="gate",
            accepts=accepts,
        ),
        text_stage("tell", "each_result", heard, of="read"),
        text_stage(
            "draw", "samples", "{{ sample }} of {{ inputs.tell.text }}", of="tell", samples=SAMPLES
        ),
        text_stage("whole", "all_to_one", "{{ inputs.draw | length }}", needs=("draw",)),
    )


def fill(here: World) -> None:
    for number in range(DOCUMENTS):
        texts = [f"Paragraph {number}.{part} has its own words." for part in range(BLOCKS)]
        here.ingest(texts, f"doc{number}")


def assert_lineage_holds(here: World, run: RunId) -> None:
    """A result for each done or proposed task, a critic's task for each result under a critic."""
    with here.engine.ledger.snapshot() as tx:
        outcomes = list(tx.results.outcomes_of_run(run))
    for outcome in outcomes:
        if outcome.state in (TaskState.DONE, TaskState.PROPOSED):
            assert outcome.result_id is not None
        elif outcome.state not in (TaskState.FAILED, "cancelled"):
            assert outcome.result_id is None
    judged = Counter(outcome.of for outcome in outcomes if outcome.stage == "check")
    for outcome in outcomes:
        if outcome.stage == "read" and outcome.state == TaskState.PROPOSED:
            assert judged[outcome.task_id] >= 1
    assert len({outcome.task_id for outcome in outcomes}) == len(outcomes)


def drive_until_the_end(here: World, run: RunId, runtime: Mortal) -> None:
    for _ in range(600):
        with suppress(Died):
            try:
                here.engine.get(run).wait()
            except BaseExceptionGroup as group:
                raise (group.split(Died)[1] or Died()) from group
            except HeldError:
                lift_holds(here, run)
        assert_counts_agree(here, run)
        assert_lineage_holds(here, run)
        if here.engine.progress(run).state == RunState.FINISHED:
            return
    raise AssertionError(f"never finished: {here.engine.progress(run)}, {runtime.deaths}")


@pytest.mark.parametrize("mode", ["best_effort", "throughput", "exact"])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.soak)])
def test_killing_at_any_point_ends_in_the_same_results(world: Worlds, seed: int, mode: str) -> None:
    runtime = Mortal(seed, chance=0.1)
    here = world(faults=FAULTS, runtime=runtime)
    fill(here)
    here.engine.wallets.create(WALLET)
    asked: dict[str, Any] = {"completion_mode": mode, "wallet": WALLET, **MANY}
    run = here.engine.run(recipe=simulated_recipe(), model=SMALL, **asked)

    drive_until_the_end(here, run.id, runtime)

    assert_all_is_paid_from_the_wallet(here, run.id)
    blocks = DOCUMENTS * BLOCKS
    with here.engine.ledger.snapshot() as tx:
        outcomes = list(tx.results.outcomes_of_run(run.id))
    done = Counter((outcome.stage, outcome.state) for outcome in outcomes)
    assert runtime.deaths
    assert done == {
        ("read", "done"): blocks,
        ("check", "done"): blocks,
        ("tell", "done"): blocks,
        ("draw", "done"): blocks * SAMPLES,
        ("whole", "done"): 1,
    }
    draws = {outcome.data for outcome in outcomes if outcome.stage == "draw"}
    assert len(draws) == blocks * SAMPLES
