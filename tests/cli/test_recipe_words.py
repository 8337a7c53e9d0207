"""What plan, run, prompt and ledger say of a recipe whose stages read different documents."""

from pathlib import Path

import pytest

from tests.cli.conftest import Quire

RECIPE = """
inputs = ["letters", "archive"]

[[stages]]
name = "draft"
about = "each_document"
over = "letters"
models = "all"
prompt = "A page from {{ document.text }}"

[[stages]]
name = "mend"
about = "each_result"
of = "draft"
prompt = "Shorten {{ inputs.draft.text }}, which came from {{ document.text }}"

[[stages]]
name = "verdict"
about = "each_model"
needs = ["mend"]
prompt = "Which is best? {% for each in inputs.mend %}{{ each.text }} {% endfor %}"

[[stages]]
name = "old"
about = "each_document"
over = "archive"
prompt = "Sum up {{ document.text }}"
"""
MODELS = ("--models", "simulated/small,simulated/large")
ORDER = ("--recipe", "mine.toml", "--input", "letters=letter.txt", "--input", "archive=archive.txt")


@pytest.fixture
def mine(quire: Quire, folder: Path) -> Quire:
    """The commands, with a recipe of two inputs: a short letter, and an archive of 400 KB."""
    (folder / "mine.toml").write_text(RECIPE)
    (folder / "letter.txt").write_text("The ferry is slow.")
    (folder / "archive.txt").write_text("The river rose again, and nobody crossed it.\n\n" * 9_000)
    quire("init")
    return quire


def test_a_forecast_of_what_is_about_results_counts_the_documents_these_came_from(
    mine: Quire,
) -> None:
    planned = mine.json("plan", *ORDER, *MODELS)
    said = mine("plan", *ORDER, *MODELS).stdout

    tokens = {stage["stage"]: stage["input_tokens"] for stage in planned["stages"]}
    assert tokens["mend"] < 1_000 < tokens["old"]
    assert "mend:" not in said
    assert "old: 1 of 1 prompt does not fit the window of simulated/small" in said


def test_a_stage_that_nobody_wanted_yet_has_not_begun(mine: Quire) -> None:
    said = mine("run", *ORDER, *MODELS, "--stop-after", "draft").stdout

    assert "verdict: not begun · old: not begun" in said


def test_many_notes_of_one_result_are_counted_and_never_cut_in_the_middle(
    quire: Quire, folder: Path
) -> None:
    for no in range(5):
        text = f"Archive {no}: the river rose again, and nobody crossed it.\n\n" * 1_000
        (folder / f"archive{no}.txt").write_text(text)
    (folder / "all.toml").write_text(
        """[[stages]]
name = "all"
about = "all_to_one"
settings = { documents = true }
prompt = "Who crossed? {% for each in documents %}{{ each.text }}{% endfor %}"
"""
    )
    quire("init")
    quire("ingest", *(f"archive{no}.txt" for no in range(5)))
    quire("run", "--recipe", "all.toml", "-m", "simulated/small")

    (line,) = [line for line in quire("show").stdout.splitlines() if "was compressed" in line]

    assert line.count("was compressed from about ") == 3
    assert line.endswith("; and 2 more")
    assert "…" not in line


def test_a_recipe_that_ran_says_how_to_read_its_results_and_what_it_compressed(
    mine: Quire,
) -> None:
    said = mine("run", *ORDER, *MODELS).stdout
    shown = mine("show", "--stage", "old").stdout

    assert "next: quire show 1, quire results 1 --to DIR, or quire export 1 -o out.jsonl" in said
    assert "document: was compressed from about 103,500 tokens to " in shown


def test_a_task_about_the_whole_run_is_not_said_to_be_about_one_result(mine: Quire) -> None:
    mine("run", *ORDER, *MODELS)
    tasks = {row["stage"]: row["task"] for row in mine.json("results")}

    assert "about   the run, simulated/large" in mine("prompt", tasks["verdict"]).stdout
    assert "result of task" in mine("prompt", tasks["mend"]).stdout


def test_the_ledger_says_of_each_call_its_stage_and_its_model(
    mine: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine("run", *ORDER, *MODELS)
    monkeypatch.setenv("COLUMNS", "80")

    listed = mine.json("ledger")
    said = mine("ledger").stdout
    request = next(line["id"] for line in listed if line["stage"] == "verdict")

    assert {line["model"] for line in listed if line["stage"] == "draft"} == {
        "simulated/small",
        "simulated/large",
    }
    assert said.startswith("run 1 · simulated/small (simulated), simulated/large (simulated)\n")
    assert "verdict  large" in said
    assert max(map(len, said.splitlines())) <= 80
    assert "stage       verdict" in mine("ledger", "--request", request).stdout


def test_a_forecast_names_every_model_of_the_run(mine: Quire) -> None:
    head = mine("plan", *ORDER, *MODELS).stdout.splitlines()[0]

    assert " · recipe mine · simulated/small (simulated: no model is called" in head
    assert head.endswith("), simulated/large (simulated)")
