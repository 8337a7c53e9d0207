"""Stopping after a stage: it is run to its end, and nothing of what comes after it is sent."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import pytest

from quire.domain.reasons import HoldKind
from quire.domain.recipes import Stage
from quire.domain.states import RunState, StageState
from quire.engine import RunHandle
from tests.ledger.raw import Raw
from tests.pipeline.recipe_stages import NOTED, SMALL, recipe, record_stage, task_states, text_stage
from tests.pipeline.taste_gate import documents, hold_kinds
from tests.world import Calm, World

Worlds = Callable[..., World]
MODES = ("best_effort", "exact", "throughput")
DOCUMENTS = 2


class Interrupting(Calm):
    """A world in which somebody gives a command at the nth time a point is reached."""

    def __init__(self) -> None:
        """Nothing is commanded yet."""
        self.left = 0
        self.point = ""
        self.command: Callable[[], None] = lambda: None

    def at(self, point: str, times: int, command: Callable[[], None]) -> None:
        """Give the command when the point is reached so many times."""
        self.point, self.left, self.command = point, times, command

    def reach(self, point: str) -> None:
        """Count, and command."""
        if self.left and point == self.point:
            self.left -= 1
            if not self.left:
                self.command()


class Sent(NamedTuple):
    """How many requests of a stage there are, and how often they were sent."""

    packed: int
    sent: int


def sent_by_stage(here: World, run: RunHandle) -> dict[str, Sent]:
    """What was packed and sent so far."""
    raw = Raw(here.url)
    try:
        rows = raw.rows(
            "SELECT s.name, count(q.id), coalesce(sum(q.sent), 0)"
            " FROM stages s JOIN lanes l ON l.stage_id = s.id LEFT JOIN requests q"
            f" ON q.lane_id = l.id WHERE s.run_id = {run.id} GROUP BY s.name"
        )
    finally:
        raw.close()
    return {name: Sent(packed, int(sent)) for name, packed, sent in rows}


def critic_of(name: str, no: int = 0) -> Stage:
    """A critic that keeps its word beside the result."""
    prompt = "Well?\n{{ judged.answer }}"
    return record_stage(
        f"{name}_critic{no}", "each_result", prompt, NOTED, of=name, critic="record"
    )


def reader_of(name: str, above: str) -> Stage:
    """A stage that follows another task by task."""
    return text_stage(name, "each_result", f"More: {{{{ inputs.{above}.text }}}}", of=above)


def gather(name: str, above: str) -> Stage:
    """A stage of one task that reads all of another."""
    loop = "{% for each in inputs.ABOVE %}{{ each.text }}{% endfor %}".replace("ABOVE", above)
    return text_stage(name, "all_to_one", f"All: {loop}", needs=(above,))


FIRST = text_stage("first", "each_document", "Sum up:\n{{ document.text }}")


def random_stages(chance: random.Random) -> list[Stage]:
    """A graph of stages, some with critics, some beside each other."""
    stages, plain = [FIRST], ["first"]
    stages += [critic_of("first", no) for no in range(chance.choice([0, 1, 2]))]
    for number in range(chance.choice([2, 3])):
        name, above = f"stage{number}", chance.choice(plain)
        kind = chance.choice(["root", "reader", "gather", "reader"])
        if kind == "root":
            stages.append(replace(FIRST, name=name))
        elif kind == "reader" and not above.startswith("all"):
            stages.append(reader_of(name, above))
        else:
            name = f"all{number}"
            stages.append(gather(name, above))
        plain.append(name)
        stages += [critic_of(name, no) for no in range(chance.choice([0, 1, 2]))]
    return stages


def needed_for(stages: list[Stage], last: str) -> set[str]:
    """The stages without which one cannot be over: what is read, and who judges that."""
    found, grown = {last}, True
    while grown:
        before = len(found)
        found |= {name for stage in stages if stage.name in found for name in stage.upstream}
        found |= {stage.name for stage in stages if stage.critic and stage.of in found}
        grown = len(found) > before
    return found


def start(here: World, stages: list[Stage], mode: str) -> RunHandle:
    """A run in which every task is asked, also where two ask the same."""
    return here.engine.run(
        recipe=recipe(*stages), model=SMALL, completion_mode=mode, concurrency=2, reuse=False
    )


@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_stages_nothing_that_the_stop_does_not_need_is_sent_from_then_on(
    world: Worlds, seed: int
) -> None:
    chance = random.Random(seed)
    stages = random_stages(chance)
    last = chance.choice([stage.name for stage in stages])
    runtime = Interrupting()
    here = world(runtime=runtime)
    documents(here, DOCUMENTS)
    run = start(here, stages, MODES[seed % 3])
    before: dict[str, Sent] = {}

    def stop() -> None:
        run.stop_after(last)
        before.update(sent_by_stage(here, run))

    if seed % 2:
        runtime.at("after_settle", chance.choice([1, 3, 5]), stop)
    else:
        stop()
    run.wait()

    after, needed = sent_by_stage(here, run), needed_for(stages, last)
    assert before, "the wish came too late to matter"
    later = [stage.name for stage in stages if stage.name not in needed]
    assert {name: after[name] for name in later} == {name: before[name] for name in later}
    with here.engine.ledger.snapshot() as tx:
        states = {stage.name: stage.state for stage in tx.runs.stages_of_run(run.id)}
    assert {states[name] for name in needed} == {StageState.CLOSED}
    if run.progress().state == RunState.RUNNING:  # else all of it had been sent before
        assert hold_kinds(run) == [HoldKind.STOP_AFTER]
        assert run.stop_after(None)
    assert run.wait().state == RunState.FINISHED
    done = task_states(here.engine, run)
    assert all(set(counts) == {"done"} for counts in done.values())
    assert {name: sent.sent for name, sent in sent_by_stage(here, run).items()} == {
        name: counts["done"] for name, counts in done.items()
    }


def test_a_limit_is_used_up_although_a_stage_beyond_the_stop_owes_answers(world: Worlds) -> None:
    runtime = Interrupting()
    here = world(runtime=runtime)
    documents(here, 3)
    stages = (FIRST, critic_of("first"), reader_of("more", "first"))
    run = here.engine.run(
        recipe=recipe(*stages), model=SMALL, completion_mode="throughput", concurrency=1, limit=2
    )

    def stop_once_more_is_owed() -> None:
        if not task_states(here.engine, run)["more"].get("packed"):
            runtime.at("after_settle", 1, stop_once_more_is_owed)
        else:
            run.stop_after("first_critic0")

    runtime.at("after_settle", 1, stop_once_more_is_owed)
    now = run.wait()

    owed = task_states(here.engine, run)["more"]
    assert now.spent
    assert owed["packed"]
    assert now.stages[2].waits_for == "the run stops after first_critic0"
    assert run.stop_after(None)
    run.wait()
    assert task_states(here.engine, run) == {
        "first": {"done": 2},
        "first_critic0": {"done": 2},
        "more": {"done": 2},
    }
