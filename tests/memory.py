"""Where tests put their files: in memory where there is room, because a disk is what they wait for.

`TMPDIR` has the last word. Nothing is proved by a slow disk: processes are killed, never machines.
"""

import os
import sys
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 4 * 1024**3  # bytes; a container may have 64 MB of it


def quick_folder(memory: Path = MEMORY) -> Path:
    """The folder for whatever is thrown away."""
    if "TMPDIR" in os.environ or not memory.is_dir() or not os.access(memory, os.W_OK | os.X_OK):
        return Path(tempfile.gettempdir())
    free = os.statvfs(memory)
    roomy = free.f_bavail * free.f_frsize >= ROOM
    return memory if roomy and not free.f_flag & os.ST_NOEXEC else Path(tempfile.gettempdir())


def use_quick_folder() -> None:
    """Make it the folder for temporary files, of this process and of those it starts."""
    tempfile.tempdir = os.environ["TMPDIR"] = str(quick_folder())


def use_compiled_modules() -> None:
    """Keep modules compiled, whatever the environment says: tests start hundreds of processes."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
