"""What a plan says of answers that are there already."""

from collections.abc import Callable
from dataclasses import replace

from quire.pipeline.commands.answered import NOTHING_ANSWERED
from tests.pipeline.recipe_stages import SMALL, recipe
from tests.pipeline.taste_gate import documents
from tests.pipeline.test_shared_questions import FOUR, POINTS, RHYMES, SUMMARY, TITLES
from tests.world import METADATA, World, sentences

Worlds = Callable[..., World]


def test_nothing_is_answered_before_anything_was_asked(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))

    planned = here.engine.plan(schema=METADATA, model=SMALL)

    assert planned.answered == NOTHING_ANSWERED._replace(of=5)
    assert planned.asked_cost == planned.forecast.expected.cost


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
    assert planned.asked_cost == planned.forecast.expected.cost


def test_the_plan_of_a_recipe_says_which_stages_ask_as_before(world: Worlds) -> None:
    here = world()
    documents(here, 2)
    here.engine.run(recipe=recipe(*FOUR), model=SMALL).wait()
    changed = replace(TITLES, prompt="A witty title of {{ inputs.points.text }}")

    same = here.engine.plan(recipe=recipe(*FOUR), model=SMALL)
    other = here.engine.plan(recipe=recipe(SUMMARY, POINTS, changed, RHYMES), model=SMALL)

    assert same.answered.stages == ("summary", "points", "titles", "rhymes")
    assert other.answered.stages == ("summary", "points")
