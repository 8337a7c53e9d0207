"""Again costs: what is said before somebody has results asked again is about what it costs."""

from collections.abc import Callable

import pytest

from quire.domain.reviews import InboxFilter
from quire.engine import RunHandle
from quire.web.run_standing import read_standing
from tests.pipeline.recipe_stages import NOTED, SMALL, recipe, record_stage, text_stage
from tests.pipeline.taste_gate import tasks_of
from tests.world import World, sentences, until_rest

Worlds = Callable[..., World]
FACTS = record_stage("facts", "each_block", "What does it say?")
CHECK = record_stage(
    "check", "each_result", "Well?\n{{ judged.answer }}", NOTED, of="facts", critic="record"
)
SUMMARY = text_stage("summary", "each_document", "Sum up in 20 words:\n{{ document.text }}")
PAGE = record_stage(
    "page", "each_document", "{{ document.text }}\n{{ inputs.summary.text }}", needs=("summary",)
)
INDEX = text_stage(
    "index",
    "all_to_one",
    "In 20 words:\n{% for page in inputs.page %}{{ page.data }}\n{% endfor %}",
    needs=("page",),
)
STAGES = (FACTS, CHECK, SUMMARY, PAGE, INDEX)
NEAR = 0.25  # of what it came to


@pytest.fixture
def here(world: Worlds) -> World:
    """A ledger with two documents."""
    here = world()
    here.ingest(sentences(12), "long")
    here.ingest(sentences(9), "short")
    return here


def start_run(here: World) -> RunHandle:
    """A run of packed records with a critic, of summaries, and of records made from those."""
    run = here.engine.run(recipe=recipe(*STAGES), model=SMALL)
    until_rest(run)
    return run


def spent(run: RunHandle) -> int:
    """What a run cost so far, in picodollars, once it rests."""
    until_rest(run)
    return run.progress().cost_pico


def test_a_rejection_is_priced_alone_and_with_its_critics(here: World) -> None:
    run, review = start_run(here), here.engine.review
    for stage in ("facts", "summary", "page"):
        for task in tasks_of(here, run, stage)[:2]:
            before, said = spent(run), review.item(task).reject_cost

            here.engine.reject(task, "The topic is another one.", "Ada")

            assert said.cost_pico == pytest.approx(spent(run) - before, rel=NEAR)


def test_rejecting_many_costs_what_they_cost_alone(here: World) -> None:
    run, review = start_run(here), here.engine.review
    chosen, before = InboxFilter.parse("stage=facts"), spent(run)
    said = review.preview_bulk(run.id, chosen).reject_cost

    review.decide_bulk(run.id, "reject", chosen, "Ada", note="The topic is another one.")

    assert said.cost_pico == pytest.approx(spent(run) - before, rel=NEAR)


def test_what_was_taken_from_an_earlier_run_is_priced_by_the_call_it_came_from(here: World) -> None:
    start_run(here)
    run = here.engine.run(recipe=recipe(*STAGES), model=SMALL, new=True)
    before, task = spent(run), tasks_of(here, run, "facts")[0]
    said = here.engine.review.reject_cost(task)

    here.engine.reject(task, "The topic is another one.", "Ada")

    assert before == 0
    assert said.cost_pico == pytest.approx(spent(run) - before, rel=NEAR)


def test_making_stale_results_again_is_priced_with_what_is_made_from_them(here: World) -> None:
    run, engine = start_run(here), here.engine
    for task in tasks_of(here, run, "summary"):
        data = engine.review.item(task).data
        engine.edit(task, {"text": f"{data['text']} Indeed."}, "Ada")  # type: ignore[index,call-overload]
    before, said = spent(run), engine.spend.stale_cost(run.id)
    (act,) = [act for why in read_standing(engine, run.id).why for act in why.acts if act.cost]

    run.retry(stale=True)

    assert act.cost == said
    assert said == pytest.approx(spent(run) - before, rel=NEAR)
    assert engine.spend.stale_cost(run.id) == 0


def test_what_a_person_confirmed_is_not_made_again_and_costs_nothing(here: World) -> None:
    run, engine = start_run(here), here.engine
    (summary, *_), pages = tasks_of(here, run, "summary"), tasks_of(here, run, "page")
    engine.edit(summary, {"text": "Another summary altogether."}, "Ada")
    said = engine.spend.stale_cost(run.id)

    for page in pages:
        engine.approve(page, "Ada")

    assert said
    assert engine.spend.stale_cost(run.id) == 0
