"""Evidence figures: what every model says of every bundle, and which bundles divide the models."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from quire.kits.judge.agreement import Verdict, verdict_of
from quire.kits.judge.intervals import (
    CHANGE_OF_SHARE,
    Ends,
    Estimate,
    estimate_left_out,
    estimate_mean,
)
from quire.kits.judge.metrics import Score, mean_stage

_Said = Mapping[str, Mapping[int, Verdict]]  # by model and sample


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleOfModel:
    """What one model says of one bundle."""

    model: str
    expected_stage: Estimate
    answered: int
    abstained: int
    missing: int  # not decoded


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleFigures:
    """One bundle of evidence."""

    bundle: str  # its signature
    truth: int | None
    divided: Estimate  # how much oftener models differ than one model from sample to sample
    by_model: tuple[BundleOfModel, ...]


def measure_evidence(scores: Sequence[Score], scale_size: int) -> tuple[BundleFigures, ...]:
    """Every bundle, those that divide the models most first."""
    models = tuple(dict.fromkeys(score.model for score in scores))
    by_bundle: dict[str, list[Score]] = {}
    for score in scores:
        by_bundle.setdefault(score.bundle, []).append(score)
    found = [
        BundleFigures(
            bundle=bundle,
            truth=group[0].truth,
            divided=_estimate_division(group),
            by_model=tuple(
                _of_model(model, [score for score in group if score.model == model], scale_size)
                for model in models
            ),
        )
        for bundle, group in by_bundle.items()
    ]
    return tuple(sorted(found, key=lambda item: -(_sort_key(item.divided.value))))


def _sort_key(value: float | None) -> float:
    return -2.0 if value is None else value


def _of_model(model: str, scores: Sequence[Score], scale_size: int) -> BundleOfModel:
    answered = [score for score in scores if score.stages]
    return BundleOfModel(
        model=model,
        expected_stage=estimate_mean(
            [(mean_stage(score), 1.0) for score in answered], Ends(1, scale_size)
        ),
        answered=len(answered),
        abstained=sum(score.decoded and not score.stages for score in scores),
        missing=sum(not score.decoded for score in scores),
    )


def _estimate_division(scores: Sequence[Score]) -> Estimate:
    answered = [score for score in scores if score.stages]
    samples = sorted({score.sample for score in answered})
    without = [_division([s for s in answered if s.sample != sample]) for sample in samples]
    return estimate_left_out(_division(answered), without, len(answered)).within(CHANGE_OF_SHARE)


def _division(scores: Sequence[Score]) -> float | None:
    """Share of pairs of different models that differ, less that of pairs of one model.

    Both are of different samples, so that no pair shares a display; models count alike.
    """
    said: dict[str, dict[int, Verdict]] = {}
    for score in scores:
        said.setdefault(score.model, {})[score.sample] = verdict_of(score)
    across = [_differ(one, other) for one, other in combinations(said.values(), 2)]
    within = [_differ(one, one) for one in said.values()]
    known = [[share for share in shares if share is not None] for shares in (across, within)]
    if not all(known):
        return None
    return sum(known[0]) / len(known[0]) - sum(known[1]) / len(known[1])


def _differ(one: Mapping[int, Verdict], other: Mapping[int, Verdict]) -> float | None:
    """Share of the pairs of different samples that do not name the same."""
    both = one.keys() & other.keys()
    pairs = len(one) * len(other) - len(both)
    if not pairs:
        return None
    theirs = Counter(other.values())
    same = sum(theirs[verdict] for verdict in one.values())
    same -= sum(one[sample] == other[sample] for sample in both)
    return 1 - same / pairs
