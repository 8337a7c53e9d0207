"""Steering a run: limit, pause, resume, cancel, retry, and the same command twice."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from quire.domain.errors import IllegalMove, NotFound, UsageError
from quire.domain.ids import RunId
from quire.domain.recipes import RUN_TITLE
from quire.domain.runs import Progress
from quire.domain.states import RunState
from quire.pipeline.commands.start import run_key
from tests.ledger.raw import Raw
from tests.pipeline.recipe_stages import SMALL, recipe, record_stage
from tests.world import METADATA, World, sentences

Worlds = Callable[..., World]


def test_a_limit_asks_about_the_first_blocks_only(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(25))

    run = here.run(limit=12, pack_size=10)

    assert run.progress().counts == {"done": 12}
    assert [row["status"] for row in run.rows()] == ["accepted"] * 12 + ["pending"] * 13
    assert "--limit 12 is reached" in here.engine.stall_reasons(run.id)[0]


def test_the_same_order_without_the_limit_goes_on_with_the_same_run(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(25))
    first = here.run(limit=10, pack_size=10)

    second = here.run(pack_size=10)

    assert (second.id, second.goes_on) == (first.id, True)
    assert here.model.blocks == 25
    assert second.progress().state == RunState.FINISHED


def test_a_limit_below_what_a_run_owes_already_is_refused_and_nothing_is_asked(
    world: Worlds,
) -> None:
    here = world()
    here.ingest(sentences(200))
    here.engine.wallets.create("team", "0.01")
    run = here.run(pack_size=10, wallet="team")  # held in the midst of it: the wallet is empty
    asked = here.model.blocks
    here.engine.wallets.credit("team", 1)

    with pytest.raises(UsageError, match=r"owes \d+ more answers by now, and --limit 3 would not"):
        here.run(pack_size=10, wallet="team", limit=3)

    assert 0 < asked == here.model.blocks < 200
    assert here.run(pack_size=10, limit=200).id == run.id  # as many as it owes
    assert here.model.blocks == 200


def test_the_same_order_at_another_speed_is_the_same_run(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))

    first, second = here.start(concurrency=2), here.start(concurrency=9)

    assert first.id == second.id


def test_a_run_of_a_version_that_gave_it_no_title_is_the_same_run(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    asked = recipe(record_stage("facts", "each_block", "Read.", templated=False))
    before = here.engine.run(recipe=asked, model=SMALL)

    titled = here.engine.run(recipe=replace(asked, facts={RUN_TITLE: "pilot"}), model=SMALL)

    assert (titled.id, titled.goes_on) == (before.id, True)


@pytest.mark.parametrize(
    "other", [{"pack_size": 3}, {"new": True}, {"schema": {**METADATA, "title": "b"}}]
)
def test_another_order_is_another_run(world: Worlds, other: dict[str, object]) -> None:
    here = world()
    here.ingest(sentences(5))
    first = here.start()

    second = here.start(**{"schema": METADATA, **other})  # type: ignore[arg-type]

    assert first.id != second.id


def test_other_inputs_make_another_run(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    first = here.start()
    here.ingest(sentences(6), name="more")

    assert here.start().id != first.id


def test_a_finished_order_is_not_paid_for_again(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    first = here.run()
    calls = here.model.calls

    second = here.run()

    assert (second.id, here.model.calls) == (first.id, calls)


def test_a_cancelled_order_starts_afresh(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    first = here.start()
    first.cancel()

    assert here.start().id != first.id


def test_a_paused_run_sends_nothing_and_says_why(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    run = here.start()
    run.pause()

    run.wait()

    assert here.model.calls == 0
    assert here.engine.stall_reasons(run.id) == [
        f"held (user): paused; `quire resume {run.id}` goes on",
    ]


def test_a_resumed_run_goes_on_to_the_end(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    run = here.start()
    run.pause()
    run.wait()

    assert run.resume()
    assert run.wait().done == 5
    assert not run.resume()


def test_cancel_lets_go_of_what_was_not_sent_and_keeps_what_was_paid_for(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(40))
    run = here.start(pack_size=5, concurrency=1)
    cancelled: list[bool] = []
    here.model.hold = lambda number: number > 1 and not cancelled

    def cancel(progress: Progress) -> None:
        if here.model.calls == 2 and not cancelled:
            cancelled.append(run.cancel())

    ended = run.wait(cancel)

    assert ended.state == "cancelled"
    assert (ended.done, ended.counts["cancelled"]) == (10, 30)
    assert here.model.blocks == ended.done


def test_a_cancelled_run_cannot_be_paused_but_can_be_retried(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(10))
    run = here.start()
    run.cancel()
    run.wait()

    with pytest.raises(IllegalMove, match="is cancelled"):
        run.pause()
    assert run.retry() == 0  # nothing had been expanded; the run is open again
    assert run.wait().done == 10


def test_a_finished_run_cannot_be_cancelled(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(2))
    run = here.run()

    with pytest.raises(IllegalMove, match="finished"):
        run.cancel()


def test_retry_gives_failed_tasks_fresh_tries_and_leaves_the_others(world: Worlds) -> None:
    here = world(faults="wrong@MARK")
    here.ingest(sentences(10, mark=1))
    run = here.run(pack_size=10)
    assert run.progress().failed == 1

    better = world()
    again = better.engine.get(run.id)

    assert again.retry() == 1
    assert again.wait().done == 10
    assert better.model.blocks == 1


def test_a_command_with_an_id_acts_once(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(2))
    run = here.start()

    assert here.engine.pause(run.id, command="c1")
    assert here.engine.resume(run.id, command="c2")
    assert not here.engine.pause(run.id, command="c1")
    assert run.progress().holds == ()


def test_steering_a_run_that_does_not_exist_says_so(world: Worlds) -> None:
    here = world()

    for command in (here.engine.pause, here.engine.resume, here.engine.cancel, here.engine.retry):
        with pytest.raises(NotFound, match="there is no run 7"):
            command(RunId(7))


def test_a_run_of_which_many_of_the_first_fail_is_held_before_the_rest_is_paid(
    world: Worlds,
) -> None:
    here = world(faults="wrong@plain")
    here.ingest(sentences(400))

    run = here.run(pack_size=10)

    progress = run.progress()
    assert progress.state == RunState.RUNNING
    assert progress.failed + progress.done <= 60
    assert here.model.blocks < 100
    assert "none of the first 5 answers" in here.engine.stall_reasons(run.id)[0]


def test_resume_lifts_the_early_hold_for_good(world: Worlds) -> None:
    here = world(faults="wrong@plain")
    here.ingest(sentences(150))
    run = here.run(pack_size=10, max_tries=1)

    run.resume()
    ended = run.wait()

    assert (ended.state, ended.failed) == ("finished", 150)


def test_few_early_failures_hold_nothing(world: Worlds) -> None:
    here = world(faults="wrong@says something plain")
    here.ingest(sentences(100))

    run = here.run(pack_size=10, max_tries=1)

    assert run.progress().state == RunState.FINISHED
    assert run.progress().failed == 20


def test_a_key_that_is_refused_holds_the_run_and_loses_nothing(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(10))
    here.model.script = ["key=1"]
    run = here.run(pack_size=10)
    assert [hold.kind for hold in run.progress().holds] == ["credential"]

    run.resume()

    assert run.wait().done == 10
    assert {tries for _, tries, _ in here.task_tries(run.id)} == {0}


def test_a_big_run_does_not_starve_a_small_one(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(600))
    big = here.start(pack_size=1, concurrency=4)
    small = here.start({**METADATA, "title": "small"}, pack_size=25, concurrency=4)

    here.engine.work(lambda: small.progress().state == RunState.FINISHED)

    before_the_last = here.model.packs[: -here.model.packs[::-1].index(25)]
    assert before_the_last.count(1) < 500, big.progress()


def test_cancel_ends_a_run_at_once_when_nothing_is_out(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(10))
    run = here.start()
    run.pause()
    here.engine.work(lambda: run.progress().expanded == 10)

    run.cancel()

    assert run.progress().state == RunState.CANCELLED
    assert run.progress().counts == {"cancelled": 10}


def test_a_run_whose_answers_cannot_be_read_can_be_cancelled_and_purged(world: Worlds) -> None:
    here = world(faults="garbage=1")
    here.ingest(sentences(10))
    run = here.run(pack_size=5)

    run.cancel()

    assert run.progress().state == RunState.CANCELLED
    here.engine.purge("doc")
    assert here.engine.documents() == []


def test_fields_come_back_in_the_order_of_the_schema(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(1))

    row = here.run().rows()[0]

    assert list(row)[-3:] == ["word_count", "first_40_chars", "has_question"]


def test_a_run_that_a_version_without_embedders_began_is_gone_on_with(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    order = here.engine.orders.resolve(schema=METADATA, model="simulated/small", policy={})
    began = here.engine.start(order)
    raw = Raw(here.url)
    raw.rows("UPDATE runs SET run_key = :key", key=run_key(order, unknown=("embedder",)))
    raw.close()

    again = here.engine.start(order)
    other = here.engine.start(
        here.engine.orders.resolve(
            schema=METADATA, model="simulated/small", policy={"embedder": "words"}
        )
    )

    assert (again.id, again.goes_on) == (began.id, True)
    assert other.id != began.id
