"""Idempotency-Keys: the same key counts for one caller, one route and one body."""

from pathlib import Path

from quire.domain.access import AccessRole
from tests.server.review_sites import sign_in
from tests.server.sites import SCHEMA, open_site, start_run, upload, work

KEY = {"Idempotency-Key": "k1"}


def test_a_key_of_another_command_swallows_nothing(tmp_path: Path, ledger_url: str) -> None:
    with open_site(tmp_path, place=ledger_url) as client:
        upload(client)
        run = start_run(client)
        work(client, run)
        one, two = [
            line["task_id"] for line in client.get(f"/v1/runs/{run}/inbox").json()["items"]
        ][:2]
        approved = client.post(f"/v1/tasks/{one}/approve", json={"who": "Ann"}, headers=KEY)
        again = client.post(f"/v1/tasks/{one}/approve", json={"who": "Ann"}, headers=KEY)
        body = {"who": "Ann", "note": "wrong"}
        rejected = client.post(f"/v1/tasks/{two}/reject", json=body, headers=KEY)
        order = {"schema": SCHEMA, "model": "simulated/small", "new": True}
        started = client.post("/v1/runs", json=order, headers=KEY)
        paused = client.post(f"/v1/runs/{started.json()['run']}/pause", headers=KEY)
        resumed = client.post(f"/v1/runs/{started.json()['run']}/resume", headers=KEY)

    assert [approved.json()["changed"], again.json()["changed"]] == [True, False]
    assert rejected.json()["changed"] is True
    assert started.json()["run"] != run
    assert [paused.json()["changed"], resumed.json()["changed"]] == [True, True]


def test_a_key_with_another_body_is_refused(tmp_path: Path, ledger_url: str) -> None:
    with open_site(tmp_path, place=ledger_url) as client:
        upload(client)
        order = {"schema": SCHEMA, "model": "simulated/small", "new": True}
        first = client.post("/v1/runs", json=order, headers=KEY)
        same = client.post("/v1/runs", json=dict(reversed(order.items())), headers=KEY)
        other = client.post("/v1/runs", json={**order, "limit": 3}, headers=KEY)
        work(client, first.json()["run"])
        bulk = {"who": "Ann", "move": "approve", "filter": ""}
        path = f"/v1/runs/{first.json()['run']}/bulk"
        decided = [client.post(path, json=bulk, headers=KEY).json() for _ in range(2)]
        refused = client.post(path, json={**bulk, "who": "Bea"}, headers=KEY)
        undo = {"who": "Ann", "decision": decided[0]["decision"]}
        undone = [client.post(f"{path}/undo", json=undo, headers=KEY).json() for _ in range(2)]

    assert same.json()["run"] == first.json()["run"]
    assert (other.status_code, other.json()["error"]["kind"]) == (409, "Conflict")
    assert [answer["changed"] for answer in decided] == [True, False]
    assert [answer["changed"] for answer in undone] == [True, False]
    assert undone[0]["decided"] == decided[0]["decided"] > 0
    assert refused.status_code == 409


def test_a_key_of_somebody_else_swallows_nothing(tmp_path: Path) -> None:
    order = {"schema": SCHEMA, "model": "simulated/small", "new": True}
    with open_site(tmp_path) as client:
        upload(client)
        runs = []
        for name in ("Ann", "Bea"):
            sign_in(client, name, AccessRole.OPERATOR)
            runs.append(client.post("/v1/runs", json=order, headers=KEY).json()["run"])

    assert runs[0] != runs[1]
