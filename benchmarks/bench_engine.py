"""CPU per block of the whole engine against the bare minimum, at 1 and at 10 blocks per call."""

import asyncio
import sys
import tempfile
from pathlib import Path
from time import process_time

from benchmarks.bare import GROUP, Bare, made_rows
from benchmarks.corpus import SCHEMA, fill
from quire.engine import Engine
from quire.engine.context import make_context
from quire.ledger.ledger import open_ledger
from quire.settings import Settings

MOST = 2.0  # the engine may cost this many times the bare minimum
ROUNDS = 7
IN_FLIGHT = (GROUP, 4 * GROUP)  # calls: so many are written, or claimed, at once


def bare_seconds(folder: Path, count: int, per_call: int, group: int = GROUP) -> float:
    """CPU seconds of the bare loop, from the first block it reads to the last result."""
    bare = Bare(str(folder / "bare.db"), made_rows(count), group)
    began = process_time()
    stored = asyncio.run(bare.run(per_call))
    spent = process_time() - began
    bare.close()
    assert stored == count, stored
    return spent


def engine_seconds(folder: Path, count: int, per_call: int, group: int = GROUP) -> float:
    """CPU seconds of the engine, from the order to the last result; ingesting apart."""
    path = str(folder / "engine.db")
    ledger = open_ledger(path)
    fill(ledger, count)
    with Engine(make_context(Settings(ledger=path), ledger)) as engine:
        began = process_time()
        run = engine.run(
            schema=SCHEMA, model="simulated/small", pack_size=per_call, concurrency=group
        )
        done = run.wait().done
        spent = process_time() - began
    assert done == count, done
    return spent


def least(count: int, per_call: int, group: int, rounds: int = ROUNDS) -> tuple[float, float]:
    """Least bare and engine CPU µs per block over some rounds, turn about."""
    bare: list[float] = []
    engine: list[float] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            bare.append(bare_seconds(Path(name), count, per_call, group))
            engine.append(engine_seconds(Path(name), count, per_call, group))
    return min(bare) / count * 1e6, min(engine) / count * 1e6


def main() -> int:
    """Print the ratios; 1 if one is too high."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    failed = 0
    print(f"{count:,} blocks, simulated provider at zero latency, CPU µs per block")
    print("per call  in flight      bare    engine   ratio")
    for per_call in (1, 10):
        both = [least(count, per_call, group) for group in IN_FLIGHT]
        for group, (bare, engine) in zip(IN_FLIGHT, both, strict=True):
            print(f"{per_call:8d} {group:10d} {bare:9.1f} {engine:9.1f} {engine / bare:7.2f}")
        bare, engine = map(min, zip(*both, strict=True))
        print(
            f"{per_call:8d}  each best {bare:9.1f} {engine:9.1f} {engine / bare:7.2f}"
            f"  (at most {MOST:g})"
        )
        failed += engine / bare > MOST
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
