"""Every error is one line on stderr, with an exit code that says who has to act."""

from pathlib import Path

import pytest

from quire.cli.session import global_options_first
from tests.cli.conftest import Quire
from tests.cli.terminals import Terminal


@pytest.mark.parametrize(
    "command",
    [
        *("documents", "schema list", "plan --schema x", "runs", "status", "show", "export"),
        *("failures", "prompt 1", "ledger", "events", "pause", "resume", "cancel", "retry"),
        *("purge x --yes", "work"),
    ],
)
def test_only_what_brings_something_in_makes_a_ledger(
    quire: Quire, folder: Path, command: str
) -> None:
    result = quire(*command.split(), code=3)

    assert result.stderr.startswith("quire: there is no ledger at ")
    assert "`quire init` makes one" in result.stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("frobnicate", "quire: no such command 'frobnicate'; see `quire --help`\n"),
        ("status --nope", "quire: no such option: --nope; see `quire status --help`\n"),
        ("ingest", "quire: missing argument 'PATHS'; see `quire ingest --help`\n"),
    ],
)
def test_a_mistyped_command_is_told_in_one_line(quire: Quire, command: str, message: str) -> None:
    result = quire(*command.split(), code=2)

    assert result.stderr == message
    assert result.stdout == ""


def test_before_the_first_run_there_is_no_newest_run(ready: Quire) -> None:
    assert "there are no runs yet" in ready("status", code=2).stderr


def test_a_file_that_is_no_ledger_is_refused_with_3(quire: Quire, folder: Path) -> None:
    (folder / "letter.db").write_text("Dear Sir or Madam, this is not a database at all." * 99)

    result = quire("--ledger", "letter.db", "runs", code=3)

    assert "is not a Quire ledger" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_mistaken_settings_are_refused_with_2(quire: Quire, folder: Path) -> None:
    (folder / "quire.toml").write_text('modle = "simulated/small"\n')

    assert "did you mean model?" in quire("runs", code=2).stderr


def test_a_mistaken_fault_script_stops_only_what_calls_the_model(ready: Quire) -> None:
    order = ("run", "--schema", "clauses", "--limit", 2)
    ready(*order, faults="refuse=1", code=1)

    refused = [ready(*words, faults="zzz", code=2) for words in (order, ("attach", 1), ("work",))]
    ready(*order, "--new", faults="zzz", code=2)
    read = [ready(*words, 1, faults="zzz") for words in (("status",), ("failures",), ("retry",))]

    assert all("simulated faults: 'zzz' says nothing" in result.stderr for result in refused)
    assert "refuse" in read[1].stdout
    assert [item["run"] for item in ready.json("runs")] == [1]  # none was begun


def test_settings_that_cannot_be_written_are_told_with_3(quire: Quire, folder: Path) -> None:
    (folder / "quire.toml").symlink_to(folder / "no" / "such" / "folder")

    result = quire("init", code=3)

    assert result.stderr == "quire: quire.toml: File exists\n"


def test_the_ledger_may_be_named_before_or_after_the_command(quire: Quire, folder: Path) -> None:
    quire("ingest", "--ledger", "mine.db", "nothing.md", code=1)

    assert quire.json("--ledger", "mine.db", "runs") == quire.json("runs", "--ledger=mine.db")
    assert not (folder / "quire.db").exists()


def test_what_follows_two_dashes_is_left_alone() -> None:
    args = ["ingest", "--ledger", "a.db", "--", "--ledger", "-q"]

    assert global_options_first(args) == ["--ledger", "a.db", "ingest", "--", "--ledger", "-q"]


def test_a_traceback_is_shown_only_when_asked_for(
    quire: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = quire("runs", code=3)
    monkeypatch.setenv("QUIRE_DEBUG", "1")
    loud = quire("runs", code=3)

    assert "Traceback" not in silent.stderr
    assert "Traceback" in loud.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["status", "9" * 30],
        ["prompt", "9" * 30],
        ["ledger", "--request", "9" * 30],
        ["runs", "--limit", "9" * 30],
        ["run", "-s", "clauses", "--limit", "9" * 30],
        ["run", "-s", "\udcff"],
        ["run", "-s", "clauses", "--document", "\udcff"],
        ["run", "-s", "clauses", "-m", "compatible/\udcff@http://localhost:1"],
    ],
)
def test_absurd_numbers_and_bytes_that_are_no_text_are_the_users_mistakes(
    ready: Quire, args: list[str]
) -> None:
    result = ready(*args, code=2)

    assert len(result.stderr.splitlines()) == 1
    assert "mistake in Quire" not in result.stderr


@pytest.mark.parametrize(
    "model",
    [
        *("compatible/x@http://host?api_key=s3cret", "compatible/x@http://host/v1#s3cret"),
        *("compatible/x@http://host:x/?s3cret", "compatible/x@HTTPS://me:s3cret@host/v1"),
        *("ollama/x@http://me:s3cret@host/v1", "openai/x@http://host/v1?key=s3cret"),
    ],
)
def test_a_key_in_a_models_address_is_refused_and_not_repeated(ready: Quire, model: str) -> None:
    result = ready("run", "-s", "clauses", "-m", model, code=2)

    assert "does not belong in a model's name" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "s3cret" not in result.output


def test_only_a_compatible_model_has_an_address_in_its_name(ready: Quire) -> None:
    result = ready("run", "-s", "clauses", "-m", "ollama/x@http://host/v1", code=2)

    assert "base_url in [providers.ollama] of quire.toml" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_command_about_another_ledger_than_this_folders_says_so(
    quire: Quire, folder: Path, quick: list[str]
) -> None:
    quire("--ledger", "other.db", "init")
    (folder / "quire.toml").unlink()

    alone = Terminal(quick, ["runs", "--ledger", "other.db"]).read()
    quire("init")
    beside = Terminal(quick, ["runs", "--ledger", "other.db"]).read()
    usual = Terminal(quick, ["runs", "--ledger", "./quire.db"]).read()

    assert "about another ledger" in beside
    assert "another" not in alone + usual
