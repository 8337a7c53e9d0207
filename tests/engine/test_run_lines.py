"""The one line of progress: what it says, and that it is there only where somebody looks."""

from typing import Any

import pytest

from tests.engine.test_extract import MODEL, Ticket
from tests.world import World


def extract(here: World, capsys: pytest.CaptureFixture[str], **said: Any) -> str:
    here.engine.extract(["a text", "another"], Ticket, model=MODEL, **said)
    return capsys.readouterr().err


def test_a_line_is_written_over_itself_and_stays_at_the_end(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    here = World(str(tmp_path / "quire.db"))

    shown = extract(here, capsys, progress=True)
    again = extract(here, capsys, progress=True)
    here.close()

    assert shown.startswith("\r")
    assert shown.rpartition("\r")[2].startswith("run 1: 2 of 2 rows · 1 call · $0.000")
    assert shown.endswith("\n")
    assert "run 1: 2 of 2 rows · 0 calls · $0 ($0.000" in again


def test_nothing_is_shown_where_nobody_looks_or_nobody_wants_it(
    tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = World(str(tmp_path / "quire.db"))

    assert extract(here, capsys) == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert extract(here, capsys, progress=False) == ""
    assert extract(here, capsys) != ""
    here.close()
