"""Clopper and Pearson's interval, against the sums of probabilities that define it."""

import math

import pytest

from quire.planning.quantiles import beta_cdf, beta_quantile
from quire.planning.share_estimates import estimate_exact_share

# To six places, from sums of binomial probabilities in whole numbers, halved thirty times.
KNOWN = [
    (0, 10, 0.0, 0.308497),
    (1, 10, 0.002529, 0.445016),
    (5, 10, 0.187086, 0.812914),
    (10, 10, 0.691503, 1.0),
    (0, 200, 0.0, 0.018275),
    (2, 200, 0.001213, 0.035655),
    (4, 200, 0.005476, 0.050414),
]


@pytest.mark.parametrize(("hits", "of", "low", "high"), KNOWN)
def test_the_interval_has_its_known_ends(hits: int, of: int, low: float, high: float) -> None:
    found = estimate_exact_share(hits, of)

    assert found.low == pytest.approx(low, abs=1e-6)
    assert found.high == pytest.approx(high, abs=1e-6)


@pytest.mark.parametrize(("hits", "of"), [(1, 7), (3, 50), (17, 200), (190, 200), (7, 5_000)])
def test_at_its_ends_so_much_is_seen_with_a_fortieth(hits: int, of: int) -> None:
    found = estimate_exact_share(hits, of)

    def tail(share: float, counts: range) -> float:
        return math.fsum(
            math.exp(
                math.lgamma(of + 1)
                - math.lgamma(count + 1)
                - math.lgamma(of - count + 1)
                + count * math.log(share)
                + (of - count) * math.log1p(-share)
            )
            for count in counts
        )

    assert tail(found.low, range(hits, of + 1)) == pytest.approx(0.025, rel=1e-8)
    assert tail(found.high, range(hits + 1)) == pytest.approx(0.025, rel=1e-8)


def test_nothing_tells_nothing() -> None:
    assert estimate_exact_share(0, 0)[2:] == (0.0, 1.0)


def test_the_beta_distribution_is_its_own_mirror() -> None:
    for x in (0.01, 0.3, 0.5, 0.97):
        assert beta_cdf(x, 3, 8) == pytest.approx(1 - beta_cdf(1 - x, 8, 3))
    assert beta_quantile(0.5, 4, 4) == pytest.approx(0.5)
    assert beta_cdf(0.25, 1, 1) == pytest.approx(0.25)
