"""The ledger: whether it can be read and written, is sound, up to date, and counts right."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from quire.domain.ids import RunId
from quire.engine.examining.findings import Finding, Patient, counted, fine, odd, sized, wrong
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.tables.checks import DatabaseFacts, Miscount

LONG_LOG = 1_000_000_000  # bytes of SQLite's log beside the ledger
CROWDED_PERCENT = 80  # of the connections that PostgreSQL allows
SKEW = 2.0  # seconds
MOST_TOLD = 3  # examples in one line


class _Undo(Exception):
    """Raised to leave no trace of a transaction."""


@contextmanager
def undone(ledger: Ledger) -> Iterator[Transaction]:
    """Write, to see what that does, and take it back."""
    try:
        with ledger.transaction() as tx:
            yield tx
            raise _Undo
    except _Undo:
        pass


def ledger(patient: Patient) -> Iterator[Finding]:
    """What the database is, and whether it can be written to."""
    opened = patient.ledger
    with opened.snapshot() as tx:
        facts = tx.checks.facts()
    said = f"{_kind(opened, facts)}, tables of version {facts.tables_version}"
    size = sized(facts.bytes)
    if opened.dialect == "sqlite":
        log = _log_size(opened.url)
        size += f" and {sized(log)} of log" if log else ""
        if log > LONG_LOG:
            yield odd(
                "ledger",
                f"the log beside the ledger has grown to {sized(log)}",
                "stop whoever reads it without end; the next worker then folds it in",
            )
    with undone(opened) as tx:
        tx.events.add(None, "examined", "taken back at once", patient.outside.now())
    yield fine("ledger", f"{said}, {size}; can be read and written")
    yield from _connections(facts)


def soundness(patient: Patient) -> Iterator[Finding]:
    """Whether the file is what SQLite left there."""
    if patient.ledger.dialect != "sqlite":
        return
    with patient.ledger.snapshot() as tx:
        damages = tx.checks.damages()
    if damages:
        yield wrong(
            "ledger",
            f"the file is damaged: {damages[0]}" + _more(len(damages) - 1),
            "stop all workers, copy the file, and restore a backup or try sqlite3's .recover",
        )
    else:
        yield fine("ledger", "its file is sound (quick_check)")


def database_clock(patient: Patient) -> Iterator[Finding]:
    """Whether this machine's clock agrees with the database's, and with what workers wrote."""
    before = patient.outside.now()
    with patient.ledger.snapshot() as tx:
        facts, workers = tx.checks.facts(), tx.checks.workers()
    after = patient.outside.now()
    if facts.clock is not None:
        middle = before + (after - before) / 2
        skew = (middle - facts.clock).total_seconds()
        doubt = (after - before).total_seconds() / 2
        yield judge_skew(skew, doubt, "the database's", patient.settings.lease)
    ahead = max((each.seen_at for each in workers), default=after) - after
    if ahead > timedelta(seconds=SKEW):
        yield odd(
            "clock",
            f"a worker's last sign of life is {ahead.total_seconds():,.0f} s in the future",
            "this machine's clock was set back, or that worker's is ahead: let NTP set both",
        )


def judge_skew(skew: float, doubt: float, whose: str, lease: float) -> Finding:
    """Say what a difference between two clocks means, beyond what measuring leaves in doubt."""
    off = max(0.0, abs(skew) - doubt)
    said = f"{abs(skew):.1f} s {'ahead of' if skew > 0 else 'behind'} {whose}"
    fix = "let NTP set it (timedatectl set-ntp true)"
    if off > lease / 3:
        return wrong("clock", f"{said}: workers would take each other for dead", fix)
    if off > SKEW:
        return odd("clock", said, fix)
    return fine("clock", f"agrees with {whose}")


def tallies(patient: Patient) -> Iterator[Finding]:
    """Recount tasks, calls, tokens and money, and compare with the tallies."""
    if patient.mending:
        found = _correct(patient)
    else:
        with patient.ledger.snapshot() as tx:
            found = tx.checks.miscounts()
    for run, miscounts in _by_run(found):
        told = _differences(miscounts)
        if patient.mending:
            yield odd("tallies", f"run {run} was miscounted, and is corrected: {told}")
        else:
            cure = "`quire doctor --fix` corrects that; please report it"
            yield wrong("tallies", f"run {run} was miscounted: {told}", cure)
    if not found:
        yield fine("tallies", "a recount of every run agrees with them")


def _correct(patient: Patient) -> list[Miscount]:
    """Append correcting tallies, with a line in each run's history, in one transaction."""
    with patient.ledger.transaction() as tx:
        found = tx.checks.correct()
        for run, miscounts in _by_run(found):
            told = f"the tallies were corrected: {_differences(miscounts)}"
            tx.events.add(run, "recounted", told, patient.outside.now())
    return found


def _by_run(found: Iterable[Miscount]) -> list[tuple[RunId, list[Miscount]]]:
    runs: dict[RunId, list[Miscount]] = defaultdict(list)
    for each in found:
        runs[each.run_id].append(each)
    return sorted(runs.items())


def _differences(miscounts: list[Miscount]) -> str:
    told = [
        f"{each.what} {each.told:,} instead of {each.truth:,}" for each in miscounts[:MOST_TOLD]
    ]
    return ", ".join(told) + _more(len(miscounts) - MOST_TOLD)


def _more(number: int) -> str:
    return f" (and {number} more)" if number > 0 else ""


def _kind(opened: Ledger, facts: DatabaseFacts) -> str:
    if opened.dialect == "sqlite":
        return f"SQLite {facts.version} at {opened.url}"
    where = opened.url.rpartition("@")[2].partition("?")[0]  # never the password
    return f"PostgreSQL {facts.version} at {where.removeprefix('postgresql://')}"


def _log_size(path: str) -> int:
    try:
        return os.stat(Path(f"{path}-wal")).st_size
    except OSError:
        return 0


def _connections(facts: DatabaseFacts) -> Iterator[Finding]:
    used, most = facts.connections, facts.most_connections
    if used is None or most is None:
        return
    said = f"{counted(used, 'connection')} of {most:,} in use"
    if used * 100 > most * CROWDED_PERCENT:
        yield odd("ledger", said, "raise max_connections, or run fewer workers")
    else:
        yield fine("ledger", said)
