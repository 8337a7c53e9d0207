"""A run keeps what it was forecast to take; the next forecast learns from it; a limit refuses."""

from collections.abc import Callable

import pytest

from quire.domain.errors import UsageError
from quire.domain.pricing import to_usd
from quire.engine import Plan
from tests.world import METADATA, World, sentences

Worlds = Callable[..., World]

TWO_STAGES = """
name = "notes"
[[stages]]
name = "summary"
about = "each_document"
prompt = "Sum this up: {{ document.text }}"
[[stages]]
name = "digest"
about = "all_to_one"
needs = ["summary"]
prompt = "{% for item in inputs.summary %}{{ item.text }} {% endfor %}"
"""
SMALL = "simulated/small"


@pytest.fixture
def here(world: Worlds, tmp_path_factory: pytest.TempPathFactory) -> World:
    """An engine with three documents, and a recipe beside it."""
    made = world()
    for number in range(3):
        made.ingest(sentences(6 + number), f"doc{number}")
    return made


@pytest.fixture
def recipe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with a recipe of two stages."""
    path = tmp_path_factory.mktemp("recipe") / "notes.toml"
    path.write_text(TWO_STAGES)
    return str(path)


def test_a_run_keeps_its_forecast_and_shows_it_beside_what_was_spent(
    here: World, recipe: str
) -> None:
    planned = here.engine.plan(recipe=recipe, model=SMALL)

    run = here.engine.run(recipe=recipe, model=SMALL)
    run.wait()

    rows = here.engine.spend.compare_forecast(run.id)
    assert [row["stage"] for row in rows] == ["summary", "digest"]
    assert here.engine.spend.forecast_cost(run.id) == planned.cost
    assert [row["forecast_cost_pico"] for row in rows] == [stage.cost for stage in planned.stages]
    assert sum(int(str(row["cost_pico"])) for row in rows) == run.progress().cost_pico


def test_the_same_command_keeps_the_forecast_of_its_first_start(here: World) -> None:
    first = here.start(METADATA, limit=3)
    kept = here.engine.spend.compare_forecast(first.id)
    first.wait()

    again = here.start(METADATA)
    again.wait()

    now = here.engine.spend.compare_forecast(again.id)
    names = ("forecast_calls", "forecast_input_tokens", "forecast_cost_pico")
    assert again.id == first.id
    assert [[row[name] for name in names] for row in now] == [
        [row[name] for name in names] for row in kept
    ]


def test_a_run_of_an_older_version_has_no_forecast(here: World) -> None:
    order = here.engine.orders.resolve(schema=METADATA, model=SMALL, policy={})
    run = here.engine.orders.start(order).run_id

    assert here.engine.spend.forecast_cost(run) is None
    assert here.engine.spend.compare_forecast(run) == []


def test_the_next_forecast_of_the_same_work_is_what_it_took(here: World, recipe: str) -> None:
    run = here.engine.run(recipe=recipe, model=SMALL)
    run.wait()

    then = here.engine.plan(recipe=recipe, model=SMALL)

    now = run.progress()
    assert then.cost == now.cost_pico
    assert sum(stage.input_tokens for stage in then.stages) == now.input_tokens
    assert sum(stage.output_tokens for stage in then.stages) == now.output_tokens
    assert then.calls == now.calls
    assert not then.rough


def test_a_forecast_of_more_of_the_same_grows_with_it(here: World, recipe: str) -> None:
    first = here.engine.run(recipe=recipe, model=SMALL)
    first.wait()
    for number in range(3, 9):
        here.ingest(sentences(6 + number), f"doc{number}")

    then = here.engine.plan(recipe=recipe, model=SMALL)

    more = here.engine.run(recipe=recipe, model=SMALL, reuse=False)
    more.wait()
    assert more.id != first.id
    assert then.cost == pytest.approx(more.progress().cost_pico, rel=0.1)


def test_what_had_to_be_asked_again_is_expected_to_be_next_time(world: Worlds) -> None:
    here = world(faults="wrong=0.3,seed=3")
    here.ingest(sentences(60))
    before = here.engine.plan(schema=METADATA, model=SMALL, max_tries=9)
    run = here.run(METADATA, max_tries=9)

    then = here.engine.plan(schema=METADATA, model=SMALL, max_tries=9)

    assert run.progress().calls > before.calls
    assert then.cost == run.progress().cost_pico
    assert then.calls == run.progress().calls


def test_a_run_that_was_asked_again_by_hand_teaches_nothing_about_whole_runs(
    here: World, recipe: str
) -> None:
    run = here.engine.run(recipe=recipe, model=SMALL)
    paid = run.wait().cost_pico
    run.rerun("summary")
    run.wait()

    then = here.engine.plan(recipe=recipe, model=SMALL)

    assert run.progress().cost_pico > 1.9 * paid
    assert then.cost < 1.5 * paid


def test_low_expected_and_high_come_closer_once_a_run_is_through(here: World, recipe: str) -> None:
    def width(planned: Plan) -> float:
        assert planned.low < planned.cost < planned.high
        return (planned.high - planned.low) / planned.cost

    before = width(here.engine.plan(recipe=recipe, model=SMALL))
    here.engine.run(recipe=recipe, model=SMALL).wait()

    assert width(here.engine.plan(recipe=recipe, model=SMALL)) < before / 2


def test_a_run_that_may_cost_more_than_it_may_is_not_started(here: World) -> None:
    planned = here.engine.plan(schema=METADATA, model=SMALL)
    most = to_usd(planned.to_ask.high)

    with pytest.raises(UsageError, match=r"may cost up to .* nothing was started.*--max-cost"):
        here.engine.run(schema=METADATA, model=SMALL, max_cost_usd=most * 0.99)
    assert here.engine.runs(10) == []
    with pytest.raises(UsageError, match="an amount in dollars"):
        here.engine.run(schema=METADATA, model=SMALL, max_cost_usd=float("nan"))

    run = here.engine.run(schema=METADATA, model=SMALL, max_cost_usd=most * 1.01)
    assert run.wait().cost_pico < planned.high


def test_a_limit_of_tasks_is_reckoned_in(here: World) -> None:
    planned = here.engine.plan(schema=METADATA, model=SMALL)
    half = to_usd(planned.high) * 0.5

    run = here.engine.run(schema=METADATA, model=SMALL, limit=8, max_cost_usd=half)

    assert run.wait().cost_pico <= half * 10**12


def test_of_many_blocks_a_sample_is_sized_for_the_forecast_that_is_kept(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = world()
    words = [f"{number} " + "word " * (number * 37 % 200) for number in range(1_000)]
    for first in (0, 300):
        here.ingest(words[first : first + 300], f"doc{first}")
    order = here.engine.orders.resolve(schema=METADATA, model=SMALL, policy={})
    exact = here.engine.forecasts.plan(order)
    monkeypatch.setattr("quire.engine.forecasts.SIZED_TO_START", 200)

    kept = here.engine.forecasts.plan_start(order, refusable=False)

    assert kept.cost == pytest.approx(exact.cost, rel=0.01)
    assert (kept.calls, kept.tasks) == (exact.calls, 600)
    assert kept.cost != exact.cost  # not all were looked at
    assert here.engine.forecasts.plan_start(order, refusable=True).cost == exact.cost
