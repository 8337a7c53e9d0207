"""Real processes: signals, pipes, terminals and workers side by side."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import SCHEMA, Quire
from tests.time_limits import PATIENCE, wait_until

QUIRE = [sys.executable, "-m", "quire"]


def start(
    *args: str,
    program: Sequence[str] = QUIRE,
    faults: str = "",
    stdin: int | None = None,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Type a command in a process of its own."""
    environment = os.environ | {"QUIRE_SIMULATED_FAULTS": faults}
    return subprocess.Popen(
        [*program, *args], env=environment, stdin=stdin, stdout=stdout, stderr=stderr
    )


def wait_for_call(log: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until a call has reached the simulated model."""
    wait_until(lambda: log.exists() and log.stat().st_size, lambda: process.poll() is None)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_stops_cleanly_and_the_same_command_goes_on(
    ready: Quire, folder: Path, quick: list[str], number: signal.Signals
) -> None:
    faults = f"latency=2,log={folder / 'calls'}"  # all of it takes a minute
    command = ("run", "-s", "clauses", "--concurrency", "1", "--no-packing")
    with start(*command, program=quick, faults=faults) as process:
        wait_for_call(folder / "calls", process)
        process.send_signal(number)
        out, error = process.communicate(timeout=PATIENCE)

    assert process.returncode == 130
    calls = len((folder / "calls").read_text().splitlines())
    assert out.startswith(b"run 1 was stopped: %d of 30 blocks done" % calls)
    assert b"next: the same command goes on" in out
    assert b"Traceback" not in error
    assert ready.json(*command)["calls"] == 30


def test_an_interrupted_draft_keeps_what_was_paid_for_and_the_same_command_takes_it(
    quire: Quire, folder: Path, quick: list[str]
) -> None:
    (folder / "lease.md").write_text("The Tenant pays a rent of $1,450 a month, in advance.\n")
    wish = ("schema", "draft", "party and amount", "-m", "simulated/small", "--from", "lease.md")
    with start(*wish, program=quick, faults=f"latency=1,log={folder / 'calls'}") as process:
        wait_for_call(folder / "calls", process)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=PATIENCE)

    assert (process.returncode, out) == (130, b"")
    assert b"stopped, all answers are kept: the same command goes on, and pays nothing" in error
    assert b"Traceback" not in error
    assert [*json.loads(quire(*wish).stdout)["properties"]] == ["party", "amount"]
    assert quire.json("spend")["total"]["calls"] == 1


def test_a_run_that_somebody_works_on_is_running_and_then_stopped(
    ready: Quire, folder: Path, quick: list[str]
) -> None:
    faults = f"latency=2,log={folder / 'calls'}"  # all of it takes a minute
    command = ("run", "-s", "clauses", "--concurrency", "1", "--no-packing")
    with start(*command, program=quick, faults=faults) as process:
        wait_for_call(folder / "calls", process)
        during = ready.json("runs")[0]["standing"]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)

    assert (during, ready.json("runs")[0]["standing"]) == ("running", "stopped")
    assert "stopped" in ready("status").stdout


def test_workers_side_by_side_carry_out_a_run_once(ready: Quire, folder: Path) -> None:
    ready("run", "-s", "clauses", "--detach", "--no-packing")

    faults = f"latency=0.01,log={folder / 'calls'}"
    with start("work", "--workers", "2", "--until-idle", faults=faults) as process:
        process.communicate(timeout=PATIENCE)

    assert process.returncode == 0
    assert ready.json("status")["done"] == 30
    assert len((folder / "calls").read_text().splitlines()) == 30


def test_workers_side_by_side_share_one_postgresql(
    quire: Quire,
    quick: list[str],
    postgres_database: str,
    write_blocks: Callable[[str, int], Path],
) -> None:
    quire("init", "--ledger", postgres_database)
    quire("ingest", write_blocks("notes.txt", 30))
    quire("run", "-s", SCHEMA, "--detach", "--no-packing")

    command = ("work", "--workers", "2", "--until-idle")
    with start(*command, program=quick, faults="latency=0.01") as process:
        process.communicate(timeout=PATIENCE)

    assert process.returncode == 0
    status = quire.json("status")
    assert (status["done"], status["calls"]) == (30, 30)


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.soak)]
)
def test_workers_side_by_side_stop_cleanly_when_interrupted(
    ready: Quire, folder: Path, quick: list[str], number: signal.Signals
) -> None:
    ready("run", "-s", "clauses", "--detach", "--no-packing", "--concurrency", "1")

    faults = f"latency=2,log={folder / 'calls'}"
    with start("work", "--workers", "2", program=quick, faults=faults) as process:
        wait_for_call(folder / "calls", process)
        process.send_signal(number)
        _, error = process.communicate(timeout=PATIENCE)

    assert process.returncode == 130
    assert b"Traceback" not in error
    status = ready.json("status")
    assert status["calls"] == len((folder / "calls").read_text().splitlines())
    assert status["tasks"].get("packed", 0) + status["tasks"].get("ready", 0) > 0


def test_workers_end_with_the_process_that_started_them(ready: Quire, quick: list[str]) -> None:
    with start("work", "--workers", "1", "--parent", "1", program=quick) as process:
        process.communicate(timeout=PATIENCE)

    assert process.returncode == 0


@pytest.mark.parametrize(
    "args", [["export"], ["documents", "--json"], ["prompt", "1"], ["ledger", "--limit", "500"]]
)
def test_a_reader_that_leaves_early_causes_no_noise(
    ready: Quire, quick: list[str], args: list[str]
) -> None:
    ready("run", "-s", "clauses", "--no-packing")
    reading, writing = os.pipe()
    os.close(reading)

    with start(*args, program=quick, stdout=writing) as process:
        os.close(writing)
        _, error = process.communicate(timeout=PATIENCE)

    assert process.returncode == 1
    assert error == b""


def test_an_export_is_the_same_through_a_pipe_and_into_a_file(
    ready: Quire, folder: Path, quick: list[str]
) -> None:
    ready("run", "-s", "clauses")
    ready("export", "-o", "out.jsonl")

    with start("export", program=quick) as process:
        piped, _ = process.communicate(timeout=PATIENCE)

    assert piped == (folder / "out.jsonl").read_bytes()


def test_a_poor_encoding_shows_escapes_rather_than_fail(
    ready: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")

    with start("plan", "-s", "clauses") as process:
        out, error = process.communicate(timeout=PATIENCE)

    assert (process.returncode, error) == (0, b"")
    assert b"\\xb7 schema clauses" in out


def test_a_terminal_sees_the_run_move(ready: Quire) -> None:
    text = run_on_terminal("run", "-s", "clauses", "--no-packing", faults="latency=0.1")

    assert "run 1: clauses over 1 document, 30 blocks" in text
    assert "/30" in text
    assert "failed · " in text
    assert "run 1 is done: 30 of 30 blocks done" in text


def test_a_terminal_sees_no_live_line_of_a_quiet_run(ready: Quire, quick: list[str]) -> None:
    assert run_on_terminal("run", "-s", "clauses", "-q", program=quick) == ""


def test_on_a_terminal_purge_asks_first(ready: Quire, quick: list[str]) -> None:
    text = run_on_terminal("purge", "notes.txt", program=quick, answer=b"n\n", code=1)

    assert "Erase 'notes.txt' with prompts, responses and results, for good?" in text
    assert len(ready.json("documents")) == 1


def test_json_is_indented_on_a_terminal_and_one_line_in_a_pipe(
    folder: Path, quick: list[str]
) -> None:
    shown = run_on_terminal("version", "--json", program=quick)
    with start("version", "--json", program=quick) as process:
        piped, _ = process.communicate(timeout=PATIENCE)

    assert len(shown.splitlines()) == 3
    assert len(piped.splitlines()) == 1
    assert json.loads(shown) == json.loads(piped)


def run_on_terminal(
    *args: str,
    program: Sequence[str] = QUIRE,
    faults: str = "",
    answer: bytes = b"",
    code: int = 0,
) -> str:
    """Type a command on a terminal and return all that it shows."""
    ours, theirs = pty.openpty()
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with start(*args, program=program, faults=faults, **streams) as process:
        os.close(theirs)
        os.write(ours, answer)
        shown = b"".join(iter(lambda: read(ours), b""))
        process.wait(PATIENCE)
    os.close(ours)
    assert process.returncode == code, shown
    return shown.decode().replace("\r\n", "\n")


def read(terminal: int) -> bytes:
    """Read on; a terminal that nobody writes to any more gives an error."""
    try:
        return os.read(terminal, 65_536)
    except OSError:
        return b""


def test_a_second_interrupt_says_what_becomes_of_the_calls(
    ready: Quire, folder: Path, quick: list[str]
) -> None:
    faults = f"hang=1,log={folder / 'calls'}"
    with start("run", "-s", "clauses", "--no-packing", program=quick, faults=faults) as process:
        wait_until(
            lambda: ready.json("status")["in_flight"] >= 2 if ready.json("runs") else False,
            lambda: process.poll() is None,
        )
        process.send_signal(signal.SIGINT)
        assert process.stderr
        heard = iter(process.stderr.readline, b"")
        assert any(line.startswith(b"stopping: ") for line in heard)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"left at once: calls in flight are presumed lost" in error
    assert b"trying again" not in error
    now = ready.json("status")
    assert (now["in_flight"], now["presumed_usd"] > 0) == (0, True)


def test_a_reader_that_has_enough_gets_no_traceback(ready: Quire) -> None:
    ready("run", "--schema", "clauses")
    with start("export", "1") as export:
        assert export.stdout is not None
        assert export.stderr is not None
        export.stdout.close()

        assert export.stderr.read() == b""
