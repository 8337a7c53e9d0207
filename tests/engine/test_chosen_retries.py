"""Retries of one cause, and runs that go on beyond their limit."""

from collections.abc import Iterator

import pytest

from quire.domain.errors import NotFound, UsageError
from quire.domain.states import RunState
from tests.world import World, sentences


@pytest.fixture
def here(ledger_url: str) -> Iterator[World]:
    """A world on either database."""
    world = World(ledger_url)
    yield world
    world.close()


def test_only_what_failed_for_one_reason_is_asked_again(here: World) -> None:
    here.ingest(sentences(5))
    here.model.script = ["wrong=1", "wrong=1", "refuse=1", "refuse=1"]
    run = here.run(pack_size=1, max_tries=1, concurrency=1)
    groups = here.engine.queries.failures(run.id)
    chosen = [failure.task_id for failure in groups[0].failures]

    granted = run.retry(like=chosen[-1])
    run.wait()

    assert [len(group.failures) for group in groups] == [2, 2]
    assert granted == 2
    now = run.progress()
    assert (now.done, now.failed) == (3, 2)
    left = here.engine.queries.failures(run.id)
    assert [group.cause for group in left] == [groups[1].cause]
    with pytest.raises(NotFound, match="has not failed"):
        run.retry(like=chosen[0])
    with pytest.raises(UsageError):
        here.engine.retry(run.id, like=chosen[0], stale=True)


def test_a_run_goes_on_beyond_its_limit_when_it_is_told_to(here: World) -> None:
    here.ingest(sentences(6))
    run = here.run(pack_size=3, limit=3)

    changed, again = run.resume(no_limit=True), run.resume(no_limit=True)
    run.wait()

    assert (changed, again) == (True, False)
    now = run.progress()
    assert (now.done, now.state) == (6, RunState.FINISHED)
    assert run.resume(no_limit=True) is False
