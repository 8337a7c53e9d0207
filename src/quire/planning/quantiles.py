"""Quantiles of the beta and Student's distributions.

Both follow from the regularized incomplete beta function I(x; a, b). That is computed by its
continued fraction (Lentz), which converges fast for x < (a + 1) / (a + b + 2); beyond, by
I(x; a, b) = 1 - I(1 - x; b, a). A quantile is found by halving, which no shape of the curve can
lead astray. Student's t with d degrees of freedom has t² = d(1 - x) / x, where x is the quantile
of a beta distribution with d/2 and 1/2 at the probability that both tails together have.
"""

from functools import lru_cache
from math import exp, lgamma, log, log1p, sqrt

_TERMS = 20_000  # of the continued fraction: enough for any number of observations
_TINY = 1e-300
_EXACT = 1e-15
_HALVINGS = 200


def beta_cdf(x: float, a: float, b: float) -> float:
    """The probability that a variable of the beta distribution (a, b) is at most x."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(1 - x, b, a)
    scale = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)
    return exp(scale) * _continued_fraction(x, a, b) / a


def _continued_fraction(x: float, a: float, b: float) -> float:
    value, upper, lower = 1.0, 1.0, 0.0
    for step in range(_TERMS):
        half = step // 2
        if step == 0:
            term = 1.0
        elif step % 2:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        lower = 1 / _away_from_zero(1 + term * lower)
        upper = _away_from_zero(1 + term / upper)
        value *= upper * lower
        if step and abs(upper * lower - 1) < _EXACT:
            break
    return value - 1


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


@lru_cache(maxsize=4096)
def beta_quantile(probability: float, a: float, b: float) -> float:
    """Where the beta distribution (a, b) has this probability below it."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if beta_cdf(middle, a, b) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@lru_cache(maxsize=1024)
def student_quantile(coverage: float, degrees: float) -> float:
    """How many standard errors either way hold so much of Student's distribution."""
    x = beta_quantile(1 - coverage, degrees / 2, 0.5)
    return sqrt(degrees * (1 - x) / x)
