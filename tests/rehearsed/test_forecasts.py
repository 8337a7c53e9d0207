"""Over HTTP, with the prefix cached: what a plan says is what the server bills."""

import json
from typing import Any

import pytest

from quire.domain.data import Json
from quire.planning.variants import Forecast
from quire.recipes.user_schemas import load_schema
from tests.cli.conftest import Quire
from tests.planning.test_accuracy import block, long
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import ANTHROPIC, GEMINI, OPENAI, QuickClock, Rehearsed

HAIKU = "anthropic/claude-haiku-4-5"
OLDER = "openai/gpt-5.4-mini"  # finds prefixes by itself
MODELS = (OPENAI, OLDER, HAIKU, ANTHROPIC, GEMINI)
NAMES = ("clauses", "revision")
# One of each way to keep a prefix; the others reckon as one of these does.
EVERY_WAY = (OPENAI, HAIKU, GEMINI)
ALL_IN_SOAK = [
    *EVERY_WAY,
    *(pytest.param(name, marks=pytest.mark.soak) for name in (OLDER, ANTHROPIC)),
]

# The client of HTTP warns of every body beyond a mebibyte, and here warnings are errors.


def plan(here: Rehearsed, name: str, **policy: Json) -> Forecast:
    asked = load_schema(long(name), name="long")
    order = here.engine.orders.resolve(schema=asked, model=here.asks, policy=policy)
    return here.engine.forecasts.plan(order).forecast


def run_and_plan(here: Rehearsed, name: str, **policy: Json) -> tuple[Forecast, Forecast, int]:
    """Forecast, answer thirty blocks, forecast again, answer the rest."""
    first = plan(here, name, **policy)
    here.start(long(name), limit=30, **policy).wait()
    then = plan(here, name, **policy)
    run = here.run(long(name), **policy)
    spent = here.bill()
    assert (run.progress().failed, run.progress().cost_pico) == (0, spent)
    assert (first.learnt, then.learnt) == (False, True)
    return first, then, spent


def assert_near(first: Forecast, then: Forecast, spent: int) -> None:
    assert first.expected.cost == pytest.approx(spent, rel=0.25)
    assert then.expected.cost == pytest.approx(spent, rel=0.02)


@pytest.mark.parametrize("asks", MODELS)
@pytest.mark.parametrize("name", [NAMES[0], pytest.param(NAMES[1], marks=pytest.mark.soak)])
def test_spend_is_what_was_forecast(rehearse: Rehearse, asks: str, name: str) -> None:
    here = rehearse(asks)
    here.ingest([block(number) for number in range(200)])

    first, then, spent = run_and_plan(here, name)

    assert first.expected.name == then.expected.name == "packed + cached"
    assert_near(first, then, spent)


@pytest.mark.parametrize("asks", MODELS)
@pytest.mark.parametrize("name", [NAMES[0], pytest.param(NAMES[1], marks=pytest.mark.soak)])
def test_in_batches_too(rehearse: Rehearse, asks: str, name: str) -> None:
    here = rehearse(asks, batch_latency="0.2s")
    here.ingest([block(number) for number in range(200)])

    first, then, spent = run_and_plan(here, name, route="batch", min_batch_size=2)

    assert first.expected.name == then.expected.name == "packed + cached + batch"
    assert_near(first, then, spent)


@pytest.mark.parametrize("asks", ALL_IN_SOAK)
def test_where_the_first_calls_are_too_few_for_a_batch(rehearse: Rehearse, asks: str) -> None:
    here = rehearse(asks, batch_latency="0.2s")
    here.ingest([block(number) for number in range(400)])

    first, then, spent = run_and_plan(here, "clauses", route="batch")

    assert (first.expected.requests, first.expected.batched) == (40, 35)
    assert_near(first, then, spent)


@pytest.mark.parametrize("asks", ALL_IN_SOAK)
def test_where_all_calls_are_too_few_for_a_batch(rehearse: Rehearse, asks: str) -> None:
    here = rehearse(asks)
    here.ingest([block(number) for number in range(200)])

    first, then, spent = run_and_plan(here, "clauses", route="batch")

    assert first.packed_cached_batch is not None
    assert first.expected is first.packed_cached
    assert_near(first, then, spent)


@pytest.mark.parametrize("share", [0.9, 0.5])
@pytest.mark.parametrize("asks", [OPENAI, HAIKU])
def test_what_rows_of_a_batch_read_is_expected_of_the_next_ones(
    rehearse: Rehearse, asks: str, share: float
) -> None:
    here = rehearse(asks, clock=QuickClock(300), batch_hits=share)
    here.ingest([block(number) for number in range(400)])

    run = here.run(long("clauses"), route="batch")
    then = plan(here, "clauses", route="batch")

    assert run.progress().done == 400
    assert (then.expected.requests, then.expected.batched) == (run.progress().calls, 35)
    assert then.expected.cost == pytest.approx(run.progress().cost_pico, rel=0.02)


def test_few_calls_are_told_how_to_go_in_a_batch_and_a_short_prefix_is_kept_nowhere(
    quire: Quire,
) -> None:
    ask_of = ("--schema", "metadata", "--model", ANTHROPIC, "--route", "batch", "--json")
    told = json.loads(quire("plan", *ask_of).stdout)
    said = quire("plan", *ask_of[:-1]).stdout
    done = json.loads(quire("rehearse", "run", *ask_of, "--min-batch-size", "3").stdout)

    assert (told["batch_from"], told["expected"]) == (3, "packed")
    assert "3 calls are fewer than the 30 of a batch, and would go direct" in said
    assert "`quire run --route batch --min-batch-size 3`" in said
    assert [item["name"] for item in told["variants"]][-1] == "packed + batch"
    assert (done["forecast"]["variant"], done["forecast"]["cached_tokens"]) == ("packed + batch", 0)
    assert (done["server"]["batches"]["rows"], done["tokens"]["cached"]) == (3, 0)
    assert done["forecast"]["cost_usd"] == pytest.approx(done["billed_usd"], rel=0.25)


def test_a_plan_that_counts_tokens_and_a_run_that_does_not_agree_once_calls_were_answered(
    rehearse: Rehearse,
) -> None:
    here = rehearse(OPENAI)
    here.ingest([" ".join(str(n * i * 7919) for i in range(40)) for n in range(1, 100)])
    asked: dict[str, Any] = {"schema": long("clauses"), "model": OPENAI}

    def told() -> tuple[float, float]:
        here.engine.exact_tokens = False
        rough = here.engine.plan(**asked).forecast.expected.cost
        here.engine.exact_tokens = True
        return rough, here.engine.plan(**asked).forecast.expected.cost

    rough, exact = told()
    assert exact != pytest.approx(rough, rel=0.25)  # numbers take twice the tokens of words
    here.start(long("clauses"), limit=50).wait()
    rough, exact = told()

    assert exact == pytest.approx(rough, rel=0.02)
