"""Display bias: whether a judge chooses by where a stage stands, or by what it is called.

The idea. The display of a sample was drawn by chance, whatever the stages say. So if a judge looks
at what they say alone, any other draw would have been as likely, and the lines it chose are as good
as chosen by chance. Displays are drawn again, sample by sample, and it is counted how often chance
alone favours some lines as much as was seen: a randomization test, exact whatever the scores of a
sample have in common. Where orders or identifiers were not drawn there is nothing to test: a
preference for the first line is then the same as one for the first stage.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple

from quire.kits.judge.agreement import Display, Displays
from quire.kits.judge.intervals import SHARE, Estimate, estimate_mean
from quire.kits.judge.metrics import Score
from quire.kits.judge.randomization import ANONYMIZE, SHUFFLE

POSITION, ALPHABET, BEGINNING = "position", "alphabet", "beginning"
_DRAWS = 999
_MOST_SHUFFLES = 1_000_000  # of samples in one test
DIGIT, LOWER, UPPER = "a digit", "a small letter", "a capital"
_BEGINNINGS = (DIGIT, LOWER, UPPER)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotShare:
    """How often one line, or one sort of identifier, was chosen."""

    slot: str
    chosen: Estimate  # its share of the answered verdicts; one that names several counts in part
    expected: float  # the share it had of what was displayed


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplayBias:
    """Whether one model favours some slots of the display."""

    model: str
    kind: str  # position, alphabet or beginning
    slots: tuple[SlotShare, ...]
    chi_square: float | None  # of chosen against expected, in verdicts
    p_value: float | None  # how often displays drawn anew favour some slots as much
    adjusted_p_value: float | None = None  # by Holm, for all tests of the experiment
    draws: int
    observations: int
    clusters: int


class _ChosenSlots(NamedTuple):
    """What one sample chose: the verdicts on each stage, and the slot each stage was shown in."""

    masses: tuple[float, ...]
    slots: tuple[int, ...]


_SlotsOf = Callable[[Display], tuple[int, ...]]  # of the stages, weakest first


def measure_display_bias(
    scores: Sequence[Score], displays: Displays, randomizations: Sequence[str], seed: int
) -> tuple[DisplayBias, ...]:
    """Every test that the randomizations of an experiment allow, for each model."""
    answered = [score for score in scores if score.decoded and score.stages]
    if not answered:
        return ()
    size = len(next(iter(displays.values())).order)
    ranks = tuple(str(place) for place in range(1, size + 1))
    tests: list[tuple[str, tuple[str, ...], _SlotsOf]] = []
    if SHUFFLE in randomizations:
        tests.append((POSITION, ranks, _positions))
    if ANONYMIZE in randomizations:
        tests += [(ALPHABET, ranks, _alphabet), (BEGINNING, _BEGINNINGS, _beginnings)]
    models = dict.fromkeys(score.model for score in answered)
    return _adjust_all(
        [
            _measure_bias(
                model, kind, names, list(_samples(model, answered, displays, slots)), seed
            )
            for kind, names, slots in tests
            for model in models
        ]
    )


def _adjust_all(found: Sequence[DisplayBias]) -> tuple[DisplayBias, ...]:
    """Each test's p as it is among so many: Holm's, which needs no independence."""
    known = sorted({bias.p_value for bias in found if bias.p_value is not None})
    every = [bias.p_value for bias in found if bias.p_value is not None]
    adjusted, least = {}, 0.0
    for p_value in known:
        left = sum(other >= p_value for other in every)
        least = max(least, min(1.0, p_value * left))
        adjusted[p_value] = least
    return tuple(
        bias if bias.p_value is None else replace(bias, adjusted_p_value=adjusted[bias.p_value])
        for bias in found
    )


def _positions(display: Display) -> tuple[int, ...]:
    return tuple(display.order.index(stage) for stage in range(1, len(display.order) + 1))


def _alphabet(display: Display) -> tuple[int, ...]:
    in_order = sorted(display.tokens, key=str.lower)
    return tuple(in_order.index(token) for token in display.tokens)


def _beginnings(display: Display) -> tuple[int, ...]:
    return tuple(
        0 if token[0].isdigit() else 1 if token[0].islower() else 2 for token in display.tokens
    )


def _samples(
    model: str, scores: Sequence[Score], displays: Displays, slots_of: _SlotsOf
) -> Iterator[_ChosenSlots]:
    masses: dict[int, list[float]] = {}
    for score in scores:
        if score.model == model:
            display = displays[model, score.sample]
            mass = masses.setdefault(score.sample, [0.0] * len(display.order))
            for stage in score.stages:
                mass[stage - 1] += 1 / len(score.stages)
    for sample, mass in masses.items():
        yield _ChosenSlots(tuple(mass), slots_of(displays[model, sample]))


def _measure_bias(
    model: str, kind: str, names: Sequence[str], samples: Sequence[_ChosenSlots], seed: int
) -> DisplayBias:
    expected = [0.0] * len(names)
    for sample in samples:
        for slot in sample.slots:
            expected[slot] += sum(sample.masses) / len(sample.slots)
    total = sum(expected)
    chi_square = _chi_square(_totals(samples, len(names)), expected)
    draws = max(99, min(_DRAWS, _MOST_SHUFFLES // max(1, len(samples))))
    testable = sum(1 for count in expected if count) > 1
    return DisplayBias(
        model=model,
        kind=kind,
        slots=tuple(
            SlotShare(slot=name, chosen=_share(samples, slot), expected=expected[slot] / total)
            for slot, name in enumerate(names)
            if expected[slot]
        ),
        chi_square=chi_square if testable else None,
        p_value=_p_value(samples, expected, draws, seed) if testable else None,
        draws=draws,
        observations=round(total),
        clusters=len(samples),
    )


def _share(samples: Sequence[_ChosenSlots], slot: int) -> Estimate:
    clusters = [
        (sum(m for m, at in zip(*sample, strict=True) if at == slot), sum(sample.masses))
        for sample in samples
    ]
    return estimate_mean(clusters, SHARE)


def _totals(samples: Sequence[_ChosenSlots], count: int) -> list[float]:
    totals = [0.0] * count
    for sample in samples:
        for mass, slot in zip(sample.masses, sample.slots, strict=True):
            totals[slot] += mass
    return totals


def _chi_square(totals: Sequence[float], expected: Sequence[float]) -> float:
    pairs = zip(totals, expected, strict=True)
    return sum((seen - wanted) ** 2 / wanted for seen, wanted in pairs if wanted)


def _p_value(
    samples: Sequence[_ChosenSlots], expected: Sequence[float], draws: int, seed: int
) -> float:
    """How often slots drawn anew lie as far off as these; these count as one of the draws."""
    random = Random(seed)  # noqa: S311 - seeded, to repeat
    seen = _chi_square(_totals(samples, len(expected)), expected)
    masses = [list(sample.masses) for sample in samples]
    as_far = 1
    for _ in range(draws):
        totals = [0.0] * len(expected)
        for mass, sample in zip(masses, samples, strict=True):
            random.shuffle(mass)
            for part, slot in zip(mass, sample.slots, strict=True):
                totals[slot] += part
        as_far += _chi_square(totals, expected) >= seen * (1 - 1e-12) - 1e-12
    return as_far / (draws + 1)
