"""Numbers by rule: exact word counts, and otherwise a stable choice within the schema's bounds."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from quire.domain.data import JsonObject
from quire.simulated.keywords import exact
from quire.simulated.subject import Subject, choose, seed_of

SPREAD = 100  # how many steps an open range is taken to have


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The allowed values: base + step × k, for k from first to last; None where open."""

    first: int | None
    last: int | None
    step: Fraction
    base: Fraction = Fraction(0)

    def closed(self) -> tuple[int, int]:
        """Close an open range near zero, or near its one bound."""
        if self.first is not None:
            last = self.first + SPREAD if self.last is None else self.last
            return self.first, max(self.first, last)
        if self.last is None:
            return 0, SPREAD
        return (0 if 0 <= self.last <= SPREAD else self.last - SPREAD), self.last


def integers(schema: JsonObject, name: str) -> Callable[[Subject], int]:
    """Write an integer: `word_count` is counted, any other name is chosen."""
    factor = exact(schema, "multipleOf")
    # An integer that is a multiple of p/q is a multiple of p.
    step = factor.numerator if factor else 1
    steps = _steps(schema, Fraction(step))
    if name == "word_count":
        low = -(10**18) if steps.first is None else steps.first
        high = 10**18 if steps.last is None else steps.last
        return lambda subject: max(low, min(high, len(subject.words) // step)) * step
    first, last = steps.closed()
    size, seed = last - first + 1, seed_of(name)
    return lambda subject: (first + choose(subject.choice, seed) % size) * step


def numbers(schema: JsonObject, name: str) -> Callable[[Subject], int | float]:
    """Write a number with at most two decimals where the bounds leave room for them."""
    if name == "word_count":
        return integers(schema, name)
    factor = exact(schema, "multipleOf")
    steps = _steps(schema, factor or Fraction(1, 100))
    if not factor and steps.first is not None and steps.last is not None:
        steps = steps if steps.first <= steps.last else _between(schema)
    first, last = steps.closed()
    size, seed = last - first + 1, seed_of(name)
    base, step = steps.base, steps.step
    if not base:  # dividing two integers is rounded once, as the decimal itself would be
        top, bottom = step.numerator, step.denominator
        return lambda subject: (first + choose(subject.choice, seed) % size) * top / bottom
    return lambda subject: float(base + (first + choose(subject.choice, seed) % size) * step)


def _steps(schema: JsonObject, step: Fraction) -> Steps:
    above, below = exact(schema, "exclusiveMinimum"), exact(schema, "exclusiveMaximum")
    least, most = exact(schema, "minimum"), exact(schema, "maximum")
    firsts = [] if least is None else [ceil(least / step)]
    firsts += [] if above is None else [floor(above / step) + 1]
    lasts = [] if most is None else [floor(most / step)]
    lasts += [] if below is None else [ceil(below / step) - 1]
    return Steps(first=max(firsts, default=None), last=min(lasts, default=None), step=step)


def _between(schema: JsonObject) -> Steps:
    """Find values in a range too narrow for hundredths."""
    lows = [exact(schema, key) for key in ("minimum", "exclusiveMinimum")]
    highs = [exact(schema, key) for key in ("maximum", "exclusiveMaximum")]
    low = max(each for each in lows if each is not None)
    high = min(each for each in highs if each is not None)
    if low >= high:
        return Steps(first=0, last=0, step=Fraction(1), base=low)
    return Steps(first=1, last=3, step=(high - low) / 4, base=low)
