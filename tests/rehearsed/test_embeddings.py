"""Embeddings over HTTP: asked for once a text, paid as billed, and words where none come."""

from dataclasses import replace
from typing import Any

import pytest

from quire.domain.ids import RunId, TaskId
from quire.domain.pricing import price_call
from quire.domain.reasons import EventKind
from quire.domain.requests import RequestKind
from quire.providers.catalog import CATALOG
from tests.pipeline.recipe_stages import recipe
from tests.pipeline.test_compression import ASK, FACT, long_document
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import ANTHROPIC, KEYS, QuickClock, Rehearsed, billed_entries

SMALL_WINDOW = {ANTHROPIC: {"window": 8_000, "max_output": 2_000}}
EMBEDDERS = ["openai/text-embedding-3-small", "gemini/gemini-embedding-2"]
OPENAIS = EMBEDDERS[0]


def embedding_calls(here: Rehearsed) -> int:
    """Calls for embeddings that the server carried out."""
    return sum(it.endpoint == "embeddings" and it.usage is not None for it in here.server.entries())


def bill(here: Rehearsed) -> int:
    """What the server carried out, at the prices of each model that was asked."""
    billed = billed_entries(here.server.entries())
    return sum(price_call(CATALOG[entry.model], usage) for entry, usage in billed)


@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_embeddings_rank_the_passages_and_cost_what_the_server_billed(
    rehearse: Rehearse, embedder: str
) -> None:
    here = rehearse(ANTHROPIC, tables=SMALL_WINDOW)
    here.ingest(long_document(1_800))

    run = here.engine.run(recipe=recipe(ASK), model=ANTHROPIC, embedder=embedder)
    now = run.wait()

    assert (now.done, now.failed) == (1, 0)
    assert FACT in here.engine.queries.prompt(TaskId(1)).user
    assert embedding_calls(here) >= 1
    assert (now.cost_pico, now.presumed_pico) == (bill(here), 0)
    kinds = [line.kind for line in here.engine.queries.requests(run.id)]
    assert kinds.count(RequestKind.EMBED) == embedding_calls(here)


def test_another_prompt_about_the_same_text_pays_for_its_own_words_only(
    rehearse: Rehearse,
) -> None:
    here = rehearse(ANTHROPIC, tables=SMALL_WINDOW)
    here.ingest(long_document(1_800))
    here.engine.run(recipe=recipe(ASK), model=ANTHROPIC, embedder=OPENAIS).wait()
    before = embedding_calls(here)
    other = replace(ASK, prompt="{{ document.text }}\nWhich pears ripen late?")

    now = here.engine.run(recipe=recipe(other), model=ANTHROPIC, embedder=OPENAIS).wait()

    assert (now.done, embedding_calls(here) - before) == (1, 1)
    (last,) = [it.usage for it in here.server.entries() if it.endpoint == "embeddings"][before:]
    assert last is not None
    assert last.input_total < 30


@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_a_plan_says_what_embeddings_will_cost(rehearse: Rehearse, embedder: str) -> None:
    here = rehearse(ANTHROPIC, tables=SMALL_WINDOW)
    here.ingest(long_document(1_800))
    here.ingest(["A word that fits."], "words")
    stages = recipe(replace(ASK, samples=2))

    plan = here.engine.plan(recipe=stages, model=ANTHROPIC, embedder=embedder)
    run = here.engine.run(recipe=stages, model=ANTHROPIC, embedder=embedder)
    run.wait()

    asked, embedded = plan.stages
    lines = here.engine.queries.requests(run.id)
    spent = sum(line.cost_pico for line in lines if line.kind == RequestKind.EMBED)
    assert (asked.tasks, asked.compressed, asked.embeds) == (4, 2, False)
    assert (embedded.tasks, embedded.model, embedded.embeds) == (0, embedder, True)
    assert plan.cost == asked.cost + embedded.cost
    assert embedded.cost == pytest.approx(spent, rel=0.1)


def test_a_plan_in_which_all_fits_needs_no_embeddings(rehearse: Rehearse) -> None:
    here = rehearse(ANTHROPIC)
    here.ingest(["A word that fits."])

    plan = here.engine.plan(recipe=recipe(ASK), model=ANTHROPIC, embedder=OPENAIS)

    assert [stage.embeds for stage in plan.stages] == [False]


def test_nobody_who_listens_means_words(rehearse: Rehearse) -> None:
    here = rehearse(ANTHROPIC, tables=SMALL_WINDOW, clock=QuickClock(20))
    here.ingest(long_document(1_800))
    nobody = "compatible/any@http://127.0.0.1:9/v1"

    run = here.engine.run(recipe=recipe(ASK), model=ANTHROPIC, embedder=nobody)
    now = run.wait()

    assert (now.state, now.done, now.failed) == ("finished", 1, 0)
    assert len(events(here, run.id)) == 1


def events(here: Rehearsed, run: RunId) -> list[str]:
    """What the history says of embeddings that did not come."""
    found = here.engine.queries.events(run, 500)
    return [event.detail for event in found if event.kind == EventKind.EMBEDDER_FAILED]


FAILURES: dict[str, dict[str, Any]] = {
    "a bad key": {"keys": {KEYS["OPENAI_API_KEY"]: "invalid"}},
    "no credit": {"keys": {KEYS["OPENAI_API_KEY"]: "spent"}},
    "no such model": {"strict": True},
}
UNKNOWN = "openai/text-embedding-9"


@pytest.mark.parametrize("why", FAILURES)
def test_words_rank_where_embeddings_are_refused_and_it_is_told_once(
    rehearse: Rehearse, why: str
) -> None:
    tables = {**SMALL_WINDOW, UNKNOWN: {"like": OPENAIS}}
    here = rehearse(ANTHROPIC, tables=tables, **FAILURES[why])
    here.ingest(long_document(1_800))
    here.ingest(long_document(1_800, "plums"), "plums")

    run = here.engine.run(recipe=recipe(ASK), model=ANTHROPIC, embedder=UNKNOWN)
    now = run.wait()

    assert (now.state, now.done, now.failed) == ("finished", 2, 0)
    assert embedding_calls(here) == 0
    assert (now.cost_pico, now.presumed_pico) == (bill(here), 0)
    assert len(events(here, run.id)) == 1
    rows: list[Any] = run.rows()
    kinds = {note["kind"] for row in rows for note in row["notes"]}
    assert kinds == {"compressed", "ranked_by_words"}
