"""Judging again in pieces: chunks, packs, commands cut short, and what is under way meanwhile."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.engine import RunHandle
from quire.pipeline import regate as regating
from quire.pipeline.contexts import Contexts
from quire.pipeline.prepare import prepare
from quire.pipeline.regate import Regated
from quire.pipeline.revise import revise
from quire.simulated.faults import parse
from tests.pipeline.dishes import recipe, record_stage, states
from tests.pipeline.tasting import (
    CHECK,
    POINTS,
    SUMMARY,
    cook,
    set_taste,
)
from tests.world import World, sentences

Worlds = Callable[..., World]


def counts(found: list[Regated]) -> dict[str, dict[str, int]]:
    """What differs or is left alone, by stage; zeros left out."""
    return {each.stage: {kind: n for kind, n in each.counts.items() if n} for each in found}


def test_answers_to_an_older_version_do_not_count(world: Worlds) -> None:
    here = world()
    run = cook(here, stages=(SUMMARY,))
    run.wait()
    here.model.faults = parse("empty=1")
    run.rerun("summary")
    run.wait()
    assert states(here.engine, run) == {"summary": {"failed": 3}}

    assert counts(run.regate(apply=True)) == {"summary": {"same": 3}}


def test_dependants_that_are_not_sent_yet_are_blocked_when_what_they_read_is_refused(
    world: Worlds,
) -> None:
    here, contexts = world(), Contexts()
    run = cook(here, stages=(SUMMARY, POINTS), stop_after="summary")
    run.wait()
    contexts.registry = here.engine.registry
    run.pause()
    run.stop_after(None)
    here.engine.work(lambda: "points" in states(here.engine, run) and _expanded(here, run) == 6)
    with here.engine.ledger.transaction() as tx:
        lane = tx.requests.lanes_of_run(run.id)[-1]
        prepare(tx, contexts, contexts.of_lane(tx, lane), here.outside.now())
    assert states(here.engine, run)["points"] == {"packed": 6}
    set_taste(here, refuses="number1", version="2")

    run.regate("summary", apply=True)
    assert states(here.engine, run)["points"] == {"ready": 4, "waiting": 2}
    run.resume()
    run.wait()

    assert states(here.engine, run) == {
        "summary": {"done": 2, "failed": 1},
        "points": {"blocked": 2, "done": 4},
    }
    assert here.model.calls == 3 + 4


def _expanded(here: World, run: RunHandle) -> int:
    return sum(states(here.engine, run)["points"].values())


def test_packs_are_judged_record_by_record_chunk_by_chunk(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regating, "CHUNK", 7)
    here = world(faults="wrong@Block 3 ")
    here.ingest(sentences(25))
    run = here.engine.cook(
        recipe(record_stage("first", "each_block", "Read.")), model="simulated/small", pack_size=10
    )
    run.wait()

    (found,) = run.regate()

    assert {kind: n for kind, n in found.counts.items() if n} == {"same": 25}
    assert states(here.engine, run) == {"first": {"done": 24, "failed": 1}}


def test_a_regate_that_was_cut_short_is_carried_out_by_the_same_command(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regating, "CHUNK", 2)
    here = world()
    run = cook(here)
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
    kinds = [each.kind for each in here.engine.look.events(run.id)]
    assert kinds.count("regated") == 1


def test_critics_of_an_answer_that_is_refused_are_let_go(world: Worlds) -> None:
    here = world()
    here.model.faults = parse("wrong@number1")
    run = cook(here, stages=(SUMMARY, CHECK), max_tries=1)
    run.wait()
    assert states(here.engine, run)["check"] == {"done": 2, "failed": 1}
    set_taste(here, refuses="number1", version="2")

    run.regate("summary", apply=True)

    assert states(here.engine, run)["check"] == {"cancelled": 1, "done": 2}
