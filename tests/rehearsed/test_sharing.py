"""Runs and workers that share a model do not stand in each other's way."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from quire.domain.states import RunState
from tests.rehearsed.conftest import Rehearse, Serve
from tests.rehearsed.rehearsed import ANTHROPIC, LONG, StillClock
from tests.time_limits import wait_until
from tests.world import METADATA, sentences


def test_a_worker_that_dies_while_it_writes_a_prefix_keeps_nobody_waiting(
    rehearse: Rehearse, serve: Serve, tmp_path: Path
) -> None:
    server = serve(faults="hang=1")
    here = rehearse(ANTHROPIC, server=server, clock=StillClock())  # no patience runs out
    here.ingest(sentences(10))
    (tmp_path / "long.json").write_text(json.dumps(LONG))
    command = [sys.executable, "-m", "quire", "--ledger", here.url, "run", "-s", "long.json"]
    with subprocess.Popen([*command, "-m", ANTHROPIC, "--no-packing"], env=os.environ) as process:
        wait_until(server.entries, lambda: process.poll() is None)
        process.send_signal(signal.SIGKILL)
    (run,) = here.engine.runs()
    server.change_faults("")

    here.engine.drive(run.id)

    assert here.engine.progress(run.id).done == 10


def test_a_narrow_run_does_not_narrow_a_wide_one_of_the_same_model(rehearse: Rehearse) -> None:
    here = rehearse(latency="5s")
    here.ingest(sentences(200), "wide")
    wide = here.start(pack_size=1, concurrency=32)
    known = {document.id for document in here.engine.documents()}
    here.ingest(sentences(100), "narrow")
    others = [document.id for document in here.engine.documents() if document.id not in known]
    narrow = here.engine.run(
        schema=METADATA, model=here.asks, over=others, reuse=False, pack_size=1, concurrency=2
    )

    sent = [0]

    def finished() -> bool:
        """Answer when no more is sent."""
        sent.append(len(here.server.entries()))
        over = wide.progress().state == RunState.FINISHED
        if over or sent[-1] == sent[-2]:
            here.server.advance(5)
        return over

    here.engine.work(finished)

    assert here.server.stats()["most_in_flight"] > 8
    assert 0 < narrow.progress().done < 60  # it went on beside, and the wide one did not wait
