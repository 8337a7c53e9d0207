"""Sweeps look again only where something has changed, and now and then all the same."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import Contexts
from quire.pipeline.looks import AGAIN, Looks
from quire.pipeline.release import sweep
from tests.ledger.counting import cost_once
from tests.pipeline.dishes import states
from tests.pipeline.tasting import cook, set_taste
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
