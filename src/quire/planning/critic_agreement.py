"""Critic agreement: whether those who judged answers, critics and people, knew the wrong ones."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quire.domain.data import Json
from quire.planning.accuracy import RunAccuracy, label_of
from quire.planning.share_estimates import ShareEstimate, estimate_share

MOST_WORDS = 12  # different words of a critic that a table can show


class JudgeAgreement(NamedTuple):
    """What one judge said of answers, beside whether they were right."""

    judge: str  # a critic's column, or `review`
    counts: Mapping[tuple[str, bool], int]  # (what it said, was the row right)
    agreement: ShareEstimate | None = None  # of yes with right and no with wrong
    discrimination: float | None = None  # of a score: how often a right row has more than a wrong


def measure_agreement(run: RunAccuracy) -> list[JudgeAgreement]:
    """Hold what critics and reviewers said against gold; judges that said nothing are left out."""
    words: dict[str, list[tuple[Json, bool]]] = defaultdict(list)
    for pair in run.pairs:
        if pair.answer is None:
            continue
        is_right = len(run.right[pair.name]) == len(run.fields)
        for column, value in pair.said.items():
            if value is not None and not column.endswith(".status"):
                words[column].append((value, is_right))
        if pair.review and pair.review != "unreviewed":
            words["review"].append((pair.review, is_right))
    found = (_judge(column, said) for column, said in words.items())
    return [judge for judge in found if judge is not None]


def _judge(column: str, said: Sequence[tuple[Json, bool]]) -> JudgeAgreement | None:
    values = [value for value, _ in said]
    if all(isinstance(value, bool) for value in values):
        agreed = sum(value is is_right for value, is_right in said)
        return JudgeAgreement(column, _count(said), estimate_share(agreed, len(said)))
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return JudgeAgreement(column, {}, discrimination=_discrimination(said))
    if len({label_of(value) for value in values}) <= MOST_WORDS:
        return JudgeAgreement(column, _count(said))
    return None  # free text is no judgement that can be counted


def _count(said: Sequence[tuple[Json, bool]]) -> dict[tuple[str, bool], int]:
    return dict(Counter((label_of(value), is_right) for value, is_right in said))


def _discrimination(said: Sequence[tuple[Json, bool]]) -> float | None:
    """The area under the curve: how often a right row's score is above a wrong one's; ties half."""
    scores: list[tuple[float, bool]] = sorted(
        (float(value), is_right) for value, is_right in said if isinstance(value, int | float)
    )
    right = sum(is_right for _, is_right in scores)
    wrong = len(scores) - right
    if not (right and wrong):
        return None
    by_score: dict[float, list[int]] = defaultdict(lambda: [0, 0])
    for score, is_right in scores:
        by_score[score][is_right] += 1
    above, passed = 0.0, 0
    for wrong_here, right_here in by_score.values():  # in the order of scores
        above += right_here * (passed + wrong_here / 2)
        passed += wrong_here
    return above / (right * wrong)
