"""Workers beside a server: runs of every workspace move, and all workers end with it."""

import threading
from pathlib import Path

import pytest

from quire.domain.ids import RunId
from quire.domain.states import RunState
from quire.engine import open_engine
from quire.web.workers_beside import WorkersBeside
from tests.server.sites import SCHEMA, TEXT


def _start_elsewhere(place: str, folder: Path) -> RunId:
    (folder / "lease.md").write_text(TEXT)
    with open_engine(place, workspace="other", environment={}) as engine:
        engine.ingest(folder / "lease.md")
        return engine.run(schema=SCHEMA, model="simulated/small").id


@pytest.mark.parametrize("before", [True, False])
def test_runs_of_another_workspace_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    place = str(tmp_path / "quire.db")
    open_engine(place, environment={}).close()
    run = _start_elsewhere(place, tmp_path) if before else None
    told: list[str] = []
    beside = WorkersBeside(place, 1, told.append)
    beside.start()
    try:
        run = run or _start_elsewhere(place, tmp_path)
        with open_engine(place, workspace="other", environment={}) as engine:
            pause = threading.Event()
            while engine.progress(run).state == RunState.RUNNING:
                pause.wait(0.1)
            state = engine.progress(run).state
    finally:
        beside.end()

    assert state == RunState.FINISHED
    assert told == []
    assert not [t for t in threading.enumerate() if t.name == "worker beside the server"]
