"""A process that carries out a big job and says, line by line, how long and how large it was."""

import resource
import sys
import time
from pathlib import Path

import orjson

from quire.domain.runs import Progress
from quire.engine import Engine, open_engine
from tests.world import METADATA

PER_CALL = 25


def say(what: str, **figures: object) -> None:
    """Report one line to whoever started this."""
    sys.stdout.write(orjson.dumps({"what": what, **figures}).decode() + "\n")
    sys.stdout.flush()


def peak() -> int:
    """The most memory this process ever had, in bytes."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    # getrusage would count what the parent had when it started us
    (line,) = (name for name in status.splitlines() if name.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def order(engine: Engine, rows: Path) -> int:
    """Ingest, plan and start; returns the run's number."""
    began = time.monotonic()
    engine.ingest(rows, text_column="text")
    ingested = time.monotonic()
    planned = engine.plan(schema=METADATA, model="simulated/small", pack_size=PER_CALL)
    ended = time.monotonic()
    run = engine.run(schema=METADATA, model="simulated/small", pack_size=PER_CALL, concurrency=32)
    say(
        "ordered",
        run=run.id,
        tasks=planned.forecast.tasks,
        requests=planned.forecast.packed.requests,
        ingest_seconds=round(ingested - began, 2),
        plan_seconds=round(ended - ingested, 2),
        peak=peak(),
    )
    return run.id


def work(engine: Engine, run: int) -> None:
    """Work until the run is at rest; tells how long every tenth of it took."""
    began = last = time.monotonic()
    reported = 0

    def watch(now: Progress) -> None:
        nonlocal last, reported
        tenth = max(1, now.total // 10)
        if now.done // tenth > reported // tenth:
            moment = time.monotonic()
            item = 1e6 * (moment - last) / (now.done - reported)
            say("done", tasks=now.done, seconds=round(moment - began, 2), micros_each=round(item))
            reported, last = now.done, moment

    ended = engine.get(run).wait(watch)
    seconds = round(time.monotonic() - began, 2)
    say("ended", state=ended.state, packs=ended.packs, seconds=seconds, peak=peak())


def main() -> None:
    """labour.py STEPS URL ROWS|RUN FAULTS, where STEPS is order, work or order+work."""
    steps, url, what, faults = sys.argv[1:]
    with open_engine(url, faults=faults) as engine:
        run = order(engine, Path(what)) if "order" in steps else int(what)
        if "work" in steps:
            work(engine, run)


if __name__ == "__main__":
    main()
