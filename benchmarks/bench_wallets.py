"""CPU of a run that spends from a wallet within a budget, against the same run without."""

import sys
import tempfile
from pathlib import Path
from time import process_time

from benchmarks.corpus import SCHEMA, fill
from quire.engine import Engine
from quire.engine.context import make_context
from quire.ledger.ledger import open_ledger
from quire.settings import Settings

MOST = 1.05  # a wallet may cost this many times the CPU of a plain run
ROUNDS = 9


def run_seconds(folder: Path, count: int, per_call: int, *, funded: bool) -> float:
    """CPU seconds from the order to the last result; ingesting apart."""
    path = str(folder / f"{'funded' if funded else 'plain'}.db")
    ledger = open_ledger(path)
    fill(ledger, count)
    with Engine(make_context(Settings(ledger=path), ledger)) as engine:
        if funded:
            engine.wallets.create("team", 1000)
        began = process_time()
        run = engine.run(
            schema=SCHEMA,
            model="simulated/small",
            pack_size=per_call,
            concurrency=64,
            wallet="team" if funded else None,
            budget_usd=900 if funded else None,
        )
        done = run.wait().done
        spent = process_time() - began
    assert done == count, done
    return spent


def least(count: int, per_call: int) -> tuple[float, float]:
    """Least CPU µs per block without and with a wallet, turn about."""
    plain: list[float] = []
    funded: list[float] = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as name:
            plain.append(run_seconds(Path(name), count, per_call, funded=False))
            funded.append(run_seconds(Path(name), count, per_call, funded=True))
    return min(plain) / count * 1e6, min(funded) / count * 1e6


def main() -> int:
    """Print the ratios; 1 if one is too high."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    failed = 0
    print(f"{count:,} blocks, simulated provider at zero latency, SQLite, CPU µs per block")
    print("per call     plain    wallet   ratio")
    for per_call in (1, 10):
        plain, funded = least(count, per_call)
        ratio = funded / plain
        print(f"{per_call:8d} {plain:9.1f} {funded:9.1f} {ratio:7.3f}  (at most {MOST:g})")
        failed += ratio > MOST
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
