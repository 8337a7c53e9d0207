"""The command that serves, as a process of its own."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from quire.cli import rehearse
from tests.rehearsal.plain_http import BEARER, ask
from tests.time_limits import PATIENCE

REHEARSE = """
from quire.cli import app, rehearse
if not any(group.name == "rehearse" for group in app.registered_groups):
    app.add_typer(rehearse.app, name="rehearse")
app(prog_name="quire")
"""


@contextmanager
def serve_process(start: list[str], *options: str) -> Iterator[subprocess.Popen[str]]:
    """Run `quire rehearse serve` on a free port."""
    command = [*start, "-c", REHEARSE, "rehearse", "serve", "--port", "0", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()  # one that started warm could not pass on a kill


def exported_variables(process: subprocess.Popen[str]) -> dict[str, str]:
    """The variables that the command says to export."""
    assert process.stdout is not None
    lines = [process.stdout.readline().removeprefix("export ").strip() for _ in range(6)]
    return dict(line.split("=", 1) for line in lines)


def test_it_says_what_to_export_and_sums_up_at_the_end(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    options = ("--fault", "refuse=0.0", "--limit", "requests=60", "--log", str(log))
    with serve_process([sys.executable], *options) as process:
        variables = exported_variables(process)
        url = variables["ANTHROPIC_BASE_URL"]
        body = {"model": "gpt-6-luna", "input": "hello", "max_output_tokens": 100}
        got = ask(url, "/v1/responses", body, BEARER)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)

    assert variables["OPENAI_BASE_URL"] == f"{url}/v1"
    assert variables["GOOGLE_GEMINI_BASE_URL"] == url
    assert got.status == 200
    assert got.headers["x-ratelimit-remaining-requests"] == "59"
    assert process.returncode == 0
    assert out == ""  # it may stand in a file that a shell reads again
    assert "openai/gpt-6-luna" in err
    assert "1 request" in err
    assert "statuses: 200: 1" in err
    assert err.startswith("rehearsing at http://127.0.0.1:")
    assert json.loads(log.read_text())["status"] == 200


def test_it_exports_the_key_that_was_given(warm: list[str]) -> None:
    keys = ("--key", "old-key-1234=spent", "--key", "good-key-1234=valid")
    with serve_process(warm, *keys) as process:
        variables = exported_variables(process)

    assert variables["OPENAI_API_KEY"] == variables["GEMINI_API_KEY"] == "good-key-1234"


def test_it_ends_with_json_where_that_is_asked_for(warm: list[str]) -> None:
    with serve_process(warm, "--json") as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("rehearsing at ")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE)

    assert json.loads(out)["requests"] == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--fault", "nonsense=1"], "is not a fault"),
        (["--limit", "many"], "says nothing"),
        (["--latency", "soon"], "says nothing"),
        (["--batch-latency", "soon"], "says nothing"),
        (["--fault", "batch_drop@ALWAYS"], "says nothing"),
        (["--key", "sk-only-a-key"], "write KEY=valid"),
        (["--log", "/nowhere/at/all"], "cannot be written"),
        (["--host", "256.256.256.256"], "cannot listen on"),
    ],
)
def test_a_mistake_is_one_clear_line(options: list[str], said: str, warm: list[str]) -> None:
    with serve_process(warm, *options) as process:
        out, err = process.communicate(timeout=PATIENCE)

    assert process.returncode == 2
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def test_the_help_has_an_example() -> None:
    output = CliRunner().invoke(rehearse.app, ["serve", "--help"]).output

    assert "Example: quire rehearse serve" in " ".join(output.split())
