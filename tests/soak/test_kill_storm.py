"""kill -9 of a worker at fifty random moments: nothing is lost, nothing is done twice."""

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from quire.engine import open_engine
from tests.soak.proof import Sent, assert_each_task_done_once, calls, read_export, write_rows
from tests.time_limits import wait_until
from tests.world import METADATA

BLOCKS = 20_000
KILLS = 50
PER_CALL = 5
CONCURRENCY = 8
LATENCY = 0.1  # seconds an answer takes, so that kills find calls in flight
EARLY = 0.2  # of the kills come at any moment from the start of the process


def order(url: str, rows: Path) -> int:
    """Put the rows into a ledger and order the run; returns its number."""
    with open_engine(url) as engine:
        engine.ingest(rows, text_column="text")
        return engine.run(
            schema=METADATA,
            model="simulated/small",
            pack_size=PER_CALL,
            concurrency=CONCURRENCY,
        ).id


def start_worker(url: str, run: int, log: Path) -> subprocess.Popen[bytes]:
    """Start a process that works on the run."""
    command = [sys.executable, "-m", "tests.crash.victim", url, str(run), "never", "0"]
    return subprocess.Popen([*command, f"log={log},latency={LATENCY}"])


def await_moment(worker: subprocess.Popen[bytes], log: Path, chance: random.Random) -> None:
    """Wait for a random moment of the worker's life: early, or after some more calls."""
    if chance.random() < EARLY:
        time.sleep(chance.uniform(0, 1))
        return
    wanted = _lines(log) + chance.randint(1, 60)
    wait_until(lambda: _lines(log) >= wanted, lambda: worker.poll() is None)
    time.sleep(chance.uniform(0, LATENCY))


def storm(url: str, run: int, log: Path) -> list[int]:
    """Kill fifty workers, let the last one finish; returns the log's length after each life."""
    chance = random.Random(20)
    lengths = [0]
    for _ in range(KILLS):
        with start_worker(url, run, log) as worker:
            await_moment(worker, log, chance)
            worker.kill()
        lengths.append(_lines(log))
    with start_worker(url, run, log) as last:
        assert last.wait() == 0
    return [*lengths, _lines(log)]


def _lines(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


def count_resent(sent: Sequence[Sent], lengths: Sequence[int]) -> list[int]:
    """For each life, how many of its calls were sent once more in a later one."""
    again: list[int] = []
    for start, end in pairwise(lengths):
        later = {response.contents for response in sent[end:]}
        again.append(sum(response.contents in later for response in sent[start:end]))
    return again


@pytest.mark.soak
def test_fifty_kills_cost_no_more_than_the_calls_in_flight(
    ledger_url: str, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    rows, log = write_rows(tmp_path / "rows.jsonl", BLOCKS), tmp_path / "calls.log"
    calm = str(tmp_path / "calm.db")
    with open_engine(calm) as engine:
        engine.get(order(calm, rows)).wait()
        engine.export(engine.runs()[0].id, str(tmp_path / "calm.jsonl"))

    run = order(ledger_url, rows)
    began = time.monotonic()
    lengths = storm(ledger_url, run, log)
    seconds = time.monotonic() - began
    with open_engine(ledger_url) as engine:
        resent = engine.get(run).progress().resent
        engine.export(engine.get(run).id, str(tmp_path / "storm.jsonl"))

    sent = calls(log)
    different = {response.contents: response.blocks for response in sent}
    again = count_resent(sent, lengths)
    in_flight = [min(CONCURRENCY, end - start) for start, end in pairwise(lengths[:-1])]
    twice = len(sent) - len(different)
    database = "postgresql" if "://" in ledger_url else "sqlite"
    tell(
        f"\n{database}: {BLOCKS:,} blocks, {KILLS} kills, {seconds:.0f} s;"
        f" {len(sent):,} calls by the model's log, {len(different):,} different, {twice} sent"
        f" again (at most {max(again)} after one kill; in flight at the kills {sum(in_flight)};"
        f" the ledger says {resent}); often: {Counter(again)}"
    )
    assert len(again) == KILLS + 1
    assert sum(number > 0 for number in again) > KILLS / 2, "too few kills found calls in flight"
    assert all(number <= most for number, most in zip(again, [*in_flight, 0], strict=True))
    assert twice <= sum(in_flight)
    assert sum(different.values()) == BLOCKS
    assert_each_task_done_once(ledger_url, BLOCKS)
    storm_rows, calm_rows = (
        read_export(tmp_path / "storm.jsonl"),
        read_export(tmp_path / "calm.jsonl"),
    )
    assert all(one == other for one, other in zip(storm_rows, calm_rows, strict=True))
