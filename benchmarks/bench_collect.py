"""CPU per result of collecting and settling a batch, against parsing and writing it bare."""

import asyncio
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import process_time, sleep
from urllib.request import Request, urlopen

from benchmarks.bare_collect import Asked, BareCollector
from benchmarks.corpus import SCHEMA, fill
from quire.dispatch.runtime import Runtime
from quire.domain.ids import RunId
from quire.engine import Engine
from quire.engine.context import make_context
from quire.ledger.ledger import open_ledger
from quire.settings import Settings

MOST = 2.0  # the engine may cost this many times the bare minimum
ROUNDS = 5
FIRST = 50  # blocks that the engine looks at before the rest: a batch of their own
MODEL = "openai/gpt-5.6-luna"
ASKED = """
SELECT a.id, t.wire_id, t.task_id
FROM attempts a JOIN request_tasks t ON t.request_id = a.request_id WHERE a.batch_id = ?
"""

_EXPORT = re.compile(r"^export (\w+)=(\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Ready:
    """A ledger whose one batch has been carried out, and waits to be collected."""

    path: Path
    run: RunId
    ref: str
    asked: list[Asked]


class HaltingRuntime(Runtime):
    """A world that stops the engine when the provider has the second batch."""

    def __init__(self) -> None:
        """Count batches."""
        self.halt: Callable[[], None] = lambda: None
        self._made = 0

    def reach(self, point: str) -> None:
        """Count, and stop."""
        self._made += point == "after_confirm"
        if self._made == 2:
            self.halt()


@contextmanager
def serve_process() -> Iterator[str]:
    """Run a rehearsal server in a process of its own, so that its time is not ours."""
    command = [sys.executable, "-m", "quire", "rehearse", "serve", "--port", "0"]
    command += ["--batch-latency", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        output = ""
        while "GEMINI_API_KEY" not in output:
            output += process.stdout.readline()
        os.environ |= {**dict(_EXPORT.findall(output)), "NO_PROXY": "*"}
        try:
            yield os.environ["OPENAI_BASE_URL"]
        finally:
            process.kill()


def make_ready(folder: Path, count: int, per_call: int) -> Ready:
    """Let the engine submit one batch of everything, and the server carry it out."""
    path = folder / f"ready{per_call}.db"
    ledger = open_ledger(str(path), durable=False)
    fill(ledger, FIRST + count)
    runtime = HaltingRuntime()
    with Engine(make_context(Settings(ledger=str(path), poll=0.05), ledger, runtime)) as engine:
        runtime.halt = engine.stop
        run = engine.run(
            schema=SCHEMA, model=MODEL, pack_size=per_call, route="batch", min_batch_size=2
        )
        engine.drive(run.id)
        batch = engine.batches(run.id)[0]
    with closing(sqlite3.connect(path)) as database:
        asked = database.execute(ASKED, (batch.id,)).fetchall()
    assert (batch.state, len(asked)) == ("open", count), (batch, len(asked))
    await_end(batch.ref)
    return Ready(path, run.id, batch.ref, asked)


def await_end(ref: str) -> None:
    """Wait until the server has carried a batch out."""
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    request = Request(f"{os.environ['OPENAI_BASE_URL']}/batches/{ref}", headers=headers)
    while True:
        with urlopen(request) as answer:
            if json.load(answer)["status"] == "completed":
                return
        sleep(0.2)


def bare_seconds(
    ready: Ready, folder: Path, url: str, *, durable: bool, squeezing: bool = False
) -> float:
    """CPU seconds of the bare loop, from the first line it reads to the last result."""
    path = str(folder / f"bare{squeezing}.db")
    bare = BareCollector(path, ready.asked, durable=durable, squeezing=squeezing)
    began = process_time()
    stored = asyncio.run(bare.run(url, os.environ["OPENAI_API_KEY"], ready.ref))
    spent = process_time() - began
    bare.close()
    assert stored == len(ready.asked), stored
    return spent


def engine_seconds(ready: Ready, folder: Path, *, durable: bool) -> float:
    """CPU seconds of the engine, from asking how the batch stands to the end of the run."""
    path = folder / "engine.db"
    shutil.copy(ready.path, path)
    ledger = open_ledger(str(path), durable=durable)
    with Engine(make_context(Settings(ledger=str(path), poll=0.05), ledger)) as engine:
        began = process_time()
        done = engine.drive(ready.run).done
        spent = process_time() - began
    assert done == FIRST + len(ready.asked), done
    return spent


def compare(ready: Ready, url: str, per_call: int, *, durable: bool) -> bool:
    """Print all three, turn about; true where the ratio to the barest is too high."""
    bare, squeezed, engine = list[float](), list[float](), list[float]()
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            bare.append(bare_seconds(ready, folder, url, durable=durable))
            squeezed.append(bare_seconds(ready, folder, url, durable=durable, squeezing=True))
            engine.append(engine_seconds(ready, folder, durable=durable))
    item, least = per_call * 1e6 / len(ready.asked), min(engine)
    times, alike = least / min(bare), least / min(squeezed)
    print(
        f"{per_call:8d}  {'yes' if durable else 'no':>7s} {min(bare) * item:9.1f}"
        f" {least * item:9.1f} {times:7.2f}  (at most {MOST:g})"
        f" {min(squeezed) * item:9.1f} {alike:7.2f}"
    )
    return times > MOST


def main() -> int:
    """Print the ratios; 1 if one is too high."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    print(f"{count:,} ready rows of a batch, collected and settled, CPU µs per row")
    print(
        "per call  durable      bare    engine   ratio              and bare with bodies compressed"
    )
    missed = 0
    with serve_process() as url, tempfile.TemporaryDirectory() as name:
        for per_call in (1, 10):
            ready = make_ready(Path(name), count * per_call, per_call)
            for durable in (False, True):
                missed += compare(ready, url, per_call, durable=durable)
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
