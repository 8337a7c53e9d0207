"""`quire doctor` tells people in a table and programs in JSON, and leaves with the right code."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from quire.cli.app import quire as global_options
from quire.cli.doctor import _finding_line, doctor
from quire.cli.session import Commands
from quire.engine.doctor.findings import warning
from quire.providers.vendors import VENDORS
from tests.cli.conftest import Quire
from tests.ledger.raw import Raw

app = typer.Typer(cls=Commands)
app.callback()(global_options)
app.command()(doctor)

KEY = "sk-a-key-that-is-worth-money-1234"


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys, proxies or other places in the environment."""
    usual = {name for facts in VENDORS.values() for name in facts.key_variables}
    places = {
        text for text in os.environ if text.upper().endswith(("_BASE_URL", "_PROXY", "_HOST"))
    }
    for text in usual | places:
        monkeypatch.delenv(text, raising=False)


def run_doctor(*args: str, code: int = 0) -> Result:
    """Call the doctor."""
    result = CliRunner().invoke(app, ["doctor", *args])
    assert result.exit_code == code, result.output
    return result


def read(*args: str, code: int = 0) -> Any:
    """Call the doctor, and read its JSON."""
    return json.loads(run_doctor("--json", *args, code=code).stdout)


def test_all_is_well_after_a_run(ready: Quire) -> None:
    ready("run", "--schema", "clauses")

    printed = run_doctor("--offline").stdout

    assert "all is well" in printed
    assert "ok  tallies" in printed
    assert "Traceback" not in printed


def test_json_has_every_check_with_its_standing(ready: Quire) -> None:
    printed = read("--offline")

    assert (printed["problems"], printed["warnings"]) == (0, 0)
    assert {item["standing"] for item in printed["checks"]} == {"ok"}
    assert {"versions", "ledger", "disk", "tallies"} <= {item["area"] for item in printed["checks"]}


def test_without_a_ledger_the_rest_is_examined_all_the_same(quire: Quire, folder: Path) -> None:
    printed = run_doctor(code=1).stdout

    assert "there is no ledger at quire.db → `quire init` makes one here" in printed
    assert "ok  versions" in printed
    assert not (folder / "quire.db").exists()


def test_settings_that_cannot_be_read_are_a_problem(quire: Quire, folder: Path) -> None:
    (folder / "quire.toml").write_text("ledgr = 'x'")

    printed = read("--offline", code=1)

    assert printed["checks"][0]["area"] == "settings"
    assert "did you mean ledger?" in printed["checks"][0]["fix"]


def test_a_file_that_is_no_ledger_is_a_problem(quire: Quire, folder: Path) -> None:
    (folder / "quire.db").write_text("this is a text file, and quite a long one at that" * 30)

    assert "not a Quire ledger" in run_doctor("--offline", code=1).stdout


def test_wrong_tallies_are_corrected_only_when_asked(ready: Quire, folder: Path) -> None:
    ready("run", "--schema", "clauses")
    raw = Raw(str(folder / "quire.db"))
    raw.rows("UPDATE tallies SET delta = delta + 5 WHERE what = 'calls'")
    raw.close()

    found = run_doctor("--offline", code=1).stdout
    mended = run_doctor("--offline", "--fix").stdout

    assert "run 1 was miscounted" in found
    assert "1 problem" in found
    assert "is corrected" in mended
    assert "all is well" in run_doctor("--offline").stdout


def test_quiet_prints_only_what_is_to_be_acted_on(ready: Quire) -> None:
    assert run_doctor("--offline", "--quiet").stdout == ""


def test_a_key_is_never_shown(ready: Quire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    printed = run_doctor("--offline").stdout

    assert "env OPENAI_API_KEY …1234" in printed
    assert KEY[:12] not in printed


def test_a_cure_that_was_told_is_not_told_again() -> None:
    gone = "run 1 is held: the key is gone; put it back; then `quire resume 1`"

    named = warning(gone, "mend that, then `quire resume 1`")._replace(names_fix=True)
    assert _finding_line(named) == gone
    assert _finding_line(warning("run 1 is held", "`quire resume 1`")).endswith(
        " → `quire resume 1`"
    )
