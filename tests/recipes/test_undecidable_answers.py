"""A critic's answer that cannot be decided gives up what it judges at once, and says so once."""

from collections.abc import Callable

from tests.pipeline.recipe_stages import (
    NOTED,
    SMALL,
    recipe,
    record_stage,
    task_outcomes,
    task_states,
    text_stage,
)
from tests.world import World

ACCEPTS = "answer.word_count == 5 or answer.word_count / 0 > 1"  # what is tried has five words


def test_an_answer_that_cannot_be_decided_burns_no_tries(world: Callable[..., World]) -> None:
    here = world()
    for number in range(3):
        here.ingest([f"Document {number} speaks.", "It has a second part."], f"doc{number}")
    summary = text_stage("summary", "each_document", "Summarise:\n{{ document.text }}")
    ask = "Was this well done?\n{{ judged.answer }}"
    fields = {"of": "summary", "critic": "gate", "accepts": ACCEPTS}
    order = recipe(summary, record_stage("check", "each_result", ask, NOTED, **fields))

    run = here.engine.run(recipe=order, model=SMALL, max_tries=3)
    run.wait()

    assert task_states(here.engine, run) == {"summary": {"failed": 3}, "check": {"done": 3}}
    assert [line.kind for line in here.engine.queries.requests(run.id)] == ["answer"] * 6
    assert (
        task_outcomes(here.engine, run, "summary")
        == [("failed", f"check: its answer cannot be decided by accepts = {ACCEPTS!r}")] * 3
    )
