"""`make test`: quick checks first, then types beside the tests; whoever complains is heard."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import world
from tests.time_limits import PATIENCE

MAKEFILE = Path(world.__file__).parents[1] / "Makefile"
TOOLS = ("python", "ruff", "mypy", "lint-imports")
TOOL = f"""#!{sys.executable}
import os, sys, time
tool, tests, wrong = os.path.basename(sys.argv[0]), "pytest" in sys.argv, os.environ["WRONG"]
open(os.path.join("ran", tool), "w").close()
if tests:
    open("began", "w").close()
if wrong == "mypy" and (tool == "mypy" or tests):  # it is found while the tests run
    for _ in range(100_000):
        if tool == "mypy" and os.path.exists("began"):
            break
        time.sleep(0.01)
if tool != "python" or tests:
    print("tests have ended" if tests else tool + " says something", flush=True)
sys.exit(wrong == ("tests" if tests else tool))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with our Makefile, and with tools that only pretend."""
    if shutil.which("make") is None:
        pytest.skip("there is no make here")
    shutil.copy(MAKEFILE, tmp_path)
    tools = tmp_path / ".venv" / "bin"
    tools.mkdir(parents=True)
    (tmp_path / "ran").mkdir()
    for name in ("requirements.txt", "pyproject.toml", ".venv/installed"):
        (tmp_path / name).touch()
    for name in TOOLS:
        (tools / name).write_text(TOOL)
        (tools / name).chmod(0o755)
    return tmp_path


def make_test(folder: Path, wrong: str) -> tuple[int, list[str]]:
    """Type `make test`; returns how it ended, and what it said."""
    strange = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")  # of the make that started this test
    environment = {name: value for name, value in os.environ.items() if name not in strange}
    done = subprocess.run(
        ["make", "test"],
        cwd=folder,
        env=environment | {"WRONG": wrong},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


def test_all_is_well_where_checks_and_tests_are(folder: Path) -> None:
    code, said = make_test(folder, wrong="")

    assert code == 0
    assert said[-1] == "tests have ended"
    assert "ruff says something" in said
    assert "mypy says something" not in said  # in the middle of the tests' progress
    assert sorted(path.name for path in (folder / "ran").iterdir()) == [*sorted(TOOLS)]


@pytest.mark.parametrize("tool", ["ruff", "lint-imports"])
def test_a_complaint_that_takes_seconds_to_find_is_heard_before_any_test(
    folder: Path, tool: str
) -> None:
    code, said = make_test(folder, wrong=tool)

    assert code == 2
    assert f"{tool} says something" in said
    assert not (folder / "began").exists()


def test_a_complaint_about_types_ends_the_tests_and_is_the_last_thing_said(folder: Path) -> None:
    code, said = make_test(folder, wrong="mypy")

    assert code == 2
    assert (folder / "began").exists()
    assert "tests have ended" not in said
    assert said.index("mypy says something") >= len(said) - 3, said


def test_a_test_that_fails_leaves_the_types_alone(folder: Path) -> None:
    code, said = make_test(folder, wrong="tests")

    assert code == 2
    assert "tests have ended" in said
    assert (folder / "ran" / "mypy").exists()


def test_an_old_complaint_is_not_repeated(folder: Path) -> None:
    (folder / ".venv" / "complaint").write_text("an old complaint")

    _, said = make_test(folder, wrong="tests")

    assert "an old complaint" not in said
