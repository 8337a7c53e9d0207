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


def test_wallet_and_budget_of_a_workspace_bind_runs_that_begin_and_name_none(
    tmp_path: Path, ledger_url: str
) -> None:
    with open_site(tmp_path, place=ledger_url) as client:
        upload(client)
        engine = client.app.state.site.engine("local")  # type: ignore[attr-defined]  # it is ours
        engine.wallets.create("team", 50)
        engine.wallets.create("other", 50)
        before = start_run(client, new=True)
        shown = client.put("/v1/policy", json={"policy": {"wallet": "team", "budget": "$2.50"}})
        bound = start_run(client, new=True)
        said = start_run(client, new=True, wallet="other", budget_usd=1)
        client.put("/v1/policy", json={"policy": {"budget": 9}})
        again = start_run(client)  # goes on with the newest
        page = client.get("/new").text
        client.put("/v1/policy", json={"policy": {"wallet": None, "budget": None}})
        last = client.get("/v1/policy").json()["policy"]
        runs = [client.get(f"/v1/runs/{run}").json()["money"] for run in (before, bound, said)]

    assert shown.json()["policy"]["budget"] == {"value": "$2.50", "source": "workspace"}
    assert shown.json()["policy"]["wallet"] == {"value": "team", "source": "workspace"}
    assert (last["wallet"], last["budget"]) == ({"value": None, "source": "built-in"},) * 2
    assert runs[0] is None
    assert [(run["wallet"], run["budget_usd"]) for run in runs[1:]] == [("team", 2.5), ("other", 1)]
    assert again == said
    assert ('data-usual="9"' in page, "team, by policy" in page) == (True, True)


@pytest.mark.parametrize(
    "policy",
    [
        {"pack_size": 1000},
        {"pack_siez": 3},
        {"route": "slow"},
        {"max_calls": 1, "max_tries": 5},
        {"pack_size": 5, "temperature": 9},
        {"wallet": "nobodys"},
        {"budget": 0},
        {"budget": "five"},
        {"budget": True},
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
