"""Writes the tables of a new SQLite ledger, as all migrations together make them; prints them."""

import sqlite3
import sys

from quire.domain.ids import hash_number
from quire.ledger.sqlite import split_script
from quire.ledger.statements import VERSION_LINE, migrations

INTRODUCTION = """\
-- All tables of a new SQLite ledger. The migrations make the same, one after the other, which takes
-- six times as long. Written by `make docs`, and compared with them by a test: never edited.
"""


def write_schema() -> str:
    """The whole script."""
    scripts = migrations("sqlite")
    with sqlite3.connect(":memory:") as made:
        made.create_function("hash_number", 1, hash_number)
        for script in scripts.values():
            for statement in split_script(script):
                made.execute(statement)
        select = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid"
        texts = [f"{text.strip()};\n" for (text,) in made.execute(select)]
    return "\n".join([f"{INTRODUCTION}{VERSION_LINE}{max(scripts)}\n", *texts])


if __name__ == "__main__":
    sys.stdout.write(write_schema())
