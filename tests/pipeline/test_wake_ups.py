"""Many workers: whichever sibling comes last, and however they cross, their parents are woken."""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quire.domain.ids import TaskId
from quire.domain.states import RunState, TaskMove
from quire.engine import RunHandle
from quire.pipeline.contexts import Contexts
from quire.pipeline.stages.advance import advance
from quire.pipeline.stages.release import release
from tests.pipeline.recipe_stages import SMALL, recipe, task_states, text_stage
from tests.pipeline.taste_gate import tasks_of
from tests.pipeline.test_lineage import start
from tests.postgres import Databases
from tests.time_limits import PATIENCE
from tests.world import NOW, World

WORKERS, LINEAGES = 3, 4


@pytest.fixture
def worlds(postgres: Databases) -> Iterator[list[World]]:
    """Engines that share one PostgreSQL database, each with connections of its own."""
    with ExitStack() as stack:
        url = stack.enter_context(postgres.database())
        made = [World(url) for _ in range(WORKERS)]
        for here in made:
            stack.callback(here.close)
        yield made


@given(
    data=st.data(),
    crossing=st.lists(st.booleans(), min_size=LINEAGES, max_size=LINEAGES),
)
@settings(max_examples=3, suppress_health_check=list(HealthCheck))
def test_the_last_sibling_never_loses_the_wake_up(
    worlds: list[World], data: st.DataObject, crossing: list[bool]
) -> None:
    run, siblings = _expand_siblings(worlds[0])
    orders = [data.draw(st.permutations(range(LINEAGES))) for _ in worlds]
    meeting = [Barrier(WORKERS) for _ in range(LINEAGES)]

    def answer_all(number: int) -> None:
        """Answer one sibling of each lineage; where they cross, nobody sees another's answer."""
        crossed = [lineage for lineage in range(LINEAGES) if crossing[lineage]]
        alone = [lineage for lineage in orders[number] if not crossing[lineage]]
        for lineage in (*crossed, *alone):
            with worlds[number].engine.ledger.transaction() as tx:
                done = [siblings[lineage * WORKERS + number]]
                tx.tasks.move_tasks(TaskMove.ACCEPT, done)
                if crossing[lineage]:
                    meeting[lineage].wait(PATIENCE)
                release(tx, Contexts().spec_of(tx, run.id), done, NOW)
                if crossing[lineage]:
                    meeting[lineage].wait(PATIENCE)

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(answer_all, range(WORKERS)))
    woken = task_states(worlds[0].engine, run)["line"].get("ready", 0)
    _advance(worlds[0], Contexts())

    assert woken <= LINEAGES - sum(crossing)
    assert task_states(worlds[0].engine, run)["line"] == {"ready": LINEAGES}
    run.cancel()
    _advance(worlds[0], Contexts())


def _expand_siblings(here: World) -> tuple[RunHandle, list[TaskId]]:
    """A run whose last stage waits for a few siblings in each of its lineages, and the siblings."""
    if not here.engine.documents():
        for number in range(LINEAGES):
            here.ingest([f"Document {number}."], f"doc{number}")
    view = text_stage("view", "samples", "{{ inputs.idea.text }}", of="idea", samples=WORKERS)
    line = text_stage("line", "by_lineage", "{{ inputs.view|length }}", of="view")
    idea = text_stage("idea", "each_document", "Go on {{ document.title }}")
    asked, mode = recipe(idea, view, line), "throughput"
    run = here.engine.run(recipe=asked, model=SMALL, new=True, completion_mode=mode)
    contexts = Contexts()
    while task_states(here.engine, run)["line"] != {"waiting": LINEAGES}:
        _advance(here, contexts)
    with here.engine.ledger.transaction() as tx:
        ideas = tasks_of(here, run, "idea")
        tx.tasks.move_tasks(TaskMove.ACCEPT, ideas)
        release(tx, contexts.spec_of(tx, run.id), ideas, NOW)
    return run, tasks_of(here, run, "view")


def _advance(here: World, contexts: Contexts) -> None:
    with here.engine.ledger.transaction() as tx:
        advance(tx, contexts, NOW)


def test_workers_side_by_side_carry_a_chain_to_its_end(worlds: list[World]) -> None:
    chance = random.Random(1)
    run = start(worlds[0], 2, completion_mode="throughput", reuse=False)
    for here in worlds:  # answers come back in another order than they were asked for
        here.model.hold = _hold_some(chance)

    def is_done() -> bool:
        return run.progress().state == RunState.FINISHED

    with ThreadPoolExecutor(WORKERS) as pool:
        working = [pool.submit(here.engine.work, is_done) for here in worlds]
        assert [work.result() for work in working] == [False] * WORKERS

    counts = (2, 4, 8, 4, 2, 2, 2)
    assert list(task_states(worlds[0].engine, run).values()) == [
        {"done": count} for count in counts
    ]
    assert sum(here.model.calls for here in worlds) == sum(counts)


def _hold_some(chance: random.Random) -> Callable[[int], bool]:
    """Keep every other answer back for a few looks."""
    looks = {number: chance.randrange(4) for number in range(100) if chance.random() < 0.5}

    def is_held(number: int) -> bool:
        looks[number] = looks.get(number, 0) - 1
        return looks[number] >= 0

    return is_held
