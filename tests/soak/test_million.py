"""A million blocks to the end: in little memory, at an even pace, each done exactly once."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.soak.job_process import PER_CALL
from tests.soak.proof import assert_each_task_done_once, calls, write_rows

BLOCKS = int(os.environ.get("QUIRE_SOAK_BLOCKS", "1_000_000"))
WORKERS = 4
MOST_MEMORY = 1 << 30  # bytes that a process may ever have

Figures = list[dict[str, Any]]


def start(steps: str, url: str, what: object, log: Path) -> subprocess.Popen[bytes]:
    """Start a process that does some steps of the job."""
    command = [sys.executable, "-m", "tests.soak.job_process", steps, url, str(what), f"log={log}"]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def finish(process: subprocess.Popen[bytes]) -> Figures:
    """Let a process end well; returns what it said."""
    output, _ = process.communicate()
    assert process.returncode == 0
    return [orjson.loads(line) for line in output.splitlines()]


def format_figures(name: str, figures: Figures) -> str:
    """What a process said, for people."""
    lines = (" ".join(f"{key}={value}" for key, value in figure.items()) for figure in figures)
    return "\n    ".join((f"\n{name}, {BLOCKS:,} blocks", *lines))


def assert_each_block_was_sent_once(log: Path, figures: Figures) -> str:
    """By the model's own log: as many calls as packs, and every block in one of them."""
    sent = calls(log)
    (packs,) = {figure["packs"] for figure in figures if figure["what"] == "ended"}
    assert len(sent) == packs == len({response.contents for response in sent})
    assert sum(response.blocks for response in sent) == BLOCKS
    return f"    {len(sent):,} calls, {packs:,} packs, fewest {-(-BLOCKS // PER_CALL):,}"


@pytest.mark.soak
def test_a_million_blocks_on_sqlite_stay_under_a_gibibyte(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    rows, log = write_rows(tmp_path / "rows.jsonl", BLOCKS), tmp_path / "calls.log"
    url = str(tmp_path / "quire.db")

    figures = finish(start("order+work", url, rows, log))

    tell(format_figures("sqlite, 1 worker", figures))
    tell(assert_each_block_was_sent_once(log, figures))
    assert_each_task_done_once(url, BLOCKS)
    assert figures[-1]["state"] == "finished"
    assert max(figure.get("peak", 0) for figure in figures) < MOST_MEMORY


@pytest.mark.soak
def test_a_million_blocks_on_postgresql_are_done_once_by_four_workers(
    postgres_database: str, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    rows, log = write_rows(tmp_path / "rows.jsonl", BLOCKS), tmp_path / "calls.log"
    ordered = finish(start("order", postgres_database, rows, log))
    tell(format_figures("postgresql, 1 process to ingest and plan", ordered))
    run = ordered[-1]["run"]

    workers = [start("work", postgres_database, run, log) for _ in range(WORKERS)]
    figures = [finish(worker) for worker in workers]

    for number, figure in enumerate(figures, 1):
        tell(format_figures(f"postgresql, worker {number} of {WORKERS}", figure))
    together = [line for figure in figures for line in figure]
    tell(assert_each_block_was_sent_once(log, together))
    assert_each_task_done_once(postgres_database, BLOCKS)
    assert [figure[-1]["state"] for figure in figures] == ["finished"] * WORKERS
    assert max(record.get("peak", 0) for record in [*ordered, *together]) < MOST_MEMORY
