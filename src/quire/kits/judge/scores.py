"""Scores as metrics want them: who judged what in which sample, and the stages named."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from quire.domain.data import Json
from quire.kits.judge.rows import PARSED


class Score(NamedTuple):
    """One model's judgement of one bundle."""

    model: str
    sample: int
    bundle: str  # its signature
    decoded: bool  # False: there is no verdict that could be read
    stages: tuple[int, ...] = ()  # none: the model abstained
    agreement: float | None = None  # as its critic sees it
    truth: int | None = None
    is_swap: bool = False
    rubric_model: str = ""


def scores_of(table: Iterable[Mapping[str, Json]]) -> Iterator[Score]:
    """Read the rows of the table `scores`."""
    for row in table:
        stages = row["decoded_scores"]
        agreement, truth = row["expert_agreement_prob"], row["ground_truth_stage"]
        yield Score(
            model=str(row["model_id"]),
            sample=int(str(row["sample_ordinal"])),
            bundle=str(row["bundle_signature"]),
            decoded=row["parse_status"] == PARSED,
            stages=tuple(int(str(each)) for each in stages) if isinstance(stages, Sequence) else (),
            agreement=float(agreement) if isinstance(agreement, int | float) else None,
            truth=truth if isinstance(truth, int) else None,
            is_swap=row["is_swap"] is True,
            rubric_model=str(row["rubric_model_id"] or ""),
        )


def mean_stage(score: Score) -> float:
    """The stage an answered score stands for: the mean of those it names."""
    return sum(score.stages) / len(score.stages)
