"""Alphas of experiments, and by how much they differ.

An alpha is of all samples of an experiment at once, so that no verdict has a part of its own in it.
It is computed again without each sample; where two experiments have the same samples, each is left
out of both in turn.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from quire.kits.judge.agreement import (
    ORDINAL,
    AlphaMoves,
    Displays,
    Rating,
    estimate_alpha,
    estimate_alpha_between,
    estimate_alpha_difference,
    leave_out_alpha_between,
    leave_out_alpha_difference,
    leave_out_alphas,
    ratings_of,
    ratings_of_lines,
)
from quire.kits.judge.intervals import COVERAGE, Estimate, Moves, estimate_difference_of_moves
from quire.kits.judge.metrics import Score

SELF_AGREEMENT, MODEL_AGREEMENT, CHOICE_BY_PLACE = (
    "self_agreement",
    "model_agreement",
    "choice_by_place",
)
ALL_MODELS = "all models"


class Alpha(NamedTuple):
    """A figure over all samples, and what it is without each."""

    figure: Estimate
    moves: Moves  # by the seed of the sample that is left out


def measure_alphas(
    scores: Sequence[Score], displays: Displays, seeds: Sequence[int], *, lines_drawn: bool
) -> dict[tuple[str, str], Alpha]:
    """Those of one experiment, by question and model; of lines only where they are drawn."""
    answered = [score for score in scores if score.decoded and score.stages]
    models = tuple(dict.fromkeys(score.model for score in answered))
    found = {}
    for model in models:
        ratings = ratings_of([score for score in answered if score.model == model])
        lines = ratings_of_lines(ratings, displays) if lines_drawn else []
        for name, alpha in _alphas_of_model(ratings, lines, seeds):
            found[name, model] = alpha
    if len(models) > 1:
        ratings = ratings_of(answered)
        found[MODEL_AGREEMENT, ALL_MODELS] = Alpha(
            estimate_alpha_between(ratings, ORDINAL),
            _by_seed(leave_out_alpha_between(ratings, ORDINAL), seeds),
        )
    return found


def _alphas_of_model(
    ratings: Sequence[Rating], lines: Sequence[Rating], seeds: Sequence[int]
) -> Iterator[tuple[str, Alpha]]:
    yield (
        SELF_AGREEMENT,
        Alpha(
            estimate_alpha(ratings, ORDINAL), _by_seed(leave_out_alphas(ratings, ORDINAL), seeds)
        ),
    )
    if lines:
        yield (
            CHOICE_BY_PLACE,
            Alpha(
                estimate_alpha_difference(lines, ratings, ORDINAL),
                _by_seed(leave_out_alpha_difference(lines, ratings, ORDINAL), seeds),
            ),
        )


def _by_seed(found: AlphaMoves, seeds: Sequence[int]) -> Moves:
    without: Mapping[int, float | None] = found.without
    known = {seeds[sample]: value for sample, value in without.items() if value is not None}
    return Moves(found.value, known if len(known) == len(without) else None)


def compare_alphas(
    one: Alpha, other: Alpha, *, paired: bool, coverage: float = COVERAGE
) -> Estimate:
    """The first less the second."""
    observations = one.figure.observations + other.figure.observations
    return estimate_difference_of_moves(
        one.moves, other.moves, observations, paired=paired, coverage=coverage
    )
