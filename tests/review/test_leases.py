"""Leases: two reviewers never hold the same item, and whoever went away returns theirs."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from quire.domain.errors import IllegalMove, UsageError
from quire.domain.reviews import InboxFilter
from tests.world import World, sentences

Worlds = Callable[..., World]
MINUTES = 15


def later(here: World, minutes: float) -> None:
    """Let time pass."""
    runtime = here.engine.context.runtime
    now = runtime.now()
    runtime.now = lambda: now + timedelta(minutes=minutes)  # type: ignore[method-assign]


def test_two_reviewers_are_given_different_items(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(6))
    run, review = here.run(), here.engine.review

    ada = [line.task_id for line in review.take(run.id, "Ada", count=2)]
    bo = [line.task_id for line in review.take(run.id, "Bo", count=3)]

    assert len({*ada, *bo}) == 5
    assert [line.task_id for line in review.take(run.id, "Ada", count=2)] == ada  # hers again
    assert {lease.who for lease in review.leases(run.id)} == {"Ada", "Bo"}
    held = {line.task_id: line.held_by for line in review.inbox(run.id).lines}
    assert [held[task] for task in (*ada, *bo)] == ["Ada"] * 2 + ["Bo"] * 3
    with pytest.raises(IllegalMove, match=f"Ada is at task {ada[0]}"):
        review.hold(ada[0], "Bo")
    with pytest.raises(IllegalMove, match=f"Ada is at task {ada[0]}"):
        review.approve(ada[0], "Bo")
    with pytest.raises(UsageError, match="say who reviews"):
        review.take(run.id, " ")


def test_a_lease_ends_by_time_by_giving_back_and_by_deciding(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(3))
    run, review = here.run(), here.engine.review
    first, second, third = (line.task_id for line in review.take(run.id, "Ada", count=3))

    assert review.give_back("Ada", [first]) == 1
    review.approve(second, "Ada")
    assert [lease.task_id for lease in review.leases(run.id)] == [third]
    later(here, MINUTES - 1)
    assert review.renew("Ada", [second, third]) == (third,)
    later(here, MINUTES - 1)
    assert [line.task_id for line in review.take(run.id, "Bo", count=3)] == [first]
    later(here, 2)
    assert review.leases(run.id)[0].who == "Bo"
    assert [line.task_id for line in review.take(run.id, "Bo", count=3)] == [first, third]
    assert review.renew("Ada", [third]) == ()
    assert review.give_back("Bo") == 2


def test_reviewers_at_once_never_hold_the_same_item(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(40))
    run, review = here.run(), here.engine.review
    names = [f"reviewer {number}" for number in range(8)]

    def work(name: str) -> list[int]:
        done: list[int] = []
        while lines := review.take(run.id, name, InboxFilter(), count=2):
            for line in lines:
                review.approve(line.task_id, name)
                done.append(line.task_id)
        return done

    with ThreadPoolExecutor(len(names)) as pool:
        found = list(pool.map(work, names))

    decided = [task for tasks in found for task in tasks]
    assert len(decided) == len(set(decided)) == 40
    assert review.counts(run.id).left == 0
