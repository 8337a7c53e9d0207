"""A process that carries out a big job through batches, and says how long and how large it was."""

import sys
import time
from pathlib import Path

from quire.engine import open_engine
from tests.soak.job_process import peak, say, work
from tests.world import METADATA

PER_CALL = 10
MODEL = "openai/gpt-5.6-luna"


def main() -> None:
    """batch_labour.py URL ROWS: ingest and carry out; the environment says where the server is."""
    url, rows = sys.argv[1:]
    with open_engine(url) as engine:
        began = time.monotonic()
        engine.ingest(Path(rows), text_column="text")
        run = engine.run(schema=METADATA, model=MODEL, pack_size=PER_CALL, route="batch")
        say("ordered", run=run.id, seconds=round(time.monotonic() - began, 2), peak=peak())
        spent = time.process_time()
        work(engine, run.id)
        progress = run.progress()
        say(
            "paid",
            cost=progress.cost_pico,
            presumed=progress.presumed_pico,
            calls=progress.calls,
            cpu=round(time.process_time() - spent, 1),
        )


if __name__ == "__main__":
    main()
