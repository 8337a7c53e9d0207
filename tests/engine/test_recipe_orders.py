"""Recipes from Python: ordered as a schema is, forecast, and refused before anything is spent."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quire.domain.errors import RecipeInvalid, UsageError
from quire.domain.recipes import SAME, HistoryEntry, Recipe, Stage
from quire.domain.states import RunState
from quire.planning.lexical_ranking import LexicalRanker
from tests.pipeline.recipe_stages import NOTED, SMALL, recipe, record_stage, text_stage
from tests.world import METADATA, World, sentences

Worlds = Callable[..., World]
LARGE = "simulated/large"

SUMMARY = text_stage("summary", "each_document", "Summarise {{ document.text }}")
FILE = """
[parameters]
words = 5
[[stages]]
name = "summary"
about = "each_document"
prompt = "In {{ parameters.words }} words: {{ document.text }}"
"""


def test_a_recipe_is_run_by_name_by_file_and_as_a_value(world: Worlds, tmp_path: Path) -> None:
    here = world()
    here.ingest(sentences(3))
    file = tmp_path / "mine.toml"
    file.write_text(FILE)

    named = here.engine.run(recipe="summarise", model=SMALL, parameters={"sentences": 2})
    filed = here.engine.run(recipe=file, model=SMALL, parameters={"words": 7})
    valued = here.engine.run(recipe=recipe(SUMMARY), model=SMALL, limit=1)

    for run in (named, filed, valued):
        assert run.wait().state == RunState.FINISHED
    assert filed.rows()[0]["status"] == "accepted"
    assert valued.progress().noun == "task"
    assert here.engine.queries.exchange(here.engine.queries.requests(filed.id)[0].id).user == (
        "In 7 words: " + "\n\n".join(sentences(3))
    )


def test_exactly_one_of_schema_and_recipe_is_given(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(1))

    orders: list[dict[str, Any]] = [{}, {"schema": METADATA, "recipe": recipe(SUMMARY)}]
    for both in orders:
        with pytest.raises(UsageError, match="one of the two"):
            here.engine.run(model=SMALL, **both)
        with pytest.raises(UsageError, match="one of the two"):
            here.engine.plan(model=SMALL, **both)
    with pytest.raises(UsageError, match="parameters is for recipes"):
        here.engine.run(schema=METADATA, model=SMALL, parameters={"a": 1})
    with pytest.raises(UsageError, match="stop_after is for recipes"):
        here.engine.run(schema=METADATA, model=SMALL, stop_after="extract")
    with pytest.raises(RecipeInvalid, match="parameter"):
        here.engine.run(recipe="summarise", model=SMALL, parameters={"words": 7})


def test_a_forecast_follows_the_fan_out_and_prices_every_model(world: Worlds) -> None:
    here = world()
    for name in ("a", "b", "c"):
        here.ingest([f"{name} {text}" for text in sentences(4)], name=name)
    stages = recipe(
        record_stage("facts", "each_block", "Read."),
        text_stage("summary", "each_document", "{{ document.text }}", models=(SMALL, LARGE)),
        text_stage("draws", "samples", "{{ inputs.summary.text }}", of="summary", samples=5),
        record_stage(
            "check", "each_result", "{{ judged.asked }}", NOTED, of="draws", critic="record"
        ),
        text_stage("end", "all_to_one", "{{ inputs.draws|length }}", needs=("draws",)),
    )

    plan = here.engine.plan(recipe=stages, model=SMALL)

    assert [(stage.stage, stage.model, stage.tasks) for stage in plan.stages] == [
        ("facts", SMALL, 12),
        *(("summary", SMALL, 3), ("summary", LARGE, 3)),
        *(("draws", SMALL, 15), ("draws", LARGE, 15)),
        *(("check", SMALL, 15), ("check", LARGE, 15)),
        ("end", SMALL, 1),
    ]
    assert plan.stages[0].calls == 2
    assert not plan.stages[0].rough
    assert plan.stages[2].cost > 5 * plan.stages[1].cost
    assert here.model.packs == []


def test_the_forecast_of_tasks_is_what_a_run_then_makes(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5), name="a")
    here.ingest(sentences(2), name="b")
    stages = recipe(
        record_stage("facts", "each_block", "Read.", models=(SMALL, LARGE)),
        record_stage(
            "check", "each_result", "{{ judged.asked }}", NOTED, of="facts", critic="record"
        ),
        text_stage("page", "each_document", "{{ inputs.facts|length }}", needs=("facts",)),
        text_stage("same", "each_result", "{{ inputs.facts.text }}", of="facts", models=(SAME,)),
    )

    plan = here.engine.plan(recipe=stages, model=SMALL)
    now = here.engine.run(recipe=stages, model=SMALL).wait()

    planned: dict[str, int] = {}
    for stage in plan.stages:
        planned[stage.stage] = planned.get(stage.stage, 0) + stage.tasks
    assert planned == {stage.name: stage.expanded for stage in now.stages}


def test_a_million_tasks_are_forecast_at_once(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(1000))
    stages = recipe(
        record_stage("facts", "each_block", "Read."),
        record_stage("more", "samples", "{{ inputs.facts.text }}", of="facts", samples=1000),
    )

    plan = here.engine.plan(recipe=stages, model=SMALL)

    assert plan.tasks == 1_001_000
    assert 100_000 < plan.calls < 1_001_000


TOO_LONG = ["far too long " * 12_000]


@pytest.mark.parametrize(
    "stage",
    [
        text_stage("blocks", "each_block", "Say {{ block.text }}"),
        record_stage("parts", "each_block", "Read {{ block.text }}"),
    ],
    ids=lambda stage: stage.name,
)
def test_prompts_that_cannot_fit_are_planned_at_nothing_and_fail_unsent(
    world: Worlds, stage: Stage
) -> None:
    here = world()
    here.ingest(sentences(1), name="short")
    short = here.engine.plan(recipe=recipe(stage), model=SMALL)
    here.ingest(TOO_LONG, name="long")

    plan = here.engine.plan(recipe=recipe(stage), model=SMALL)
    run = here.engine.run(recipe=recipe(stage), model=SMALL)
    now = run.wait()

    assert [(item.tasks, item.oversized, item.fits) for item in plan.stages] == [(2, 1, False)]
    assert plan.calls == short.calls
    assert plan.cost == pytest.approx(short.cost, rel=0.01)  # but for a token that is rounded
    assert (now.done, now.failed, here.model.calls) == (1, 1, 1)
    [group] = here.engine.queries.failures(run.id)
    assert group.cause == "the prompt does not fit the model's window, and was not sent"


@pytest.mark.parametrize(
    "asked",
    [
        recipe(
            text_stage("brief", "each_document", "{{ parameters.b }} {{ document.text }}"),
            b=TOO_LONG[0],
        ),
        recipe(
            text_stage(
                "reply",
                "each_document",
                "What of {{ document.text }}",
                history=(
                    HistoryEntry("user", "{{ parameters.b }}"),
                    HistoryEntry("assistant", "Y"),
                ),
            ),
            b=TOO_LONG[0],
        ),
    ],
    ids=["parameter", "turn"],
)
def test_words_that_are_never_compressed_are_planned_at_nothing_where_they_cannot_fit(
    world: Worlds, asked: Recipe
) -> None:
    here = world()
    here.engine.context.choose_ranker = LexicalRanker
    here.ingest(sentences(400))

    plan = here.engine.plan(recipe=asked, model=SMALL)
    now = here.engine.run(recipe=asked, model=SMALL).wait()

    assert [(item.tasks, item.oversized, item.compressed) for item in plan.stages] == [(1, 1, 0)]
    assert (plan.cost, now.failed, here.model.calls) == (0, 1, 0)


@pytest.mark.parametrize(
    "stage",
    [SUMMARY, record_stage("facts", "each_document", "Read {{ document.text }}")],
    ids=lambda stage: stage.name,
)
def test_documents_that_do_not_fit_are_planned_and_asked_compressed(
    world: Worlds, stage: Stage
) -> None:
    here = world()
    here.engine.context.choose_ranker = LexicalRanker
    here.ingest(sentences(1), name="short")
    here.ingest(TOO_LONG, name="long")

    plan = here.engine.plan(recipe=recipe(stage), model=SMALL)
    now = here.engine.run(recipe=recipe(stage), model=SMALL).wait()

    assert [(item.tasks, item.oversized, item.compressed) for item in plan.stages] == [(2, 0, 1)]
    assert (now.done, now.failed, here.model.calls) == (2, 0, 2)
    assert now.cost_usd == pytest.approx(plan.cost_usd, rel=0.5)
