"""What a plan says of answers that are there already, and of what is really asked."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from quire.domain.errors import UsageError
from quire.pipeline.commands.answered import NOTHING_ANSWERED
from tests.pipeline.recipe_stages import NOTED, SMALL, recipe, record_stage, text_stage
from tests.pipeline.taste_gate import CHECK, documents
from tests.pipeline.test_shared_questions import FOUR, POINTS, RHYMES, SUMMARY, TITLES, calls_of
from tests.world import METADATA, World, sentences

Worlds = Callable[..., World]
ALL_SUMMARIES = "All: {% for item in inputs.summary %}{{ item.text }} {% endfor %}"


def test_nothing_is_answered_before_anything_was_asked(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))

    planned = here.engine.plan(schema=METADATA, model=SMALL)

    assert planned.answered == NOTHING_ANSWERED._replace(of=5)
    assert (planned.to_ask.tasks, planned.to_ask.cost) == (5, planned.cost)


def test_a_plan_counts_blocks_that_are_answered_and_blocks_that_repeat_others(
    world: Worlds,
) -> None:
    here = world()
    here.ingest(sentences(20), "first")
    run = here.run(pack_size=5)
    here.ingest([*sentences(22), "New.", "New.", "New."], "second")

    answered = here.engine.plan(schema=METADATA, model=SMALL).answered

    assert (answered.blocks, answered.of, answered.repeated) == (40, 45, 2)
    assert answered.saved == 2 * run.progress().cost_pico


def test_a_plan_that_reuses_nothing_counts_nothing(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    here.run()

    planned = here.engine.plan(schema=METADATA, model=SMALL, reuse=False)

    assert planned.answered == NOTHING_ANSWERED


def test_the_same_job_again_plans_nothing_and_may_cost_nothing(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(20))
    here.run()

    planned = here.engine.plan(schema=METADATA, model=SMALL)
    again = here.engine.run(schema=METADATA, model=SMALL, new=True, max_cost_usd=0)

    assert (planned.to_ask.tasks, planned.to_ask.calls, planned.to_ask.high) == (0, 0, 0)
    assert planned.cost > 0
    assert again.wait().cost_pico == here.engine.spend.forecast_cost(again.id) == 0


def test_a_few_changed_blocks_are_all_that_is_planned(world: Worlds) -> None:
    here = world()
    texts = sentences(200)
    here.ingest(texts, "first")
    here.run(pack_size=5)
    for place in (3, 100, 199):
        texts[place] = f"Quite another block, the one at {place}."
    here.ingest(texts, "second")

    planned = here.engine.plan(schema=METADATA, model=SMALL, pack_size=5)
    run, calls = calls_of(here, lambda: here.start(pack_size=5))

    assert (planned.to_ask.tasks, planned.to_ask.calls, calls) == (3, 1, 1)
    assert run.progress().cost_pico <= planned.to_ask.high < planned.cost / 50
    assert here.engine.spend.forecast_cost(run.id) == planned.to_ask.cost


def test_a_run_that_goes_on_is_planned_at_what_it_still_owes(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(20))
    here.start(METADATA, limit=15, pack_size=5, reuse="off").wait()

    planned = here.engine.plan(schema=METADATA, model=SMALL, pack_size=5, reuse=False)

    assert planned.to_ask.tasks == 5
    assert here.engine.plan(schema=METADATA, model=SMALL, reuse=False).to_ask.tasks == 20


def test_the_plan_of_a_recipe_says_which_stages_are_answered(world: Worlds) -> None:
    here = world()
    documents(here, 2)
    here.engine.run(recipe=recipe(*FOUR), model=SMALL).wait()
    changed = replace(TITLES, prompt="A witty title of {{ inputs.points.text }}")
    edited = recipe(SUMMARY, POINTS, changed, RHYMES)

    same = here.engine.plan(recipe=recipe(*FOUR), model=SMALL)
    other = here.engine.plan(recipe=edited, model=SMALL)

    assert same.answered_stages == ("summary", "points", "titles", "rhymes")
    assert (same.to_ask.cost, same.to_ask.high) == (0, 0)
    here.engine.run(recipe=recipe(*FOUR), model=SMALL, new=True, max_cost_usd=0).wait()
    assert other.answered_stages == ("summary", "points")
    assert other.to_ask.cost == sum(stage.cost for stage in other.stages[2:])
    with pytest.raises(UsageError, match="may cost up to"):
        here.engine.run(recipe=edited, model=SMALL, max_cost_usd=0)


def test_a_plan_counts_what_is_made_of_one_changed_block(world: Worlds) -> None:
    here = world()
    texts = sentences(30)
    facts = record_stage("facts", "each_block", "Read.", templated=False)
    check = record_stage("check", "each_result", CHECK.prompt, NOTED, of="facts", critic="gate")
    asked = recipe(facts, replace(check, accepts="answer.word_count >= 0"))
    here.ingest(texts, "first")
    here.engine.run(recipe=asked, model=SMALL, pack_size=1).wait()
    here.ingest([*texts[:-1], "Quite another."], "second")

    planned = here.engine.plan(recipe=asked, model=SMALL, pack_size=1)
    _, calls = calls_of(here, lambda: here.engine.run(recipe=asked, model=SMALL, pack_size=1))

    assert [stage.to_ask.tasks for stage in planned.stages] == [1, 1]
    assert calls == planned.to_ask.calls == 2


def test_a_plan_over_one_more_document_asks_about_that_and_what_reads_all(world: Worlds) -> None:
    here = world()
    documents(here, 3)
    digest = text_stage("digest", "all_to_one", needs=("summary",), prompt=ALL_SUMMARIES)
    here.engine.run(recipe=recipe(SUMMARY, digest), model=SMALL).wait()
    here.ingest(["Something new."], "fourth")

    planned = here.engine.plan(recipe=recipe(SUMMARY, digest), model=SMALL)
    run, calls = calls_of(
        here, lambda: here.engine.run(recipe=recipe(SUMMARY, digest), model=SMALL)
    )

    assert [stage.to_ask.tasks for stage in planned.stages] == [1, 1]
    assert calls == planned.to_ask.calls == 2
    assert here.engine.spend.forecast_cost(run.id) == planned.to_ask.cost
