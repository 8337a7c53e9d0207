"""Waiting for a run at a server: to its limit, while nobody works, while the server is away."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from quire.client.http_session import HttpSession
from quire.client.remote_run import AWAY, UNSERVED, RemoteRun
from quire.client.remote_workbench import RemoteWorkbench
from quire.domain.errors import LedgerError
from tests.server.sites import SCHEMA, TEXT
from tests.web.browser import serve_site


def begin(
    folder: Path, address: str, rest: Callable[[float], None], limit: int | None = None
) -> RemoteRun:
    """A run over a text that was sent to a server."""
    (folder / "lease.md").write_text(TEXT)
    workbench = RemoteWorkbench(HttpSession(address), rest)
    workbench.ingest(folder / "lease.md")
    return workbench.run(schema=SCHEMA, model="simulated/small", limit=limit)


def shortly(_seconds: float) -> None:
    time.sleep(0.05)


def test_a_run_that_reached_its_limit_is_waited_for_no_longer(tmp_path: Path) -> None:
    with serve_site(tmp_path) as site:
        now = begin(tmp_path, site.url, shortly, limit=1).wait()

    assert (now.state, now.standing, now.done) == ("running", "stopped", 1)


def test_whoever_waits_where_nobody_works_is_told_once(tmp_path: Path) -> None:
    looks = 0

    def rest(_seconds: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 2 * UNSERVED:
            site.engine.get(1).wait()

    with serve_site(tmp_path, workers=0) as site:
        run = begin(tmp_path, site.url, rest)
        with pytest.warns(RuntimeWarning, match=r"nobody works for run 1 .*`quire work`") as told:
            now = run.wait()

    assert (now.state, looks, len(told)) == ("finished", 2 * UNSERVED, 1)


def test_a_server_that_is_started_again_is_waited_for(tmp_path: Path) -> None:
    with ExitStack() as later:
        looks = 0

        def rest(seconds: float) -> None:
            nonlocal looks
            looks += 1
            if looks == 3:
                later.enter_context(serve_site(tmp_path, port=port))
            shortly(seconds)

        with serve_site(tmp_path, workers=0) as site:
            run, port = begin(tmp_path, site.url, rest), site.port
        now = run.wait()

    assert now.state == "finished"


def test_a_server_that_stays_away_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    looks: list[float] = []
    with serve_site(tmp_path, workers=0) as site:
        run = begin(tmp_path, site.url, looks.append)

    with pytest.raises(LedgerError, match="does not answer"):
        run.wait()
    assert len(looks) == AWAY
