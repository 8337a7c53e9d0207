"""`quire schema draft`: shown, and kept only by a person's word."""

import json
from pathlib import Path

from tests.cli.conftest import Quire

WISH = "party, amount and due date of every obligation"
DRAFT = ("schema", "draft", WISH, "--model", "simulated/small")


def test_a_draft_is_shown_with_its_cost_and_kept_only_if_told_so(
    quire: Quire, tmp_path: Path
) -> None:
    (tmp_path / "lease.md").write_text("The Tenant pays a rent of $1,450 a month, in advance.\n")

    shown = quire(*DRAFT, "--from", str(tmp_path / "lease.md"))
    before = quire("schema", "list").stdout
    kept = quire(*DRAFT, "--save", "--ref", "duties")

    assert [*json.loads(shown.stdout)["properties"]] == ["party", "amount", "due_date"]
    assert "drafted by simulated/small from 1 block: $0.000" in shown.stderr
    assert "not kept" in shown.stderr
    assert "no schemas yet" in before
    assert "kept as duties" in kept.stderr


def test_a_draft_goes_to_a_file_that_is_not_there_yet(quire: Quire, tmp_path: Path) -> None:
    file = tmp_path / "duties.json"
    quire("init")

    written = quire(*DRAFT, "-o", str(file))
    again = quire(*DRAFT, "-o", str(file), code=2)

    assert "written to" in written.stderr
    assert [*json.loads(file.read_text())["properties"]] == ["party", "amount", "due_date"]
    assert "is there already" in again.stderr
