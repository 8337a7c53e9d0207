"""An answer that came in pieces, as people see it: in the ledger, in the prompt, in results."""

from pathlib import Path

from tests.cli.conftest import Quire

RECIPE = (
    """
name = "essay"

[[stages]]
name = "essay"
about = "each_document"
prompt = """
    + "'''"
    + """Write about 300 words.
Outline:
# Report
## First

{{ document.text }}"""
    + "'''"
    + """
params = { max_tokens = 120 }
policy = { max_continuations = 2 }
"""
)


def test_pieces_are_listed_shown_and_marked(ready: Quire, folder: Path) -> None:
    (folder / "essay.toml").write_text(RECIPE)
    ready("run", "--recipe", "essay.toml", "-m", "simulated/small")

    listed = ready("ledger", 1).stdout
    shown = ready("ledger", 1, "--request", 1).stdout
    prompt = ready("prompt", 1).stdout
    row = ready.json("show", 1)[0]

    assert listed.count("continuation") == 2
    assert "an answer in pieces: 3 calls" in shown
    assert "answer was cut off" in shown
    assert "── assistant ──" in prompt
    assert row["notes"][0]["kind"] == "incomplete"


def test_a_run_says_that_results_are_incomplete_and_what_helps(ready: Quire, folder: Path) -> None:
    (folder / "essay.toml").write_text(RECIPE)
    order = ("run", "--recipe", "essay.toml", "-m", "simulated/small")
    said = ready(*order).stdout

    told = (
        "1 result is incomplete (essay): quire results 1 marks which; more max_tokens or"
        " max_continuations help"
    )
    assert told in said
    assert told in " ".join(ready("status").stdout.split())
    assert ready.json("status")["incomplete"] == {"essay": 1}


def test_a_run_whose_results_are_whole_says_nothing_of_it(ready: Quire, folder: Path) -> None:
    (folder / "essay.toml").write_text(RECIPE.replace("= 2", "= 20"))

    said = ready("run", "--recipe", "essay.toml", "-m", "simulated/small").stdout

    assert "incomplete" not in said + ready("status").stdout
    assert ready.json("status")["incomplete"] == {}
