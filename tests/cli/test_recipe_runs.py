"""Recipes as people run them: ordered, watched, looked into and written out from the shell."""

from pathlib import Path

import pytest

from quire.cli.progress_words import stage_words
from quire.domain.reasons import StageWait, WaitKind
from quire.domain.runs import StageProgress
from quire.domain.states import StageState
from tests.cli.conftest import RECIPE, Quire

MODEL = ("--model", "simulated/small")


def test_a_recipe_is_run_and_summed_up_stage_by_stage(notes: Quire) -> None:
    said = notes("run", "--recipe", "notes.toml", *MODEL)

    assert said.stderr.startswith(
        "run 1: notes, 4 stages, over 2 documents, 5 blocks with simulated/small"
    )
    assert said.stdout.startswith("run 1 is done: 9 of 9 tasks done, 0 failed · simulated\n")
    assert "summary: 2 done · check: 2 done · points: 4 done · digest: 1 done" in said.stdout
    again = notes("run", "--recipe", "notes.toml", *MODEL)
    assert "run 1 has this already" in again.stderr


def test_the_state_of_a_recipe_is_told_by_stage(notes: Quire) -> None:
    notes("run", "--recipe", "notes.toml", *MODEL, "--stop-after", "summary")

    said, printed = notes("status").stdout, notes.json("status")

    lines = said.splitlines()
    assert lines[1].split() == ["recipe", "notes"]
    assert any(line.split() == ["summary", "closed", "2", "2"] for line in lines)
    assert any(line.split()[:5] == ["check", "closed", "2", "2", "judges"] for line in lines)
    assert "points waits: the run stops after summary; `quire resume 1` goes on" in lines
    assert (printed["recipe"], printed["schema"]) == ("notes", None)
    assert [item["name"] for item in printed["stages"]] == ["summary", "check", "points", "digest"]
    assert printed["stages"][1]["critic_of"] == "summary"
    assert printed["stages"][3]["waits_for"] == "the run stops after summary"
    listed = notes("runs").stdout.splitlines()
    assert listed[0].split()[:5] == ["run", "state", "recipe", "model", "tasks"]
    assert "notes" in listed[2]


def test_a_run_that_stopped_as_asked_has_done_what_it_was_to_do(notes: Quire) -> None:
    said = notes("run", "--recipe", "notes.toml", *MODEL, "--stop-after", "summary")

    assert said.stdout.startswith("run 1 stopped after summary, as asked: 4 of ")
    assert "next: quire resume 1, then quire attach 1 or the same command without" in said.stdout
    assert "is held" not in said.output
    (shows,) = (line for line in said.stdout.splitlines() if "quire show" in line)
    assert "quire show 1 --stage summary, quire results 1 --to DIR, or" in shows
    assert "quire export 1 --stage summary -o out.jsonl" in shows
    for command in ("show", "export"):
        told = notes(command, 1).output
        assert "digest has nothing yet; --stage summary has 2" in told
    assert notes.json("attach", 1)["exit_code"] == 0
    notes("pause", 1)
    assert "is held (user)" in notes("attach", 1, code=4).stderr
    notes("resume", 1)
    assert "9 of 9 tasks done" in notes("run", "--recipe", "notes.toml", *MODEL).stdout


def test_resuming_goes_on_where_it_stopped(notes: Quire) -> None:
    notes("run", "--recipe", "notes.toml", *MODEL, "--stop-after", "summary")
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
        (["--input", "evidence=nowhere"], "there is no such file or document: 'nowhere'"),
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

    assert [item["stages"][0]["expanded"] for item in (one, two, every)] == [1, 2, 2]


def test_several_inputs_must_each_be_given(notes: Quire, folder: Path) -> None:
    text = RECIPE.replace("INPUTS", '["texts", "other"]').replace("OVER", 'over = "texts"')
    (folder / "named.toml").write_text(text)
    order = ("run", "--recipe", "named.toml", *MODEL)

    assert "--input texts=PATH --input other=PATH" in notes(*order, code=2).stderr
    one = notes(*order, "--input", "texts=first.txt", code=2)
    assert "needs documents for its input 'other'" in one.stderr


def test_a_recipe_is_forecast_by_stage_for_nothing(notes: Quire) -> None:
    printed = notes.json("plan", "--recipe", "notes.toml", *MODEL)
    said = notes("plan", "--recipe", "notes.toml", *MODEL).stdout

    assert [(item["stage"], item["tasks"], item["calls"]) for item in printed["stages"]] == [
        ("summary", 2, 2),
        ("check", 2, 2),
        ("points", 4, 4),
        ("digest", 1, 1),
    ]
    assert all(item["rough"] and item["fits"] for item in printed["stages"])
    assert printed["cost_usd"] == sum(e["cost_usd"] for e in printed["stages"])
    assert "~ is a rough guess" in said
    assert "vetoes" not in said
    assert "together: 9 tasks, 9 calls, roughly $" in said
    assert notes("runs").stdout.startswith("no runs yet")


def test_a_forecast_says_how_much_a_critic_is_taken_to_send_back(notes: Quire) -> None:
    recipe = Path("notes.toml")
    gate = """critic = true\nmode = "gate"\naccepts = "answer.text != ''\""""
    recipe.write_text(recipe.read_text().replace("critic = true", gate))

    said = notes("plan", "--recipe", "notes.toml", *MODEL).stdout

    assert "check is taken to veto 10% of what it judges, asked again" in said.splitlines()


def test_a_forecast_learns_from_an_earlier_run(notes: Quire) -> None:
    before = notes.json("plan", "--recipe", "notes.toml", *MODEL)
    spent = notes.json("run", "--recipe", "notes.toml", *MODEL)
    after = notes.json("plan", "--recipe", "notes.toml", *MODEL)

    paid = spent["cost_usd"]
    assert abs(after["cost_usd"] - paid) < abs(before["cost_usd"] - paid)
    assert not after["rough"]
    assert (before["learnt_from"], after["learnt_from"]) == (None, 1)
    said = notes("plan", "--recipe", "notes.toml", *MODEL).stdout
    assert "by what run 1 of the same recipe took" in said.splitlines()


def test_a_prompt_that_may_not_fit_the_window_is_told_beforehand(
    notes: Quire, folder: Path
) -> None:
    (folder / "long.txt").write_text("word " * 40_000)
    notes("ingest", "long.txt")

    said = notes("plan", "--recipe", "notes.toml", *MODEL).stdout

    assert "summary: 1 of 3 prompts do not fit the window of simulated/small: what is" in said
    assert "check: a prompt may take" in said


@pytest.mark.parametrize("width", [80, 120])
def test_tables_of_stages_fit_the_screen(
    notes: Quire, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    notes("run", "--recipe", "notes.toml", *MODEL, "--stop-after", "summary")

    table = notes("status").stdout.partition("stage")[2].partition("\n\n")[0]

    assert max(map(len, table.splitlines())) <= width
    assert max(map(len, notes("plan", "--recipe", "notes.toml", *MODEL).stdout.splitlines())) < 130


def test_the_words_beside_a_stages_bar_fit_their_room() -> None:
    busy = StageProgress(
        name="facts",
        state=StageState.OPEN,
        counts={"done": 9, "failed": 1_200, "blocked": 34, "proposed": 5},
    )

    assert stage_words(busy, 60) == "1,200 failed · 34 blocked · 5 proposed"
    assert stage_words(busy, 25) == "1,200 failed · 34 blocked"
    assert stage_words(busy, 3) == ""
    waiting = StageProgress(
        name="page", state=StageState.WAITING, counts={}, wait=StageWait(WaitKind.UPSTREAM, "facts")
    )
    assert stage_words(waiting, 10) == "waits for…"


def test_in_a_pipe_nothing_live_is_shown(notes: Quire) -> None:
    said = notes("run", "--recipe", "notes.toml", *MODEL)

    assert said.stderr.count("\n") == 1
    assert notes("-q", "run", "--recipe", "notes.toml", *MODEL, "--new").stderr == ""


def test_files_that_were_taken_in_for_an_input_are_no_documents_of_other_runs(
    notes: Quire,
) -> None:
    Path("asked.toml").write_text(
        'inputs = ["texts"]\n[[stages]]\nname = "sum"\nabout = "each_document"\nover = "texts"\n'
        'prompt = "{{ document.text }}"\n'
    )
    Path("aside.txt").write_text("Only for this run.")
    before = notes.json("plan", "--recipe", "notes.toml", *MODEL)["documents"]
    notes("run", "--recipe", "asked.toml", "--input", "texts=aside.txt", *MODEL)

    after = notes.json("plan", "--recipe", "notes.toml", *MODEL)["documents"]
    notes("ingest", "aside.txt")
    ingested = notes.json("plan", "--recipe", "notes.toml", *MODEL)["documents"]

    assert (after, ingested) == (before, before + 1)
