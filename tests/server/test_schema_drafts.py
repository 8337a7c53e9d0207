"""POST /v1/schemas/draft."""

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from quire.engine import open_engine
from quire.server.draft_desk import MOST_DRAFTS
from quire.server.site import Site
from quire.web.site_app import make_site_app
from tests.server.sites import OWN_HOST, open_site
from tests.time_limits import wait_until
from tests.world import World


def test_a_schema_is_drafted_with_its_cost_and_not_kept(tmp_path: Path) -> None:
    body = {"wish": "party and amount of every duty", "model": "simulated/small"}

    with open_site(tmp_path) as client:
        made = client.post("/v1/schemas/draft", json=body)
        unknown = client.post("/v1/schemas/draft", json={**body, "model": "nobody/none"})
        dear = client.post("/v1/schemas/draft", json={**body, "wish": "a", "max_cost_usd": 0})
        empty = client.post("/v1/schemas/draft", json={"wish": " "})

    assert made.status_code == 200
    assert [*made.json()["schema"]["properties"]] == ["party", "amount"]
    assert made.json()["problems"] == []
    assert made.json()["cost_usd"] > 0
    assert made.json()["simulated"] is True
    assert [unknown.status_code, dear.status_code, empty.status_code] == [422, 422, 422]
    assert "nothing was started" in dear.json()["error"]["message"]


def test_few_drafts_are_carried_out_at_once_and_the_end_waits_for_them(
    world: Callable[..., World],
) -> None:
    here, released = world(), threading.Event()
    here.model.hold = lambda number: not released.is_set()
    app = make_site_app(Site(lambda workspace: here.engine))
    with TestClient(app, base_url=OWN_HOST) as client:

        def draft(number: int) -> Any:
            body = {"wish": f"party and amount {number}", "model": "simulated/small"}
            return client.post("/v1/schemas/draft", json=body)

        def draft_and_leave(number: int) -> None:
            with suppress(Exception):  # the server may be gone before the answer is there
                draft(number)

        waiting = [
            threading.Thread(target=draft_and_leave, args=(number,))
            for number in range(MOST_DRAFTS)
        ]
        for thread in waiting:
            thread.start()
        wait_until(lambda: here.model.calls == MOST_DRAFTS)
        refused, me = draft(99), client.get("/v1/me")
        releasing = threading.Timer(0.2, released.set)  # while the server is ending
        releasing.start()
    for thread in (*waiting, releasing):
        thread.join()

    assert (refused.status_code, me.status_code) == (429, 200)
    assert int(refused.headers["Retry-After"]) > 0
    with open_engine(here.url, environment={}) as engine:
        stood = [engine.progress(run.id) for run in engine.queries.runs(drafts=True)]
    assert [(run.calls, run.cut_off, run.cost_pico > 0) for run in stood] == [(1, 0, True)] * 3
