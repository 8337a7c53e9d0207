"""Checks of the ledger: can be read and written, is sound, up to date, counts right."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from quire.domain.ids import RunId
from quire.domain.pricing import cost_words, dollars
from quire.domain.reasons import EventKind
from quire.domain.spend import RunMoneySums, SpendBy
from quire.engine.doctor.findings import (
    Finding,
    Installation,
    format_bytes,
    ok,
    plural,
    problem,
    warning,
)
from quire.engine.spend import read_groups
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.tables.checks import DatabaseFacts, Miscount
from quire.ledger.tables.spend import EVERY_RUN
from quire.planning.spend_views import total_spend, view_spend

LONG_LOG = 1_000_000_000  # bytes of SQLite's log beside the ledger
CROWDED_PERCENT = 80  # of the connections that PostgreSQL allows
SKEW = 2.0  # seconds
MOST_EXAMPLES = 3  # examples in one line


class _Rollback(Exception):
    """Raised to leave no trace of a transaction."""


@contextmanager
def trial_transaction(ledger: Ledger) -> Iterator[Transaction]:
    """Write, to see what that does, and take it back."""
    try:
        with ledger.transaction() as tx:
            yield tx
            raise _Rollback
    except _Rollback:
        pass


def check_ledger(installation: Installation) -> Iterator[Finding]:
    """What the database is, and whether it can be written to."""
    opened = installation.ledger
    with opened.snapshot() as tx:
        facts = tx.checks.database_facts()
    said = f"{_database_name(opened, facts)}, tables of version {facts.tables_version}"
    size = format_bytes(facts.bytes)
    if opened.dialect == "sqlite":
        log = _log_size(opened.url)
        size += f" and {format_bytes(log)} of log" if log else ""
        if log > LONG_LOG:
            yield warning(
                f"the log beside the ledger has grown to {format_bytes(log)}",
                "stop whoever reads it without end; the next worker then folds it in",
            )
    with trial_transaction(opened) as tx:
        tx.events.add_event(None, EventKind.EXAMINED, installation.runtime.now())
    yield ok(f"{said}, {size}; can be read and written")
    yield from _connection_findings(facts)


def check_soundness(installation: Installation) -> Iterator[Finding]:
    """Whether the file is what SQLite left there."""
    if installation.ledger.dialect != "sqlite":
        return
    with installation.ledger.snapshot() as tx:
        damages = tx.checks.file_damages()
    if damages:
        yield problem(
            f"the file is damaged: {damages[0]}" + _and_more(len(damages) - 1),
            "stop all workers, copy the file, and restore a backup or try sqlite3's .recover",
        )
    else:
        yield ok("its file is sound (quick_check)")


def check_clock(installation: Installation) -> Iterator[Finding]:
    """Whether this machine's clock agrees with the database's, and with what workers wrote."""
    before = installation.runtime.now()
    with installation.ledger.snapshot() as tx:
        facts, workers = tx.checks.database_facts(), tx.checks.unended_workers()
    after = installation.runtime.now()
    if facts.clock is not None:
        middle = before + (after - before) / 2
        skew = (middle - facts.clock).total_seconds()
        doubt = (after - before).total_seconds() / 2
        yield skew_finding(skew, doubt, "the database's", installation.settings.lease)
    ahead = max((worker.seen_at for worker in workers), default=after) - after
    if ahead > timedelta(seconds=SKEW):
        yield warning(
            f"a worker's last sign of life is {ahead.total_seconds():,.0f} s in the future",
            "this machine's clock was set back, or that worker's is ahead: let NTP set both",
        )


def skew_finding(skew: float, doubt: float, whose: str, lease: float) -> Finding:
    """Say what a difference between two clocks means, beyond what measuring leaves in doubt."""
    off = max(0.0, abs(skew) - doubt)
    said = f"{abs(skew):.1f} s {'ahead of' if skew > 0 else 'behind'} {whose}"
    fix = "let NTP set it (timedatectl set-ntp true)"
    found = ok(f"agrees with {whose}")
    if off > lease / 3:
        found = problem(f"{said}: workers would take each other for dead", fix)
    elif off > SKEW:
        found = warning(said, fix)
    return found._replace(area="clock")  # also where providers are asked


def check_tallies(installation: Installation) -> Iterator[Finding]:
    """Recount tasks, calls, tokens and money, and compare with the tallies."""
    if installation.fix:
        found = _correct_tallies(installation)
    else:
        with installation.ledger.snapshot() as tx:
            found = tx.checks.miscounts()
    for run, miscounts in _by_run(found):
        differences = _differences(miscounts)
        if installation.fix:
            yield warning(f"run {run} was miscounted, and is corrected: {differences}")
        else:
            cure = "`quire doctor --fix` corrects that; please report it"
            yield problem(f"run {run} was miscounted: {differences}", cure)
    if not found:
        yield ok("a recount of every run agrees with them")


def check_spend(installation: Installation) -> Iterator[Finding]:
    """Add spend up by everything it is shown by: always what attempts, tallies and wallets say."""
    with installation.ledger.snapshot() as tx:
        runs = tx.spend.money_of_runs()
        models = tx.spend.priced_models(EVERY_RUN)
        plain = read_groups(tx, models, outcomes=False)
        judged = read_groups(tx, models, outcomes=True)
    wrong = [*_differing_runs(runs)]
    truth = sum(run.attempted for run in runs)
    simulated = total_spend(view_spend(plain, SpendBy.RUN, models)).simulated
    for by in SpendBy:
        total = total_spend(view_spend(judged if by is SpendBy.OUTCOME else plain, by, models))
        if total.cost + total.presumed != truth:
            shown = dollars(total.cost + total.presumed)
            wrong.append(f"spend by {by} comes to {shown}, the attempts to {dollars(truth)}")
    for said in wrong:
        yield problem(said, "`quire doctor --fix` corrects tallies; please report it")
    if not wrong:
        funded = [run for run in runs if run.wallet is not None]
        paid = f"; {_wallet_sums(funded)}" if funded else ""
        said = f"the same by {', '.join(SpendBy)}, attempts and tallies{paid}"
        yield ok(f"{cost_words(truth, simulated)}, {said}")


_TALLIED = "the tallies of run {} come to {}, its attempts to {}"
_PAID = "wallet {} paid {} for run {}, whose attempts come to {}, with {} reserved and {} free"


def _differing_runs(runs: Iterable[RunMoneySums]) -> Iterator[str]:
    """What does not come to the same, where tallies, attempts and wallets should."""
    for run in runs:
        spent, reserved, free = map(dollars, (run.attempted, run.reserved, run.free))
        if run.tallied != run.attempted:
            yield _TALLIED.format(run.run_id, dollars(run.tallied), spent)
        if run.wallet is not None and run.paid != run.amount_due:
            yield _PAID.format(run.wallet, dollars(run.paid), run.run_id, spent, reserved, free)


def _wallet_sums(funded: Sequence[RunMoneySums]) -> str:
    """What wallets paid for runs, and what that is."""
    paid, spent = sum(run.paid for run in funded), sum(run.attempted for run in funded)
    rest = f" and {dollars(paid - spent)} that runs still have" if paid != spent else ""
    runs = plural(len(funded), "run")
    return f"wallets paid {dollars(paid)} for {runs}: {dollars(spent)} of attempts{rest}"


_WALLET = "wallet {} holds {:,}, and its entries come to {:,}"
_GRANTS = "run {} was granted {:,}, its slices {:,}, and by its wallet {:,}"
_SLICE = "slice {} of run {} has used {:,}, and its calls come to {:,}"


def check_wallets(installation: Installation) -> Iterator[Finding]:
    """Add up the entries of wallets, and what runs have of them, and compare."""
    with installation.ledger.snapshot() as tx:
        wallets = tx.wallets.list_wallets()
        found = [
            *(_WALLET.format(*row) for row in tx.checks.unbalanced_wallets()),
            *(_GRANTS.format(*row) for row in tx.checks.unbalanced_runs()),
            *(_SLICE.format(*row) for row in tx.checks.unbalanced_slices()),
        ]
    for said in found:
        yield problem(f"{said} picodollars", "please report it, with `quire wallet entries`")
    if wallets and not found:
        yield ok(f"{plural(len(wallets), 'wallet')}: all entries add up")


def _correct_tallies(installation: Installation) -> list[Miscount]:
    """Append correcting tallies, with a line in each run's history, in one transaction."""
    with installation.ledger.transaction() as tx:
        found = tx.checks.correct_tallies()
        for run, miscounts in _by_run(found):
            now, differences = installation.runtime.now(), _differences(miscounts)
            tx.events.add_event(run, EventKind.RECOUNTED, now, differences=differences)
    return found


def _by_run(found: Iterable[Miscount]) -> list[tuple[RunId, list[Miscount]]]:
    runs: dict[RunId, list[Miscount]] = defaultdict(list)
    for miscount in found:
        runs[miscount.run_id].append(miscount)
    return sorted(runs.items())


def _differences(miscounts: list[Miscount]) -> str:
    examples = [
        f"{miscount.what} {miscount.tallied:,} instead of {miscount.truth:,}"
        for miscount in miscounts[:MOST_EXAMPLES]
    ]
    return ", ".join(examples) + _and_more(len(miscounts) - MOST_EXAMPLES)


def _and_more(number: int) -> str:
    return f" (and {number} more)" if number > 0 else ""


def _database_name(opened: Ledger, facts: DatabaseFacts) -> str:
    if opened.dialect == "sqlite":
        return f"SQLite {facts.version} at {opened.url}"
    where = opened.url.rpartition("@")[2].partition("?")[0]  # never the password
    return f"PostgreSQL {facts.version} at {where.removeprefix('postgresql://')}"


def _log_size(path: str) -> int:
    try:
        return os.stat(Path(f"{path}-wal")).st_size
    except OSError:
        return 0


def _connection_findings(facts: DatabaseFacts) -> Iterator[Finding]:
    used, most = facts.connections, facts.most_connections
    if used is None or most is None:
        return
    said = f"{plural(used, 'connection')} of {most:,} in use"
    if used * 100 > most * CROWDED_PERCENT:
        yield warning(said, "raise max_connections, or run fewer workers")
    else:
        yield ok(said)
