"""Keys are kept, listed, tried and erased, and never shown."""

import os
import pty
import select
import sqlite3
import stat
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from quire.cli import app
from quire.providers.vendors import VENDORS
from tests.accounts.key_server import GOOD, KeyServer, serve_keys
from tests.cli.conftest import Quire

KEY = "sk-ant-a-key-that-is-worth-money-1234"
OTHER = "sk-ant-a-key-of-somebody-else-5678"


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys, proxies or other places in the environment."""
    usual = {name for facts in VENDORS.values() for name in facts.key_variables}
    places = {
        text for text in os.environ if text.upper().endswith(("_BASE_URL", "_PROXY", "_HOST"))
    }
    for text in usual | places:
        monkeypatch.delenv(text, raising=False)


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> Iterator[KeyServer]:
    """Anthropic, on this machine."""
    with serve_keys() as opened:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", opened.url)
        yield opened


def keep(key: str, *args: str, code: int = 0) -> Result:
    """Pipe a key into `quire keys add`."""
    result = CliRunner().invoke(app, ["keys", "add", *args, "--stdin"], input=key)
    assert result.exit_code == code, result.output
    return result


def test_a_key_is_kept_and_listed_by_its_end(quire: Quire, folder: Path) -> None:
    kept = keep(f"{KEY}\n", "anthropic", "--name", "work")
    listed = quire("keys", "list").stdout

    assert "kept the key anthropic work …1234, encrypted" in kept.stdout
    assert "quire.key is new, and guards stored keys" in kept.stderr
    assert stat.S_IMODE((folder / "quire.key").stat().st_mode) == 0o600
    row = listed.splitlines()[2].split()
    assert row[:5] == ["anthropic", "work", "…1234", "stored", "untested"]


def test_init_makes_the_secret_key_and_says_so(quire: Quire, folder: Path) -> None:
    result = quire("init")
    before = (folder / "quire.key").read_text()

    assert "quire.key guards stored keys" in result.stdout
    assert stat.S_IMODE((folder / "quire.key").stat().st_mode) == 0o600
    assert "guards" not in quire("init").stdout
    assert (folder / "quire.key").read_text() == before
    assert keep(KEY, "anthropic").stderr == ""


def test_init_makes_no_file_where_the_environment_has_the_secret_key(
    quire: Quire, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIRE_SECRET_KEY", "a secret that is long enough")

    quire("init")
    keep(KEY, "anthropic")

    assert not (folder / "quire.key").exists()


def test_the_key_of_the_environment_is_listed_too(
    quire: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", OTHER)
    keep(KEY, "anthropic")

    printed = quire.json("keys", "list")

    assert [(item["provider"], item["name"], item["source"]) for item in printed] == [
        ("anthropic", "default", "stored"),
        ("openai", "OPENAI_API_KEY", "environment"),
    ]
    assert printed[1] == {
        "provider": "openai",
        "name": "OPENAI_API_KEY",
        "source": "environment",
        "tail": "5678",
        "state": "untested",
        "reason": "",
        "since": None,
        "tested": False,
        "person": "",
    }


def test_without_keys_the_list_says_how_to_get_one(quire: Quire) -> None:
    quire("init")

    assert quire("keys", "list").stdout == "no keys yet; `quire keys add PROVIDER` keeps one\n"
    assert quire.json("keys", "list") == []


def test_what_is_wrong_around_is_told_beside_the_list(
    quire: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    quire("init")
    monkeypatch.setenv("OPENAI_API_KEY", "two words")

    assert quire("keys", "list").stderr.startswith("quire: OPENAI_API_KEY holds a blank")


@pytest.mark.parametrize(
    ("key", "why"),
    [("", "is empty"), ("one two", "a blank"), ("schlüssel", "letters"), ("k" * 9000, "long")],
)
def test_what_cannot_be_a_key_is_refused_before_a_ledger_is_made(
    quire: Quire, folder: Path, key: str, why: str
) -> None:
    result = keep(key, "anthropic", code=2)

    assert why in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert list(folder.iterdir()) == []


def test_a_key_that_looks_like_anothers_is_kept_with_a_warning(quire: Quire) -> None:
    result = keep(KEY, "openai")

    assert "this looks like a key of anthropic, not of openai; it is kept" in result.stderr
    assert len(quire.json("keys", "list")) == 1


@pytest.mark.parametrize(
    "args",
    [
        ["add", "anthropic", KEY],
        ["add", KEY],
        ["add", "anthropic", "--name", KEY, "--stdin"],
        ["add", "anthropic", f"--key={KEY}"],
        ["add", "anthropic", "--key", KEY],
        ["remove", "anthropic", KEY],
        ["remove", KEY],
        ["test", KEY],
    ],
)
def test_a_key_on_the_command_line_is_refused_and_not_repeated(
    quire: Quire, args: list[str]
) -> None:
    quire("init")

    result = quire("keys", *args, code=2)

    assert KEY not in result.output
    assert len(result.stderr.splitlines()) == 1


def test_without_a_terminal_the_key_must_be_piped(quire: Quire) -> None:
    assert "is read with --stdin" in quire("keys", "add", "anthropic", code=2).stderr


def test_a_key_that_is_typed_is_not_shown(folder: Path, warm: list[str]) -> None:
    typed, terminal = pty.openpty()
    command = "from tests.cli.test_keys import app; app(prog_name='quire')"
    process = subprocess.Popen(
        [*warm, "-c", command, "keys", "add", "anthropic"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        start_new_session=True,
    )
    shown = b""
    while b"not shown" not in shown or termios.tcgetattr(terminal)[3] & termios.ECHO:
        assert process.poll() is None, shown.decode()
        shown += _read(typed)
    os.write(typed, f"{KEY}\n".encode())
    more = b""
    while process.poll() is None or more:  # and what it left behind
        shown += (more := _read(typed))
    shown += _read(typed)
    os.close(typed)
    os.close(terminal)

    assert process.returncode == 0
    assert b"kept the key anthropic default" in shown
    assert KEY.encode() not in shown


def _read(terminal: int) -> bytes:
    """What is shown by now, or within a moment."""
    ready, _, _ = select.select([terminal], [], [], 0.05)
    return os.read(terminal, 4096) if ready else b""


def test_a_name_is_not_taken_twice(quire: Quire) -> None:
    keep(KEY, "anthropic")

    assert "has a key called default already" in keep(OTHER, "anthropic", code=2).stderr
    assert (
        "is kept already, as anthropic default"
        in keep(KEY, "anthropic", "--name", "b", code=2).stderr
    )


def test_an_unknown_provider_is_refused_with_the_nearest(quire: Quire) -> None:
    assert "did you mean anthropic?" in keep(KEY, "antropic", code=2).stderr


def test_a_key_is_erased(quire: Quire, folder: Path) -> None:
    keep(KEY, "anthropic")

    printed = quire("keys", "remove", "anthropic").stdout

    assert printed == "erased the key anthropic default; the vendor still accepts it\n"
    assert quire.json("keys", "list") == []
    with sqlite3.connect(folder / "quire.db") as connection:
        assert connection.execute("SELECT sealed FROM credentials").fetchall() == [(None,)]
    connection.close()
    assert "has no stored key" in quire("keys", "remove", "anthropic", code=2).stderr


def test_a_key_that_is_let_in_is_valid(quire: Quire, vendor: KeyServer) -> None:
    keep(GOOD, "anthropic", "--name", "work")

    assert quire("keys", "test").stdout == "anthropic stored work …1234: accepted\n"
    assert quire.json("keys", "test", "work") == [
        {
            "provider": "anthropic",
            "credential": "stored work …1234",
            "state": "valid",
            "said": "accepted",
        }
    ]
    assert [headers["x-api-key"] for _, headers in vendor.seen] == [GOOD, GOOD]


def test_a_refused_key_is_marked_and_cleared_when_it_is_let_in(
    quire: Quire, vendor: KeyServer
) -> None:
    keep(OTHER, "anthropic")
    keep(GOOD, "anthropic", "--name", "good")

    tried = quire("keys", "test", "anthropic", code=1)
    marked, fine = quire.json("keys", "list")
    vendor.say.update(status=200)
    quire("keys", "test", "default")
    cleared, _ = quire.json("keys", "list")

    assert "anthropic stored default …5678: anthropic 401: Incorrect API key" in tried.stdout
    assert OTHER not in tried.output
    assert (marked["state"], fine["state"], cleared["state"]) == ("invalid", "valid", "valid")
    assert marked["reason"].startswith("anthropic 401: Incorrect API key provided")
    assert cleared["reason"] == ""


def test_a_vendor_that_is_not_there_marks_nothing(
    quire: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    keep(KEY, "anthropic")

    assert "nothing listens" in quire("keys", "test", code=1).stdout
    assert quire.json("keys", "list")[0]["state"] == "untested"


def test_the_key_of_the_environment_is_tried_and_marked_too(
    quire: Quire, vendor: KeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    quire("init")
    monkeypatch.setenv("ANTHROPIC_API_KEY", OTHER)

    quire("keys", "test", "ANTHROPIC_API_KEY", code=1)

    assert quire.json("keys", "list")[0]["state"] == "invalid"


def test_there_must_be_something_to_try(quire: Quire) -> None:
    quire("init")

    assert "no such key to try" in quire("keys", "test", code=2).stderr
    assert (
        "no key for anthropic: `quire keys add" in quire("keys", "test", "anthropic", code=2).stderr
    )
