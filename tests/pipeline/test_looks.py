"""Sweeps look again only where something has changed, and now and then all the same."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import Contexts
from quire.pipeline.follow import look_after_critics
from quire.pipeline.looks import AGAIN, Looks
from quire.pipeline.release import sweep
from quire.simulated.faults import parse
from tests.ledger.counting import cost_once
from tests.pipeline.dishes import states
from tests.pipeline.tasting import CHECK, SUMMARY, cook, set_taste, tasks_of
from tests.world import World

Worlds = Callable[..., World]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_look_in_vain_is_remembered_until_something_changes_or_time_has_passed() -> None:
    looks = Looks()
    assert not looks.was_vain("a", 1, NOW)

    looks.note("a", 1, NOW)

    assert looks.was_vain("a", 1, NOW)
    assert not looks.was_vain("a", 2, NOW)
    assert not looks.was_vain("b", 1, NOW)
    assert not looks.was_vain("a", 1, NOW + AGAIN)
    assert not looks.was_vain("a", 1, NOW - timedelta(seconds=1))  # the clock was set back


def test_what_is_blocked_is_looked_at_again_when_something_above_it_has_moved(
    world: Worlds,
) -> None:
    here = world()
    set_taste(here, refuses="number1")
    run = cook(here, max_tries=1)
    run.wait()
    assert states(here.engine, run)["points"] == {"blocked": 2, "done": 4}
    contexts, looks = Contexts(here.engine.registry), Looks()

    def look(now: datetime) -> int:
        def action(tx: Transaction) -> None:
            stage = next(each for each in tx.runs.stages(run.id) if each.name == "points")
            sweep(tx, looks, contexts.told(tx, run.id), stage, now)

        return cost_once(here.engine.ledger, action)

    look(NOW)  # reads what the run was told, too
    first, second = look(NOW + AGAIN), look(NOW + AGAIN)
    assert second < first

    set_taste(here)
    run.retry()
    changed = look(NOW + AGAIN)

    assert changed > second
    assert run.wait().failed == 0
    assert states(here.engine, run)["points"] == {"done": 6}


def test_a_critic_that_failed_as_often_as_before_is_looked_at_again_where_an_answer_waits_for_it(
    world: Worlds,
) -> None:
    here = world()
    here.model.faults = parse("wrong@number1")
    run = cook(here, stages=(SUMMARY, CHECK), max_tries=1)
    run.wait()
    failed = {"summary": {"done": 2, "failed": 1}, "check": {"done": 2, "failed": 1}}
    assert states(here.engine, run) == failed
    contexts, looks = Contexts(here.engine.registry), Looks()

    def look() -> None:
        with here.engine.ledger.transaction() as tx:
            look_after_critics(tx, looks, contexts.told(tx, run.id), CHECK, NOW)

    look()  # in vain: one failed, and nothing waits for it
    run.retry()
    with here.engine.ledger.transaction() as tx:  # and it fails once more, at another worker
        tx.tasks.move("give_up", tasks_of(here, run, "check"), ["ready"])
    assert states(here.engine, run) == failed | {"summary": {"done": 2, "proposed": 1}}

    look()

    assert states(here.engine, run) == failed
