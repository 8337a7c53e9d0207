"""Compressed prompts over HTTP: what was counted is what the server counts, direct and batched."""

from quire.domain.ids import TaskId
from quire.planning.lexical_ranking import LexicalRanker
from quire.planning.sizing import prompt_tokens
from tests.pipeline.recipe_stages import recipe, text_stage
from tests.pipeline.test_compression import ASK, FACT, long_document
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import ANTHROPIC, OPENAI, QuickClock, Rehearsed, billed_entries

WINDOW = 8_000
SMALL_WINDOW = {"window": WINDOW, "max_output": 2_000}


def sent_tokens(here: Rehearsed) -> list[int]:
    """Input tokens of every call, as the server counted them."""
    return [usage.input_total for _, usage in billed_entries(here.server.entries())]


def test_tokens_counted_are_tokens_sent_and_they_fit(rehearse: Rehearse) -> None:
    here = rehearse(ANTHROPIC, tables={ANTHROPIC: SMALL_WINDOW})
    here.engine.context.choose_ranker = LexicalRanker
    here.ingest(long_document(1_800))
    order = here.engine.orders.resolve(recipe=recipe(ASK), model=ANTHROPIC, policy={})

    now = here.engine.start(order).wait()

    view = here.engine.queries.prompt(TaskId(1))
    counted = prompt_tokens(len(view.system.encode()) + len(view.user.encode()), order.facts)
    (sent,) = sent_tokens(here)
    assert (now.done, now.failed) == (1, 0)
    assert FACT in view.user
    assert abs(sent - counted) <= 1
    assert WINDOW // 2 < sent <= WINDOW - 2_000


def test_a_text_of_long_words_that_is_counted_exactly_is_compressed_once(
    rehearse: Rehearse,
) -> None:
    here = rehearse(OPENAI, tables={OPENAI: {"window": WINDOW, "max_output": 200}})
    here.engine.context.choose_ranker = LexicalRanker
    here.ingest(long_document(900, "international responsibilities concerning development"))

    now = here.engine.run(recipe=recipe(ASK), model=OPENAI).wait()

    assert (now.done, now.failed) == (1, 0)
    with here.engine.ledger.snapshot() as tx:
        assert tx.subjects.subjects_of_tasks([TaskId(1)])[0].compression == 1


def test_an_incompressible_prompt_is_never_sent_and_costs_nothing(rehearse: Rehearse) -> None:
    here = rehearse(ANTHROPIC, tables={ANTHROPIC: SMALL_WINDOW})
    here.engine.context.choose_ranker = LexicalRanker
    here.ingest(long_document(600))
    long = "{% for no in range(5000) %}far too long {% endfor %}"
    stage = text_stage("ask", "each_document", f"{long}{{{{ document.text }}}}")

    plan = here.engine.plan(recipe=recipe(stage), model=ANTHROPIC)
    now = here.engine.run(recipe=recipe(stage), model=ANTHROPIC).wait()

    assert (now.failed, now.cost_pico, here.server.entries()) == (1, 0, [])
    assert plan.stages[0].compressed == 1  # how long a template becomes is not known before
    error = here.engine.queries.prompt(TaskId(1)).task.error or ""
    assert "compressed" in error
    assert "larger window" in error


def test_compressed_prompts_travel_in_batches(rehearse: Rehearse) -> None:
    table = {ANTHROPIC: SMALL_WINDOW}
    here = rehearse(ANTHROPIC, clock=QuickClock(200.0), batch_latency="5s", tables=table)
    here.engine.context.choose_ranker = LexicalRanker
    for number in range(3):
        here.ingest(long_document(1_800, f"sort {number} of pears"), f"doc{number}")

    run = here.engine.run(
        recipe=recipe(ASK), model=ANTHROPIC, route="batch", min_batch_size=2, batch_wait=1.0
    )
    now = run.wait()

    assert (now.done, now.failed) == (3, 0)
    assert len(here.engine.batches()) == 1
    assert all("notes" in row for row in run.rows())
    assert max(sent_tokens(here)) <= WINDOW
