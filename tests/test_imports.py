"""The layers hold: who may import whom is written in pyproject.toml, and kept."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_import_contract_is_kept() -> None:
    linter = Path(sys.executable).with_name("lint-imports")

    checked = subprocess.run(
        [linter, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr
