"""Who waits for another's answer to the same question never waits for ever."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from quire.domain.states import RunState
from quire.engine import RunHandle
from quire.pipeline.answers.reuse_answers import share_questions
from quire.pipeline.calls.open_lanes import open_lanes
from quire.pipeline.calls.prepare import prepare
from quire.pipeline.contexts import Contexts
from quire.pipeline.stages.advance import advance
from tests.pipeline.recipe_stages import task_states
from tests.world import NOW, World, sentences

Worlds = Callable[..., World]
SAME = "The very same text."


def prepared(here: World) -> RunHandle:
    """A run whose calls are packed, and nothing is sent."""
    run, contexts = here.start(pack_size=1), Contexts()
    with here.engine.ledger.transaction() as tx:
        advance(tx, contexts, NOW)
        for lane in open_lanes(tx, contexts, NOW, run.id):
            prepare(tx, contexts, contexts.of_lane(tx, lane), NOW, share_questions)
    return run


def states(here: World, run: RunHandle) -> dict[str, int]:
    return task_states(here.engine, run)["extract"]


def twins(here: World) -> None:
    """Two documents that say the same."""
    here.ingest([SAME], "first")
    here.ingest([SAME], "second")


def test_equal_tasks_wait_for_the_first(world: Worlds) -> None:
    here = world()
    twins(here)

    run = prepared(here)

    assert states(here, run) == {"packed": 1, "waiting": 1}


def test_who_followed_what_was_purged_asks_for_itself(world: Worlds) -> None:
    here = world()
    twins(here)
    run = prepared(here)

    here.engine.purge("first")
    end = run.wait()

    assert (end.state, here.model.calls) == (RunState.FINISHED, 1)
    assert states(here, run) == {"cancelled": 1, "done": 1}


def test_a_follower_that_is_purged_takes_nobody_with_it(world: Worlds) -> None:
    here = world()
    twins(here)
    run = prepared(here)

    here.engine.purge("second")
    end = run.wait()

    assert (end.state, end.done, here.model.calls) == (RunState.FINISHED, 1, 1)


def test_a_run_that_was_cancelled_and_goes_on_asks_what_is_owed(world: Worlds) -> None:
    here = world()
    twins(here)
    run = prepared(here)
    run.cancel()
    run.wait()
    assert states(here, run) == {"cancelled": 2}

    run.retry()
    end = run.wait()

    assert (end.state, end.done) == (RunState.FINISHED, 2)


def test_a_run_never_waits_for_another_run(world: Worlds) -> None:
    here = world()
    twins(here)
    first = prepared(here)
    first.pause()

    second = here.start(pack_size=1, new=True)
    end = second.wait()

    assert (end.done, here.model.calls) == (2, 1)
    first.resume()
    assert first.wait().done == 2
    assert here.model.calls == 2  # its first call was packed before there was an answer


@pytest.mark.parametrize("workers", [2])
def test_workers_side_by_side_ask_nothing_twice(world: Worlds, workers: int) -> None:
    worlds = [world() for _ in range(workers)]
    worlds[0].ingest([text for text in sentences(40) for _ in range(3)])
    run = worlds[0].start(pack_size=1, concurrency=4)

    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(lambda here: here.engine.drive(run.id), worlds))

    assert (run.progress().state, run.progress().done) == (RunState.FINISHED, 120)
    assert sum(here.model.calls for here in worlds) == 40


@pytest.mark.parametrize("count", [210, pytest.param(2100, marks=pytest.mark.soak)])
def test_thousands_may_follow_one(world: Worlds, count: int) -> None:
    here = world()
    here.ingest([SAME] * count)

    end = here.run(pack_size=1, concurrency=4).progress()

    assert (end.done, end.calls, end.reused) == (count, 1, count - 1)
    assert Counter(map(str, end.counts)) == Counter({"done": 1})
