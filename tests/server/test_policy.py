"""Workspace policy: shown with its sources, range-checked, with a trail; begun runs keep theirs."""

from pathlib import Path

import pytest

from quire.server.site import Site
from tests.server.sites import open_site, start_run, upload


def test_a_decision_holds_for_runs_that_begin_after_it(tmp_path: Path, ledger_url: str) -> None:
    with open_site(tmp_path, place=ledger_url) as client:
        upload(client)
        before = start_run(client, new=True)
        shown = client.put("/v1/policy", json={"policy": {"pack_size": 7}}).json()["policy"]
        after = start_run(client, new=True)
        said = start_run(client, new=True, policy={"pack_size": 3})
        seen = [
            client.get(f"/v1/runs/{run}/policy").json()["policy"]["pack_size"]
            for run in (before, after, said)
        ]
        client.put("/v1/policy", json={"policy": {"pack_size": None}})
        history = client.get("/v1/policy/history").json()["items"]
        last = client.get("/v1/policy").json()["policy"]["pack_size"]

    assert shown["pack_size"] == {"value": 7, "source": "workspace"}
    assert [item["source"] for item in seen] == ["built-in", "workspace", "flag"]
    assert [item["value"] for item in seen][1:] == [7, 3]
    assert [(item["name"], item["value"], item["who"]) for item in history] == [
        ("pack_size", None, "local"),
        ("pack_size", 7, "local"),
    ]
    assert last["source"] == "built-in"


@pytest.mark.parametrize(
    "policy",
    [
        {"pack_size": 1000},
        {"pack_siez": 3},
        {"route": "slow"},
        {"max_calls": 1, "max_tries": 5},
        {"pack_size": 5, "temperature": 9},
        {"limits": "night"},  # no profile has this name
        {"embedder": "simulated/none"},
        {"embedder": "nobody"},
    ],
)
def test_what_cannot_hold_changes_nothing(tmp_path: Path, policy: dict[str, object]) -> None:
    with open_site(tmp_path) as client:
        answer = client.put("/v1/policy", json={"policy": policy})
        history = client.get("/v1/policy/history").json()["items"]

    assert answer.status_code in {404, 422}  # 404: what is named is not there
    assert answer.json()["error"]["message"]
    assert history == []


def test_a_profile_that_was_made_may_be_decided_for(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        site: Site = client.app.state.site  # type: ignore[attr-defined]  # it is ours
        site.engine("local").limits.set("simulated/small", {"requests": 9}, "night")
        decided = client.put("/v1/policy", json={"policy": {"limits": "night"}})

    assert decided.status_code == 200, decided.text
