"""A recipe takes its brief from a file, and documents that are attached to it, or none."""

from pathlib import Path

import pytest

from tests.cli.conftest import Quire

RECIPE = """
inputs = ["material"]
attach = "material"

[parameters]
brief = { prompt = true, description = "what is wanted" }
words = 5

[[stages]]
name = "choice"
about = "all_to_one"
over = "material"
settings = { documents = true }
prompt = '''
{{ parameters.brief }} in {{ parameters.words }} words, from {{ documents|length }} documents.
{% for each in documents %}{{ each.text }} {% endfor %}
'''
"""
ORDER = ("run", "--recipe", "brief.toml", "--model", "simulated/small")


@pytest.fixture
def briefed(quire: Quire, folder: Path) -> Quire:
    """The commands, with a recipe that takes a brief, and documents that it is not about."""
    (folder / "brief.toml").write_text(RECIPE)
    (folder / "brief.md").write_text("# Ferry or bridge?\n\nSay which.\n")
    (folder / "docs").mkdir()
    (folder / "docs" / "ferry.txt").write_text("The ferry is slow.")
    (folder / "docs" / "bridge.txt").write_text("The bridge is dear.")
    (folder / "other.txt").write_text("Of something else.")
    quire("init")
    quire("ingest", "other.txt")
    return quire


def test_a_brief_comes_from_a_file_and_documents_are_attached(briefed: Quire) -> None:
    briefed(*ORDER, "--prompt", "brief.md", "--attach", "docs", "--param", "words=7")

    asked = briefed("prompt", 1).stdout
    assert "# Ferry or bridge?\n\nSay which. in 7 words, from 2 documents." in asked
    assert "The ferry is slow." in asked
    assert "Of something else." not in asked
    listed = briefed.json("documents")
    assert len(listed) == 3


def test_nothing_is_attached_by_itself(briefed: Quire) -> None:
    briefed(*ORDER, "--prompt", "brief.md")

    assert "from 0 documents" in briefed("prompt", 1).stdout


def test_several_files_are_attached_and_a_plan_knows_them(briefed: Quire) -> None:
    files = ("--attach", "docs/ferry.txt", "--attach", "docs/bridge.txt")
    planned = briefed("plan", *ORDER[1:], "--prompt", "brief.md", *files).stdout
    briefed(*ORDER, "--prompt", "brief.md", *files)

    assert "2 documents" in planned
    assert "from 2 documents" in briefed("prompt", 1).stdout


def test_the_named_input_takes_documents_as_any_other(briefed: Quire) -> None:
    briefed(*ORDER, "--prompt", "brief.md", "--input", "material=other.txt")

    assert "Of something else." in briefed("prompt", 1).stdout


def test_a_brief_may_come_from_the_keyboard(briefed: Quire) -> None:
    from typer.testing import CliRunner

    from quire.cli import app

    said = CliRunner().invoke(app, [*ORDER, "--prompt", "-"], input="Typed here.\n")

    assert said.exit_code == 0, said.output
    assert "Typed here. in 5 words" in briefed("prompt", 1).stdout


def test_a_recipe_without_inputs_is_about_what_is_attached(notes: Quire, folder: Path) -> None:
    (folder / "third.txt").write_text("A third one.")

    order = ("run", "--recipe", "notes.toml", "--model", "simulated/small")
    done = notes.json(*order, "--attach", "third.txt")

    assert done["done"] == 5
    assert "A third one." in notes("prompt", 1).stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "parameter brief must be given (what is wanted); --prompt FILE gives it"),
        (["--prompt", "nowhere.md"], "nowhere.md: No such file"),
        (["--prompt", "empty.md"], "empty.md holds no text"),
        (["--prompt", "broken.md"], "broken.md is not UTF-8"),
        (["--prompt", "brief.md", "--param", "brief=x"], "brief is given twice"),
        (["--prompt", "brief.md", "--attach", "nowhere"], "there is no such file or document"),
        (
            ["--prompt", "brief.md", "--attach", "docs", "--document", "1"],
            "give --attach or --document, not both",
        ),
    ],
)
def test_a_wrong_brief_is_refused_before_anything_is_spent(
    briefed: Quire, folder: Path, args: list[str], message: str
) -> None:
    (folder / "empty.md").write_text(" \n")
    (folder / "broken.md").write_bytes(b"\xff\xfe\xfa")

    assert message in briefed(*ORDER, *args, code=2).stderr
    assert briefed("runs").stdout.startswith("no runs yet")


def test_a_recipe_that_takes_no_brief_says_so(notes: Quire, folder: Path) -> None:
    (folder / "brief.md").write_text("A brief.")
    order = ("run", "--recipe", "notes.toml", "--model", "simulated/small")

    assert "notes takes no --prompt" in notes(*order, "--prompt", "brief.md", code=2).stderr


@pytest.mark.parametrize("option", ["--prompt", "--attach"])
def test_briefs_and_attachments_are_for_recipes(ready: Quire, option: str) -> None:
    order = ("run", "--schema", "clauses", "--model", "simulated/small")

    assert f"{option} is for recipes" in ready(*order, option, "notes.txt", code=2).stderr


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ('attach = "material"', 'attach = "papers"', "attach names the input 'papers'"),
        ("words = 5", "words = { default = 5, prompt = true }", "brief has prompt = true already"),
        ("prompt = true", "type = 'integer', prompt = true", "a prompt is text"),
        ("prompt = true", "prompt = 'yes'", "prompt must be"),
    ],
)
def test_a_recipe_that_says_it_wrong_is_told_so(
    briefed: Quire, folder: Path, wrong: str, right: str, message: str
) -> None:
    (folder / "brief.toml").write_text(RECIPE.replace(wrong, right))

    assert message in briefed("recipe", "check", "brief.toml", code=2).output
