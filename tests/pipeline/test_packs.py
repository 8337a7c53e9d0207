"""What happens to packs: whole, with gaps, cut off, refused, failed; as users named them."""

from collections.abc import Callable

import pytest

from quire.domain.states import TaskState
from tests.world import METADATA, World, sentences

Worlds = Callable[..., World]


def test_a_pack_of_ten_metadata_blocks_becomes_ten_results(world: Worlds) -> None:
    here = world()
    here.ingest(texts := sentences(10))

    run = here.run(pack_size=10)

    assert here.model.packs == [10]
    assert [row["word_count"] for row in run.rows()] == [len(text.split()) for text in texts]


def test_a_block_the_model_omits_goes_again_without_losing_a_try(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(10, mark=4))
    here.model.script = ["skip@MARK"]

    run = here.run(pack_size=10)

    assert here.model.packs == [10, 1]
    assert run.progress().done == 10
    assert [tries for _, tries, _ in here.task_tries(run.id)] == [0] * 10


@pytest.mark.parametrize("fault", ["500", "429", "drop"])
def test_a_call_that_fails_as_a_whole_goes_again_and_costs_no_try(
    world: Worlds, fault: str
) -> None:
    here = world()
    here.ingest(sentences(10))
    here.model.script = [f"{fault}=1"]

    run = here.run(pack_size=10)

    assert here.model.packs == [10, 10]
    assert run.progress().resent == 1
    assert {(state, tries) for state, tries, _ in here.task_tries(run.id)} == {("done", 0)}


def test_nothing_is_written_by_a_call_that_failed(world: Worlds) -> None:
    here = world(faults="500=1")
    here.ingest(sentences(10))

    run = here.start(pack_size=10)
    here.engine.work(lambda: here.model.calls >= 2)

    assert [row["status"] for row in run.rows()] == ["pending"] * 10
    assert run.progress().counts == {"packed": 10}


def test_an_oversized_block_travels_alone(world: Worlds) -> None:
    here = world()
    texts = sentences(4)
    texts[1] = "a very long story " * 4000
    here.ingest(texts)

    here.run(pack_size=10)

    assert sorted(here.model.packs) == [1, 1, 2]


def test_packing_off_sends_one_block_a_call(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(7))

    run = here.run(packing="off")

    assert here.model.packs == [1] * 7
    assert run.progress().done == 7


def test_a_truncated_answer_keeps_its_closed_records_and_halves_the_rest(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(10))
    here.model.script = ["truncate=1"]

    run = here.run(pack_size=10)

    first, *rest = here.model.packs
    assert first == 10
    salvaged = 10 - sum(rest)
    assert 0 < salvaged < 10
    assert max(rest) == -(-(10 - salvaged) // 2)
    assert {(state, tries) for state, tries, _ in here.task_tries(run.id)} == {("done", 0)}


def test_a_split_outlives_the_process_that_made_it(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(10))
    here.model.script = ["truncate=1"]
    run = here.start(pack_size=10)
    here.engine.work(lambda: run.progress().done > 0)

    later = world()
    later.engine.get(run.id).wait()

    assert max(later.model.packs, default=0) <= 5
    assert run.progress().done == 10


def test_agreeing_duplicates_and_strangers_change_nothing(world: Worlds) -> None:
    here = world(faults="duplicate@MARK,stranger=1")
    here.ingest(sentences(10, mark=2))

    run = here.run(pack_size=10)

    assert here.model.packs == [10]
    assert run.progress().done == 10


def test_answers_that_contradict_each_other_are_both_refused(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(10, mark=2))
    here.model.script = ["conflict@MARK"]

    run = here.run(pack_size=10)

    assert here.model.packs == [10, 1]
    assert run.progress().done == 10


def test_a_refusal_of_one_block_in_ten_fails_that_block_alone(world: Worlds) -> None:
    here = world(faults="refuse@MARK")
    here.ingest(sentences(10, mark=7))

    run = here.run(pack_size=10)

    states = here.task_tries(run.id)
    assert [state for state, _, _ in states] == ["done"] * 7 + ["failed"] + ["done"] * 2
    assert "refused" in states[7][2]


def test_a_request_the_provider_calls_invalid_is_halved_down_to_its_culprit(world: Worlds) -> None:
    here = world(faults="400@MARK")
    here.ingest(sentences(10, mark=0))

    run = here.run(pack_size=10)

    assert [state for state, _, _ in here.task_tries(run.id)] == ["failed"] + ["done"] * 9


def test_a_block_that_is_always_skipped_fails_with_the_reason_after_its_tries(
    world: Worlds,
) -> None:
    here = world(faults="skip@MARK")
    here.ingest(sentences(10, mark=3))

    run = here.run(pack_size=10, max_tries=3)

    state, tries, error = here.task_tries(run.id)[3]
    assert (state, tries) == ("failed", 3)
    assert error == "model skipped this block (3 tries)"
    assert run.progress().done == 9


def test_a_lone_block_that_is_always_cut_off_fails_with_the_reason(world: Worlds) -> None:
    here = world(faults="truncate@MARK")
    here.ingest(sentences(3, mark=1))

    run = here.run(packing="off")

    state, tries, error = here.task_tries(run.id)[1]
    assert (state, tries) == ("failed", 3)
    assert "cut off" in error
    assert run.progress().done == 2


def test_a_wrong_answer_costs_its_own_block_a_try_and_no_neighbour(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(10, mark=5))
    here.model.script = ["wrong@MARK"]

    run = here.run(pack_size=10)

    assert [tries for _, tries, _ in here.task_tries(run.id)] == [0] * 5 + [1] + [0] * 4
    assert here.model.packs == [10, 1]


def test_a_block_that_always_fails_never_changes_its_neighbours_data(world: Worlds) -> None:
    here = world(faults="wrong@MARK")
    here.ingest(texts := sentences(12, mark=6))

    run = here.run(pack_size=12)

    rows = run.rows()
    assert rows[6]["status"] == "failed"
    others = [row["first_40_chars"] for i, row in enumerate(rows) if i != 6]
    assert others == [text[:40] for i, text in enumerate(texts) if i != 6]


@pytest.mark.parametrize(("per_call", "calls"), [(1, 29), (10, 3), (25, 2)])
def test_29_short_blocks_take_29_3_or_2_calls(world: Worlds, per_call: int, calls: int) -> None:
    here = world()
    here.ingest(texts := sentences(29))

    run = here.run(pack_size=per_call)

    assert here.model.calls == calls
    assert [row["first_40_chars"] for row in run.rows()] == [text[:40] for text in texts]


def test_a_task_rides_in_no_more_answered_calls_than_it_may(world: Worlds) -> None:
    here = world(faults="wrong@MARK")
    here.ingest(sentences(1, mark=0))

    run = here.run(max_tries=10, max_calls=4)

    assert here.model.calls == 4
    assert here.task_tries(run.id)[0][0] == "failed"


def test_a_block_larger_than_the_window_fails_unsent_and_is_not_in_the_forecast(
    world: Worlds,
) -> None:
    here = world()
    texts = sentences(6)
    here.ingest(texts[:2] + texts[3:], "fitting")
    without = here.engine.plan(schema=METADATA, model="simulated/small")
    texts[2] = "far too long " * 12_000
    here.ingest(texts[2:3], "long")
    planned = here.engine.plan(schema=METADATA, model="simulated/small")

    run = here.run(pack_size=6)

    assert planned.forecast.oversized == planned.stages[0].oversized == 1
    assert (planned.tasks, planned.calls, planned.cost) == (6, without.calls, without.cost)
    assert here.model.packs == [5]
    state, tries, error = here.task_tries(run.id)[5]
    assert (state, tries) == (TaskState.FAILED, 0)
    assert "does not fit: simulated/small has room for 31,488, 7,851 fewer" in error
    assert run.progress().done == 5


def test_blocks_that_fit_only_apart_are_split_and_not_failed(world: Worlds) -> None:
    here = world()
    here.ingest([f"part {part} of a long story " * 2_500 for part in range(4)])

    run = here.run(pack_size=4)

    assert here.model.packs == [1, 1, 1, 1]
    assert run.progress().done == 4


def test_a_retry_asks_again_where_an_answer_could_not_be_read(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(10))
    here.model.script = ["garbage=1"]
    run = here.run(pack_size=5, concurrency=1)

    assert run.retry() == 5
    ended = run.wait()

    assert (ended.done, ended.state) == (10, "finished")
    assert ended.presumed_pico > 0
