"""Tokens for a byte are learnt from what was billed, slowly and within reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.planning.sizing import (
    FEWEST_SAMPLES,
    LEAST_PER_BYTE,
    MOST_PER_BYTE,
    UNCALIBRATED,
    Calibration,
    TokenSample,
    calibrate,
)

SAMPLES = st.lists(
    st.builds(TokenSample, st.integers(-5, 10_000_000), st.integers(-5, 10_000_000)), max_size=40
)


def test_few_samples_say_nothing() -> None:
    few = calibrate([TokenSample(1_000, 500)] * (FEWEST_SAMPLES - 1))

    assert few.per_byte is None
    assert few.most_per_byte is None


def test_enough_samples_replace_the_rule_of_thumb() -> None:
    learnt = calibrate([TokenSample(1_000, 500)] * FEWEST_SAMPLES)

    assert learnt.per_byte == pytest.approx(0.5)
    assert learnt.most_per_byte == pytest.approx(0.55)


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


@given(SAMPLES)
def test_whatever_was_billed_estimates_stay_within_reason(samples: list[TokenSample]) -> None:
    learnt = calibrate(samples)

    if learnt.per_byte is not None and learnt.most_per_byte is not None:
        assert LEAST_PER_BYTE <= learnt.per_byte <= learnt.most_per_byte <= MOST_PER_BYTE
    assert (learnt.per_byte is None) == (learnt.most_per_byte is None)
