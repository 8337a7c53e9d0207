"""A folder of one's own, some documents in it, and the commands to type there."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from quire.cli import app

EXAMPLES = Path(__file__).parents[2] / "examples"
SCHEMA = EXAMPLES / "clauses.json"
RECIPE = """
name = "notes"
inputs = INPUTS

[parameters]
tone = "plain"
words = 5
strict = false

[[stages]]
name = "summary"
about = "each_document"
OVER
system = "Be {{ parameters.tone }}."
prompt = "In {{ parameters.words }} words, {{ parameters.strict }}: {{ document.text }}"

[[stages]]
name = "check"
critic = true
of = "summary"
prompt = "Is it so? {{ judged.asked }} {{ judged.answer }}"

[[stages]]
name = "points"
about = "samples"
of = "summary"
samples = 2
prompt = "Point {{ sample }}: {{ inputs.summary.text }}"

[[stages]]
name = "digest"
about = "all_to_one"
needs = ["points"]
prompt = "{% for each in inputs.points %}{{ each.text }} {% endfor %}"
"""


class Quire:
    """Types commands, and insists on their exit code."""

    def __call__(self, *args: object, code: int = 0, faults: str = "") -> Result:
        """Carry out one command line in this process."""
        result = CliRunner().invoke(
            app, [str(arg) for arg in args], env={"QUIRE_SIMULATED_FAULTS": faults}
        )
        assert result.exit_code == code, result.output
        return result

    def json(self, *args: object, code: int = 0, faults: str = "") -> Any:
        """Carry out a command and read the JSON that it prints."""
        return json.loads(self(*args, "--json", code=code, faults=faults).stdout)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in; the environment names a model, and nothing else."""
    _work_in(tmp_path, monkeypatch)
    return tmp_path


def _work_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name.startswith("QUIRE_"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("QUIRE_MODEL", "simulated/small")
    monkeypatch.chdir(folder)


@pytest.fixture
def quick(warm: list[str]) -> list[str]:
    """The program in a process that has imported it, where how it starts is not what is tested."""
    return [*warm, "quire.cli"]


@pytest.fixture
def quire(folder: Path) -> Quire:
    """The commands, in an empty folder."""
    return Quire()


@pytest.fixture(scope="session")
def ready_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A schema and one document of 30 blocks in a ledger, made by commands once and for all."""
    made = tmp_path_factory.mktemp("ready")
    with pytest.MonkeyPatch.context() as monkeypatch:
        _work_in(made, monkeypatch)
        quire = Quire()
        quire("init")
        quire("ingest", _write_blocks(made / "notes.txt", 30))
        quire("schema", "add", SCHEMA)
    return made


@pytest.fixture
def ready(quire: Quire, folder: Path, ready_folder: Path) -> Quire:
    """The commands, with a schema and one document of 30 blocks in the ledger."""
    shutil.copytree(ready_folder, folder, dirs_exist_ok=True)
    return quire


@pytest.fixture
def write_blocks(folder: Path) -> Callable[[str, int], Path]:
    """Write a text file of so many blocks."""

    def write(name: str, blocks: int) -> Path:
        return _write_blocks(folder / name, blocks)

    return write


def _write_blocks(path: Path, blocks: int) -> Path:
    path.write_text("\n\n".join(f"Clause {number} of {path.name}." for number in range(blocks)))
    return path


@pytest.fixture
def notes(quire: Quire, folder: Path, write_blocks: Callable[[str, int], Path]) -> Quire:
    """The commands, with a recipe's file and two documents in the ledger."""
    (folder / "notes.toml").write_text(RECIPE.replace("INPUTS", "[]").replace("OVER", ""))
    quire("init")
    quire("ingest", write_blocks("first.txt", 3), write_blocks("second.txt", 2))
    return quire
