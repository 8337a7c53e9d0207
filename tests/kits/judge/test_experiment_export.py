"""Exports of real runs: what joins, what comes back as it was, and what is not written again."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas
import pytest

from quire import read_export
from quire.domain.errors import Conflict, UsageError
from quire.domain.ids import RunId
from quire.domain.states import RunState
from quire.engine.attempt_rows import MESSAGE_COLUMNS, stated_model
from quire.kits.judge.experiment import Evidence
from quire.kits.judge.experiment_export import export_experiment
from quire.kits.judge.experiment_runs import frame, rows_of, start_experiment
from quire.kits.judge.experiment_tables import COLUMNS
from quire.kits.judge.refusals import measure_refusals
from tests.kits.judge.pilots import MESSAGE_IDS, assert_messages_join, write_pilot
from tests.world import World

Worlds = Callable[..., World]
MODELS = ("simulated/small", "simulated/large")
FAULTY = "missing_marker=0.3,garbled_id=0.2,500=0.05,seed=5"


def run_pilot(
    here: World, folder: Path, changes: Mapping[str, str] = {}, *, new: bool = False
) -> RunId:
    """Run a small experiment to its end."""
    path = write_pilot(folder, "ecc", MODELS, samples=2, evidence=3)
    for old, wanted in changes.items():
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, wanted))
    run = start_experiment(here.engine, path, new=new)
    assert run.wait().state == RunState.FINISHED
    return run.id


def export(here: World, run: RunId, folder: Path, form: str = "csv") -> dict[str, Any]:
    """The tables of a run, read back."""
    export_experiment(here.engine, run, folder, form)
    found: dict[str, Any] = read_export(f"{folder}/")
    return found


def test_every_message_joins_and_refused_answers_are_among_them(
    world: Worlds, tmp_path: Path
) -> None:
    here = world(faults=FAULTY)
    run = run_pilot(here, tmp_path)

    tables = export(here, run, tmp_path / "tables")

    assert set(tables) == {*COLUMNS, "figures", "messages", "runs", "run_stages"}
    assert_messages_join(tables)
    messages = tables["messages"]
    refused = messages[messages.refusal_reason.notna()]
    assert len(refused) > 0
    counted = {
        (item.stage, item.model): item.refused
        for item in measure_refusals(rows_of(here.engine, run))
    }
    assert {key: count for key, count in counted.items() if count} == dict(
        refused.groupby(["stage", "model_id"]).size()
    )
    assert refused.output.notna().all()
    assert set(refused.verdict) <= {"retry", "fail"}
    assert all(str(version).startswith("markers/") for version in refused.gate_version)
    accepted = messages[messages.verdict == "accept"]
    assert accepted.refusal_reason.isna().all()
    assert all(str(version).startswith("markers/") for version in accepted.gate_version)
    assert list(accepted.answering_model) == list(accepted.model_id)  # as the simulated one says
    assert set(messages.model_id) == set(MODELS)
    assert messages.user_prompt.notna().all()
    assert messages.system_prompt.str.len().gt(0).all()
    assert messages[messages.state == "refused"].error.notna().all()
    scores = messages[messages.stage == "score_gen"]
    assert set(scores.task_id) == set(tables["scores"].task_id)
    for text in tables["evidences"].raw_content:
        assert scores.user_prompt.str.contains(text, regex=False).any()
    spent = tables["runs"].cost_usd.sum() + tables["runs"].presumed_usd.sum()
    assert messages.cost_usd.sum() == pytest.approx(spent)


def test_a_row_that_was_parsed_has_no_parse_error(world: Worlds, tmp_path: Path) -> None:
    here = world(faults=FAULTY)

    tables = export(here, run_pilot(here, tmp_path), tmp_path / "tables")

    for name in MESSAGE_IDS:
        parsed = tables[name].parse_status == "parsed"
        assert tables[name][parsed].parse_error.isna().all()
        assert tables[name][~parsed].parse_error.notna().all()
        assert (tables[name].attempt_count > 1).any() or name == "rubrics"
    assert (
        tables["scores"].score_critic_parse_error.notna().sum()
        == (
            tables["scores"].score_critic_parse_status.ne("parsed")
            & tables["scores"].score_critic_message_id.notna()
        ).sum()
    )


def test_a_critic_that_comes_to_nothing_is_told_apart_from_an_answer_that_was_not_read(
    world: Worlds, tmp_path: Path
) -> None:
    here = world(faults="missing_marker@EXPERT_AGREEMENT")
    fewer = write_pilot(tmp_path, "ecc", MODELS, samples=1, evidence=2)  # more would be held
    run = start_experiment(here.engine, fewer).wait().run_id

    scores = frame(here.engine, run, "scores")

    assert set(scores.state) == {"failed"}
    assert set(scores.parse_status) == {"parsed"}
    assert scores.parse_error.isna().all()
    assert scores.critic_failure.str.startswith("critic_failed: ", na=False).all()
    assert scores.score_critic_parse_error.notna().all()
    assert frame(here.engine, run, "rubrics").critic_failure.isna().all()


def test_answers_of_another_run_join_the_messages_that_gave_them(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    first = run_pilot(here, tmp_path)
    second = run_pilot(here, tmp_path, {"samples = 2": "samples = 3"})

    tables = export(here, second, tmp_path / "tables")

    assert_messages_join(tables)
    assert set(tables["messages"].run_id) == {first, second}
    assert set(tables["scores"].run_id) == {second}


def test_two_runs_under_one_tag_can_be_put_under_each_other(world: Worlds, tmp_path: Path) -> None:
    here = world()
    runs = [run_pilot(here, tmp_path), run_pilot(here, tmp_path, new=True)]

    both = [export(here, run, tmp_path / f"tables-{run}") for run in runs]

    for name, key in [
        *(("experiments", "experiment_id"), ("rubrics", "rubric_id")),
        *(("samples", "sample_id"), ("scores", "score_id")),
    ]:
        assert pandas.concat([tables[name] for tables in both])[key].is_unique
    assert [set(tables["score_items"].run_id) for tables in both] == [{run} for run in runs]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_an_export_that_is_the_same_is_not_written_again(
    world: Worlds, tmp_path: Path, form: str
) -> None:
    here = world()
    run = run_pilot(here, tmp_path)
    folder = tmp_path / "tables"
    first = export_experiment(here.engine, run, folder, form).written
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}

    again = export_experiment(here.engine, run, folder, form).written

    assert (first.changed, again.changed) == (True, False)
    assert again.manifest == first.manifest == json.loads((folder / "manifest.json").read_text())
    assert before == {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_country_and_a_formula_come_back_as_they_were(
    world: Worlds, tmp_path: Path, form: str
) -> None:
    here = world()
    changes = {'country = "US"': 'country = "NA"', "March 0": "=March 0"}
    run = run_pilot(here, tmp_path, changes)

    tables = export(here, run, tmp_path / "tables", form)

    assert set(tables["windows"].country) == {"NA", "FR"}
    evidences = tables["evidences"]
    assert evidences.raw_content.str.startswith("=March").any()
    for row in evidences.itertuples():
        assert Evidence(title="", text=row.raw_content).id == row.evidence_id
    for name, table in tables.items():
        pandas.testing.assert_frame_equal(table, frame(here.engine, run, name), obj=name)


def test_columns_have_types(world: Worlds, tmp_path: Path) -> None:
    here = world(faults=FAULTY)

    tables = export(here, run_pilot(here, tmp_path), tmp_path / "tables", "parquet")

    scores = {name: str(kind) for name, kind in tables["scores"].dtypes.items()}
    assert {name: scores[name] for name in ("score_id", "parse_error", "raw_verdict")} == (
        dict.fromkeys(("score_id", "parse_error", "raw_verdict"), "string")
    )
    assert (scores["run_id"], scores["subset_size"], scores["abstained"]) == (
        *("Int64", "Int64", "boolean"),
    )
    assert (scores["expert_agreement_prob"], scores["decoded_scores"]) == ("float64", "object")
    assert str(tables["messages"].sent_at.dtype) == "datetime64[us, UTC]"
    assert all(isinstance(item, dict) for item in tables["messages"].params)
    assert list(tables["messages"].columns) == list(MESSAGE_COLUMNS)


def test_what_there_is_not_is_refused_before_anything_is_written(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    run = run_pilot(here, tmp_path)
    folder = tmp_path / "tables"

    with pytest.raises(UsageError, match="csv or parquet, not 'xml'"):
        export_experiment(here.engine, run, folder, "xml")
    with pytest.raises(UsageError, match=r"has the tables experiments, .* not 'sores'"):
        frame(here.engine, run, "sores")
    assert not folder.exists()
    folder.mkdir()
    (folder / "manifest.json").write_text('{"export_schema_version": 3}')
    with pytest.raises(Conflict, match="take another folder"):
        export_experiment(here.engine, run, folder)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ('{"model": "gpt-6-2026-01-05", "usage": {}}', "gpt-6-2026-01-05"),
        ('{"modelVersion": "gemini-4-pro-002"}', "gemini-4-pro-002"),
        ('{"model": 7}', None),
        ("[]", None),
        ("no JSON", None),
        (None, None),
    ],
)
def test_who_answered_is_what_the_answer_says(raw: str | None, name: str | None) -> None:
    assert stated_model(raw) == name
