"""The seeds' exit criteria on their 29 blocks: fewer calls, less money, the same fields."""

from functools import cache

import pytest

from benchmarks.bench_exit import (
    GROWTHS,
    PACKS,
    SCHEMAS,
    Case,
    Measured,
    measure,
    measured_break_even,
    planned_break_even,
    violations,
)

CASES = [Case(schema=schema, blocks=29, growth=growth) for schema in SCHEMAS for growth in GROWTHS]


@cache
def results(case: Case) -> list[Measured]:
    """The runs of one case, made once for all tests; the first is one per call."""
    return [measure(case, per_call) for per_call in PACKS]


def name_of(case: Case) -> str:
    """A case as the test report names it."""
    return f"{case.schema}-{case.growth:.0%}-longer"


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_packs_give_the_same_fields_as_single_calls_for_less_and_without_splits(case: Case) -> None:
    single, *packed = results(case)

    assert [len(sample.fields) for sample in packed] == [29, 29]
    assert [sample.mismatches(single) for sample in packed] == [0, 0]
    assert [sample.progress.splits for sample in (single, *packed)] == [0, 0, 0]
    assert all(sample.progress.cost_pico < single.progress.cost_pico for sample in packed)
    assert violations(case, [single, *packed]) == []


@pytest.mark.parametrize("growth", GROWTHS)
def test_short_fields_of_29_blocks_take_29_then_3_then_2_calls(growth: float) -> None:
    found = results(Case(schema="extract", blocks=29, growth=growth))

    assert [sample.progress.calls for sample in found] == [29, 3, 2]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_packed_answers_that_are_longer_are_billed_as_longer(schema: str) -> None:
    plain = results(Case(schema=schema, blocks=29, growth=0.0))
    grown = results(Case(schema=schema, blocks=29, growth=0.28))

    assert grown[0].progress.output_tokens == plain[0].progress.output_tokens
    for usual, longer in zip(plain[1:], grown[1:], strict=True):
        times = longer.progress.output_tokens / usual.progress.output_tokens
        assert times == pytest.approx(1.28, abs=0.01)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_the_plan_finds_the_pack_size_from_which_packing_really_pays(case: Case) -> None:
    assert planned_break_even(case) == measured_break_even(case, results(case)[0]) == 2


def test_an_answer_under_the_wrong_block_is_counted_as_a_mismatch() -> None:
    single = results(CASES[0])[0]
    swapped = Measured(
        per_call=25,
        progress=single.progress,
        fields=[single.fields[1], single.fields[0], *single.fields[2:]],
    )

    assert swapped.mismatches(single) >= 4
    assert violations(CASES[0], [single, swapped])
