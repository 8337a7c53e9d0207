"""Export targets: a file here or in an object store that appears only when it is whole.

What is there already with the same content is left as it is.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from quire.domain.errors import UsageError

STDOUT = "-"
_CLIENTS = ("botocore", "aiohttp")  # whose errors are none of the system's
_WITHOUT_BUCKETS = ("file", "local", "memory")  # schemes whose first name may be the object's
_PIECE = 1 << 20  # bytes compared at once
_KEYS = "are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY set, or a profile?"


class ExportTarget:
    """Where an export goes: an open file, and whether anything changed by it."""

    def __init__(self, file: BinaryIO) -> None:
        """Write to a file that is open."""
        self.file = file
        self.changed = True


def is_remote(path: str) -> bool:
    """Whether it is an address, such as `s3://bucket/name`."""
    return "://" in path


def check_address(path: str, *, folder: bool) -> None:
    """Refuse an address that names no bucket, or no object in it; a bucket may be a folder."""
    scheme, mark, rest = path.partition("://")
    names = [name for name in rest.split("/") if name]
    wanted = 1 if folder or scheme in _WITHOUT_BUCKETS else 2
    if mark and len(names) < wanted:
        example = f"{scheme}://bucket/{'folder/' if folder else 'name.csv'}"
        raise UsageError(f"{path} does not say where in the store", f"such as {example}")


@contextmanager
def open_target(path: str) -> Iterator[ExportTarget]:
    """Open what an export is written to: `-` for standard output, a path, or an address."""
    if path == STDOUT:
        yield ExportTarget(sys.stdout.buffer)
        sys.stdout.flush()
    elif is_remote(path):
        with _open_remote(path) as target:
            yield target
    else:
        with _open_local(path) as target:
            yield target


@contextmanager
def _open_local(path: str) -> Iterator[ExportTarget]:
    """A file that appears when it is whole; a pipe or a device is written as it is."""
    final = Path(path).resolve()  # a link is followed, not replaced
    plain = not final.exists() or final.is_file()
    written = final.with_name(f"{final.name}.partial-{os.getpid()}") if plain else final
    try:
        with written.open("wb") as file:
            target = ExportTarget(file)
            yield target
        if plain:
            known = final.stat().st_size if final.exists() else None
            target.changed = not _is_same(written, known, lambda: final.open("rb"))
            if target.changed:
                written.replace(final)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        if plain:
            written.unlink(missing_ok=True)


@contextmanager
def _open_remote(path: str) -> Iterator[ExportTarget]:
    """An object that is put in one piece, once it is whole: stores show nothing before that."""
    with remote_errors(path), TemporaryDirectory(prefix="quire-export-") as folder:
        store, name = open_store(path)
        written = Path(folder) / "whole"
        with written.open("wb") as file:
            target = ExportTarget(file)
            yield target
        known = store.info(name)["size"] if store.exists(name) else None
        target.changed = not _is_same(written, known, lambda: store.open(name, "rb"))
        if target.changed:
            store.put_file(str(written), name)


def open_store(path: str) -> tuple[Any, str]:
    """The store of an address, and the name of the object in it."""
    try:
        import fsspec

        store, name = fsspec.core.url_to_fs(path)
    except ImportError as error:
        scheme = path.partition("://")[0]
        raise UsageError(
            f"{scheme}:// needs a package that is not installed: {error}",
            "pip install 'quire[s3]'",
        ) from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    store.invalidate_cache()
    return store, name


@contextmanager
def remote_errors(path: str) -> Iterator[None]:
    """Say in one line what is wrong where a store cannot be reached or refuses us."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"{path}: cannot be reached or written: {reason}", _KEYS) from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in _CLIENTS:
            raise
        raise UsageError(f"{path}: cannot be reached or written: {error}", _KEYS) from None


def _is_same(written: Path, size: int | None, open_known: Callable[[], BinaryIO]) -> bool:
    """Whether what was written is what is there already."""
    if size != written.stat().st_size:
        return False
    with written.open("rb") as new, open_known() as known:
        while piece := new.read(_PIECE):
            if piece != known.read(_PIECE):
                return False
    return True
