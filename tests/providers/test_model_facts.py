"""Tables of quire.toml become facts: dollars, defaults, and what is missing."""

import pytest

from quire.domain.data import JsonObject
from quire.domain.errors import SettingsInvalid
from quire.domain.models import Limits, ModelFacts, Price, StructuredOutput
from quire.domain.pricing import price_at
from quire.providers.catalog import CATALOG, facts_from_table

NAME = "compatible/mine@http://10.0.0.5:8000/v1"
LEAST: JsonObject = {"window": 32_768, "max_output": 4_096, "input": 0.25, "output": 2}


def test_four_values_are_enough_and_nothing_is_taken_for_cheaper_than_stated() -> None:
    facts = facts_from_table(NAME, LEAST)

    assert facts.price == Price(
        input=250_000,
        output=2_000_000,
        cached=250_000,
        written_short=250_000,
        written_long=250_000,
    )
    assert facts.batch_price is None
    assert (facts.wire.id, facts.wire.url) == ("mine", "http://10.0.0.5:8000/v1")
    assert facts.wire.structured is StructuredOutput.JSON


def test_everything_can_be_stated() -> None:
    facts = facts_from_table(
        NAME,
        {
            **LEAST,
            "cached": 0.0125,
            "written": 0.3,
            "batch": {"input": 0.1, "output": 1},
            "tiers": [
                {"above": 9_000, "input": 1, "output": 3},
                {"above": 5, "input": 0.5, "output": 3},
            ],
            "cache_minimum": 128,
            "structured": "tool",
            "limits": {"requests": 60, "total": 90_000},
            "id": "mine-v2",
        },
    )

    assert (facts.price.cached, facts.price.written_long) == (12_500, 300_000)
    assert facts.batch_price is not None
    assert (facts.batch_price.input, facts.batch_price.cached) == (100_000, 12_500)
    assert [tier.above for tier in facts.tiers] == [5, 9_000]
    assert facts.limits == Limits(requests=60, total=90_000)
    assert (facts.wire.id, facts.wire.structured) == ("mine-v2", StructuredOutput.TOOL)


def test_a_table_changes_only_what_it_names() -> None:
    ours = CATALOG["openai/gpt-6-luna"]

    facts = facts_from_table(ours.name, {"input": 0.08, "limits": {"requests": 500}})

    assert facts.price.input == 80_000
    assert facts.price.output == ours.price.output
    assert facts.limits.requests == 500
    assert (facts.tiers, facts.batch_price, facts.wire) == (ours.tiers, ours.batch_price, ours.wire)


def test_large_calls_cost_the_same_part_in_batches_unless_told_otherwise() -> None:
    tiers: JsonObject = {"tiers": [{"above": 9_000, "input": 1, "output": 3}]}
    own: JsonObject = {
        "input": 0.1,
        "output": 1,
        "tiers": [{"above": 9_000, "input": 0.2, "output": 2}],
    }

    half = facts_from_table(NAME, {**LEAST, **tiers, "batch": 0.5})
    table = facts_from_table(NAME, {**LEAST, **tiers, "batch": {"input": 0.1, "output": 1}})
    explicit = facts_from_table(NAME, {**LEAST, **tiers, "batch": own})
    none = facts_from_table(NAME, {**LEAST, **tiers})

    def large(facts: ModelFacts) -> tuple[int, int] | None:
        price = price_at(facts, 9_001, batched=True)
        return None if facts.batch_price is None else (price.input, price.output)

    assert large(half) == (500_000, 1_500_000)
    assert large(table) == (400_000, 1_500_000)
    assert large(explicit) == (200_000, 2_000_000)
    assert large(none) is None
    assert price_at(half, 9_000, batched=True) == half.batch_price
    assert ModelFacts.from_json(half.as_json()) == half


def test_a_snapshot_from_before_batches_had_sizes_still_loads() -> None:
    facts = facts_from_table(NAME, {**LEAST, "batch": 0.5})
    old = {key: value for key, value in facts.as_json().items() if key != "batch_tiers"}

    assert ModelFacts.from_json(old) == facts


def test_a_new_model_of_a_known_provider_is_spoken_to_as_is_usual_there() -> None:
    facts = facts_from_table("openai/gpt-7", LEAST)

    assert facts.wire.structured is StructuredOutput.SCHEMA
    assert (facts.wire.sampling, facts.cache_minimum) == (False, 1_024)


def test_ones_own_machine_may_have_a_larger_window_and_stay_free() -> None:
    facts = facts_from_table("ollama/qwen3:8b", {"window": 40_960})

    assert (facts.window, facts.max_output, facts.price.input) == (40_960, 2_048, 0)
    assert not facts.window_guessed


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"window": 9}, "lacks max_output, input, output"),
        ({**LEAST, "input": None}, "lacks input"),
        ({**LEAST, "max_output": 99_999}, "fit the window"),
        ({**LEAST, "window": "big"}, "window must be a number"),
        ({**LEAST, "window": 1.5}, "window must be a whole number"),
        ({**LEAST, "input": True}, "input must be a number"),
        ({**LEAST, "input": -1}, "input must be a number that is not negative"),
        ({**LEAST, "input": float("nan")}, "input must be a number that is not negative"),
        ({**LEAST, "output": float("inf")}, "output must be a number that is not negative"),
        ({**LEAST, "structured": "xml"}, "structured must be schema or tool"),
        ({**LEAST, "marking": 3}, "marking must be text"),
        ({**LEAST, "sampling": "no"}, "sampling must be true or false"),
        ({**LEAST, "batch": 0}, "batch must be a part of the price"),
        ({**LEAST, "tiers": "x"}, "tiers must be a list"),
        ({**LEAST, "tiers": [{"above": 3}]}, "input is missing"),
        ({**LEAST, "limits": 3}, "limits must be a table"),
    ],
)
def test_what_cannot_be_used_is_named(table: JsonObject, says: str) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        facts_from_table(NAME, table)

    assert says in str(caught.value)
    assert NAME in str(caught.value)
