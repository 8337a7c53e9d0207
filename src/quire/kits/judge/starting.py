"""Starting an experiment: an example to change, written where there is none yet."""

from importlib.resources import files
from pathlib import Path

from quire.domain.errors import Conflict, UsageError

EXAMPLE = ("experiment.toml", "evidence.csv")


def write_example(folder: Path) -> list[Path]:
    """Write an experiment that runs as it is; nothing that is there is overwritten."""
    paths = [folder / name for name in EXAMPLE]
    for path in paths:
        if path.exists():
            raise Conflict(f"{path} is there already; choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            example = files(__package__).joinpath("example", path.name)
            path.write_bytes(example.read_bytes())
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return paths
