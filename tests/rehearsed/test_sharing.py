"""Runs and workers that share a model do not stand in each other's way."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from quire.domain.states import RunState
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import ANTHROPIC, LONG
from tests.world import METADATA, sentences

PATIENCE = 60.0


def test_a_worker_that_dies_while_it_writes_a_prefix_keeps_nobody_waiting(
    rehearse: Rehearse, tmp_path: Path
) -> None:
    here = rehearse(ANTHROPIC, latency="2s")
    here.ingest(sentences(10))
    (tmp_path / "long.json").write_text(json.dumps(LONG))
    command = [sys.executable, "-m", "quire", "--ledger", here.url, "run", "-s", "long.json"]
    with subprocess.Popen([*command, "-m", ANTHROPIC, "--no-packing"], env=os.environ) as process:
        deadline = time.monotonic() + PATIENCE
        while not here.server.entries() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    (run,) = here.engine.runs()
    until = time.monotonic() + 15.0

    here.engine.work(lambda: here.engine.progress(run.id).done == 10 or time.monotonic() > until)

    assert here.engine.progress(run.id).done == 10


def test_a_narrow_run_does_not_narrow_a_wide_one_of_the_same_model(rehearse: Rehearse) -> None:
    here = rehearse(latency="0.1")
    here.ingest(sentences(200), "wide")
    wide = here.start(pack_size=1, concurrency=32)
    known = {document.id for document in here.engine.documents()}
    here.ingest(sentences(100), "narrow")
    others = [document.id for document in here.engine.documents() if document.id not in known]
    narrow = here.engine.run(
        schema=METADATA, model=here.asks, over=others, pack_size=1, concurrency=2
    )

    here.engine.work(lambda: wide.progress().state == RunState.FINISHED)

    assert here.server.stats()["most_in_flight"] > 8
    assert 0 < narrow.progress().done < 60  # it went on beside, and the wide one did not wait
