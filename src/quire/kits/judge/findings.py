"""Findings: what an experiment says to the questions that researchers ask first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from quire.domain.data import Json, as_object
from quire.kits.judge.agreement import Agreement, Display, Displays, measure_agreement
from quire.kits.judge.bundle_truths import mixed_bundles
from quire.kits.judge.calibration import CriticCalibration, measure_calibration
from quire.kits.judge.correctness import Correctness, measure_correctness
from quire.kits.judge.display_bias import DisplayBias, measure_display_bias
from quire.kits.judge.drift import Drift, measure_drift
from quire.kits.judge.evidence_figures import BundleFigures, measure_evidence
from quire.kits.judge.experiment import ExperimentRows
from quire.kits.judge.experiment_tables import TableRow, make_tables
from quire.kits.judge.metrics import scores_of
from quire.kits.judge.refusals import Refusals, measure_refusals
from quire.kits.judge.rubric_quality import RubricQuality, measure_rubrics, qualities_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Every figure that is not a mean over scores; swaps count in none of them."""

    rubrics_differ: bool  # each sample wrote its own: its stages are not those of another
    mixed_truth_bundles: int  # whose pieces have different truths, so that none counts as right
    bundles: int
    agreement: Agreement
    display_bias: tuple[DisplayBias, ...]
    drift: tuple[Drift, ...]
    correctness: tuple[Correctness, ...]  # none where no truth is known
    calibration: tuple[CriticCalibration, ...]
    rubrics: tuple[RubricQuality, ...]  # none where the rubric was given
    evidence: tuple[BundleFigures, ...]
    refusals: tuple[Refusals, ...]


def find(rows: ExperimentRows, tables: Mapping[str, list[TableRow]] | None = None) -> Findings:
    """Compute every finding of an experiment, from its tables if they are there already."""
    made = tables or make_tables(rows)
    experiment = rows.experiment
    scores = [score for score in scores_of(made["scores"]) if not score.is_swap]
    displays = displays_of(made["samples"])
    return Findings(
        rubrics_differ=not experiment.rubric,
        mixed_truth_bundles=len(mixed_bundles(experiment)),
        bundles=experiment.bundle_count,
        agreement=measure_agreement(scores, displays),
        display_bias=measure_display_bias(
            scores, displays, experiment.randomizations, experiment.seed
        ),
        drift=measure_drift(scores, experiment.scale_size),
        correctness=measure_correctness(scores, experiment.scale_size),
        calibration=measure_calibration(scores),
        rubrics=measure_rubrics(scores, qualities_of(made["rubrics"])),
        evidence=measure_evidence(scores, experiment.scale_size),
        refusals=measure_refusals(rows),
    )


def displays_of(table: Iterable[Mapping[str, Json]]) -> Displays:
    """Read the rows of the table `samples`; swaps are left out."""
    found = {}
    for row in table:
        if row["is_swap"] is not True:
            order, labels = row["display_order"], as_object(row["label_mapping"])
            assert isinstance(order, Sequence)
            place = str(row["model_id"]), int(str(row["sample_ordinal"]))
            by_stage = sorted(labels, key=lambda token: int(str(labels[token])))
            found[place] = Display(tuple(int(str(stage)) for stage in order), tuple(by_stage))
    return found
