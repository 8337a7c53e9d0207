"""Judging again in pieces: chunks, packs, commands cut short, and what is under way meanwhile."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.domain.regating import RegateReport
from quire.engine import RunHandle
from quire.pipeline.calls.prepare import prepare
from quire.pipeline.commands import regate as regating
from quire.pipeline.commands.regate import revise
from quire.pipeline.contexts import Contexts
from quire.simulated.fault_scripts import parse_fault_script
from tests.pipeline.recipe_stages import recipe, record_stage, task_states
from tests.pipeline.taste_gate import CHECK, POINTS, SUMMARY, set_taste, start_run
from tests.world import World, sentences

Worlds = Callable[..., World]


def counts(found: list[RegateReport]) -> dict[str, dict[str, int]]:
    """What differs or is left alone, by stage; zeros left out."""
    return {report.stage: {kind: n for kind, n in report.counts.items() if n} for report in found}


def test_answers_to_an_older_version_do_not_count(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY,))
    run.wait()
    here.model.faults = parse_fault_script("empty=1")
    run.rerun("summary")
    run.wait()
    assert task_states(here.engine, run) == {"summary": {"failed": 3}}

    assert counts(run.regate(apply=True)) == {"summary": {"same": 3}}


def test_dependants_that_are_not_sent_yet_are_blocked_when_what_they_read_is_refused(
    world: Worlds,
) -> None:
    here, contexts = world(), Contexts()
    run = start_run(here, stages=(SUMMARY, POINTS), stop_after="summary")
    run.wait()
    contexts.registry = here.engine.registry
    run.pause()
    run.stop_after(None)
    here.engine.work(
        lambda: "points" in task_states(here.engine, run) and _expanded_count(here, run) == 6
    )
    with here.engine.ledger.transaction() as tx:
        lane = tx.requests.lanes_of_run(run.id)[-1]
        prepare(tx, contexts, contexts.of_lane(tx, lane), here.runtime.now())
    assert task_states(here.engine, run)["points"] == {"packed": 6}
    set_taste(here, refuses="number1", version="2")

    run.regate("summary", apply=True)
    assert task_states(here.engine, run)["points"] == {"ready": 4, "waiting": 2}
    run.resume()
    run.wait()

    assert task_states(here.engine, run) == {
        "summary": {"done": 2, "failed": 1},
        "points": {"blocked": 2, "done": 4},
    }
    assert here.model.calls == 3 + 4


def _expanded_count(here: World, run: RunHandle) -> int:
    return sum(task_states(here.engine, run)["points"].values())


def test_packs_are_judged_record_by_record_chunk_by_chunk(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regating, "CHUNK", 7)
    here = world(faults="wrong@Block 3 ")
    here.ingest(sentences(25))
    run = here.engine.run(
        recipe=recipe(record_stage("first", "each_block", "Read.")),
        model="simulated/small",
        pack_size=10,
    )
    run.wait()

    (found,) = run.regate()

    assert {kind: n for kind, n in found.counts.items() if n} == {"same": 25}
    assert task_states(here.engine, run) == {"first": {"done": 24, "failed": 1}}


def test_a_regate_that_was_cut_short_is_carried_out_by_the_same_command(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regating, "CHUNK", 2)
    here = world()
    run = start_run(here)
    run.wait()
    set_taste(here, mark="!", version="2")
    done: list[int] = []

    def dies(*args: Any) -> int:
        done.append(revise(*args))
        if len(done) == 2:
            raise KeyboardInterrupt
        return done[-1]

    monkeypatch.setattr(regating, "revise", dies)
    with pytest.raises(KeyboardInterrupt):
        here.engine.regate(run.id, "points", apply=True, command="a")
    monkeypatch.setattr(regating, "revise", revise)

    (found,) = here.engine.regate(run.id, "points", apply=True, command="a")

    assert (found.counts["same"], found.counts["changed"]) == (2, 4)
    assert here.engine.regate(run.id, "points", apply=True, command="a") == []
    kinds = [event.kind for event in here.engine.queries.events(run.id)]
    assert kinds.count("regated") == 1


def test_critics_of_an_answer_that_is_refused_are_let_go(world: Worlds) -> None:
    here = world()
    here.model.faults = parse_fault_script("wrong@number1")
    run = start_run(here, stages=(SUMMARY, CHECK), max_tries=1)
    run.wait()
    assert task_states(here.engine, run)["check"] == {"done": 2, "failed": 1}
    set_taste(here, refuses="number1", version="2")

    run.regate("summary", apply=True)

    assert task_states(here.engine, run)["check"] == {"cancelled": 1, "done": 2}
