"""Which tests only repeat a behaviour: their other values on PostgreSQL are left to `make soak`.

A test that runs on both databases and with several values runs with all of them on SQLite, and with
the first on PostgreSQL, where it costs five times as much. Every point at which a process may die
counts as a test of its own, and so does everything where the database is what is tested.
"""

from collections.abc import Mapping

ABOUT_DATABASES = ("tests/ledger/", "tests/accounts/")


class Repetitions:
    """Remembers which tests it has met on PostgreSQL."""

    def __init__(self) -> None:
        """None so far."""
        self._met = set[tuple[str, object]]()

    def is_repetition(self, nodeid: str, values: Mapping[str, object]) -> bool:
        """Is it a test met before, with other values?"""
        if values.get("ledger_url") != "postgres" or nodeid.startswith(ABOUT_DATABASES):
            return False
        test = (nodeid.partition("[")[0], values.get("point"))
        met = test in self._met
        self._met.add(test)
        return met
