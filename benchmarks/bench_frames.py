"""A frame of 100,000 rows in one call: memory beside the frame's own, CPU beside the engine's."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

import pandas as pd

import quire

ROWS = 100_000
WORDS = 100  # a row
MOST_MEMORY = 3.0  # times the frame
MOST_CPU = 1.15  # times what the engine takes for the same rows from a file
MODEL = "simulated/small"
SCHEMA: dict[str, Any] = {
    "title": "ticket",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "urgency": {"type": "string", "enum": ["low", "high"]},
        "words": {"type": "integer"},
        "question": {"type": "boolean"},
    },
    "required": ["urgency", "words", "question"],
}


def make_frame(rows: int) -> pd.DataFrame:
    """Tickets that all differ."""
    words = ["printer", "refund", "invoice", "late", "broken", "again", "please", "thanks"]
    texts = [
        " ".join([f"ticket {number}", *(words[(number * 7 + i) % 8] for i in range(WORDS - 2))])
        for number in range(rows)
    ]
    return pd.DataFrame({"id": range(rows), "body": texts, "queue": ["a", "b"] * (rows // 2)})


def peak() -> int:
    """The most memory that this process ever had, in bytes."""
    return getrusage(RUSAGE_SELF).ru_maxrss * 1024


def cpu() -> float:
    """CPU seconds of this process so far."""
    used = getrusage(RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def current() -> int:
    """The memory that this process has now, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def warm_up(folder: Path) -> None:
    """Load what a first run loads, so that only the rows count."""
    small = make_frame(100)
    quire.extract(small, SCHEMA, text="body", key="id", model=MODEL, store=folder / "warm.db")


def by_call(folder: Path, rows: int) -> dict[str, float]:
    """One call, frame in and frame out."""
    frame = make_frame(rows)
    warm_up(folder)
    before, began = current(), cpu()
    found = quire.extract(
        frame, SCHEMA, text="body", key="id", model=MODEL, store=folder / "call.db", pack_size=20
    )
    spent, grown = cpu() - began, peak() - before
    assert (found["status"] == "accepted").all()
    size = int(frame.memory_usage(deep=True).sum())
    return {"cpu": spent, "grown": grown, "frame": size}


def by_engine(folder: Path, rows: int) -> dict[str, float]:
    """The same rows from a file, and rows of mappings out."""
    path = folder / "rows.jsonl"
    make_frame(rows).to_json(path, orient="records", lines=True)
    warm_up(folder)
    began = cpu()
    with quire.open(str(folder / "engine.db")) as engine:
        read = engine.ingest(path, text_column="body", key_column="id")
        run = engine.run(over=read, schema=SCHEMA, model=MODEL, pack_size=20)
        run.wait()
        found = run.rows()
    assert len(found) == rows
    return {"cpu": cpu() - began}


WAYS: dict[str, Callable[[Path, int], dict[str, float]]] = {"call": by_call, "engine": by_engine}


def measure(way: str, rows: int) -> dict[str, float]:
    """One way in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.bench_frames", way, folder, str(rows)],
            capture_output=True,
            text=True,
            check=True,
        )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(rows: int = ROWS) -> int:
    """Print the ratios; 1 if one is too high."""
    call, engine = measure("call", rows), measure("engine", rows)
    memory, processor = call["grown"] / call["frame"], call["cpu"] / engine["cpu"]
    print(f"{rows:,} rows, a frame of {call['frame'] / 1e6:.0f} MB")
    print(f"memory besides it, at most: {memory:.2f} times the frame (at most {MOST_MEMORY:g})")
    print(
        f"CPU: {call['cpu'] / rows * 1e6:.0f} µs a row, {processor:.2f} times the engine's"
        f" {engine['cpu'] / rows * 1e6:.0f} (at most {MOST_CPU:g})"
    )
    return int(memory > MOST_MEMORY or processor > MOST_CPU)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(json.dumps(WAYS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))))
    else:
        sys.exit(main(*map(int, sys.argv[1:])))
