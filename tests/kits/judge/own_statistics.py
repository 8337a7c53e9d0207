"""Figures computed once more from exported tables, by definition and with numpy, pair by pair.

Nothing here is taken from the kit: a stranger with the files and docs/judge.md would write this.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any

import numpy

Values = Sequence[tuple[int, ...]]


@cache
def student(degrees: float, coverage: float = 0.95) -> float:
    """How far out a share of Student's distribution lies, 95 % if not said; by its density."""
    angle, share = _student_shares(degrees)
    return float(numpy.tan(numpy.interp(coverage, share, angle)) * numpy.sqrt(degrees))


def two_sided_p(t: float, degrees: float) -> float:
    """How much of Student's distribution lies as far out, on both sides."""
    angle, share = _student_shares(degrees)
    return float(1 - numpy.interp(numpy.arctan(abs(t) / numpy.sqrt(degrees)), angle, share))


def holm(p_values: Sequence[float], level: float = 0.05) -> list[bool]:
    """Whom Holm's procedure rejects: the smallest first, each at the level over those left."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    rejected = [False] * len(p_values)
    for step, place in enumerate(order):
        if p_values[place] > level / (len(order) - step):
            break
        rejected[place] = True
    return rejected


@cache
def _student_shares(degrees: float) -> tuple[Any, Any]:
    angle = numpy.linspace(0, numpy.pi / 2, 200_001)  # t = tan(angle) · √degrees
    density = numpy.cos(angle) ** (degrees - 1)
    steps = (density[1:] + density[:-1]) / 2
    return angle, numpy.concatenate([[0], numpy.cumsum(steps)]) / steps.sum()


def jackknife_error(without: Sequence[float]) -> float:
    """The delete-one jackknife's standard error."""
    left, m = numpy.array(without), len(without)
    return float(numpy.sqrt((m - 1) / m * ((left - left.mean()) ** 2).sum()))


def interval(value: float, without: Sequence[float], kind: str) -> tuple[float, float]:
    """Its 95 % interval: plain, below 1, of a correlation or of a share."""
    margin = student(len(without) - 1) * jackknife_error(without)
    sides = numpy.array([-1, 1])
    if kind == "plain":
        ends = value + sides * margin
    elif kind == "below one":
        ends = 1 - numpy.exp(numpy.log(1 - value) - sides * margin / (1 - value))
    elif kind == "correlation":
        ends = numpy.tanh(numpy.arctanh(value) + sides * margin / (1 - value**2))
    else:
        logit = numpy.log(value / (1 - value)) + sides * margin / (value * (1 - value))
        ends = 1 / (1 + numpy.exp(-logit))
    return float(ends[0]), float(ends[1])


def correlation(x: Any, y: Any) -> float:
    """Pearson's; nothing where one side is the same all along, but for rounding."""
    if min(x.std(), y.std()) < 1e-7:
        return float("nan")
    return float(x.corr(y))


def distances(values: Values, level: str) -> Any:
    """How far any two values disagree, as a square matrix."""
    if level == "nominal":
        codes = numpy.array([hash(value) for value in values])
        return (codes[:, None] != codes).astype(float)
    centres = numpy.array([sum(value) / len(value) for value in values])
    every = numpy.sort(centres)
    first, last = (numpy.searchsorted(every, centres, side) for side in ("left", "right"))
    of_value = last - first  # how often each value was given
    between = numpy.maximum(last[:, None], last) - numpy.minimum(first[:, None], first)
    return (centres[:, None] != centres) * (between - (of_value[:, None] + of_value) / 2) ** 2


def alpha(units: Mapping[Hashable, Values], level: str) -> float:
    """Krippendorff's alpha, from all pairs within units and all pairs at all."""
    paired = [unit for unit in units.values() if len(unit) > 1]
    values = [value for unit in paired for value in unit]
    matrix = distances(values, level)
    observed, start = 0.0, 0
    for unit in paired:
        block = matrix[start : start + len(unit), start : start + len(unit)]
        observed += block.sum() / (len(unit) - 1)
        start += len(unit)
    n = len(values)
    return float(1 - (observed / n) / (matrix.sum() / (n * (n - 1))))


def alpha_apart(frame: Any, level: str) -> float:
    """Of pairs of different models and samples on the same bundle, against all pairs."""
    matrix = distances(list(frame.value), level)
    n = len(frame)
    bundle, model, sample = (
        frame[name].to_numpy() for name in ("bundle_signature", "model_id", "sample_ordinal")
    )
    admitted = (bundle[:, None] == bundle) & (model[:, None] != model) & (sample[:, None] != sample)
    return float(1 - matrix[admitted].mean() / (matrix.sum() / (n * (n - 1))))


def _own_of_pairs(h: Any) -> float:
    """What the jackknife's variance has too much, of what each two samples add."""
    m = len(h)
    if m < 4:
        return 0.0
    numpy.fill_diagonal(h, 0)
    mean = h.sum() / (m * (m - 1))
    own = (h.sum(1) - (m - 1) * mean) / (m - 2)
    rest = h - mean - own[:, None] - own
    numpy.fill_diagonal(rest, 0)
    return float((m * (m - 1) / 2) * (rest**2).sum() / (m * (m - 3)))


def alpha_interval(
    frame: Any, figure: Callable[[Any], float], level: str, keys: Sequence[str], apart: bool
) -> tuple[float, float]:
    """An alpha's interval: half of what pairs of samples have of their own taken off its variance.

    `keys` say which verdicts are of one unit; `apart`: only pairs of different models count.
    """
    value, without = figure(frame), numpy.array(without_samples(frame, figure))
    unit = frame.groupby([*keys]).ngroup().to_numpy()
    sample, model = (frame[name].to_numpy() for name in ("sample_ordinal", "model_id"))
    size = numpy.bincount(unit)[unit]
    used = size > 1 if not apart else size > 0
    matrix = distances([v for v, use in zip(frame.value, used, strict=True) if use], level)
    unit, sample, model, size = unit[used], sample[used], model[used], size[used]
    n = len(unit)
    same = unit[:, None] == unit
    if apart:
        same &= (model[:, None] != model) & (sample[:, None] != sample)
        weights = same / same.sum()
    else:
        weights = same / (n * numpy.maximum(1, size - 1))
    chance = matrix.sum() / (n * (n - 1))
    parts = matrix * (weights - (1 - value) / (n * (n - 1))) / chance
    names = numpy.unique(frame.sample_ordinal)
    h = numpy.array(
        [[2 * parts[numpy.ix_(sample == i, sample == j)].sum() for j in names] for i in names]
    )
    excess, m = _own_of_pairs(h), len(names)
    variance = jackknife_error(list(without)) ** 2
    error = numpy.sqrt(max(variance - excess / 2, variance / 2))
    middle = m * value - (m - 1) * without.mean()
    half = student(m - 1) * error / (1 - middle)
    ends = 1 - (1 - middle) * numpy.exp(numpy.array([half, -half]))
    return min(float(ends[0]), value), max(float(ends[1]), value)


def kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float:
    """Cohen's kappa."""
    n = len(pairs)
    seen = sum(one == other for one, other in pairs) / n
    ours, theirs = zip(*pairs, strict=True)
    chance = sum(ours.count(value) / n * theirs.count(value) / n for value in set(ours))
    return (seen - chance) / (1 - chance)


def without_samples(frame: Any, figure: Callable[[Any], float]) -> list[float]:
    """A figure without each sample in turn."""
    samples = sorted(frame.sample_ordinal.unique())
    return [figure(frame[frame.sample_ordinal != sample]) for sample in samples]


def division(frame: Any) -> float:
    """How much oftener verdicts of different models differ than those of one."""

    def differ(one: Any, other: Any) -> list[bool]:
        return [
            a != b
            for s, a in zip(one.sample_ordinal, one.value, strict=True)
            for t, b in zip(other.sample_ordinal, other.value, strict=True)
            if s != t
        ]

    groups = [group for _, group in frame.groupby("model_id", sort=False)]
    across = [differ(one, other) for one, other in combinations(groups, 2)]
    within = [differ(one, one) for one in groups]
    known = [[numpy.mean(pairs) for pairs in side if pairs] for side in (across, within)]
    if not all(known):
        return float("nan")
    centres = [numpy.mean(side) for side in known]
    return float(centres[0] - centres[1])
