"""Weights that cannot be read are told in one line."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from quire.domain.errors import Error
from quire.local.model_server import LoadedModel


class Refusing(ModuleType):
    """A runtime that takes no weights."""

    @staticmethod
    def CommonParams() -> SimpleNamespace:  # noqa: N802 - the runtime's own name for it
        """Take wishes."""
        return SimpleNamespace(
            model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
        )

    @staticmethod
    def Server(wishes: SimpleNamespace) -> None:  # noqa: N802 - the runtime's own name for it
        """Fail as the real one does."""
        raise RuntimeError("Failed to init server")


def test_weights_that_cannot_be_loaded_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", Refusing("xllamacpp"))

    with pytest.raises(Error, match=r"m\.gguf could not be loaded \(Failed to init server\)"):
        LoadedModel(Path("m.gguf"))
