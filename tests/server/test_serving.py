"""Serving: one command is a working installation, and Ctrl-C ends it with all answers recorded."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from quire.domain.errors import UsageError
from quire.engine import open_engine
from quire.web.serving import Serving, site_settings
from tests.server.server_process import fetch, start_server


def test_one_command_is_a_working_installation(tmp_path: Path) -> None:
    with start_server(tmp_path, "--ledger", "demo.db", "serve", "--demo", "--port", "0") as (
        process,
        at,
    ):
        health = json.loads(fetch(f"{at}/v1/health")[1])
        home, _ = fetch(f"{at}/")
        _, experiments = fetch(f"{at}/experiments")
        runs = json.loads(fetch(f"{at}/v1/runs")[1])["items"]
        process.send_signal(signal.SIGINT)
        code = process.wait()
        assert process.stdout is not None
        last_words = process.stdout.read()
    with open_engine(str(tmp_path / "demo.db"), environment={}) as engine:
        in_flight = [engine.progress(run.id).in_flight for run in engine.runs()]

    assert health["status"] == "ok"
    assert home == 200
    assert '<a class="name" href="/experiments/3">civil-order-pilot</a>' in str(experiments)
    assert {run["state"] for run in runs[1:]} == {"finished"}
    assert code in (0, 130)
    assert last_words == "Quire has stopped\n"
    assert in_flight == [0, 0, 0, 0]


@pytest.mark.parametrize("options", [(), ("--demo",)])
def test_a_port_in_use_is_told_in_one_line(
    tmp_path: Path, options: tuple[str, ...], warm: list[str]
) -> None:
    options_of_first = ("--ledger", "a.db", "serve", "--port", "0", "--workers", "0")
    with start_server(tmp_path, *options_of_first, by=[*warm, "quire.cli"]) as (_, at):
        port = at.rpartition(":")[2]
        command = [*warm, "quire.cli", "--ledger", "b.db", "serve", "--port", port]
        command += options
        second = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert second.returncode == 2
    assert second.stdout == ""  # nothing was begun
    assert second.stderr.count("\n") == 1
    assert "is in use" in second.stderr


@pytest.mark.parametrize("name", ["https://quire.example", "quire.example:443", " "])
def test_an_address_is_no_name_of_a_host(name: str) -> None:
    with pytest.raises(UsageError, match="no name of a host"):
        site_settings(Serving(None, allow_hosts=(name,)))


def test_names_of_hosts_are_as_browsers_send_them() -> None:
    settings = site_settings(Serving(None, allow_hosts=("Quire.Example", "[::2]")))

    assert not settings.local
    assert {"quire.example", "[::2]"} <= {*settings.host_names}


@pytest.mark.parametrize("options", [("--host", "0.0.0.0"), ("--allow-host", "quire.example")])
def test_nobody_serves_others_without_a_token(
    tmp_path: Path, options: tuple[str, ...], warm: list[str]
) -> None:
    command = [*warm, "quire.cli", "--ledger", "a.db", "serve", "--port", "0", *options]
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert refused.returncode == 2
    assert "quire token create" in refused.stderr


def test_with_a_token_others_are_let_in(tmp_path: Path, warm: list[str]) -> None:
    made = subprocess.run(
        [
            *warm,
            "quire.cli",
            "--ledger",
            "a.db",
            "token",
            "create",
            "ann",
            "--role",
            "viewer",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    options = ("--allow-host", "quire.example", "--workers", "0")
    serving = ("--ledger", "a.db", "serve", "--port", "0", *options)
    with start_server(tmp_path, *serving, by=[*warm, "quire.cli"]) as (_, at):
        host = {"Host": "quire.example"}
        nobody, _ = fetch(f"{at}/v1/me", host)
        token = {"Authorization": f"Bearer {made.stdout.strip()}", **host}
        _, ann = fetch(f"{at}/v1/me", token)

    assert nobody == 401
    assert json.loads(ann)["name"] == "ann"
