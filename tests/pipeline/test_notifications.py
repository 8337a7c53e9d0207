"""What a run tells of itself: progress in steps, each once, and that it goes on again."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from quire.domain.reasons import EventKind, HoldCause, HoldKind, ResumeCause
from quire.domain.states import TaskMove
from quire.engine import RunHandle
from quire.ledger.ledger import Ledger, open_ledger
from quire.pipeline.answers.notifications import lift_holds, tell_progress
from tests.ledger.factories import NOW, Place, run_with_ready_tasks, tasks_of
from tests.world import World, sentences

Worlds = Callable[..., World]


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    opened = open_ledger(ledger_url, durable=False)
    yield opened
    opened.close()


def crowd(ledger: Ledger, tasks: int = 100) -> Place:
    return run_with_ready_tasks(ledger, [f"block {number}" for number in range(tasks)])


def cancel_some(ledger: Ledger, place: Place, first: int, after: int) -> None:
    """Let tasks end, in the quickest way."""
    with ledger.transaction() as tx:
        tx.tasks.move_tasks(TaskMove.CANCEL, tasks_of(tx, place)[first:after])


def progress_steps(ledger: Ledger, place: Place) -> list[tuple[object, object]]:
    with ledger.snapshot() as tx:
        events = tx.events.events_of_run(place.run)
    kinds = [event for event in events if event.kind == EventKind.PROGRESS]
    return [(event.fields["ended"], event.fields["tasks"]) for event in kinds]


def tell(ledger: Ledger, seconds: float) -> int:
    with ledger.transaction() as tx:
        return tell_progress(tx, NOW + timedelta(seconds=seconds))


def test_progress_is_told_in_steps_of_a_twentieth(ledger: Ledger) -> None:
    place = crowd(ledger)
    cancel_some(ledger, place, 0, 4)
    assert tell(ledger, 1) == 0
    cancel_some(ledger, place, 4, 5)

    assert [tell(ledger, 2), tell(ledger, 3)] == [1, 0]
    assert progress_steps(ledger, place) == [(5, 100)]


def test_what_is_less_than_a_step_is_told_after_a_while(ledger: Ledger) -> None:
    place = crowd(ledger)
    assert tell(ledger, 60) == 0
    cancel_some(ledger, place, 0, 1)

    assert tell(ledger, 29) == 0
    assert tell(ledger, 31) == 1
    cancel_some(ledger, place, 1, 2)
    assert tell(ledger, 60) == 0
    assert tell(ledger, 61) == 1
    assert progress_steps(ledger, place) == [(1, 100), (2, 100)]


def test_what_is_owed_again_is_told_when_it_ends_again(ledger: Ledger) -> None:
    place = crowd(ledger, 10)
    cancel_some(ledger, place, 0, 5)
    tell(ledger, 1)
    with ledger.transaction() as tx:
        tx.tasks.move_tasks(TaskMove.RETRY, tasks_of(tx, place)[:5])

    assert tell(ledger, 2) == 0
    cancel_some(ledger, place, 0, 1)
    assert tell(ledger, 3) == 1
    assert progress_steps(ledger, place) == [(5, 10), (1, 10)]


def test_a_run_tells_when_the_last_hold_is_lifted_and_not_before(ledger: Ledger) -> None:
    place = crowd(ledger, 1)
    with ledger.transaction() as tx:
        tx.holds.add_hold(place.run, HoldCause.PAUSED, NOW)
        tx.holds.add_hold(place.run, HoldCause.PLUGIN, NOW, problem="broken")

    with ledger.transaction() as tx:
        assert lift_holds(tx, place.run, [HoldKind.PLUGIN], ResumeCause.RETRIED, NOW)
        assert not tx.events.has_event(place.run, EventKind.RESUMED)
        assert not lift_holds(tx, place.run, [HoldKind.PLUGIN], ResumeCause.RETRIED, NOW)
        assert lift_holds(tx, place.run, [HoldKind.USER], ResumeCause.BY_HAND, NOW)
        assert tx.events.has_event(place.run, EventKind.RESUMED)


def test_a_run_that_ends_at_once_tells_no_step(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(4))
    run: RunHandle = here.run()

    kinds = [event.kind for event in here.engine.queries.events(run.id)]

    assert [kind for kind in kinds if kind == EventKind.PROGRESS] in ([], [EventKind.PROGRESS])
    assert (kinds[0], kinds[-1]) == (EventKind.RUN_STARTED, EventKind.RUN_FINISHED)
    first, *rest = run.events()
    assert run.events(after=first.id) == rest
