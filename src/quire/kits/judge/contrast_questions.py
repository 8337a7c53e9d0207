"""The questions that experiments are compared by: what is counted of which scores."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from quire.kits.judge.alpha_contrasts import CHOICE_BY_PLACE, MODEL_AGREEMENT, SELF_AGREEMENT
from quire.kits.judge.metrics import Score, mean_stage


class Question(NamedTuple):
    """One figure that experiments are compared by."""

    name: str
    title: str
    note: str  # how to read it
    counts: Callable[[Score], bool]  # which scores it is about
    value: Callable[[Score, int], float]  # of a score on a scale of so many stages
    is_mean: bool = True  # else the spread of all of them
    same_scale: bool = False  # it means something else on a scale of another size
    is_hit: bool = False  # a share of exact hits, or a line through one
    over_chance: bool = False  # less that of guessing, as a share of what is left
    fixed_by: tuple[str, str] | None = None  # a setting that leaves nothing to find
    is_alpha: bool = False  # an alpha over all samples of an experiment, not of each score

    def is_fixed_in(self, settings: Mapping[str, str]) -> bool:
        """Whether an experiment's design decides it, so that no verdict can say anything."""
        return self.fixed_by is not None and settings.get(self.fixed_by[0]) == self.fixed_by[1]


def _is_answered(score: Score) -> bool:
    return score.decoded and bool(score.stages)


def _has_truth(score: Score) -> bool:
    return _is_answered(score) and score.truth is not None


def _right(score: Score, size: int) -> float:
    return float(score.stages == (score.truth,))


def _alpha(name: str, title: str, note: str) -> Question:
    return Question(
        name, title, note, _is_answered, lambda score, size: 0.0, is_mean=False, is_alpha=True
    )


QUESTIONS = (
    Question(
        "abstain_rate",
        "Abstentions",
        "Share of readable verdicts in which the model abstained.",
        lambda score: score.decoded,
        lambda score, size: float(not score.stages),
        fixed_by=("abstain_enabled", "no"),
    ),
    Question(
        "position",
        "Position on the scale",
        "Mean stage of the verdicts that name one, from 0 (the weakest) to 1 (the strongest).",
        _is_answered,
        lambda score, size: (mean_stage(score) - 1) / (size - 1),
    ),
    Question(
        "singleton_rate",
        "Verdicts for one stage",
        "Share of answered verdicts that name exactly one stage.",
        _is_answered,
        lambda score, size: float(len(score.stages) == 1),
        fixed_by=("method", "single"),
    ),
    Question(
        "spread",
        "Spread over the stages",
        "Entropy of the stages named, as a share of the most that the scale allows; corrected for"
        " the bias of few samples, so that values in the table can pass 1.",
        _is_answered,
        lambda score, size: 0.0,
        is_mean=False,
    ),
    _alpha(
        SELF_AGREEMENT,
        "Agreement of a model with itself",
        "Krippendorff's ordinal alpha of a model's verdicts on the same evidence in different"
        " samples: 1 is always the same, 0 no more than by chance.",
    ),
    _alpha(
        MODEL_AGREEMENT,
        "Agreement between models",
        "Ordinal alpha of verdicts by different models on the same evidence, in different samples:"
        " 1 is always the same, 0 no more than by chance.",
    ),
    _alpha(
        CHOICE_BY_PLACE,
        "Choice by place",
        "Ordinal alpha of the lines on which chosen stages stood, less that of the stages: above 0,"
        " a model repeats a place on the display rather than a stage.",
    ),
    Question(
        "critic_agreement",
        "Critics' agreement",
        "Mean of the critics' estimates that experts would agree.",
        lambda score: score.decoded and score.agreement is not None,
        lambda score, size: score.agreement or 0.0,
    ),
    Question(
        "accuracy",
        "Accuracy",
        "Share of answered verdicts that name exactly the right stage; only of scales of one size.",
        _has_truth,
        _right,
        same_scale=True,
        is_hit=True,
    ),
    Question(
        "accuracy_above_chance",
        "Accuracy above chance",
        "Accuracy less that of guessing as many stages at a time as the model named (one of n is"
        " right once in n, several never), as a share of what is left: 0 is chance, 1 always"
        " right.",
        _has_truth,
        _right,
        is_hit=True,
        over_chance=True,
    ),
    Question(
        "critic_error",
        "Critics' error",
        "Brier's score: mean square of what critics say less whether the verdict was right; 0 is"
        " always sure and right, 0.25 what saying one half always gets.",
        lambda score: _has_truth(score) and score.agreement is not None,
        lambda score, size: ((score.agreement or 0.0) - _right(score, size)) ** 2,
        same_scale=True,
    ),
    Question(
        "stage_error",
        "Distance from the truth",
        "Mean distance of a verdict from the right stage, as a share of the scale's length.",
        _has_truth,
        lambda score, size: abs(mean_stage(score) - (score.truth or 0)) / (size - 1),
    ),
)
