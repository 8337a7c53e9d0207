"""The layers hold, as pyproject.toml has them; and a short command loads little."""

import subprocess
import sys
from pathlib import Path

import pytest

import quire
from tests.world import METADATA

ROOT = Path(__file__).parents[1]


def test_every_import_contract_is_kept() -> None:
    linter = Path(sys.executable).with_name("lint-imports")

    checked = subprocess.run(
        [linter, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr


HEAVY = {
    *("aiohttp", "asyncio", "cryptography", "jinja2", "markdown_it", "psycopg", "uvloop"),
    *("quire.dispatch.worker", "quire.engine.doctor", "quire.rehearsal", "quire.sources"),
    *("quire.providers.catalog", "quire.providers.transport", "quire.cli.run"),
}
COMMAND = "from quire.cli import main; main()"


def load_modules(code: str, *arguments: str) -> list[str]:
    """What a fresh interpreter has loaded once it has carried out this code."""
    show = "import atexit, sys; atexit.register(lambda: print('\\n', *sys.modules, sep=' '))\n"
    done = subprocess.run(
        [sys.executable, "-c", show + code, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1].split()


@pytest.mark.parametrize(
    ("code", "arguments", "needed"),
    [
        ("import quire; quire.open('{ledger}')", (), set()),
        (COMMAND, ("--ledger", "{ledger}", "runs"), set()),
        (COMMAND, ("--help",), {"markdown_it", "quire.cli.run"}),  # Typer reads Markdown
    ],
    ids=["open", "runs", "help"],
)
def test_what_is_heavy_is_loaded_when_used(
    tmp_path: Path, code: str, arguments: tuple[str, ...], needed: set[str]
) -> None:
    place = str(tmp_path / "ledger.db")
    with quire.open(place) as engine:
        (tmp_path / "a.txt").write_text("One block.")
        engine.ingest(tmp_path / "a.txt")
        engine.run(schema=METADATA, model="simulated/small")

    loaded = load_modules(code.format(ledger=place), *(a.format(ledger=place) for a in arguments))

    assert "quire" in loaded
    assert HEAVY.intersection(loaded) <= needed
