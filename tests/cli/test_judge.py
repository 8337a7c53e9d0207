"""Commands of judge experiments: from an example to tables and a report."""

import json
import sys
from pathlib import Path

import pandas
import pytest

from tests.cli.conftest import Quire

FILE = "pilot/experiment.toml"
SCHEMA = json.dumps(
    {
        "title": "asked",
        "type": "object",
        "additionalProperties": False,
        "properties": {"words": {"type": "integer"}},
        "required": ["words"],
    }
)


@pytest.fixture
def pilot(quire: Quire) -> Quire:
    """The commands, with the example's files written."""
    quire("judge", "init", "pilot")
    return quire


def change(old: str, new: str) -> None:
    """Change the experiment's file."""
    path = Path(FILE)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_the_example_runs_as_it_is_and_gives_tables_and_a_report(pilot: Quire) -> None:
    said = pilot("judge", "run", FILE).stdout
    pilot("judge", "export", FILE, "--to", "tables")
    pilot("judge", "report", FILE, "--to", "report")
    nowhere = [pilot("judge", command, FILE, code=2).stderr for command in ("export", "report")]

    assert nowhere[1] == "quire: missing option '--to'; see `quire judge report --help`\n"
    assert nowhere[0] == nowhere[1].replace("report", "export")
    assert "24 of 24 tasks done, 0 failed · simulated" in said
    assert "next: quire judge export 1" in said
    scores = pandas.read_csv("tables/scores.csv")
    assert len(scores) == 9
    assert set(scores.score_critic_parse_status) == {"parsed"}
    assert "<svg" in Path("report/report.html").read_text()


def test_an_experiment_is_forecast_by_stage_and_model_before_anything_is_spent(
    pilot: Quire,
) -> None:
    change('models = ["simulated/small"]', 'models = ["simulated/small", "simulated/large"]')

    said = pilot("judge", "plan", FILE).stdout
    printed = pilot.json("judge", "plan", FILE)

    heading, _, _ = said.partition("\n")
    assert heading == (
        f"{FILE}: 3 pieces of evidence · simulated/small (simulated: no model is called, no money"
        " is spent), simulated/large (simulated)"
    )
    assert "together: 48 tasks, 48 calls, roughly $" in said
    assert [(item["stage"], item["model"], item["calls"]) for item in printed["stages"]][:2] == [
        ("rubric_gen", "simulated/small", 3),
        ("rubric_gen", "simulated/large", 3),
    ]
    assert printed["cost_usd"] > 0
    assert pilot.json("documents") == pilot.json("runs") == []


def test_a_run_says_what_is_forecast_before_it_starts_and_only_then(pilot: Quire) -> None:
    first, again = pilot("judge", "run", FILE), pilot("judge", "run", FILE)

    assert "forecast: 24 tasks, 24 calls, roughly $" in first.stderr
    assert first.stderr.index("forecast") < first.stderr.index("run 1:")
    assert "forecast" not in again.stderr


def test_bundles_of_different_truths_are_told_before_anything_is_spent(pilot: Quire) -> None:
    change("evidence_bundle_size = 1", "evidence_bundle_size = 3")
    change('table = "evidence.csv"', 'table = "truths.csv"')
    Path("pilot/truths.csv").write_text("text,truth\nOne,1\nTwo,2\nThree,2\n")

    planned, first = pilot("judge", "plan", FILE), pilot("judge", "run", FILE)

    caution = "1 of 1 bundles hold pieces with different truths"
    assert caution in planned.stderr
    assert caution in first.stderr


def test_the_same_command_goes_on_and_asks_nothing_again(pilot: Quire) -> None:
    first = pilot.json("judge", "run", FILE)
    second = pilot("judge", "run", FILE)

    assert "run 1 has this already" in second.stderr
    assert pilot.json("judge", "status")["calls"] == first["calls"] == 24
    assert pilot.json("judge", "run", FILE, "--new")["run"] == 2


def test_status_tells_every_stage_as_far_as_it_is(pilot: Quire) -> None:
    pilot("judge", "run", FILE, "--detach")
    before = pilot.json("judge", "status", FILE)
    pilot("work", "--until-idle")
    after = pilot("judge", "status", "1").stdout

    assert before["planned"] == {
        "rubric_gen": 3,
        "rubric_critic": 3,
        "score_gen": 9,
        "score_critic": 9,
    }
    assert before["blocks"] == 24
    assert before["done"] == 0
    assert before["models"] == ["simulated/small"]
    assert "civil-order-pilot (control)" in after
    assert "score_critic 9 9 9 0 0 0" in " ".join(after.split())


def test_an_experiment_that_stopped_as_asked_says_where_and_how_it_goes_on(pilot: Quire) -> None:
    pilot("judge", "run", FILE, "--detach")
    pilot("stop-after", 1, "rubric_gen")
    pilot("work", "--until-idle")

    said = pilot("attach", 1).stdout
    pilot("resume", 1)

    assert said.startswith("run 1 stopped after rubric_gen, as asked: 6 of ")
    assert "24 of 24 tasks done" in pilot("judge", "run", FILE).stdout


def test_an_export_on_the_way_says_that_it_is_not_all(pilot: Quire) -> None:
    pilot("judge", "run", FILE, "--detach")

    result = pilot("judge", "export", FILE, "--to", "tables")

    assert "run 1 is stopped: this is what there is so far" in result.stderr
    pilot("pause", 1)
    held = pilot("judge", "export", FILE, "--to", "tables")
    assert "run 1 is held: this is what there is so far" in held.stderr
    assert len(pandas.read_csv("tables/scores.csv")) == 0
    assert json.loads(Path("tables/manifest.json").read_text())["status"] == "running"


def test_tables_are_also_parquet_files_and_the_same_ones_stay(pilot: Quire) -> None:
    pilot("judge", "run", FILE)

    said = pilot("judge", "export", FILE, "--to", "tables", "--format", "parquet").stdout
    again = pilot("judge", "export", FILE, "--to", "tables", "--format", "parquet").stdout
    refused = pilot("judge", "export", FILE, "--to", "none", "--format", "xml", code=2)

    assert "wrote 11 tables and a manifest to tables: 1 experiments, " in said
    assert "24 messages" in said
    assert again.startswith("tables has these 11 tables already, nothing was rewritten: ")
    assert len(pandas.read_parquet("tables/scores.parquet")) == 9
    assert "--format takes csv or parquet, not 'xml'" in refused.stderr
    assert not Path("none").exists()


def test_a_changed_file_is_another_run_and_leaves_the_first_as_it_was(pilot: Quire) -> None:
    pilot("judge", "run", FILE)
    pilot("judge", "export", FILE, "--to", "before")
    change("value = 3", "value = 2")

    refused = pilot("judge", "export", FILE, "--to", "none", code=2)
    pilot("judge", "export", "1", "--to", "after")

    assert "was changed since run 1" in refused.stderr
    assert not Path("none").exists()
    for path in Path("before").glob("*.csv"):
        assert path.read_bytes() == (Path("after") / path.name).read_bytes()
    assert pilot.json("judge", "run", FILE)["run"] == 2


@pytest.mark.parametrize("command", ["status", "export", "report"])
def test_what_is_no_experiment_is_refused_in_a_line(pilot: Quire, command: str) -> None:
    Path("notes.txt").write_text("A clause.")
    Path("schema.json").write_text(
        '{"title": "s", "type": "object", "additionalProperties": false,'
        ' "properties": {"word_count": {"type": "integer"}}}'
    )
    to = () if command == "status" else ("--to", "out")

    none_yet = pilot("judge", command, FILE, *to, code=3)
    pilot("ingest", "notes.txt")
    still_none = pilot("judge", command, FILE, *to, code=2)
    pilot("run", "--schema", "schema.json", "--model", "simulated/small")
    another = pilot("judge", command, "1", *to, code=2)
    at_once = pilot("judge", command, "1", code=2)
    unknown = pilot("judge", command, "7", *to, code=2)

    assert "there is no ledger" in none_yet.stderr or "quire init" in none_yet.stderr
    assert (
        f"there is no run of {FILE} yet; `quire judge run {FILE}` starts one" in still_none.stderr
    )
    assert "run 1 is not an experiment's" in another.stderr
    assert at_once.stderr == another.stderr
    assert "there is no run 7" in unknown.stderr


def test_status_of_nothing_says_how_to_begin(pilot: Quire) -> None:
    pilot("init")

    assert "`quire judge run FILE` runs one" in pilot("judge", "status", code=2).stderr


def test_mistakes_are_told_at_once_before_anything_is_kept(pilot: Quire) -> None:
    change('task_type = "control"', 'task_type = "contest"')
    change("scale_size = 4", "scale_size = 1")

    result = pilot("judge", "run", FILE, code=2)

    assert f"{FILE}: 2 mistakes" in result.stderr
    assert pilot.json("documents") == []


def test_a_model_under_two_names_is_refused(pilot: Quire) -> None:
    Path("quire.toml").write_text('[aliases]\nmine = "simulated/small"\n')
    change('models = ["simulated/small"]', 'models = ["simulated/small", "mine"]')

    result = pilot("judge", "run", FILE, code=2)

    assert "models simulated/small and mine are the same: simulated/small" in result.stderr


def test_a_report_without_the_plots_package_says_what_to_install(
    pilot: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    pilot("judge", "run", FILE)
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    result = pilot("judge", "report", FILE, "--to", "report", code=2)

    assert "quire[report]" in result.stderr
    assert not Path("report").exists()


def test_an_example_is_never_written_over(pilot: Quire) -> None:
    assert "is there already" in pilot("judge", "init", "pilot", code=2).stderr


def test_what_fails_shows_in_the_exit_code_and_in_the_tables(pilot: Quire) -> None:
    said = pilot("judge", "run", FILE, code=1, faults="missing_marker@curfew").stdout
    pilot("judge", "export", FILE, "--to", "tables")

    scores = pandas.read_csv("tables/scores.csv")
    assert "18 of 24 tasks done, 3 failed, 3 never asked" in said
    assert "quire failures 1 says why" in said
    assert sorted(scores.parse_status) == ["failed"] * 3 + ["parsed"] * 6
    failed = scores[scores.parse_status == "failed"]
    assert set(failed.attempt_count) == {3}
    assert failed.parse_error.notna().all()
    assert failed.score_output.notna().all()  # the answer that could not be read
    assert set(failed.score_critic_parse_status) == {"blocked"}


def test_an_experiment_stops_after_a_critic_and_sends_no_score(pilot: Quire) -> None:
    stopped = pilot("judge", "run", FILE, "--stop-after", "rubric_critic")
    status = pilot.json("judge", "status", FILE)

    assert stopped.stdout.startswith("run 1 stopped after rubric_critic, as asked: 6 of 24 tasks")
    assert "or the same command without --stop-after" in stopped.stdout
    assert status["calls"] == 6
    assert "24 of 24 tasks done" in pilot("judge", "run", FILE).stdout
    assert (
        "no stage 'rubric'"
        in pilot("judge", "run", FILE, "--stop-after", "rubric", "--new", code=2).stderr
    )


def test_a_changed_experiment_keeps_what_comes_before_the_change(pilot: Quire) -> None:
    pilot("judge", "run", FILE)
    change('"hide_label_text", ', "")  # which rubrics do not know of
    how = ("--reuse", 1, "--from", "score_gen")

    planned = pilot.json("judge", "plan", FILE, *how)
    said = pilot("judge", "run", FILE, *how).stdout

    assert [item["stage"] for item in planned["stages"] if item["reused"]] == [
        "rubric_gen",
        "rubric_critic",
    ]
    assert "24 of 24 tasks done, 0 failed" in said
    assert pilot.json("judge", "status", FILE)["calls"] == planned["calls"] == 24 - 6


def test_an_experiment_is_tried_with_a_limit(pilot: Quire) -> None:
    tried = pilot("judge", "run", FILE, "--limit", 1)

    assert tried.stdout.startswith("run 1 reached its limit of 1: 8 of 24 tasks done")
    assert "next: the same command without --limit goes on" in tried.stdout
    assert "24 of 24 tasks done" in pilot("judge", "run", FILE).stdout


def test_evidence_is_no_document_of_a_run_that_does_not_name_it(
    pilot: Quire, tmp_path: Path
) -> None:
    (tmp_path / "asked.json").write_text(SCHEMA)
    pilot("schema", "add", str(tmp_path / "asked.json"))
    pilot("judge", "run", FILE)
    nothing = pilot("run", "--schema", "asked", "--model", "simulated/small", code=2).stderr
    Path("mine.txt").write_text("One.\n\nTwo.")
    pilot("ingest", "mine.txt")

    planned = pilot("plan", "--schema", "asked", "--model", "simulated/small").stdout
    said = pilot("run", "--schema", "asked", "--model", "simulated/small")
    evidence = pilot.json("documents")[0]
    pilot("run", "--schema", "asked", "--document", evidence["id"], "--model", "simulated/small")

    assert "there is nothing to ask about" in nothing
    assert planned.startswith("1 document, 2 blocks · schema asked · ")
    assert "asked over 1 document, 2 blocks with" in said.stderr
    assert "2 of 2 blocks done" in said.stdout


def test_an_experiment_that_may_cost_too_much_is_not_started(pilot: Quire) -> None:
    refused = pilot("judge", "run", FILE, "--max-cost", "0.000001", code=2)

    assert "this may cost up to $" in refused.stderr
    assert pilot("runs").stdout.startswith("no runs yet")


def test_an_experiment_spends_from_a_wallet_within_its_budget(pilot: Quire) -> None:
    pilot("wallet", "create", "lab", "--credit", "1")

    held = pilot("judge", "run", FILE, "--wallet", "lab", "--budget", "0.000001", code=4)
    stands = pilot("judge", "status", "1").stdout
    done = pilot("judge", "run", FILE, "--budget", "0.5")

    assert "is held (funds): its budget needs $" in held.stderr
    assert "money budget $0.000001, wallet lab, $0 spent" in " ".join(stands.split())
    assert "24 of 24 tasks done" in done.stdout
    assert "(forecast $" in done.stdout
    (wallet,) = pilot.json("wallet", "show")
    assert wallet["balance_pico"] == 10**12 - pilot.json("spend")["total"]["cost_pico"]


def test_a_sweep_is_planned_run_and_compared_and_the_same_again_asks_nothing(pilot: Quire) -> None:
    sweep = ("judge", "sweep", FILE, "--vary", "abstain_enabled=true,false")

    planned = pilot.json(*sweep, "--plan")
    assert not pilot.json("runs")
    told = pilot(*sweep)
    again = pilot.json(*sweep)

    assert [Path(item["file"]).name for item in planned["experiments"]] == [
        "abstain_enabled-yes.toml",
        "abstain_enabled-no.toml",
    ]
    assert 0 < planned["experiments"][1]["shared_usd"] < planned["cost_usd"]
    assert "2 of 2 · run 2: civil-order-pilot.no, 24 tasks" in told.stderr
    assert told.stdout.startswith("compared 2 experiments by ")
    assert "open pilot/experiment-sweep/comparison.html" in told.stdout
    assert [item["run_id"] for item in again["experiments"]] == [1, 2]
    assert again["varied"] == ["abstain_enabled"]
    assert [item["recipe"] for item in pilot.json("runs")] == [
        "judge-civil-order-pilot.no",
        "judge-civil-order-pilot.yes",
    ]


def test_experiments_are_compared_by_file_or_number(pilot: Quire) -> None:
    pilot("judge", "run", FILE)
    change("seed = 7", "seed = 8")
    pilot("judge", "run", FILE)

    told = pilot("judge", "compare", "1", FILE, "--to", "both").stdout
    alone = pilot("judge", "compare", "1", code=2).stderr

    assert told.startswith("compared 2 experiments by ")
    assert "Not paired: " in Path("both/comparison.html").read_text()
    assert "two experiments or more" in alone


def test_a_sweep_ends_where_its_budget_does_and_goes_on_with_more(pilot: Quire) -> None:
    sweep = ("judge", "sweep", FILE, "--vary", "scale_size=3,4")

    held = pilot(*sweep, "--budget", "0.0001", code=4).stderr
    told = pilot(*sweep, "--budget", "1").stdout

    assert "run 1 is held" in held
    assert told.startswith("compared 2 experiments")
