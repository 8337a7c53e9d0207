"""CPU per block of the whole engine against the bare minimum, at 1 and at 10 blocks per call."""

import asyncio
import sys
import tempfile
from pathlib import Path
from time import process_time

from benchmarks.bare import GROUP, Bare
from benchmarks.corpus import SCHEMA, fill
from quire.engine import Engine
from quire.ledger.ledger import open_ledger
from quire.settings import Settings

MOST = 2.0  # the engine may cost this many times the bare minimum
ROUNDS = 5


def bare_seconds(folder: Path, count: int, per_call: int) -> float:
    """CPU seconds of the bare loop, from the first block it reads to the last result."""
    bare = Bare(str(folder / "bare.db"), count)
    began = process_time()
    stored = asyncio.run(bare.run(per_call))
    spent = process_time() - began
    bare.close()
    assert stored == count, stored
    return spent


def engine_seconds(folder: Path, count: int, per_call: int) -> float:
    """CPU seconds of the engine, from the order to the last result; ingesting apart."""
    path = str(folder / "engine.db")
    ledger = open_ledger(path)
    fill(ledger, count)
    with Engine(Settings(ledger=path), ledger) as engine:
        began = process_time()
        run = engine.run(
            schema=SCHEMA, model="simulated/small", pack_size=per_call, concurrency=GROUP
        )
        done = run.wait().done
        spent = process_time() - began
    assert done == count, done
    return spent


def ratio(count: int, per_call: int, rounds: int = ROUNDS) -> tuple[float, float, float]:
    """Least bare and engine seconds over some rounds, turn about, and their ratio."""
    bare: list[float] = []
    engine: list[float] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            bare.append(bare_seconds(Path(name), count, per_call))
            engine.append(engine_seconds(Path(name), count, per_call))
    return min(bare), min(engine), min(engine) / min(bare)


def main() -> int:
    """Print the ratios; 1 if one is too high."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    failed = 0
    print(f"{count:,} blocks, simulated provider at zero latency, CPU µs per block")
    print("per call      bare    engine   ratio")
    for per_call in (1, 10):
        bare, engine, times = ratio(count, per_call)
        print(
            f"{per_call:8d} {bare / count * 1e6:9.1f} {engine / count * 1e6:9.1f} {times:7.2f}"
            f"  (at most {MOST:g})"
        )
        failed += times > MOST
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
