"""Exact intervals: in which shares so many of so many are not surprising, at a fixed number.

C. J. Clopper and E. S. Pearson, Biometrika 26 (1934) 404-413: the lower end is the share at which
as many or more would be seen with probability α/2, the upper end that at which as many or fewer
would. Both are quantiles of the beta distribution, found here by halving, with the regularised
incomplete beta function as a continued fraction (Lentz's method).
"""

import math

from quire.planning.share_estimates import ShareEstimate

ALPHA = 0.05
HALVINGS = 200
MOST_TERMS = 10_000
TINY = 1e-300
PRECISE = 1e-15


def estimate_exact_share(hits: int, of: int, alpha: float = ALPHA) -> ShareEstimate:
    """Estimate a share by Clopper and Pearson's interval, which covers at least so often."""
    if of == 0:
        return ShareEstimate(0, 0, 0.0, 1.0)
    low = 0.0 if hits == 0 else beta_quantile(alpha / 2, hits, of - hits + 1)
    high = 1.0 if hits == of else beta_quantile(1 - alpha / 2, hits + 1, of - hits)
    return ShareEstimate(hits, of, low, high)


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Where the beta distribution has reached a probability."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if incomplete_beta(middle, a, b) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The probability that a beta distribution gives to what is below x."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):  # else the fraction of the other side ends sooner
        return front * _fraction(x, a, b) / a
    return 1 - front * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    above = 1.0
    below = 1 / _not_zero(1 - (a + b) * x / (a + 1))
    found = below
    for term in range(1, MOST_TERMS):
        even = term * (b - term) * x / ((a + 2 * term - 1) * (a + 2 * term))
        odd = -(a + term) * (a + b + term) * x / ((a + 2 * term) * (a + 2 * term + 1))
        for part in (even, odd):
            below = 1 / _not_zero(1 + part * below)
            above = _not_zero(1 + part / above)
            step = below * above
            found *= step
        if abs(step - 1) < PRECISE:
            break
    return found


def _not_zero(value: float) -> float:
    return value if abs(value) > TINY else TINY
