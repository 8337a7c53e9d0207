"""Tables: every column that was promised, one row for each thing, and files that frames read."""

import csv
import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas
import pytest

from quire import read_export
from quire.domain.errors import UsageError
from quire.kits.judge.experiment import (
    Evidence,
    Experiment,
    ExperimentRows,
    GroundTruth,
    ScaleStage,
    all_pairs,
)
from quire.kits.judge.experiment_export import write_tables
from quire.kits.judge.experiment_runs import typed_tables
from quire.kits.judge.experiment_tables import COLUMNS, make_tables
from quire.kits.judge.randomization import RANDOMIZATIONS
from tests.kits.judge.examples import experiment
from tests.kits.judge.fake_run import FakeRun

# what the plan of the experiments listed for each table
PROMISED = {
    "experiments": "experiment_tag window_id model_id task_type ground_truth config status",
    "windows": "start_date end_date country concept",
    "evidences": "window_id title url raw_content cleaned_content neutralized_content"
    " abstracted_content",
    "rubrics": "experiment_id model_id concept scale_size stages rubricer_message_id"
    " rubricer_output rubric_critic_message_id rubric_critic_output rubric_critic_reasoning"
    " quality_stats parse_error parse_status attempt_count",
    "samples": "experiment_id model_id rubric_id is_swap label_mapping display_seed",
    "scores": "sample_id experiment_id model_id rubric_id evidence_id is_swap abstained"
    " score_message_id raw_verdict decoded_scores score_critic_message_id score_critic_output"
    " score_critic_reasoning expert_agreement_prob parse_error parse_status attempt_count",
    "score_items": "score_id stage_number",
}


def _full() -> Experiment:
    models = experiment().models
    return experiment(
        samples=4,
        method="subset",
        evidence_view="abstracted",
        randomizations=RANDOMIZATIONS,
        swaps=all_pairs(models),
        task_type="control",
        ground_truth=GroundTruth(source="experts", value=2),
    )


@pytest.fixture(scope="module")
def rows() -> ExperimentRows:
    """A run with failures, swaps and views."""
    return FakeRun(_full()).rows()


@pytest.fixture(scope="module")
def frames(rows: ExperimentRows, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The export, as a frame for each table."""
    folder = tmp_path_factory.mktemp("export")
    write_tables(rows, typed_tables(rows), folder)
    return {name: pandas.read_csv(folder / f"{name}.csv") for name in COLUMNS}


@pytest.mark.parametrize("name", PROMISED)
def test_every_promised_column_is_there(name: str) -> None:
    assert set(PROMISED[name].split()) <= set(COLUMNS[name])
    assert all(column == column.lower().replace(" ", "_") for column in COLUMNS[name])
    assert len(set(COLUMNS[name])) == len(COLUMNS[name])


def test_counts_add_up(frames: dict[str, Any], rows: ExperimentRows) -> None:
    models, samples, bundles = 3, 4, 5

    assert len(frames["experiments"]) == models
    assert len(frames["windows"]) == 2
    assert len(frames["evidences"]) == 5
    assert len(frames["rubrics"]) == models * samples
    assert len(frames["samples"]) == models * samples * 3
    assert len(frames["scores"]) == models * samples * 3 * bundles
    decoded = frames["scores"].decoded_scores.dropna().map(json.loads)
    assert len(frames["score_items"]) == decoded.map(len).sum() > 0


def test_names_join_the_tables(frames: dict[str, Any]) -> None:
    scores, rubrics, samples = (frames[name] for name in ("scores", "rubrics", "samples"))
    for name, column in [("scores", "score_id"), ("rubrics", "rubric_id")]:
        assert frames[name][column].is_unique
    assert samples.sample_id.is_unique
    assert set(scores.sample_id) == set(samples.sample_id)
    assert set(scores.rubric_id) == set(rubrics.rubric_id) == set(samples.rubric_id)
    assert set(scores.evidence_id) == set(frames["evidences"].evidence_id)
    assert set(scores.experiment_id) == set(frames["experiments"].experiment_id)
    assert set(frames["evidences"].window_id) == set(frames["windows"].window_id)
    assert set(frames["score_items"].score_id) <= set(scores.score_id)


def test_a_sample_holds_the_labels_its_scores_were_shown(
    frames: dict[str, Any], rows: ExperimentRows
) -> None:
    mapped = frames["samples"].set_index("sample_id").label_mapping.map(json.loads)
    scored = frames["scores"].set_index("task_id").sample_id

    for task in rows.tasks_of_stage("score_gen"):
        assert mapped[scored[task.task_id]] == task.part["labels"]


def test_decoded_scores_are_one_row_each(frames: dict[str, Any]) -> None:
    items, scores = frames["score_items"], frames["scores"]
    again = items.groupby("score_id").stage_number.apply(list)

    decoded = scores.set_index("score_id").decoded_scores.dropna().map(json.loads)
    assert {name: item for name, item in decoded.items() if item} == again.to_dict()
    assert set(items.stage_label) <= {"Level 1", "Level 2", "Level 3", "Level 4"}
    labels = frames["samples"].set_index("sample_id").label_mapping.map(json.loads)
    assert all(labels[row.sample_id][row.token] == row.stage_number for row in items.itertuples())


def test_what_failed_says_so_and_an_abstention_does_not(frames: dict[str, Any]) -> None:
    scores = frames["scores"]
    by_status = scores.groupby("parse_status")

    assert set(by_status.groups) == {"parsed", "failed", "blocked"}
    failed = by_status.get_group("failed")
    assert set(failed.parse_error) == {"no VERDICT: line"}
    assert failed.attempt_count.eq(3).all()
    assert failed.decoded_scores.isna().all()
    assert failed.score_output.notna().all()
    parsed = by_status.get_group("parsed")
    abstained = parsed[parsed.abstained.astype(str) == "True"]
    assert len(abstained) > 0
    assert abstained.decoded_scores.eq("[]").all()
    assert abstained.raw_verdict.eq("ABSTAIN").all()
    critic = parsed[parsed.score_critic_parse_status == "parsed"]
    assert critic.expert_agreement_prob.between(0, 1).all()
    assert critic.score_critic_reasoning.eq("Perhaps.").all()


def test_an_item_says_at_which_line_its_stage_was_shown(frames: dict[str, Any]) -> None:
    orders = frames["samples"].set_index("sample_id").display_order.map(json.loads)
    items = frames["score_items"]

    assert set(items.display_position) == {1, 2, 3, 4}
    assert any(items.display_position != items.stage_number)
    for item in items.itertuples():
        assert orders[item.sample_id][item.display_position - 1] == item.stage_number


def test_only_what_was_not_parsed_has_a_parse_error() -> None:
    rows = FakeRun(experiment(), failing=0).rows()
    scores = [task for task in rows.tasks if task.stage == "score_gen"]
    slow, doomed, *_ = scores
    changed = {
        slow.task_id: replace(slow, error="no VERDICT: line"),  # of the answer before
        doomed.task_id: replace(
            doomed, state="failed", error="critic_failed: no number", failed_by_critic=True
        ),
    }
    tasks = [changed.get(task.task_id, task) for task in rows.tasks]

    made = make_tables(replace(rows, tasks=tasks))["scores"]

    by_task = {row["task_id"]: row for row in made}
    assert {row["parse_error"] for row in made} == {None}
    assert by_task[doomed.task_id]["parse_status"] == "parsed"
    assert by_task[doomed.task_id]["critic_failure"] == "critic_failed: no number"
    assert by_task[slow.task_id]["critic_failure"] is None


def test_every_row_says_of_which_run_it_is(frames: dict[str, Any]) -> None:
    assert {name: set(frame.run_id) for name, frame in frames.items()} == {
        name: {4} for name in COLUMNS
    }


def test_rubrics_carry_their_quality(frames: dict[str, Any]) -> None:
    rubrics = frames["rubrics"]
    judged = rubrics[rubrics.rubric_critic_parse_status == "parsed"]

    stats = judged.quality_stats.map(json.loads)
    assert stats.map(lambda item: item["observability_score"]).equals(judged.observability_score)
    assert json.loads(judged.stages.iloc[0])[3]["label"] == "Level 4"


def test_views_stand_beside_the_raw_text(frames: dict[str, Any], rows: ExperimentRows) -> None:
    evidences = frames["evidences"].set_index("document_id")

    assert list(evidences.raw_content) == [evidence.text for evidence in rows.experiment.evidence]
    cleaned = {t.documents[0]: t.facts.get("text") for t in rows.tasks_of_stage("cleaned")}
    for document, text in cleaned.items():
        assert text is None or evidences.cleaned_content[document] == text
    assert evidences.abstracted_content.notna().any()
    assert set(evidences.ground_truth_stage) == {2}


def test_a_given_rubric_is_one_row_that_all_samples_share() -> None:
    rubric = tuple(ScaleStage(label=f"L{n}", criteria=("x",)) for n in range(1, 5))
    wanted = experiment(task_type="benchmark", rubric=rubric)

    made = make_tables(FakeRun(wanted).rows())

    (given,) = made["rubrics"]
    assert given["parse_status"] == "given"
    assert {row["rubric_id"] for row in made["scores"]} == {given["rubric_id"]}
    assert {row["rubric_id"] for row in made["samples"]} == {given["rubric_id"]}
    assert len(made["samples"]) == 2 * 3
    assert {row["stage_label"] for row in made["score_items"]} <= {"L1", "L2", "L3", "L4"}


def test_a_bundle_of_several_names_all_of_its_evidence() -> None:
    made = make_tables(FakeRun(experiment(evidence_bundle_size=2), failing=0).rows())

    row = made["scores"][0]
    assert row["evidence_id"] is None
    assert isinstance(row["evidence_ids"], tuple)
    assert row["bundle_signature"] == "|".join(sorted(row["evidence_ids"]))
    assert made["scores"][2]["evidence_id"] is not None


def test_a_run_that_has_not_begun_has_tables_with_columns(tmp_path: Path) -> None:
    empty = FakeRun(experiment()).rows()
    rows = ExperimentRows(
        experiment=empty.experiment,
        documents=empty.documents,
        tasks=(),
        status="running",
        updated_at=empty.updated_at,
        run_id=empty.run_id,
    )

    manifest = write_tables(rows, typed_tables(rows), tmp_path).manifest

    assert {table["name"]: table["rows"] for table in manifest["tables"]} == {
        "experiments": 3,
        "windows": 2,
        "evidences": 5,
        "rubrics": 0,
        "samples": 6,
        "scores": 0,
        "score_items": 0,
        "figures": 0,
    }
    assert list(pandas.read_csv(tmp_path / "scores.csv").columns) == list(COLUMNS["scores"])


def test_the_manifest_names_every_file_with_its_hash(rows: ExperimentRows, tmp_path: Path) -> None:
    write_tables(rows, typed_tables(rows), tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())

    assert manifest["export_schema_version"] == 5
    assert manifest["last_updated"] == "2026-03-01T12:30:00+00:00"
    assert manifest["run_id"] == 4
    for table in manifest["tables"]:
        body = (tmp_path / table["file"]).read_bytes()
        assert sha256(body).hexdigest() == table["sha256"]
        assert len(pandas.read_csv(tmp_path / table["file"])) == table["rows"]
    assert not list(tmp_path.glob("*partial*"))


def test_the_same_rows_make_the_same_files(rows: ExperimentRows, tmp_path: Path) -> None:
    assert write_tables(rows, typed_tables(rows), tmp_path / "a") == write_tables(
        rows, typed_tables(rows), tmp_path / "b"
    )


@pytest.mark.parametrize("title", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'=1"])
def test_a_spreadsheet_runs_no_cell(tmp_path: Path, title: str) -> None:
    evidence = (Evidence(title=title, text=f'{title}, "x"\nand more'),)
    rows = FakeRun(experiment(evidence=evidence, windows=())).rows()

    write_tables(rows, typed_tables(rows), tmp_path)

    with (tmp_path / "evidences.csv").open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["title"] == "'" + title
    assert row["raw_content"] == f'\'{title}, "x"\nand more'
    (known,) = read_export(tmp_path)["evidences"].itertuples()
    assert known.title == title
    assert known.evidence_id == Evidence(title="", text=known.raw_content).id


def test_a_folder_that_cannot_be_made_is_told(rows: ExperimentRows, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(UsageError, match="cannot be written"):
        write_tables(rows, typed_tables(rows), tmp_path / "file")
