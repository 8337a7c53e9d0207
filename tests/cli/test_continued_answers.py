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
