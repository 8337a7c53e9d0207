"""Answers in pieces over HTTP: every vendor goes on, and in batches the next one carries it."""

import pytest

from quire.domain.recipes import Recipe
from tests.pipeline.recipe_stages import recipe, text_stage
from tests.pipeline.test_continuation import PROMPT, WORDS, limited
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import OPENAI, VENDORS, QuickClock, Rehearsed

LIMIT = 180  # tokens of a call


def essay(limit: int | None) -> Recipe:
    stage = text_stage("essay", "each_document", PROMPT)
    return recipe(stage if limit is None else limited(stage, limit))


def texts(here: Rehearsed, limit: int | None, **policy: object) -> list[str]:
    run = here.engine.run(recipe=essay(limit), model=here.asks, **policy)  # type: ignore[arg-type]
    run.wait()
    assert run.progress().failed == 0
    rows = list(run.rows())
    assert not any(row["notes"] for row in rows)
    return [str(row["text"]) for row in rows]


@pytest.mark.parametrize("asks", VENDORS)
def test_every_vendor_goes_on_and_is_paid_for_each_piece_once(
    rehearse: Rehearse, asks: str
) -> None:
    here = rehearse(asks, faults="preamble=0.5,repeat_tail=0.5,seed=3")
    here.ingest([WORDS])

    whole = texts(here, None)
    pieces = texts(here, LIMIT, max_continuations=9)

    assert pieces == whole
    kinds = [line.kind for run in here.engine.runs() for line in here.lines(run.id)]
    assert kinds.count("continuation") >= 3
    assert sum(run.progress().cost_pico for run in map(here.engine.get, [1, 2])) == here.bill()


def test_in_batches_a_continuation_joins_the_next_one(rehearse: Rehearse) -> None:
    here = rehearse(OPENAI, clock=QuickClock(200.0), batch_latency="5s")
    for number in range(3):
        here.ingest([f"{number} {WORDS}"], f"doc{number}")

    whole = texts(here, None)
    pieces = texts(
        here, LIMIT, max_continuations=9, route="batch", min_batch_size=2, batch_wait=1.0
    )

    assert pieces == whole
    assert len(here.engine.batches()) >= 4  # one for the first answers, and one for each piece
