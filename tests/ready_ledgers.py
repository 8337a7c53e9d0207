"""Ledgers that are ready at once: a new SQLite file is copied from one that has its tables.

The copy is of one that the migrations made, in this process. Tests about making ledgers ask for
`migrated_ledgers`, and get what everybody else gets.
"""

import os
import tempfile
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from quire.ledger import ledger
from quire.ledger.sqlite import SqliteDatabase
from quire.ledger.statements import migrations


class ReadySqlite(SqliteDatabase):
    """One ledger file, which never has to be migrated when it is new."""

    def __init__(self, path: str, *, durable: bool = True, must_exist: bool = False) -> None:
        """Open the file; where there is none, and there may be one, copy the model there first."""
        copied = not must_exist and _copy_model(path)
        super().__init__(path, durable=durable, must_exist=must_exist)
        self.is_new = self.is_new or copied


def use_ready_ledgers() -> None:
    """From now on, and in this process."""
    ledger.SqliteDatabase = ReadySqlite  # type: ignore[attr-defined]  # it is one


def _copy_model(path: str) -> bool:
    """Make the file, whole from its first moment, unless there is one; says whether it did."""
    if path == ":memory:" or os.path.lexists(path):
        return False
    part = f"{path}.{os.urandom(4).hex()}"
    with suppress(OSError):  # whoever may not write here gets the driver's own word
        with open(part, "xb", buffering=0) as copy:
            copy.write(_model())
        try:
            os.link(part, path)
        finally:
            os.unlink(part)
        return True
    return False


@cache
def _model() -> bytes:
    with tempfile.TemporaryDirectory(prefix="quire-model-") as folder:
        path = Path(folder) / "quire.db"
        with closing(SqliteDatabase(str(path))) as model:
            model.migrate(migrations("sqlite"))
        return path.read_bytes()
