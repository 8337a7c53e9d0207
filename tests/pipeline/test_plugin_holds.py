"""Packages that break or are missing hold the runs that name them, and nobody else's."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

import pytest

from quire.domain.data import NOTHING
from quire.domain.errors import PluginMissing, RecipeInvalid
from quire.domain.groupings import Driver, DriverItem, GroupingContext, Part
from quire.domain.ids import DocumentId
from quire.domain.reasons import HoldKind
from quire.domain.recipes import GateUse
from quire.domain.states import RunState
from quire.engine import RunHandle
from quire.pipeline.answers import settle
from quire.pipeline.contexts import Contexts
from quire.recipes.plugin_registry import GuardedGrouping
from quire.simulated.fault_scripts import NO_FAULTS, parse_fault_script
from tests.pipeline.recipe_stages import SMALL, recipe, task_states, text_stage
from tests.pipeline.taste_gate import set_taste
from tests.world import World, until_rest

Worlds = Callable[..., World]
MENDED = ""


@dataclass
class Weird:
    """A plugin's grouping that is broken in some way, or in none."""

    how: str = MENDED
    name: str = "weird"
    driver: Driver = Driver.DOCUMENT
    wants_documents: bool = False

    def mistakes(self, around: GroupingContext) -> Sequence[str]:
        """None, whatever it is told."""
        if self.how == "mistakes":
            raise ValueError("boom")
        return ()

    def count(self, driven: int, around: GroupingContext) -> int:
        """As many as there are."""
        if self.how == "count":
            raise ValueError("boom")
        return -5 if self.how == "fewer than none" else driven

    def fan(self, driven: DriverItem, around: GroupingContext) -> Iterator[Part]:
        """A task for each, and then what breaks."""
        model = around.models[0]
        if self.how == "endless":
            yield from (Part(model, sample) for sample in count())
        yield Part(model)
        if self.how == "fan":
            raise ValueError("boom")
        odd: dict[str, object] = {
            "garbage": 5,
            "set": Part(model, 0, {"x": {1, 2}}),  # type: ignore[dict-item]
            "not a number": Part(model, 0, {"x": float("nan")}),
            "surrogate": Part(model, 0, {"x": "\ud800"}),
            "sample": Part(model, "x"),  # type: ignore[arg-type]
            "large sample": Part(model, 2**70),
            "documents": Part(model, 0, NOTHING, (DocumentId(999),)),
        }
        if self.how in odd:
            yield odd[self.how]  # type: ignore[misc]  # that is the point


def plug(here: World, how: str = MENDED, driver: Driver = Driver.DOCUMENT) -> None:
    """Let the engine have the grouping, as if its package had just been updated."""
    registry = here.engine.registry
    groupings = {
        **registry.groupings,
        "weird": GuardedGrouping(Weird(how, driver=driver), "oddities"),
    }
    here.engine.context.registry = replace(registry, groupings=groupings)


def unplug(here: World) -> None:
    """Let the engine have nothing of what packages brought."""
    registry = here.engine.registry
    groupings = {name: grouping for name, grouping in registry.groupings.items() if name != "weird"}
    gates = {name: gate for name, gate in registry.gates.items() if name != "taste"}
    here.engine.context.registry = replace(registry, groupings=groupings, gates=gates)


def two_documents(world: Worlds) -> World:
    """A world with something to ask about."""
    here = world()
    here.ingest(["Alpha speaks."], "alpha")
    here.ingest(["Beta speaks."], "beta")
    return here


def start_run(here: World, about: str = "weird", gate: str = "text", **policy: int) -> RunHandle:
    """Order an answer about each document."""
    prompt = "{{ sample }} {{ document.text }}"
    gates = (GateUse("text"),) if gate == "text" else (GateUse("text"), GateUse(gate))
    return here.engine.run(
        recipe=recipe(text_stage("w", about, prompt, gates=gates)),
        model=SMALL,
        **policy,  # type: ignore[arg-type]
    )


def hold_reason(run: RunHandle) -> str:
    """Why a run does not go on."""
    (hold,) = run.progress().holds
    assert hold.kind is HoldKind.PLUGIN
    return hold.detail


def hold_details(here: World, run: RunHandle) -> list[str]:
    """What is told of the run's holds."""
    with here.engine.ledger.snapshot() as tx:
        return [event.detail for event in tx.events.events_of_run(run.id) if event.kind == "held"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("count", "count failed: ValueError: boom"),
        ("fewer than none", "count failed: ValueError: -5 is no number of tasks"),
        ("fan", "fan failed: ValueError: boom"),
        ("garbage", "fan failed: TypeError: 5 is no Part"),
        ("set", "fan failed: TypeError: Object of type set is not JSON serializable"),
        ("not a number", "fan failed: ValueError"),
        ("surrogate", "fan failed: UnicodeEncodeError"),
        ("sample", "fan failed: ValueError: the sample 'x' is no number from 0 on"),
        ("large sample", "fan failed: ValueError: the sample 1180591620717411303424 is no number"),
        ("documents", "fan failed: ValueError: 999 is no document of the stage's input"),
        ("endless", "fan gives more than 5,500 tasks about one thing"),
    ],
)
def test_a_grouping_that_breaks_holds_its_run_until_it_is_mended(
    world: Worlds, how: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire.recipes.plugin_registry.MOST_PARTS", 5500)
    here = two_documents(world)
    plug(here)
    run, innocent = start_run(here, max_tries=1), here.start()
    plug(here, how)

    innocent.wait()
    until_rest(run)

    assert innocent.progress().state == RunState.FINISHED
    assert hold_reason(run).startswith(f"grouping weird of package oddities: {said}")
    assert hold_reason(run).endswith(
        f"; mend or update its package, start the workers again, then `quire resume {run.id}`"
    )
    assert hold_details(here, run) == [hold_reason(run)]
    if how == "endless":  # what it gave before is owed all the same
        assert run.cancel()
        assert run.wait().state == RunState.CANCELLED
        return
    assert task_states(here.engine, run) == {"w": {}}
    plug(here)
    assert run.resume()
    assert run.wait().state == RunState.FINISHED
    assert task_states(here.engine, run) == {"w": {"done": 2}}


def test_a_grouping_that_is_not_mended_holds_its_run_again(world: Worlds) -> None:
    here = two_documents(world)
    plug(here)
    run = start_run(here)
    plug(here, "fan")
    until_rest(run)

    run.resume()
    until_rest(run)

    assert hold_details(here, run) == [hold_reason(run), hold_reason(run)]


def test_a_grouping_that_breaks_while_a_recipe_is_read_is_one_line(world: Worlds) -> None:
    here = two_documents(world)
    plug(here, "mistakes")

    with pytest.raises(RecipeInvalid, match="grouping weird of package oddities: mistakes failed"):
        start_run(here)


def test_a_grouping_that_is_not_installed_holds_its_run_alone(world: Worlds) -> None:
    here = two_documents(world)
    plug(here)
    run, innocent = start_run(here), here.start()
    unplug(here)

    innocent.wait()
    until_rest(run)

    assert innocent.progress().state == RunState.FINISHED
    assert hold_reason(run) == (
        "no grouping 'weird': whoever brought it is not installed here; install that package,"
        f" start the workers again, then `quire resume {run.id}`"
    )
    plug(here)
    run.resume()
    assert run.wait().state == RunState.FINISHED


def _stored_count(here: World, run: RunHandle) -> int:
    """How many answers nobody has judged."""
    with here.engine.ledger.transaction() as tx:
        return sum(attempt.run_id == run.id for attempt in tx.attempts.take_answered(1000))


def _answered_run(world: Worlds, here: World) -> RunHandle:
    """A run whose answers are all stored, and whose gate is gone before they are judged."""
    set_taste(here)
    run = start_run(here, "each_document", "taste")
    settled = settle.settle
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("quire.dispatch.settler.settle", lambda *_: 0)
        here.engine.work(lambda: _stored_count(here, run) == 2)
    assert settle.settle is settled
    unplug(here)
    return run


def test_answers_that_wait_for_a_missing_gate_stop_nobody_and_are_paid_for_once(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = two_documents(world)
    run = _answered_run(world, here)
    monkeypatch.setattr(settle.settle, "__defaults__", (1,))  # fewer at once than there are
    innocent = here.start()
    calls = here.model.calls

    assert innocent.wait().state == RunState.FINISHED
    until_rest(run)

    assert hold_reason(run).startswith("no gate 'taste': whoever brought it is not installed here")
    assert hold_details(here, run) == [hold_reason(run)]
    assert _stored_count(here, run) == 2
    set_taste(here)
    calls = here.model.calls
    run.resume()
    assert run.wait().state == RunState.FINISHED
    assert task_states(here.engine, run) == {"w": {"done": 2}}
    assert here.model.calls == calls


def test_answers_are_not_judged_again_without_the_gate(world: Worlds) -> None:
    here = two_documents(world)
    set_taste(here)
    run = start_run(here, "each_document", "taste")
    run.wait()
    unplug(here)

    with pytest.raises(PluginMissing, match="no gate 'taste'"):
        here.engine.regate(run.id, apply=True)


def test_a_run_can_be_cancelled_without_its_gate_and_what_was_paid_for_counts_later(
    world: Worlds,
) -> None:
    here = two_documents(world)
    run = _answered_run(world, here)
    until_rest(run)

    run.cancel()

    assert run.wait().state == RunState.CANCELLED
    assert task_states(here.engine, run) == {"w": {"cancelled": 2}}
    set_taste(here)
    with here.engine.ledger.transaction() as tx:
        settle.settle(tx, Contexts(here.engine.registry), here.runtime.now())
    assert task_states(here.engine, run) == {"w": {"done": 2}}


def test_calls_that_wait_to_go_again_do_not_go_while_their_gate_is_missing(world: Worlds) -> None:
    here = two_documents(world)
    set_taste(here)
    here.model.faults = parse_fault_script("429=1,retry_after=0.05")
    run = start_run(here, "each_document", "taste")
    here.engine.work(lambda: here.model.calls >= 2)  # refused, and queued again
    unplug(here)
    here.model.faults = NO_FAULTS
    innocent = here.start()

    assert innocent.wait().state == RunState.FINISHED
    calls = here.model.calls
    until_rest(run)

    assert hold_reason(run).startswith("no gate 'taste'")
    assert here.model.calls == calls
    set_taste(here)
    run.resume()
    assert run.wait().state == RunState.FINISHED
    assert task_states(here.engine, run) == {"w": {"done": 2}}
