"""Packages bring commands by entry points, and our own kits are no exception."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.testing
from typer.main import get_command

from tests.cli.conftest import Quire
from tests.plugin_packages import Packages

MODULE = """
import typer

app = typer.Typer(help="Count sheep.")

@app.callback()
def sheep() -> None: ...

@app.command()
def count(number: int) -> None:
    print("sheep: " + str(number))
"""
WITHOUT_PACKAGES = """
import importlib.metadata
importlib.metadata.entry_points = lambda: importlib.metadata.EntryPoints(())
from quire.cli import main
main()
"""


@pytest.fixture
def packages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packages]:
    """The folder to work in, on the path."""
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(typer.testing, "_get_command", get_command)  # as a process of its own does
    yield Packages(folder)
    for name in ("shepherd", "a_shepherd"):  # before ours in any order, and after
        sys.modules.pop(name, None)


def test_a_package_brings_commands(packages: Packages, quire: Quire) -> None:
    packages.install("shepherd", "[quire.commands]\nsheep = shepherd:app\n", MODULE)

    assert quire("sheep", "count", 3).stdout == "sheep: 3\n"
    listed = [line.strip(" │").split(" ")[0] for line in quire("--help").stdout.splitlines()]
    places = [listed.index(name) for name in ("work", "judge", "sheep", "rehearse")]
    assert places == sorted(places)
    assert "Did you mean 'sheep'" in quire("shep", code=2).stderr


def test_no_package_takes_the_name_of_a_kit_of_ours(packages: Packages, quire: Quire) -> None:
    packages.install("a_shepherd", "[quire.commands]\njudge = a_shepherd:app\n", MODULE)

    shown = quire("judge", "--help")

    assert "Count sheep" not in shown.stdout
    assert "has two named 'judge', of quire and a_shepherd" in shown.stderr


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("app = 1", "TypeError: it is no typer.Typer"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(7)", "SystemExit: 7"),
        ("", "AttributeError"),
    ],
)
def test_a_package_whose_commands_are_broken_is_one_line(
    packages: Packages, quire: Quire, module: str, reason: str
) -> None:
    packages.install("shepherd", "[quire.commands]\nsheep = shepherd:app\n", module)

    shown, asked = quire("--help"), quire("sheep", code=2)

    (line,) = shown.stderr.splitlines()
    assert line.startswith("quire: package shepherd: quire.commands sheep cannot be used (")
    assert reason in line
    assert "judge" in shown.stdout
    assert asked.stderr.splitlines()[0] == line
    assert "no such command 'sheep'" in asked.stderr
    assert quire("version").stderr == ""


def test_a_package_replaces_no_command_of_ours(packages: Packages, quire: Quire) -> None:
    packages.install("shepherd", "[quire.commands]\nversion = shepherd:app\n", MODULE)

    assert "quire.commands has two named 'version', of quire and shepherd" in quire().stderr
    assert quire("version").stdout.startswith("quire ")


def test_without_entry_points_there_are_no_kits_and_all_else_works(folder: Path) -> None:
    def run_bare(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", WITHOUT_PACKAGES, *args]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    shown, judge, listed = run_bare("--help"), run_bare("judge"), run_bare("recipe", "list")

    assert shown.returncode == 0
    assert "judge" not in shown.stdout
    assert "no such command 'judge'" in judge.stderr
    assert "summarise" in listed.stdout
