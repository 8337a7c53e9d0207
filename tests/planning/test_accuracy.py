"""A forecast is near before anything is answered, and almost exact once thirty blocks are."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from quire.domain.data import Json
from quire.domain.ids import fingerprint
from quire.planning.job_forecasts import describe_forecast_error, percent_over
from quire.planning.variants import Forecast
from quire.recipes.user_schemas import load_schema
from tests.world import METADATA, World

TEXT = (
    "the lease runs for five years from the first of april and the tenant shall pay the rent in"
    " advance every quarter unless both parties agree otherwise in writing before notice is given"
)
WORDS = TEXT.split()
CLAUSES = json.loads((Path(__file__).parents[2] / "examples" / "clauses.json").read_text())
REVISION: dict[str, Json] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "action": {"type": "string", "enum": ["keep", "rewrite"]},
        "final": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"content": {"type": "string"}},
            "required": ["content"],
        },
        "diff_summary": {"type": "string", "maxLength": 400},
    },
    "required": ["action", "final", "diff_summary"],
}
SCHEMAS = {"metadata": METADATA, "clauses": CLAUSES, "revision": REVISION}
MODEL = "simulated/large"
LONG = 25_000  # tokens

Worlds = Callable[[], World]


class ForecastCheck(NamedTuple):
    """What was forecast, before and after the first answers, and what was spent."""

    first: Forecast
    then: Forecast
    spent: int
    calls: int


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An engine with 200 blocks, from a few words to a few hundred."""
    made = World(str(tmp_path / "quire.db"))
    made.ingest([block(number) for number in range(200)])
    yield made
    made.close()


def block(number: int) -> str:
    """A block of its own length."""
    drawn = fingerprint("text", number)
    words = (WORDS[(drawn[i % 16] + 7 * i) % len(WORDS)] for i in range(15 + drawn[0]))
    return " ".join((str(number), *words))


def long(name: str, tokens: int = LONG) -> dict[str, Json]:
    """A schema with a system prompt of so many tokens."""
    said = "Read every clause with care, and say what it does and whom it binds. " * tokens
    config: dict[str, Json] = {"system_instructions": said[: 4 * tokens]}
    body = {key: value for key, value in SCHEMAS[name].items() if key != "$id"}
    return {**body, "title": f"{name}_{tokens}", "prompt_config": config}


def run_and_forecast(world: World, schema: dict[str, Json], **policy: Any) -> ForecastCheck:
    """Forecast, answer thirty blocks, forecast again, answer the rest."""
    first = plan(world, schema, **policy)
    world.engine.run(schema=schema, model=MODEL, limit=30, **policy).wait()
    then = plan(world, schema, **policy)
    run = world.engine.run(schema=schema, model=MODEL, **policy)
    run.wait()
    done = run.progress()
    assert done.done == 200
    return ForecastCheck(first, then, done.cost_pico, done.calls)


def plan(world: World, schema: dict[str, Json], **policy: Json) -> Forecast:
    engine = world.engine
    asked = load_schema(schema, name="long")
    order = engine.orders.resolve(schema=asked, model=MODEL, policy=policy)
    return engine.forecasts.plan(order).forecast


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("tokens", [LONG, 100])
def test_a_forecast_is_near_at_once_and_almost_exact_after_thirty_blocks(
    world: World, name: str, tokens: int
) -> None:
    found = run_and_forecast(world, long(name, tokens))

    assert (found.first.learnt, found.then.learnt) == (False, True)
    assert found.first.expected.cost == pytest.approx(found.spent, rel=0.25)
    assert found.then.expected.cost == pytest.approx(found.spent, rel=0.02)
    assert found.then.expected.requests == found.calls


def test_what_packs_took_tells_what_single_blocks_would_take(world: World) -> None:
    packed = run_and_forecast(world, long("clauses"))
    single = run_and_forecast(world, long("clauses"), packing=False, reuse=False)

    assert packed.then.one_per_call.cost == pytest.approx(single.spent, rel=0.02)


MICRO = 10**6  # picodollars


def test_the_error_of_a_forecast_is_told() -> None:
    assert describe_forecast_error(13_000 * MICRO, 12_745 * MICRO) == "forecast $0.0130, 2 % under"
    assert describe_forecast_error(12_500 * MICRO, 12_745 * MICRO) == "forecast $0.0125, 2 % over"
    assert (
        describe_forecast_error(12_745 * MICRO, 12_740 * MICRO) == "forecast $0.0127, 0.0 % under"
    )
    assert describe_forecast_error(5_000_000 * MICRO, 0 * MICRO) == "forecast $5.0000"
    assert describe_forecast_error(46_100 * MICRO, 86_300 * MICRO) == "forecast $0.0461, 87 % over"
    assert describe_forecast_error(10 * MICRO, 10 * MICRO) == "forecast $0.000010, 0.0 % off"
    assert percent_over(75, 100) == pytest.approx(100 / 3)
