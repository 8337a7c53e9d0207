"""Tokens for a byte are learnt from what was billed, slowly and within reason."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.models import ModelFacts, Price
from quire.plan import sizing
from quire.plan.sizing import (
    FEWEST_CALIBRATION_SAMPLES,
    LEAST_PER_BYTE,
    MOST_PER_BYTE,
    UNCALIBRATED,
    Calibration,
    TokenSample,
    calibrate,
    calibrated_bound,
    calibrated_tokens,
)

FACTS = ModelFacts(
    name="simulated/small",
    window=32_000,
    max_output=8_192,
    price=Price(input=1, output=1, cached=1, written_short=1, written_long=1),
)
SAMPLES = st.lists(
    st.builds(TokenSample, st.integers(-5, 10_000_000), st.integers(-5, 10_000_000)), max_size=40
)


@given(st.integers(0, 100_000_000))
def test_before_any_sample_sizes_are_those_of_the_plan(n_bytes: int) -> None:
    assert calibrated_tokens(n_bytes, FACTS) == sizing.forecast_tokens(n_bytes)
    assert calibrated_bound(n_bytes, FACTS) == sizing.bound_tokens(n_bytes)


def test_a_model_that_counts_more_tokens_is_expected_to() -> None:
    claude = replace(FACTS, token_factor=1.3)

    assert calibrated_tokens(4_000, claude) == 1_300
    assert calibrated_bound(3_000, claude) == 1_300


def test_few_samples_change_nothing() -> None:
    few = calibrate([TokenSample(1_000, 500)] * (FEWEST_CALIBRATION_SAMPLES - 1))

    assert few.per_byte is None
    assert calibrated_tokens(4_000, FACTS, few) == 1_000
    assert calibrated_bound(3_000, FACTS, few) == 1_000


def test_enough_samples_replace_the_rule_of_thumb_and_the_factor() -> None:
    learnt = calibrate([TokenSample(1_000, 500)] * FEWEST_CALIBRATION_SAMPLES)

    assert calibrated_tokens(4_000, replace(FACTS, token_factor=1.3), learnt) == 2_000
    assert calibrated_bound(4_000, FACTS, learnt) == pytest.approx(2_200, abs=1)


def test_learning_in_parts_is_learning_at_once() -> None:
    samples = [TokenSample(1_000 + 10 * n, 250 + n) for n in range(20)]

    assert calibrate(samples[7:], calibrate(samples[:7])) == calibrate(samples)


def test_a_model_that_changes_its_ways_is_followed() -> None:
    old = calibrate([TokenSample(1_000, 250)] * 500)
    new = calibrate([TokenSample(1_000, 400)] * 200, old)

    assert new.per_byte == pytest.approx(0.4, rel=0.02)


def test_a_long_call_weighs_more_than_a_short_one() -> None:
    learnt = calibrate([TokenSample(100, 90), TokenSample(100_000, 25_000)] * 5)

    assert learnt.per_byte == pytest.approx(0.25, rel=0.01)


def test_the_bound_grows_where_samples_scatter() -> None:
    even = calibrate([TokenSample(1_000, 300)] * 20)
    uneven = calibrate([TokenSample(1_000, 200), TokenSample(1_000, 400)] * 10)

    assert even.most_per_byte == pytest.approx(0.33)
    assert uneven.most_per_byte is not None
    assert uneven.most_per_byte > 0.4


def test_calls_that_say_nothing_are_left_out() -> None:
    empty = [TokenSample(0, 9), TokenSample(9, 0), TokenSample(-1, -1)]

    assert calibrate(empty) == UNCALIBRATED == Calibration()


@given(SAMPLES, st.integers(0, 1_000_000))
def test_whatever_was_billed_estimates_stay_within_reason(
    samples: list[TokenSample], n_bytes: int
) -> None:
    learnt = calibrate(samples)
    expected, allowed = (
        calibrated_tokens(n_bytes, FACTS, learnt),
        calibrated_bound(n_bytes, FACTS, learnt),
    )

    assert expected <= allowed <= math.ceil(n_bytes * MOST_PER_BYTE)
    assert expected >= math.floor(n_bytes * LEAST_PER_BYTE)
