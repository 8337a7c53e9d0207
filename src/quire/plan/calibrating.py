"""Calibrating: how many tokens a model counts for a byte, learnt from what it billed."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from quire.domain.models import ModelFacts

MOST_SAMPLES = 200  # settled attempts of a lane that anything is learnt from
FEWEST_SAMPLES = 5  # before that, chance speaks louder than the model
MEMORY = 0.98  # what a sample's weight keeps with each one after it: some 50 of them count
LEAST_PER_BYTE, MOST_PER_BYTE = 0.1, 1.5  # tokens; beyond them, something else was counted
LEAST_MARGIN = 1.1  # of the bound above the forecast, however even the samples were
STRAYS = 4  # mean deviations that the bound allows for

_FORECAST_BYTES, _BOUND_BYTES = 4, 3  # bytes a token, of a model that nothing is known of


class Measured(NamedTuple):
    """One answered call: the bytes of all that it sent, and the input tokens billed for them."""

    bytes: int
    tokens: int


class Calibration(NamedTuple):
    """Sums over the samples of one model, in which older ones count for less and less."""

    samples: int = 0
    bytes: float = 0.0
    tokens: float = 0.0
    strayed: float = 0.0  # tokens by which each sample missed what was expected of it

    @property
    def per_byte(self) -> float | None:
        """Tokens to expect for a byte; None while the samples are few."""
        if self.samples < FEWEST_SAMPLES or self.bytes <= 0:
            return None
        return min(MOST_PER_BYTE, max(LEAST_PER_BYTE, self.tokens / self.bytes))

    @property
    def most_per_byte(self) -> float | None:
        """Tokens to allow for a byte; None while the samples are few."""
        expected = self.per_byte
        if expected is None:
            return None
        widened = expected + STRAYS * self.strayed / self.bytes
        return min(MOST_PER_BYTE, max(expected * LEAST_MARGIN, widened))


UNCALIBRATED = Calibration()


def calibrate(samples: Iterable[Measured], previous: Calibration = UNCALIBRATED) -> Calibration:
    """Learn from more answered calls, the oldest first; calls without bytes or tokens say nothing.

    Long calls weigh more than short ones, as they do in the bill.
    """
    learnt = previous
    for sample in samples:
        if sample.bytes > 0 and sample.tokens > 0:
            learnt = _learn(learnt, sample)
    return learnt


def forecast_tokens(
    n_bytes: int, facts: ModelFacts, calibration: Calibration = UNCALIBRATED
) -> int:
    """Expect as many tokens as the model counted so far, else one for four bytes of UTF-8."""
    per_byte = calibration.per_byte
    if per_byte is None:
        return math.ceil(n_bytes * facts.token_factor / _FORECAST_BYTES)
    return math.ceil(n_bytes * per_byte)


def bound_tokens(n_bytes: int, facts: ModelFacts, calibration: Calibration = UNCALIBRATED) -> int:
    """Allow for more than is expected, so that packs fit: else one for three bytes of UTF-8."""
    most = calibration.most_per_byte
    if most is None:
        return math.ceil(n_bytes * facts.token_factor / _BOUND_BYTES)
    return math.ceil(n_bytes * most)


def _learn(before: Calibration, sample: Measured) -> Calibration:
    n_bytes = before.bytes * MEMORY + sample.bytes
    tokens = before.tokens * MEMORY + sample.tokens
    expected = sample.bytes * tokens / n_bytes
    return Calibration(
        samples=before.samples + 1,
        bytes=n_bytes,
        tokens=tokens,
        strayed=before.strayed * MEMORY + abs(sample.tokens - expected),
    )
