"""Every figure that is exported is what a stranger computes from the other tables."""

import math
from pathlib import Path
from typing import Any

import pandas
import pytest

from quire.kits.judge.experiment import Evidence, GroundTruth, all_pairs
from quire.kits.judge.experiment_export import write_tables
from quire.kits.judge.experiment_runs import typed_tables
from quire.kits.judge.experiment_tables import make_tables
from quire.kits.judge.findings import find
from quire.kits.judge.metrics import measure, scores_of
from quire.kits.judge.randomization import ANONYMIZE, RANDOMIZATIONS, SHUFFLE
from tests.kits.judge.examples import experiment
from tests.kits.judge.fake_run import FakeRun
from tests.kits.judge.own_figures import of_group, read
from tests.kits.judge.own_findings import differences, recompute

MODELS = experiment().models
DESIGNS: dict[str, dict[str, Any]] = {
    "single": {"scale_size": 3, "randomizations": RANDOMIZATIONS,
               "models": MODELS[:2], "swaps": all_pairs(MODELS[:2])},
    "subset": {"scale_size": 4, "method": "subset", "randomizations": (SHUFFLE,),
               "models": MODELS[:2]},
    "bundles": {"scale_size": 5, "evidence_bundle_size": 2, "bundle_strategy": "random_bundle",
                "randomizations": (ANONYMIZE,), "models": MODELS[:2]},
    "three samples": {"scale_size": 3, "samples": 3, "models": MODELS[:1]},
    "contested": {"task_type": "ecc", "samples": 4, "abstain_enabled": False,
                  "critic_model": "simulated/k", "rubric_model": MODELS[1]},
    "one truth": {"method": "subset", "ground_truth": GroundTruth(source="experts", value=2),
                  "samples": 5, "scale_size": 2, "models": MODELS[:2], "abstain_enabled": False},
}  # fmt: skip


@pytest.fixture(scope="module", params=list(DESIGNS))
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The rows of a run, and its exported tables as frames."""
    changes = {"samples": 6, "task_type": "control", "windows": (), **DESIGNS[request.param]}
    known = changes["task_type"] == "control" and "ground_truth" not in changes
    evidence = tuple(
        Evidence(title=f"{n}", text=f"Text {n}.", truth=1 + n % 2 if known and n < 4 else None)
        for n in range(5)
    )
    rows = FakeRun(experiment(evidence=evidence, **changes), seed=7).rows()
    folder: Path = tmp_path_factory.mktemp("every")
    write_tables(rows, typed_tables(rows), folder)
    return rows, {path.stem: pandas.read_csv(path) for path in folder.glob("*.csv")}


def test_every_exported_figure_is_what_pandas_and_numpy_find(both: Any) -> None:
    _, frames = both

    assert differences(frames["figures"], recompute(frames)) == []


def test_figures_of_all_models_together_are_too(both: Any) -> None:
    rows, frames = both
    size = rows.experiment.scale_size
    overall = measure(scores_of(make_tables(rows)["scores"]), tag="t", scale_size=size).overall

    for name, item, wanted in of_group(size, read(frames).decoded):
        found = overall.stage_shares_of_decoded[int(item) - 1] if item else getattr(overall, name)
        assert list(found) == pytest.approx(list(wanted), abs=1e-6), name


def test_marks_of_drift_are_means_of_samples(both: Any) -> None:
    rows, frames = both
    scores = read(frames).decoded

    for drift in find(rows).drift:
        mine = scores[scores.model_id == drift.model].groupby("sample_ordinal")
        stages = {point.sample: point.expected_stage or math.nan for point in drift.points}
        wanted = mine.stage.mean().to_dict()
        assert stages == pytest.approx(wanted, nan_ok=True)
        assert {p.sample: p.scores for p in drift.points} == mine.size().to_dict()
