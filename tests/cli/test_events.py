"""A run's history, as it is told and as it happens."""

import json
import signal
import subprocess
from pathlib import Path

from tests.cli.conftest import SCHEMA, Quire

MODEL = ("--model", "simulated/small")


def test_events_are_numbered_and_told_from_one_on(ready: Quire) -> None:
    ready("run", "--schema", SCHEMA, *MODEL)

    every = ready.json("events")
    rest = ready.json("events", "--after", every[0]["id"])

    assert [event["kind"] for event in every][:: len(every) - 1] == ["run_started", "run_finished"]
    assert rest == every[1:]
    assert ready("events").stdout.splitlines()[0].split() == ["no", "at", "event", "detail"]


def test_following_a_run_that_has_ended_tells_all_and_ends(ready: Quire) -> None:
    ready("run", "--schema", SCHEMA, *MODEL)
    every = ready.json("events")

    lines = ready("events", "--follow", "--json").stdout.splitlines()

    assert [json.loads(line) for line in lines] == every
    last = ready("events", "--follow", "--after", every[-2]["id"]).stdout
    assert "run_finished" in last
    assert len(last.splitlines()) == 1


def test_a_run_is_followed_from_another_process_until_its_end(
    ready: Quire, folder: Path, warm: list[str]
) -> None:
    ready("run", "--schema", SCHEMA, *MODEL, "--detach")
    with _following(warm, folder) as process:
        assert "run_started" in _read_line(process)
        ready("work", "--until-idle")
        rest, _ = process.communicate()

    assert process.returncode == 0
    assert "run_finished" in rest.splitlines()[-1]


def test_ctrl_c_leaves_a_run_that_is_followed_without_a_word(
    ready: Quire, folder: Path, warm: list[str]
) -> None:
    ready("run", "--schema", SCHEMA, *MODEL, "--detach")
    with _following(warm, folder) as process:
        _read_line(process)
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate()

    assert (process.returncode, complaints) == (130, "")


def _following(warm: list[str], folder: Path) -> "subprocess.Popen[str]":
    command = [*warm, "quire.cli", "events", "1", "--follow"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True)


def _read_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()
