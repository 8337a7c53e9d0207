"""The prompt cache: one call writes a prefix, all others read it, and each token has its price."""

from dataclasses import replace
from typing import Any

import pytest

from quire.domain.accounts import Pool
from quire.domain.pricing import price_call
from quire.domain.runs import Progress
from quire.pipeline.calls.admit import Priming, prime_cache
from quire.pipeline.calls.prepare import prepare
from quire.pipeline.contexts import Contexts
from quire.pipeline.stages.advance import advance
from quire.rehearsal.timing import Clock
from quire.simulated.fault_scripts import parse_fault_script
from tests.ledger.raw import Raw
from tests.pipeline.recipe_stages import recipe, record_stage
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import (
    ANTHROPIC,
    LONG,
    OPENAI,
    Rehearsed,
    billed_entries,
    side_by_side,
)
from tests.world import METADATA, sentences

MARKED = (ANTHROPIC, OPENAI, "anthropic/claude-sonnet-5-5")  # models whose prefix is marked
FOUND = ("openai/gpt-5.4-mini", "gemini/gemini-3.6-flash")  # models that find it by themselves
WIDE: dict[str, Any] = {"pack_size": 1, "concurrency": 64}

_USAGE = """SELECT input_tokens, output_tokens, cached_tokens, written_short_tokens,
    written_long_tokens, cost FROM attempts ORDER BY id"""


def writes_and_hits(here: Rehearsed) -> tuple[int, int]:
    """What the server's cache did."""
    seen = here.server.stats()
    return seen["cache_writes"], seen["cache_hits"]


@pytest.mark.parametrize("asks", MARKED)
def test_a_wide_fan_out_writes_the_prefix_once_and_every_other_call_reads_it(
    rehearse: Rehearse, asks: str
) -> None:
    here = rehearse(asks, latency="0.5")
    here.ingest(sentences(150))

    run = here.run(LONG, **WIDE)

    assert run.progress().done == 150
    assert writes_and_hits(here) == (1, 149)
    assert here.server.stats()["most_in_flight"] > 16  # it was wide
    assert run.progress().cost_pico == here.bill()
    assert run.progress().cached_tokens == sum(
        usage.cached for _, usage in billed_entries(here.server.entries())
    )


@pytest.mark.parametrize("asks", FOUND)
def test_where_the_provider_finds_prefixes_itself_the_first_call_goes_alone_too(
    rehearse: Rehearse, asks: str
) -> None:
    here = rehearse(asks, latency="0.1")
    here.ingest(sentences(30))

    run = here.run(LONG, **WIDE)

    assert run.progress().done == 30
    assert writes_and_hits(here) == (0, 29)
    assert run.progress().cost_pico == here.bill()


@pytest.mark.parametrize("asks", [ANTHROPIC, OPENAI])
def test_read_written_and_other_tokens_are_kept_and_priced_apart(
    rehearse: Rehearse, asks: str
) -> None:
    here = rehearse(asks, latency="0.02")
    here.ingest(sentences(30))

    run = here.run(LONG, **WIDE)

    raw = Raw(here.url)
    kept = raw.rows(_USAGE)
    raw.close()
    told = [
        (
            usage.input,
            usage.output,
            usage.cached,
            usage.written_short,
            usage.written_long,
            price_call(here.facts, usage),
        )
        for _, usage in billed_entries(here.server.entries())
    ]
    assert sorted(kept) == sorted(told)
    written = [row for row in kept if row[3] or row[4]]
    read = [row for row in kept if row[2]]
    assert (len(written), len(read)) == (1, 29)
    assert all(row[0] > 0 for row in kept)  # the block itself is neither
    uncached = (row[0] + row[2] + row[3] + row[4] for row in kept)
    assert run.progress().cost_pico < sum(cost_without_cache(here, total) for total in uncached)


def cost_without_cache(here: Rehearsed, total: int) -> int:
    """What the input of one call would have cost, in picodollars."""
    return total * here.facts.price.input


@pytest.mark.parametrize("asks", [*MARKED, *FOUND])
def test_a_policy_of_no_caching_writes_nothing_and_waits_for_nobody(
    rehearse: Rehearse, asks: str
) -> None:
    here = rehearse(asks, latency="60s")
    here.ingest(sentences(20))
    run = here.start(LONG, caching="off", **WIDE)

    def answer_none_alone(progress: Progress) -> None:
        if progress.done or here.server.stats()["in_flight"] > 1:
            here.server.advance(60)

    run.wait(answer_none_alone)

    assert run.progress().done == 20
    assert here.server.stats()["cache_writes"] == 0
    if asks in MARKED:
        assert here.server.stats()["cache_hits"] == 0


@pytest.mark.parametrize("asks", MARKED)
def test_a_prefix_under_the_model_s_minimum_is_not_marked(rehearse: Rehearse, asks: str) -> None:
    # The server would keep it, so that a mark would show.
    here = rehearse(asks, latency="0.05", tables={asks: {"cache_minimum": 50_000}})
    here.ingest(sentences(20))

    run = here.run(LONG, **WIDE)

    assert run.progress().done == 20
    assert writes_and_hits(here) == (0, 0)


@pytest.mark.parametrize("asks", [ANTHROPIC, OPENAI])
def test_two_workers_of_one_ledger_write_the_prefix_once(
    rehearse: Rehearse, ledger_url: str, asks: str
) -> None:
    one = rehearse(asks, url=ledger_url, latency="0.1")
    two = rehearse(asks, url=ledger_url, server=one.server)
    one.ingest(sentences(60))
    run = one.start(LONG, **WIDE)

    side_by_side(one, two, run=run.id)

    assert run.progress().done == 60
    assert writes_and_hits(one) == (1, 59)
    assert run.progress().cost_pico == one.bill()


@pytest.mark.parametrize("queued", [0, 1])
def test_what_others_queue_meanwhile_does_not_go_unmarked(rehearse: Rehearse, queued: int) -> None:
    here = rehearse(ANTHROPIC)
    here.ingest(sentences(20))
    run = here.start(LONG, limit=1, **WIDE)
    contexts, now = Contexts(), here.runtime.now()
    with here.engine.ledger.transaction() as tx:
        advance(tx, contexts, now)
        (lane,) = tx.requests.lanes_of_run(run.id)
        context = contexts.of_lane(tx, lane)
        if queued:
            assert prepare(tx, contexts, context, now) == queued

        priming = prime_cache(tx, contexts, context, Pool(ANTHROPIC, 0), now)

    assert priming == Priming(queued, caching=False)


def test_runs_one_after_the_other_share_what_was_written(rehearse: Rehearse) -> None:
    here = rehearse(ANTHROPIC, latency="0.02")
    here.ingest(sentences(20))
    here.run(LONG, **WIDE)
    here.close()
    again = rehearse(ANTHROPIC, server=here.server)

    run = again.run(LONG, new=True, reuse=False, **WIDE)

    assert run.progress().done == 20
    assert writes_and_hits(here) == (1, 39)


def test_a_first_call_that_fails_lets_another_write(rehearse: Rehearse) -> None:
    here = rehearse(ANTHROPIC, latency="0.05", faults=f"500=0.005,seed={seed_of_first('500')}")
    here.ingest(sentences(30))

    run = here.run(LONG, **WIDE)

    first, second, *others = here.server.entries()
    assert (first.status, second.status) == (500, 200)
    assert second.usage is not None
    assert second.usage.written_short > 0
    assert all(other.usage is not None and other.usage.cached for other in others)
    assert all(other.at >= second.at + 0.05 for other in others)  # they waited for it
    assert (run.progress().done, writes_and_hits(here)) == (30, (1, 29))


def test_a_first_call_whose_answer_is_lost_lets_another_go_first(rehearse: Rehearse) -> None:
    here = rehearse(ANTHROPIC, latency="0.05", faults=f"drop=0.005,seed={seed_of_first('drop')}")
    here.ingest(sentences(30))

    run = here.run(LONG, **WIDE)

    assert run.progress().done == 30
    assert writes_and_hits(here) == (1, 30)  # the lost one wrote, and was billed


def test_a_single_call_writes_nothing_that_nobody_would_read(rehearse: Rehearse) -> None:
    here = rehearse(ANTHROPIC)
    here.ingest(sentences(5))

    run = here.run(LONG, pack_size=10)

    assert (run.progress().done, run.progress().calls) == (5, 1)
    assert writes_and_hits(here) == (0, 0)


def test_a_prefix_that_the_provider_has_forgotten_is_written_once_more(rehearse: Rehearse) -> None:
    clock = Clock()
    here = rehearse(ANTHROPIC, clock=clock, latency="0.02")
    here.ingest(sentences(30))
    here.run(LONG, **WIDE)
    clock.advance(600)

    run = here.run(LONG, new=True, reuse=False, **WIDE)

    assert run.progress().done == 30
    assert writes_and_hits(here) == (2, 58)


def seed_of_first(fault: str) -> int:
    """A seed by which the first request is struck, and none of the next hundred."""
    for seed in range(10_000):
        faults = parse_fault_script(f"{fault}=0.005,seed={seed}")
        if [no for no in range(1, 120) if faults.strikes_call(fault, no, [])] == [1]:
            return seed
    raise AssertionError("no such seed")


def test_every_model_of_a_stage_writes_its_own_prefix_once(rehearse: Rehearse) -> None:
    here = rehearse(ANTHROPIC, latency="0.1")
    here.ingest(sentences(30))
    body = {**METADATA, "title": "long"}
    both = (ANTHROPIC, "anthropic/claude-sonnet-5-5")
    stage = record_stage("facts", "each_block", "Read.", body, models=both)
    stage = replace(stage, instructions="Read every block with care, twice. " * 900)

    run = here.engine.run(recipe=recipe(stage), **WIDE)
    run.wait()

    assert run.progress().done == 60
    assert writes_and_hits(here) == (2, 58)


def test_the_call_that_writes_the_cache_costs_no_more_than_was_reserved(
    rehearse: Rehearse,
) -> None:
    here = rehearse(ANTHROPIC)
    here.ingest(sentences(20))

    run = here.run(schema=LONG, pack_size=10)

    attempts = here.attempts(run.id)
    assert any(attempt.written_tokens for attempt in attempts)
    assert all(attempt.reserved_pico >= (attempt.cost_pico or 0) for attempt in attempts)
