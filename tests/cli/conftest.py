"""A folder of one's own, some documents in it, and the commands to type there."""

import json
import os
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
    for name in [*os.environ]:
        if name.startswith("QUIRE_"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("QUIRE_MODEL", "simulated/small")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def quick(warm: list[str]) -> list[str]:
    """The program in a process that has imported it, where how it starts is not what is tested."""
    return [*warm, "quire.cli"]


@pytest.fixture
def quire(folder: Path) -> Quire:
    """The commands, in an empty folder."""
    return Quire()


@pytest.fixture
def ready(quire: Quire, write_blocks: Callable[[str, int], Path]) -> Quire:
    """The commands, with a schema and one document of 30 blocks in the ledger."""
    quire("init")
    quire("ingest", write_blocks("notes.txt", 30))
    quire("schema", "add", SCHEMA)
    return quire


@pytest.fixture
def write_blocks(folder: Path) -> Callable[[str, int], Path]:
    """Write a text file of so many blocks."""

    def write(name: str, blocks: int) -> Path:
        path = folder / name
        path.write_text("\n\n".join(f"Clause {number} of {name}." for number in range(blocks)))
        return path

    return write


@pytest.fixture
def notes(quire: Quire, folder: Path, write_blocks: Callable[[str, int], Path]) -> Quire:
    """The commands, with a recipe's file and two documents in the ledger."""
    (folder / "notes.toml").write_text(RECIPE.replace("INPUTS", "[]").replace("OVER", ""))
    quire("init")
    quire("ingest", write_blocks("first.txt", 3), write_blocks("second.txt", 2))
    return quire
