"""What a probe shows: how packed answers compare, what they cost, and how many may share a call."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from quire.plan.comparing import Comparison
from quire.plan.estimating import least_sample


class Finding(StrEnum):
    """What a sample says about one pack size."""

    WITHIN = "within"  # the whole interval is within tolerance
    LIKELY = "likely within"  # the estimate is, the interval is not: the sample is too small
    BEYOND = "beyond"  # the estimate is not within tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What it took to ask about a sample."""

    blocks: int
    calls: int
    blocks_per_call: float  # the mean
    largest_call: int  # blocks in the fullest one: what fits may be less than what was allowed
    input_tokens: int
    output_tokens: int
    cost: int  # micro-dollars, presumed ones included

    @property
    def cost_per_thousand(self) -> float:
        """Micro-dollars for a thousand blocks."""
        return 1000 * self.cost / self.blocks if self.blocks else 0.0

    @property
    def price(self) -> tuple[int, int]:
        """What decides which is cheaper: money, or tokens where the model costs nothing."""
        return self.cost, self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One pack size, tried out."""

    size: int
    spent: Spent
    compared: Comparison

    @property
    def carried(self) -> int:
        """How many blocks really shared a call: no more than were allowed, perhaps fewer."""
        return min(self.size, self.spent.largest_call)

    def finding(self, tolerance: float) -> Finding:
        """Hold what packing alone changed against a tolerance."""
        excess = self.compared.excess
        if excess.share > tolerance:
            return Finding.BEYOND
        return Finding.WITHIN if excess.high <= tolerance else Finding.LIKELY


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """How many blocks may share a call, and how sure that is."""

    size: int
    finding: Finding
    blocks_to_be_sure: int | None = None  # that would have to agree in all fields; None: no number


def recommend(alone: Spent, trials: Sequence[Trial], tolerance: float) -> Recommendation:
    """Take the largest pack size that changes little enough and is cheaper than the next smaller.

    A size changes little enough if the estimate of its excess is at most the tolerance. The excess
    is the share of fields that differ from the answers given alone, less the share that differ when
    they are asked alone once more. The estimate decides, not the upper end of its interval: where a
    model is noisy no sample of a sensible size brings that end below two percent, and one call per
    block would be recommended to everybody who probes. The finding says which of the two it is.

    A size must also be cheaper than the smaller one that would be taken instead, so that a size at
    which packs break and are asked again is not worth it. And where calls were full before they
    carried so many, the fullest one is what was tried out, and what is recommended.
    """
    size, finding, price = 1, Finding.WITHIN, alone.price
    needed: int | None = None
    for trial in sorted(trials, key=lambda each: each.size):
        found = trial.finding(tolerance)
        if found is not Finding.BEYOND and trial.spent.price < price:
            size, finding, price = trial.carried, found, trial.spent.price
            needed = _blocks_to_be_sure(trial, tolerance) if found is Finding.LIKELY else None
    return Recommendation(size=size, finding=finding, blocks_to_be_sure=needed)


def _blocks_to_be_sure(trial: Trial, tolerance: float) -> int | None:
    """Only where nothing differed at all can be said how many more would do."""
    fields, noise = trial.compared.fields, trial.compared.noise
    least = least_sample(tolerance)
    if least is None or fields.hits or noise.hits or not fields.of:
        return None
    return math.ceil(least * trial.spent.blocks / fields.of)
