"""Rows of the table `figures` computed once more from the other exported tables.

Nothing here is taken from the kit: a stranger with the files and docs/judge.md would write this,
with pandas and numpy. Each figure is found by its question, name, model, other model and item, and
has a value, low, high, observations and clusters. Here: intervals, scores, pairs and agreement.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy

from tests.kits.judge import own_statistics as own

Key = tuple[str, str, str | None, str | None, str | None]
Row = tuple[float | None, float | None, float | None, int, int]
Found = Iterator[tuple[Key, Row]]
SHARE = (0.0, 1.0)
USED = ["model_id", "rubric_model_id", "sample_id", "sample_ordinal", "score_id", "is_swap",
        "bundle_signature", "parse_status", "decoded_scores", "ground_truth_stage",
        "expert_agreement_prob"]  # fmt: skip
BUNDLE, SAMPLE = "bundle_signature", "sample_ordinal"


class Tables(NamedTuple):
    """What was exported, and what all questions are asked of."""

    frames: Any  # by name
    decoded: Any  # scores that could be read, without swaps; `value`: the stages, in order
    answered: Any  # those of them that do not abstain
    models: list[str]
    size: int
    drawn: list[str]  # what was randomized

    def of(self, frame: Any, model: str) -> Any:
        """Those of one model."""
        return frame[frame.model_id == model]


def read(frames: Any) -> Tables:
    """Verdicts as tuples of stages, and what the experiment is."""
    scores = frames["scores"][USED].copy()
    parsed = scores.parse_status == "parsed"
    scores["value"] = [
        tuple(sorted(json.loads(text))) if good else ()
        for text, good in zip(scores.decoded_scores, parsed, strict=True)
    ]
    scores["stage"] = [sum(v) / len(v) if v else numpy.nan for v in scores.value]
    first = frames["experiments"].iloc[0]
    decoded = scores[parsed & ~scores.is_swap]
    return Tables(
        {**frames, "verdicts": scores}, decoded, decoded[decoded.value.map(len) > 0],
        list(dict.fromkeys(scores.model_id)), int(first.scale_size),
        json.loads(first.randomizations),
    )  # fmt: skip


def cluster_sums(frame: Any, values: Sequence[float]) -> tuple[Any, Any]:
    """Sums and counts by sample."""
    groups = frame.assign(_x=numpy.array(values, dtype=float)).groupby(SAMPLE)._x
    return groups.sum().to_numpy(), groups.count().to_numpy()


def mean(frame: Any, values: Sequence[float], ends: tuple[float, float] | None = SHARE) -> Row:
    """A mean over scores, its interval over samples."""
    if not len(frame):
        return (None, None, None, 0, 0)
    return mean_of_sums(*cluster_sums(frame, values), ends)


def mean_of_sums(totals: Any, counts: Any, ends: tuple[float, float] | None = SHARE) -> Row:
    """The same from what each sample sums up to."""
    totals, counts = totals[counts > 0], counts[counts > 0]
    n, m = counts.sum(), len(counts)
    if not m:
        return (None, None, None, 0, 0)
    value = totals.sum() / n
    if m < 2:
        return (value, None, None, round(n), m)
    without = (totals.sum() - totals) / (n - counts)
    error = own.jackknife_error(without)
    error = error if error > 1e-14 else 0.0
    t = own.student(m - 1)
    if ends is None:
        return (value, value - t * error, value + t * error, round(n), m)
    reach = ends[1] - ends[0]
    p = (value - ends[0]) / reach
    if p in (0, 1) or not error:
        low, high = wilson(p, n / (1 + 0.1 * (n / m - 1)), t)
        low, high = (0.0 if p == 0 else low), (1.0 if p == 1 else high)
    else:
        low, high = logit_interval(p, t * error / reach)
    return (value, ends[0] + reach * low, ends[0] + reach * high, round(n), m)


def above_chance(hits: Any, ones: Any, counts: Any, size: int) -> Row:
    """Accuracy above that of guesses, from what each sample hits and how often it names one stage.

    Without each sample in turn; where chance does not vary, as the interval of accuracy.
    """

    def figure(hits: Any, ones: Any, counts: Any) -> Any:
        chance = ones / counts / size
        return (hits / counts - chance) / (1 - chance)

    value, *ends, n, m = mean_of_sums(hits, counts)
    chance = ones.sum() / counts.sum() / size
    moved = [None if x is None else (x - chance) / (1 - chance) for x in (value, *ends)]
    if m < 2 or not hits.sum() or ones.sum() == counts.sum():
        return (moved[0], moved[1], moved[2], n, m)
    without = figure(hits.sum() - hits, ones.sum() - ones, counts.sum() - counts)
    error, least, reach = own.jackknife_error(without), -1 / (size - 1), size / (size - 1)
    if error < 1e-14:
        return (moved[0], moved[1], moved[2], n, m)
    p = (figure(hits.sum(), ones.sum(), counts.sum()) - least) / reach
    low, high = logit_interval(p, own.student(m - 1) * error / reach)
    return (moved[0], least + reach * low, least + reach * high, n, m)


def wilson(p: float, n: float, t: float) -> tuple[float, float]:
    """Wilson's interval with t for its quantile."""
    middle = (p + t**2 / (2 * n)) / (1 + t**2 / n)
    half = t / (1 + t**2 / n) * numpy.sqrt(p * (1 - p) / n + t**2 / (4 * n**2))
    return middle - half, middle + half


def logit_interval(p: float, margin: float) -> tuple[float, float]:
    """p with a margin, made on the logit scale."""
    middle, half = numpy.log(p / (1 - p)), margin / (p * (1 - p))
    low, high = (float(1 / (1 + numpy.exp(-(middle + side * half)))) for side in (-1, 1))
    return low, high


def clip(row: Row, most: float) -> Row:
    """What a change can be."""
    value, low, high = (None if x is None else max(-most, min(most, x)) for x in row[:3])
    return (value, low, high, *row[3:])


def left_out(frame: Any, figure: Callable[[Any], float], kind: str, n: int | None = None) -> Row:
    """A figure, with the interval that leaving out each sample gives."""
    count = len(frame) if n is None else n
    if not len(frame):
        return (None, None, None, 0, 0)
    with numpy.errstate(all="ignore"):
        value, without = figure(frame), own.without_samples(frame, figure)
    m = len(without)
    if numpy.isnan(value):
        return (None, None, None, count, m)
    bounded = {"below one": value >= 1, "correlation": abs(value) >= 1 - 1e-12,
               "share": value in (0, 1)}.get(kind, False)  # fmt: skip
    if m < 2 or numpy.isnan(without).any() or bounded or own.jackknife_error(without) < 1e-14:
        return (value, None, None, count, m)
    return (value, *own.interval(value, without, kind), count, m)


def _masses(frame: Any, size: int) -> Any:
    """A row a sample, a column a stage: verdicts, parted among the stages that they name."""
    rows = [
        [sum((stage in value) / len(value) for value in group) for stage in range(1, size + 1)]
        for _, group in frame.groupby(SAMPLE).value
    ]
    return numpy.array(rows).reshape(-1, size)


def entropy(masses: Any) -> float:
    """In bits."""
    parts = masses[masses > 1e-12] / masses.sum()
    return float(-(parts * numpy.log2(parts)).sum())


def _corrected_entropy(masses: Any, size: int, n: int) -> Row:
    if not len(masses):
        return (None, None, None, n, 0)
    whole, m, most = masses.sum(0), len(masses), float(numpy.log2(size))
    if m < 2:
        return (entropy(whole), None, None, n, m)
    without = [entropy(whole - row) for row in masses]
    corrected = float(m * entropy(whole) - (m - 1) * numpy.mean(without))
    shown = min(most, max(0.0, corrected))
    error = own.jackknife_error(without)
    if error < 1e-14:
        return (shown, shown, shown, n, m)
    margin, near = own.student(m - 1) * error, min(error, most / 4)
    low, high = logit_interval(min(most - near, max(near, corrected)) / most, margin / most)
    low = 0.0 if corrected - margin <= 0 else min(low * most, shown)
    high = most if corrected + margin >= most else max(high * most, shown)
    return (shown, low, high, n, m)


def scores(t: Tables) -> Found:
    """What each model says."""
    for model in t.models:
        for name, item, row in of_group(t.size, t.of(t.decoded, model)):
            yield ("scores", name, model, None, item), row


def of_group(size: int, decoded: Any) -> Iterator[tuple[str, str | None, Row]]:
    """What one model says, or several together."""
    answered = decoded[decoded.value.map(len) > 0]
    judged = answered.dropna(subset=["ground_truth_stage"])
    heard = decoded.dropna(subset=["expert_agreement_prob"])
    truths, sizes, stages = judged.ground_truth_stage, answered.value.map(len), (1.0, float(size))
    middle = {(size + 1) // 2, size // 2 + 1}
    occupied = [len(middle & {*v}) / len(v) for v in answered.value]
    covered = [k in v for v, k in zip(judged.value, truths, strict=True)]
    yield "abstain_rate", None, mean(decoded, decoded.value.map(len) == 0)
    yield "singleton_rate", None, mean(answered, sizes == 1)
    yield "mean_subset_size", None, mean(answered, sizes, stages)
    yield "expected_stage", None, mean(answered, answered.stage, stages)
    yield "mid_scale_occupancy", None, mean(answered, occupied)
    yield "stage_entropy", None, _corrected_entropy(_masses(answered, size), size, len(answered))
    yield "critic_agreement", None, mean(heard, heard.expert_agreement_prob)
    yield "accuracy", None, mean(judged, right(judged))
    yield "coverage", None, mean(judged, covered)
    yield "stage_error", None, mean(judged, (judged.stage - truths).abs(), (0.0, size - 1.0))
    for stage in range(1, size + 1):
        parts = [(stage in v) / max(1, len(v)) for v in decoded.value]
        yield "stage_share_of_decoded", str(stage), mean(decoded, parts)


def right(frame: Any) -> list[float]:
    """1 where exactly the right stage was named."""
    return [
        float(v == (int(truth),))
        for v, truth in zip(frame.value, frame.ground_truth_stage, strict=True)
    ]


def jensen_shannon(one: Any, other: Any) -> float:
    """Divergence in bits, of masses."""
    mixed = (one / one.sum() + other / other.sum()) / 2
    return entropy(mixed) - (entropy(one) + entropy(other)) / 2


def _divergence(a: Any, b: Any, n: int, m: int) -> Row:
    whole, other = a.sum(0), b.sum(0)
    value = jensen_shannon(whole, other)
    sides = ([jensen_shannon(whole - row, other) for row in a],
             [jensen_shannon(whole, other - row) for row in b])  # fmt: skip
    bias = sum((len(side) - 1) * (numpy.mean(side) - value) for side in sides)
    variances = [own.jackknife_error(side) ** 2 for side in sides]
    degrees = sum(variances) ** 2 / sum(
        v**2 / (len(side) - 1) for v, side in zip(variances, sides, strict=True)
    )
    margin = own.student(max(1.0, degrees)) * numpy.sqrt(sum(variances))
    plain = float(value - bias)
    corrected, base = max(0.0, plain), max(plain, value / 10)
    high = min(1.0, base * numpy.exp(min(500.0, margin / base)))
    if plain > margin:
        return (corrected, min(base / numpy.exp(min(500.0, margin / base)), corrected), high, n, m)
    return (corrected, 0.0, min(high, corrected + 3 * margin), n, m)


def pairs(t: Tables) -> Found:
    """How far models are apart."""
    for one, other in combinations(t.models, 2):
        ours, theirs = t.of(t.answered, one), t.of(t.answered, other)
        n = len(ours) + len(theirs)
        m = len({*ours[SAMPLE], *theirs[SAMPLE]})  # both may have a part in one
        row = _divergence(_masses(ours, t.size), _masses(theirs, t.size), n, m)
        yield ("pairs", "divergence", one, other, None), row
        yield ("pairs", "matched_delta", one, other, None), _delta(ours, theirs, t.size)
    every = t.frames["verdicts"]
    swaps = every[every.is_swap & (every.value.map(len) > 0)]
    for one, other in permutations(t.models, 2):
        if len(ours := swaps[(swaps.model_id == one) & (swaps.rubric_model_id == other)]):
            row = _delta(ours, t.of(t.answered, one), t.size)
            yield ("pairs", "swap_delta", one, other, None), row


def _delta(ours: Any, theirs: Any, size: int) -> Row:
    both = ours.merge(theirs, on=[SAMPLE, BUNDLE])
    return clip(mean(both, both.stage_x - both.stage_y, None), size - 1)


def _alpha_of(level: str, keys: Sequence[str]) -> Callable[[Any], float]:
    def figure(frame: Any) -> float:
        units = {key: list(unit) for key, unit in frame.groupby([*keys]).value}
        return own.alpha(units, level)

    return figure


def _alpha(frame: Any, level: str, keys: Sequence[str], *, apart: bool = False) -> Row:
    figure = partial(own.alpha_apart, level=level) if apart else _alpha_of(level, keys)
    sizes = frame.groupby([*keys])[SAMPLE].transform("size")
    n = len(frame) if apart else int((sizes > 1).sum())
    ends = own.alpha_interval(frame, figure, level, keys, apart)
    return (figure(frame), *ends, n, frame[SAMPLE].nunique())


def _on_lines(t: Tables, frame: Any) -> Any:
    items = t.frames["score_items"].groupby("score_id").display_position
    return frame.assign(value=frame.score_id.map(items.agg(sorted)).map(tuple))


def agreement(t: Tables) -> Found:
    """How far verdicts agree, within models and between them."""
    ordinal, nominal = "ordinal", "nominal"
    for model in t.models:
        mine = t.of(t.answered, model)
        placed = _on_lines(t, mine)

        def above(frame: Any, placed: Any = placed) -> float:
            figure = _alpha_of("ordinal", [BUNDLE])
            return figure(placed.loc[frame.index]) - figure(frame)

        for name, frame in (("stages", mine), ("positions", placed)):
            for level in (ordinal, nominal):
                key: Key = ("agreement", f"within_{name}_{level}", model, None, None)
                yield key, _alpha(frame, level, [BUNDLE])
        key = ("agreement", "within_lines_above_stages", model, None, None)
        yield key, left_out(mine, above, "plain")
    every = list(combinations(t.models, 2))
    for whose in [*every, (None, None)] if every else []:
        both = t.answered[t.answered.model_id.isin(whose)] if whose[0] else t.answered
        for level in (ordinal, nominal):
            key = ("agreement", f"between_matched_{level}", *whose, None)
            yield key, _alpha(both, level, [SAMPLE, BUNDLE])
            key = ("agreement", f"between_apart_{level}", *whose, None)
            yield key, _alpha(both, level, [BUNDLE], apart=True)
    for one, other in every:
        matched = t.of(t.answered, one).merge(t.of(t.answered, other), on=[SAMPLE, BUNDLE])
        yield (
            ("agreement", "between_kappa", one, other, None),
            left_out(matched, _kappa, "below one"),
        )


def _kappa(frame: Any) -> float:
    return own.kappa(list(zip(frame.value_x, frame.value_y, strict=True)))
