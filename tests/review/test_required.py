"""`review = required`: exports hold only what a person confirmed, and no stage waits for one."""

import json
from collections.abc import Callable
from pathlib import Path

from quire.domain.states import RunState
from tests.pipeline.recipe_stages import SMALL, recipe
from tests.pipeline.taste_gate import POINTS, SUMMARY, documents, set_taste
from tests.world import World, sentences

Worlds = Callable[..., World]


def test_only_what_a_person_confirmed_is_exported_as_data(world: Worlds, tmp_path: Path) -> None:
    here = world()
    here.ingest(sentences(4))
    run, review = here.run(review="required"), here.engine.review
    first, second, *_ = (line.task_id for line in review.inbox(run.id).lines)
    review.approve(first, "Ada")
    review.edit(second, review.item(second).data, "Ada")

    target = tmp_path / "out.jsonl"
    run.export(str(target))

    told = [json.loads(line)["user_defined"] for line in target.read_text().splitlines()]
    assert [one["status"] for one in told] == ["confirmed"] * 2 + ["unreviewed"] * 2
    assert [one["data"] is not None for one in told] == [True, True, False, False]
    assert [row["status"] for row in run.rows(only="accepted")] == ["confirmed"] * 2
    assert len(run.rows(only="unreviewed")) == 2
    assert len(run.rows(only="confirmed")) == 2
    assert {row["word_count"] for row in run.rows(only="unreviewed")} == {None}


def test_without_it_what_was_accepted_is_exported_too(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(2))
    run = here.run()

    assert [row["status"] for row in run.rows()] == ["accepted"] * 2
    assert None not in {row["word_count"] for row in run.rows()}


def test_later_stages_do_not_wait_for_a_person(world: Worlds) -> None:
    here = world()
    set_taste(here)
    documents(here, 1)
    run = here.engine.run(recipe=recipe(SUMMARY, POINTS), model=SMALL, review="required")

    assert run.wait().state == RunState.FINISHED
    assert [row["status"] for row in run.rows(stage="points")] == ["unreviewed"] * 2
