"""A folder in the place of Cloud Storage, for tests of what lies there."""

import shutil
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from quire.domain.errors import ProviderError, Remedy
from quire.providers.object_store import SCHEME, parse_uri


class FolderStore:
    """A folder of this machine in the place of Cloud Storage: gs://bucket/name is bucket/name."""

    def __init__(self, root: Path) -> None:
        """Keep everything below a folder."""
        self._root = root

    async def put(self, path: Path, uri: str) -> None:
        """Copy a file."""
        to = self._path(uri)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)

    async def lines(self, uri: str) -> AsyncGenerator[bytes]:
        """Read a file line by line."""
        try:
            file = self._path(uri).open("rb")
        except FileNotFoundError:
            raise ProviderError(f"{uri} is not there", remedy=Remedy.FIX_ACCOUNT) from None
        with file:
            for line in file:
                if not line.isspace():
                    yield line.rstrip(b"\n")

    async def names(self, prefix: str) -> Sequence[str]:
        """List files."""
        bucket = parse_uri(prefix).bucket
        files = (path for path in (self._root / bucket).rglob("*") if path.is_file())
        names = (f"{SCHEME}{path.relative_to(self._root).as_posix()}" for path in files)
        return sorted(name for name in names if name.startswith(prefix))

    async def delete(self, uri: str) -> None:
        """Delete a file."""
        self._path(uri).unlink(missing_ok=True)

    def _path(self, uri: str) -> Path:
        at = parse_uri(uri)
        return self._root / at.bucket / at.name
