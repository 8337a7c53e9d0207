"""Upload folders: where files of one request are while they come; left-over ones are cleared.

A server that is killed leaves the folder of a half upload behind, with words no purge knows of.
So each folder has a lock beside it, which its server holds as long as it lives, and the next server
erases the folders whose lock nobody holds.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # a system without such locks: nothing is cleared there
    fcntl = None  # type: ignore[assignment]

PREFIX, LOCK = "quire-upload-", ".lock"


@contextmanager
def upload_folder() -> Iterator[Path]:
    """A folder of our own, gone at the end."""
    name = f"{PREFIX}{os.getpid()}-{secrets.token_hex(8)}"
    folder = Path(tempfile.gettempdir()) / name
    lock = folder.with_name(name + LOCK)
    with ExitStack() as stack:
        stack.callback(lock.unlink, missing_ok=True)
        held = stack.enter_context(open(lock, "xb", opener=_open_private))
        assert _take(held)  # nobody else knows its name
        folder.mkdir(mode=0o700)  # after its lock: a folder without one is nobody's
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder


def clear_left_over() -> int:
    """Erase what servers that were killed left behind; returns how many folders."""
    cleared = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another user's, or gone meanwhile
            if folder.suffix != LOCK and folder.is_dir() and _is_left(folder):
                shutil.rmtree(folder)
                cleared += 1
    return cleared


def _is_left(folder: Path) -> bool:
    lock = folder.with_name(folder.name + LOCK)
    if folder.is_symlink() or fcntl is None:
        return False
    try:
        with lock.open("rb") as held:
            if not _take(held):
                return False
            lock.unlink()
    except FileNotFoundError:
        pass
    return folder.stat().st_uid == os.getuid()


def _take(lock: BinaryIO) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
