"""Families of contrasts: what stands out among many, where some differ by chance alone.

Of a hundred 95 % intervals five exclude 0 though nothing differs. So each contrast has a second
interval, made at 1 - 0.05 / k for k contrasts (Bonferroni): all k hold at once in 95 of 100 such
comparisons, whatever the contrasts have in common. And a contrast *stands out* by Holm's steps,
which are as safe and find more: those whose interval at 1 - 0.05 / k excludes 0 do; of the k' that
are left, those whose interval at 1 - 0.05 / k' does; and so on, until a step finds none.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from quire.kits.judge.contrast_questions import QUESTIONS
from quire.kits.judge.contrasts import (
    Arm,
    Contrast,
    compare,
    excludes_zero,
    find_contrasts,
)
from quire.kits.judge.intervals import COVERAGE

_AtCoverage = Callable[[Contrast, float], Contrast]


def find_family(arms: Sequence[Arm]) -> list[Contrast]:
    """Every contrast of a comparison, each among all of them."""
    found = find_contrasts(arms)
    known = [
        place for place, item in enumerate(found) if excludes_zero(item.difference) is not None
    ]
    at_coverage = _recompute(arms)
    out = _places_that_stand_out(found, known, at_coverage)
    return [
        replace(
            item,
            family=len(known),
            simultaneous=at_coverage(item, coverage_of(len(known))).difference,
            stands_out=place in out,
        )
        if place in set(known)
        else replace(item, family=len(known))
        for place, item in enumerate(found)
    ]


def coverage_of(count: int) -> float:
    """How often each of so many intervals must hold, for all to hold as often as one does."""
    return 1 - (1 - COVERAGE) / count


def _recompute(arms: Sequence[Arm]) -> _AtCoverage:
    by_name = {arm.name: arm for arm in arms}
    questions = {question.name: question for question in QUESTIONS}

    def at_coverage(item: Contrast, coverage: float) -> Contrast:
        one, other = by_name[item.of], by_name[item.against]
        return compare(questions[item.question], item.model, one, other, coverage)

    return at_coverage


def _places_that_stand_out(
    found: Sequence[Contrast], known: Sequence[int], at_coverage: _AtCoverage
) -> set[int]:
    """Holm's steps; who does not exclude 0 alone does not among others."""
    left, out = [place for place in known if excludes_zero(found[place].difference)], set[int]()
    while left:
        coverage = coverage_of(len(known) - len(out))
        clear = {
            place for place in left if excludes_zero(at_coverage(found[place], coverage).difference)
        }
        if not clear:
            break
        out |= clear
        left = [place for place in left if place not in clear]
    return out
