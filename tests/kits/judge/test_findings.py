"""Findings: equal to what a stranger computes from the exported files, by definition."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas
import pytest

from quire.kits.judge.calibration import measure_calibration
from quire.kits.judge.correctness import measure_correctness
from quire.kits.judge.drift import measure_drift
from quire.kits.judge.experiment import Evidence, all_pairs
from quire.kits.judge.experiment_export import write_tables
from quire.kits.judge.experiment_runs import typed_tables
from quire.kits.judge.findings import Findings, find
from quire.kits.judge.metrics import Score
from quire.kits.judge.randomization import RANDOMIZATIONS
from tests.kits.judge.examples import experiment
from tests.kits.judge.fake_run import FakeRun

METHODS = {"single": {"scale_size": 3}, "subset": {"scale_size": 4}}


@pytest.fixture(scope="module", params=list(METHODS))
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The findings of an experiment, and its exported tables as frames."""
    evidence = tuple(Evidence(title=f"{n}", text=f"Text {n}.", truth=1 + n % 3) for n in range(8))
    wanted = experiment(
        samples=9,
        models=experiment().models[:2],
        evidence=evidence,
        windows=(),
        task_type="control",
        method=request.param,
        randomizations=RANDOMIZATIONS,
        swaps=all_pairs(experiment().models[:2]),
        **METHODS[request.param],
    )
    rows = FakeRun(wanted).rows()
    folder: Path = tmp_path_factory.mktemp("findings")
    write_tables(rows, typed_tables(rows), folder)
    frames = {path.stem: pandas.read_csv(path) for path in folder.glob("*.csv")}
    scores = frames["scores"]
    scores = scores[~scores.is_swap & (scores.parse_status == "parsed")].copy()
    scores["value"] = scores.decoded_scores.map(lambda text: tuple(sorted(json.loads(text))))
    return find(rows), scores, frames


def test_figures_are_exported_as_they_are(both: tuple[Findings, Any, Any]) -> None:
    findings, _, frames = both
    alone = frames["figures"][frames["figures"].other_model_id.isna()]
    figures = alone.set_index(["question", "figure", "model_id"]).sort_index()

    for within in findings.agreement.within:
        (row,) = figures.loc[[("agreement", "within_stages_ordinal", within.model)]].to_dict(
            "records"
        )
        found = [row[name] for name in ("value", "low", "high", "observations", "clusters")]
        assert found == pytest.approx(list(within.stages_ordinal))
    assert set(frames["figures"].question) == {
        "scores", "pairs", "agreement", "display_bias", "drift", "accuracy", "calibration",
        "rubrics", "evidence", "refusals",
    }  # fmt: skip
    keys = ["question", "figure", "model_id", "other_model_id", "item"]
    assert not frames["figures"].duplicated(keys).any()


def _answered(scores: Any) -> Any:
    return scores[scores.value.map(len) > 0]


def test_changes_of_few_samples_stay_within_what_can_be() -> None:
    said = [(1,), (1,), (), (3,), (3,), ()]  # of two pieces in each of three samples
    scores = [
        Score("m", n // 2, f"e{n % 2}", decoded=True, stages=named, agreement=float(n < 1), truth=1)
        for n, named in enumerate(said)
    ]

    (drift,) = measure_drift(scores, 3)
    (calibration,) = measure_calibration(scores)

    assert drift.abstain_rate[:3] == (0.5, -1, 1)
    assert drift.expected_stage[:3] == (2, -2, 2)
    assert calibration.excess.low == -1


def test_every_subset_of_four_stages_guessed_once_is_right_by_chance_and_no_more() -> None:
    subsets = [named for size in range(1, 5) for named in combinations(range(1, 5), size)]
    scores = [
        Score("m", n % 3, f"e{n}", decoded=True, stages=named, agreement=n / 20, truth=3)
        for n, named in enumerate(subsets)
    ]

    (found,) = measure_correctness(scores, 4)

    assert found.chance == pytest.approx(1 / 15)
    assert found.corrected.value == pytest.approx(0)
    for point in found.curve:
        single = [s for s in scores if (s.agreement or 0) >= point.least_agreement]
        alone = sum(len(s.stages) == 1 for s in single) / len(single)
        assert point.chance == pytest.approx(alone / 4)


def test_evidence(both: tuple[Findings, Any, Any]) -> None:
    findings, scores, frames = both
    answered = _answered(scores)
    every = frames["scores"]

    assert len(findings.evidence) == 8
    order = [found.divided.value or 0 for found in findings.evidence]
    assert order == sorted(order, reverse=True)
    for found in findings.evidence:
        here = answered[answered.bundle_signature == found.bundle]
        for part in found.by_model:
            mine = here[here.model_id == part.model]
            made = every[(every.bundle_signature == found.bundle) & ~every.is_swap]
            assert part.answered == len(mine)
            assert part.answered + part.abstained + part.missing == 9
            assert (
                part.missing
                == ((made.model_id == part.model) & (made.parse_status != "parsed")).sum()
            )


def test_refusals(both: tuple[Findings, Any, Any]) -> None:
    findings, _, frames = both
    tables = {"rubric_gen": "rubrics", "score_gen": "scores"}

    for found in (item for item in findings.refusals if item.stage in tables):
        rows = frames[tables[found.stage]]
        mine = rows[rows.model_id == found.model]
        refused = mine.attempt_count - (mine.parse_status == "parsed")
        assert found.refused == refused.sum()
        assert found.failed == (mine.state == "failed").sum()
        assert found.tasks == len(mine)


def test_bins_and_curves_say_how_sure_critics_were(both: tuple[Findings, Any, Any]) -> None:
    findings, scores, _ = both
    heard = _answered(scores).dropna(subset=["expert_agreement_prob"])
    sure = {model: group.expert_agreement_prob for model, group in heard.groupby("model_id")}

    for found in findings.calibration:
        said = sure[found.model]
        for bin_ in found.bins:
            inside = said[(said >= bin_.low) & (said < bin_.high + (bin_.high == 1))]
            assert bin_.said == pytest.approx(inside.mean())
            assert bin_.found.observations == len(inside)
    for item in findings.correctness:
        for point in item.curve:
            kept = sure[item.model] >= point.least_agreement
            assert point.accuracy.observations == kept.sum()
