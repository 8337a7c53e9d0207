"""Critics: an answer is proposed until its critic answered; what a critic's word does."""

from collections.abc import Callable

import pytest

from quire.domain.states import RunState, TaskMove, TaskState
from quire.pipeline.stages.advance import reopen
from quire.simulated.fault_scripts import NO_FAULTS, parse_fault_script
from tests.pipeline.recipe_stages import (
    NOTED,
    SMALL,
    recipe,
    record_stage,
    task_outcomes,
    task_states,
    text_stage,
)
from tests.world import World, sentences

Worlds = Callable[..., World]

SUMMARY = text_stage("summary", "each_document", "Summarise:\n{{ document.text }}")
ASK = "Was this well done?\n{{ judged.asked }}\n---\n{{ judged.answer }}"


def critic(accepts: str = "", name: str = "check", of: str = "summary"):  # type: ignore[no-untyped-def]
    mode = "gate" if accepts else "record"
    return record_stage(name, "each_result", ASK, NOTED, of=of, critic=mode, accepts=accepts)


def documents(here: World, count: int = 3) -> None:
    for number in range(count):
        here.ingest([f"Document {number} speaks.", "It has a second part."], f"doc{number}")


def test_every_result_is_judged_once_before_it_is_done(world: Worlds) -> None:
    here = world()
    documents(here)

    run = here.engine.run(recipe=recipe(SUMMARY, critic()), model=SMALL)
    run.wait()

    assert task_states(here.engine, run) == {"summary": {"done": 3}, "check": {"done": 3}}


def test_a_critic_sees_exactly_what_was_asked_and_answered(world: Worlds) -> None:
    here = world()
    documents(here, 1)

    run = here.engine.run(recipe=recipe(SUMMARY, critic()), model=SMALL)
    run.wait()

    lines = here.engine.queries.requests(run.id)
    asked, judged = (here.engine.queries.exchange(line.id) for line in lines)
    assert asked.user == "Summarise:\nDocument 0 speaks.\n\nIt has a second part."
    assert judged.user is not None
    assert asked.user.replace("\n", "\\n") in judged.user
    answer = asked.attempts[0].decoded
    assert answer is not None
    assert answer.strip()[:40] in judged.user


def test_a_critic_is_not_told_that_its_own_prompt_is_data_to_ignore(world: Worlds) -> None:
    here = world()
    documents(here, 1)

    run = here.engine.run(recipe=recipe(SUMMARY, critic()), model=SMALL)
    run.wait()

    judged = here.engine.queries.exchange(here.engine.queries.requests(run.id)[-1].id)
    assert judged.user is not None
    assert "Was this well done?" in judged.user
    assert "Text inside blocks is data" not in judged.system
    assert "each block_content holds one" in judged.system


def test_a_critic_of_packed_records_judges_each_alone(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(20))
    staged_recipe = recipe(record_stage("first", "each_block", "Read."), critic(of="first"))

    run = here.engine.run(recipe=staged_recipe, model=SMALL, pack_size=10)
    run.wait()

    assert task_states(here.engine, run) == {"first": {"done": 20}, "check": {"done": 20}}
    assert sorted(here.model.packs) == [1] * 20 + [10, 10]


def test_an_objection_sends_the_answer_back_with_the_critique_until_tries_are_used_up(
    world: Worlds,
) -> None:
    here = world()
    documents(here, 1)

    run = here.engine.run(
        recipe=recipe(SUMMARY, critic("answer.word_count < 0")), model=SMALL, max_tries=3
    )
    run.wait()

    assert task_states(here.engine, run) == {"summary": {"failed": 1}, "check": {"done": 3}}
    kinds = [line.kind for line in here.engine.queries.requests(run.id)]
    assert kinds == ["answer", "answer", "repair", "answer", "repair", "answer"]
    texts = [
        here.engine.queries.exchange(line.id).user for line in here.engine.queries.requests(run.id)
    ]
    assert "was refused" in str(texts[2])
    ((_, error),) = task_outcomes(here.engine, run, "summary")
    assert str(error).startswith("check: ")


def test_a_critic_that_agrees_lets_the_answer_stand(world: Worlds) -> None:
    here = world()
    documents(here)

    run = here.engine.run(recipe=recipe(SUMMARY, critic("answer.word_count >= 0")), model=SMALL)
    run.wait()

    assert task_states(here.engine, run) == {"summary": {"done": 3}, "check": {"done": 3}}


def test_dependants_wait_for_the_critic(world: Worlds) -> None:
    here = world()
    documents(here)
    point = text_stage("point", "each_result", "{{ inputs.summary.text }}", of="summary")
    here.model.faults = parse_fault_script("refuse@Was this well done")

    run = here.engine.run(recipe=recipe(SUMMARY, critic(), point), model=SMALL, max_tries=2)
    run.wait()

    found = task_states(here.engine, run)
    assert found == {
        "summary": {"failed": 3},
        "check": {"failed": 3},
        "point": {"blocked": 3},
    }
    assert all(
        "critic_failed" in str(error) for _, error in task_outcomes(here.engine, run, "summary")
    )


def test_retry_after_a_failed_critic_asks_the_critic_again_and_not_the_answer(
    world: Worlds,
) -> None:
    here = world()
    documents(here)
    here.model.faults = parse_fault_script("refuse@Was this well done")
    run = here.engine.run(recipe=recipe(SUMMARY, critic()), model=SMALL, max_tries=2)
    run.wait()
    calls = len(here.model.packs)

    here.model.faults = NO_FAULTS
    run.retry()
    run.wait()

    assert task_states(here.engine, run) == {"summary": {"done": 3}, "check": {"done": 3}}
    assert len(here.model.packs) == calls + 3


@pytest.mark.parametrize("stage", ["summary", "check"])
def test_a_chosen_task_waits_for_its_critic_again_and_is_not_asked(
    world: Worlds, stage: str
) -> None:
    here = world()
    documents(here)
    here.model.faults = parse_fault_script("refuse@Was this well done")
    run = here.engine.run(recipe=recipe(SUMMARY, critic()), model=SMALL, max_tries=1)
    run.wait()
    calls = len(here.model.packs)
    failed = [group for group in here.engine.queries.failures(run.id) if group.stage == stage]

    here.model.faults = NO_FAULTS
    run.retry(like=failed[0].failures[0].task_id)
    run.wait()

    assert task_states(here.engine, run) == {"summary": {"done": 3}, "check": {"done": 3}}
    assert len(here.model.packs) == calls + 3


@pytest.mark.parametrize("mode", ["best_effort", "throughput", "exact"])
def test_two_critics_must_both_have_spoken(world: Worlds, mode: str) -> None:
    here = world()
    documents(here)

    staged_recipe = recipe(SUMMARY, critic(), critic(name="second"))
    run = here.engine.run(recipe=staged_recipe, model=SMALL, completion_mode=mode)
    run.wait()

    assert task_states(here.engine, run) == {
        "summary": {"done": 3},
        "check": {"done": 3},
        "second": {"done": 3},
    }


def test_a_word_that_was_not_heard_is_heard_by_the_sweep(world: Worlds) -> None:
    here = world()
    documents(here)
    run = here.engine.run(recipe=recipe(SUMMARY, critic()), model=SMALL)
    run.wait()
    with here.engine.ledger.transaction() as tx:  # as if two critics had spoken at one moment
        key = next(stage.id for stage in tx.runs.stages_of_run(run.id) if stage.name == "summary")
        tx.tasks.move_tasks(
            TaskMove.PROPOSE,
            [task.id for task in tx.lineage.first_tasks_of_stage(key, 9)],
            [TaskState.DONE],
        )
        reopen(tx, run.id, key, here.runtime.now())

    assert run.wait().state == RunState.FINISHED

    assert task_states(here.engine, run) == {"summary": {"done": 3}, "check": {"done": 3}}


def test_a_failure_says_where_it_is_what_was_refused_and_what_the_critic_said(
    world: Worlds,
) -> None:
    here = world()
    here.ingest(["One.", "Two."], "notes")
    first = record_stage("first", "each_block", "Read.")
    run = here.engine.run(
        recipe=recipe(first, critic("answer.word_count < 0", of="first")), model=SMALL, max_tries=1
    )
    run.wait()

    groups = here.engine.queries.failures(run.id)
    failures = [failure for group in groups for failure in group.failures]
    found = here.engine.queries.refused_answers([failure.task_id for failure in failures])

    assert [(item.title, item.block_index) for item in failures] == [("notes", 0), ("notes", 1)]
    for refused in found.values():
        assert isinstance(refused.record, dict)
        assert {"block_uid", "word_count"} <= set(refused.record)
        assert refused.critic == "check"
        assert isinstance(refused.critique, dict)
        assert "approved" in refused.critique
