"""Recipes as people run them: ordered, watched, looked into and written out from the shell."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from quire.cli.staging import live_words
from quire.domain.runs import StageProgress
from tests.cli.conftest import Quire

RECIPE = """
name = "notes"
inputs = INPUTS

[parameters]
tone = "plain"
words = 5
strict = false

[[stages]]
name = "summary"
about = "each_document"
OVER
system = "Be {{ parameters.tone }}."
prompt = "In {{ parameters.words }} words, {{ parameters.strict }}: {{ document.text }}"

[[stages]]
name = "check"
critic = true
of = "summary"
prompt = "Is it so? {{ judged.asked }} {{ judged.answer }}"

[[stages]]
name = "points"
about = "samples"
of = "summary"
samples = 2
prompt = "Point {{ sample }}: {{ inputs.summary.text }}"

[[stages]]
name = "digest"
about = "all_to_one"
needs = ["points"]
prompt = "{% for each in inputs.points %}{{ each.text }} {% endfor %}"
"""
MODEL = ("--model", "simulated/small")


@pytest.fixture
def notes(quire: Quire, folder: Path, write_blocks: Callable[[str, int], Path]) -> Quire:
    """The commands, with a recipe's file and two documents in the ledger."""
    (folder / "notes.toml").write_text(RECIPE.replace("INPUTS", "[]").replace("OVER", ""))
    quire("init")
    quire("ingest", write_blocks("first.txt", 3), write_blocks("second.txt", 2))
    return quire


def test_a_recipe_is_run_and_summed_up_stage_by_stage(notes: Quire) -> None:
    said = notes("run", "--recipe", "notes.toml", *MODEL)

    assert said.stderr.startswith("run 1: notes, 4 stages, with simulated/small (simulated)\n")
    assert said.stdout.startswith("run 1 is done: 9 of 9 tasks done, 0 failed · simulated\n")
    assert "summary: 2 done · check: 2 done · points: 4 done · digest: 1 done" in said.stdout
    again = notes("run", "--recipe", "notes.toml", *MODEL)
    assert "run 1 has this already" in again.stderr


def test_the_state_of_a_recipe_is_told_by_stage(notes: Quire) -> None:
    notes("run", "--recipe", "notes.toml", *MODEL, "--stop-after", "summary", code=4)

    said, told = notes("status").stdout, notes.json("status")

    lines = said.splitlines()
    assert lines[1] == "recipe   notes"
    assert any(line.split() == ["summary", "closed", "2", "2"] for line in lines)
    assert any(line.split()[:5] == ["check", "closed", "2", "2", "judges"] for line in lines)
    assert "points waits: the run stops after summary; `quire resume 1` goes on" in lines
    assert (told["recipe"], told["schema"]) == ("notes", None)
    assert [each["name"] for each in told["stages"]] == ["summary", "check", "points", "digest"]
    assert told["stages"][1]["critic_of"] == "summary"
    assert told["stages"][3]["waits_for"] == "the run stops after summary"
    listed = notes("runs").stdout.splitlines()
    assert listed[0].split()[:5] == ["run", "state", "recipe", "model", "tasks"]
    assert "notes" in listed[2]


def test_resuming_goes_on_where_it_stopped(notes: Quire) -> None:
    notes("run", "--recipe", "notes.toml", *MODEL, "--stop-after", "summary", code=4)
    notes("resume", 1)

    assert "9 of 9 tasks done" in notes("attach", 1).stdout


def test_a_limit_is_of_the_first_stages_and_the_rest_follows(notes: Quire) -> None:
    said = notes("run", "--recipe", "notes.toml", *MODEL, "--limit", 1)

    assert "reached its limit of 1" in said.stdout
    assert "summary: 1 done · check: 1 done · points: 2 done · digest: not begun" in said.stdout
    assert "limit    1 tasks of its first stages" in notes("status").stdout
    assert "9 of 9 tasks done" in notes("run", "--recipe", "notes.toml", *MODEL).stdout


def test_parameters_are_read_as_the_recipe_declares_them(notes: Quire) -> None:
    order = ("run", "--recipe", "notes.toml", *MODEL)
    notes(*order, "--param", "words=1_0", "--param", "tone=7", "--param", "strict=true")

    assert "In 10 words, true" in notes("prompt", 1).stdout.lower().replace("in 10", "In 10")
    assert "Be 7." in notes("prompt", 1).stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--param", "words=many"], "parameter words must be of type integer"),
        (["--param", "words"], "--param takes NAME=VALUE, not 'words'"),
        (["--param", "word=1"], "parameter word"),
        (["--param", "words=1", "--param", "words=2"], "--param words is given twice"),
        (["--schema", "clauses"], "give --schema NAME or --recipe NAME, one of the two"),
        (["--stop-after", "nope"], "notes has no stage 'nope'; stages: summary, check"),
        (["--input", "evidence=first.txt"], "notes has no input 'evidence'"),
        (["--input", "evidence=nowhere"], "there is no document 'nowhere'"),
        (["--input", "a=1", "--document", "1"], "give --input or --document, not both"),
    ],
)
def test_a_wrong_order_is_refused_before_anything_is_spent(
    notes: Quire, args: list[str], message: str
) -> None:
    result = notes("run", "--recipe", "notes.toml", *MODEL, *args, code=2)

    assert message in result.stderr
    assert notes("runs").stdout.startswith("no runs yet")


@pytest.mark.parametrize("option", ["--param", "--input", "--stop-after"])
def test_what_only_recipes_know_is_refused_with_a_schema(ready: Quire, option: str) -> None:
    result = ready("run", "--schema", "clauses", *MODEL, option, "a=b", code=2)

    assert f"{option} is for recipes" in result.stderr


def test_files_for_a_named_input_are_taken_in_on_the_way(notes: Quire, folder: Path) -> None:
    text = RECIPE.replace("INPUTS", '["texts"]').replace("OVER", 'over = "texts"')
    (folder / "named.toml").write_text(text)
    (folder / "third.txt").write_text("A third one.")

    one = notes.json("run", "--recipe", "named.toml", *MODEL, "--input", "texts=third.txt")
    two = notes.json(
        *("run", "--recipe", "named.toml", *MODEL),
        *("--input", "texts=first.txt", "--input", "texts=second.txt"),
    )
    every = notes.json("run", "--recipe", "named.toml", *MODEL)

    assert [each["stages"][0]["expanded"] for each in (one, two, every)] == [1, 2, 3]


def test_several_inputs_must_each_be_given(notes: Quire, folder: Path) -> None:
    text = RECIPE.replace("INPUTS", '["texts", "other"]').replace("OVER", 'over = "texts"')
    (folder / "named.toml").write_text(text)
    order = ("run", "--recipe", "named.toml", *MODEL)

    assert "--input texts=PATH --input other=PATH" in notes(*order, code=2).stderr
    one = notes(*order, "--input", "texts=first.txt", code=2)
    assert "needs documents for its input 'other'" in one.stderr


def test_results_are_shown_and_written_of_any_stage(notes: Quire, folder: Path) -> None:
    notes("run", "--recipe", "notes.toml", *MODEL)

    shown = notes("show", "--stage", "points").stdout
    assert "the first 4 of 4 tasks of points, run 1 · simulated" in shown
    assert [each["subject"]["sample"] for each in notes.json("show", "--stage", "points")] == [
        *(0, 1, 0, 1)
    ]
    (digest,) = map(json.loads, notes("export").stdout.splitlines())
    assert digest["stage"] == "digest"
    assert len(digest["subject"]["inputs"]) == 4
    told = notes.json("export", "--stage", "all", "-o", folder / "out.jsonl")
    assert told["lines"] == 9
    assert "no stage 'nope'" in notes("export", "--stage", "nope", code=2).stderr


def test_failures_are_told_by_stage_and_what_they_block_apart(notes: Quire) -> None:
    order = ("run", "--recipe", "notes.toml", *MODEL, "--max-tries", 1)
    notes(*order, code=1, faults="refuse@second.txt")

    said = notes("failures").stdout
    assert said.splitlines()[2].split()[:2] == ["summary", "1"]
    assert "2 more are blocked by these: quire failures 1 --blocked" in said
    blocked = notes("failures", "--blocked").stdout
    assert "points      2  a task" in blocked
    (group,) = notes.json("failures")
    assert (group["stage"], group["failures"][0]["about"]) == ("summary", "second.txt")
    (held,) = notes.json("failures", "--blocked")
    assert held["failures"][0]["about"].endswith(
        f"result of task {group['failures'][0]['task_id']}"
    )
    assert "points: 2 blocked, because summary failed" in notes("status").stdout


def test_what_was_asked_is_shown_for_every_stage(notes: Quire) -> None:
    notes("run", "--recipe", "notes.toml", *MODEL)
    tasks = [json.loads(line) for line in notes("export", "--stage", "all").stdout.splitlines()]

    for each in tasks:
        view = notes.json("prompt", each["task_id"])
        assert view["stage"] == each["stage"]
        assert not view["user"].startswith("(")
    critic = next(each for each in tasks if each["stage"] == "check")
    said = notes("prompt", critic["task_id"]).stdout
    assert f"result of task {critic['subject']['inputs'][0]}" in said
    assert "Is it so? In 5 words" in said
    first = notes.json("ledger")[0]["id"]
    assert notes.json("ledger", "--request", first)["user"].startswith("In 5 words")


def test_what_waits_says_why_it_cannot_be_shown_yet(notes: Quire) -> None:
    order = ("run", "--recipe", "notes.toml", *MODEL, "--completion-mode", "throughput")
    notes(*order, "--max-tries", 1, code=1, faults="refuse@second.txt")
    blocked = notes.json("failures", "--blocked")[0]["failures"][0]["task_id"]

    assert "cannot be put into words yet" in notes("prompt", blocked).stdout


def test_a_recipe_is_forecast_by_stage_for_nothing(notes: Quire) -> None:
    told = notes.json("plan", "--recipe", "notes.toml", *MODEL)
    said = notes("plan", "--recipe", "notes.toml", *MODEL).stdout

    assert [(each["stage"], each["tasks"], each["calls"]) for each in told["stages"]] == [
        ("summary", 2, 2),
        ("check", 2, 2),
        ("points", 4, 4),
        ("digest", 1, 1),
    ]
    assert all(each["rough"] and each["fits"] for each in told["stages"])
    assert told["cost_micro_dollars"] == sum(e["cost_micro_dollars"] for e in told["stages"])
    assert "~ is a rough guess" in said
    assert "together: 9 tasks, 9 calls, roughly $" in said
    assert notes("runs").stdout.startswith("no runs yet")


def test_a_forecast_learns_from_an_earlier_run(notes: Quire) -> None:
    before = notes.json("plan", "--recipe", "notes.toml", *MODEL)
    spent = notes.json("run", "--recipe", "notes.toml", *MODEL)
    after = notes.json("plan", "--recipe", "notes.toml", *MODEL)

    paid = spent["cost_micro_dollars"]
    assert abs(after["cost_micro_dollars"] - paid) < abs(before["cost_micro_dollars"] - paid)
    assert not after["rough"]


def test_a_prompt_that_may_not_fit_the_window_is_told_beforehand(
    notes: Quire, folder: Path
) -> None:
    (folder / "long.txt").write_text("word " * 40_000)
    notes("ingest", "long.txt")

    said = notes("plan", "--recipe", "notes.toml", *MODEL).stdout

    assert "summary: a prompt may take" in said
    assert "and simulated/small has room for" in said


@pytest.mark.parametrize("width", [80, 120])
def test_tables_of_stages_fit_the_screen(
    notes: Quire, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    notes("run", "--recipe", "notes.toml", *MODEL, "--stop-after", "summary", code=4)

    table = notes("status").stdout.partition("stage")[2].partition("\n\n")[0]

    assert max(map(len, table.splitlines())) <= width
    assert max(map(len, notes("plan", "--recipe", "notes.toml", *MODEL).stdout.splitlines())) < 130


def test_the_words_beside_a_stages_bar_fit_their_room() -> None:
    busy = StageProgress(
        name="facts",
        state="open",
        counts={"done": 9, "failed": 1_200, "blocked": 34, "proposed": 5},
    )

    assert live_words(busy, 60) == "1,200 failed · 34 blocked · 5 proposed"
    assert live_words(busy, 25) == "1,200 failed · 34 blocked"
    assert live_words(busy, 3) == ""
    waiting = StageProgress(name="page", state="waiting", counts={}, waits_for="waits for facts")
    assert live_words(waiting, 10) == "waits for…"


def test_in_a_pipe_nothing_live_is_shown(notes: Quire) -> None:
    said = notes("run", "--recipe", "notes.toml", *MODEL)

    assert said.stderr.count("\n") == 1
    assert notes("-q", "run", "--recipe", "notes.toml", *MODEL, "--new").stderr == ""
