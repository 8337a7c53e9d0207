"""Every grouping that is about no block or document can be shown all documents of its input."""

from collections.abc import Callable

import pytest

from quire.domain.recipes import Recipe
from tests.pipeline.recipe_stages import SMALL, recipe, sent_texts, text_stage
from tests.world import World

Worlds = Callable[..., World]

SHOWN = {"documents": True}
TITLES = "{% for each in documents %}[{{ each.title }}: {{ each.text }}]{% endfor %}"


def shown_recipe(about: str, of: str = "", **more: object) -> Recipe:
    """A first word about the run, and a stage that is shown documents."""
    first = text_stage("first", "samples", "Begin.")
    second = text_stage("second", about, f"Go on. {TITLES}", of=of, settings=SHOWN, **more)
    return recipe(first, second)


@pytest.mark.parametrize(
    ("about", "of", "more"),
    [
        ("each_result", "first", {}),
        ("samples", "first", {"samples": 2}),
        ("samples", "", {"samples": 2}),
        ("all_to_one", "", {"needs": ("first",)}),
        ("each_model", "", {"needs": ("first",)}),
    ],
)
def test_documents_are_shown_to_tasks_that_are_not_about_them(
    world: Worlds, about: str, of: str, more: dict[str, object]
) -> None:
    here = world()
    here.ingest(["One."], "ferry")
    here.ingest(["Two."], "bridge")

    run = here.engine.run(recipe=shown_recipe(about, of, **more), model=SMALL)
    run.wait()

    sent = sent_texts(here.engine, run, "second")
    assert len(sent) == int(str(more.get("samples", 1)))
    assert all("[ferry: One.][bridge: Two.]" in text for text in sent)


def test_where_there_are_no_documents_the_list_is_empty(world: Worlds) -> None:
    here = world()

    run = here.engine.run(recipe=shown_recipe("each_result", "first"), model=SMALL)
    run.wait()

    assert [text.strip() for text in sent_texts(here.engine, run, "second")] == ["Go on."]
