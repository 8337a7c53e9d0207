"""CPU of a run with a wallet and a budget, and one that also looks for answers, against neither.

A run that is told not to reuse still notes its questions, for later runs: here, neither way does.
"""

import sys
import tempfile
from pathlib import Path
from time import process_time

from benchmarks.corpus import SCHEMA, fill
from quire.dispatch import settler
from quire.engine import Engine
from quire.engine.context import make_context
from quire.ledger.ledger import open_ledger
from quire.pipeline.answers.reuse_answers import share_questions
from quire.pipeline.calls.prepare import ShareQuestions, ask_all
from quire.settings import Settings

MOST = 1.05  # both may cost this many times the CPU of a plain run
ROUNDS = 9


PLAIN, WALLET, BOTH = "plain", "wallet", "both"


def run_seconds(folder: Path, count: int, per_call: int, way: str) -> float:
    """CPU seconds from the order to the last result; ingesting apart."""
    path, funded = str(folder / f"{way}.db"), way != PLAIN
    ledger = open_ledger(path)
    fill(ledger, count)
    share: ShareQuestions = share_questions if way == BOTH else ask_all
    vars(settler)["share_questions"] = share
    with Engine(make_context(Settings(ledger=path), ledger)) as engine:
        if funded:
            engine.wallets.create("team", 1000)
        began = process_time()
        run = engine.run(
            schema=SCHEMA,
            model="simulated/small",
            pack_size=per_call,
            concurrency=64,
            reuse=way == BOTH,
            wallet="team" if funded else None,
            budget_usd=900 if funded else None,
        )
        done = run.wait().done
        spent = process_time() - began
    assert done == count, done
    return spent


def least(count: int, per_call: int) -> dict[str, float]:
    """Least CPU µs per block in each way, turn about."""
    found: dict[str, list[float]] = {PLAIN: [], WALLET: [], BOTH: []}
    for number in range(ROUNDS):
        ways = [*found][number % 3 :] + [*found][: number % 3]  # nobody always comes first
        with tempfile.TemporaryDirectory() as name:
            for way in ways:
                found[way].append(run_seconds(Path(name), count, per_call, way))
    return {way: min(spent) / count * 1e6 for way, spent in found.items()}


def main() -> int:
    """Print the ratios; 1 if one is too high."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    failed = 0
    print(f"{count:,} blocks, simulated provider at zero latency, SQLite, CPU µs per block")
    print("per call     plain    wallet   ratio   and reuse   ratio")
    for per_call in (1, 10):
        found = least(count, per_call)
        plain, wallet, both = (found[way] for way in (PLAIN, WALLET, BOTH))
        print(
            f"{per_call:8d} {plain:9.1f} {wallet:9.1f} {wallet / plain:7.3f} {both:11.1f}"
            f" {both / plain:7.3f}  (at most {MOST:g})"
        )
        failed += max(wallet, both) / plain > MOST
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
