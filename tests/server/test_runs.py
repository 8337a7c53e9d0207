"""Runs over HTTP: planned, started, steered, looked at and exported."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.server.sites import SCHEMA, open_site, start_run, upload, work


def test_a_run_goes_from_a_plan_to_an_export(tmp_path: Path, ledger_url: str) -> None:
    with open_site(tmp_path, place=ledger_url) as client:
        upload(client)
        plan = client.post("/v1/plans", json={"schema": SCHEMA, "model": "simulated/small"}).json()
        run = start_run(client)
        work(client, run)
        status = client.get(f"/v1/runs/{run}").json()
        lines = client.get(f"/v1/runs/{run}/export").text.splitlines()
        table = client.get(f"/v1/runs/{run}/export?format=csv")

    assert plan["blocks"] == 12
    assert (status["state"], status["done"], status["failed"]) == ("finished", 12, 0)
    assert len(lines) == 12
    assert json.loads(lines[0])["user_defined"]["status"] == "accepted"
    assert table.headers["content-disposition"] == f'attachment; filename="run_{run}.csv"'
    assert len(table.text.splitlines()) == 13


def test_a_plan_keeps_no_schema(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        upload(client)
        client.post("/v1/plans", json={"schema": SCHEMA, "model": "simulated/small"})
        kept = client.get("/v1/schemas").json()["items"]

    assert kept == []


@pytest.mark.parametrize("format", ["jsonl", "csv", "tsv", "parquet", "xlsx"])
def test_an_export_is_what_the_command_line_writes(tmp_path: Path, format: str) -> None:
    with open_site(tmp_path) as client:
        upload(client)
        run = start_run(client)
        work(client, run)
        engine = client.app.state.site.engine("local")  # type: ignore[attr-defined]
        there = tmp_path / f"out.{format}"
        engine.get(run).export(str(there))
        streamed = client.get(f"/v1/runs/{run}/export?format={format}")

    assert streamed.status_code == 200
    if format != "xlsx":  # which holds the moment it was made
        assert streamed.content == there.read_bytes()


def test_a_manifest_changes_when_results_do(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        upload(client)
        run = start_run(client)
        before = client.get(f"/v1/runs/{run}/export/manifest").json()
        work(client, run)
        after = client.get(f"/v1/runs/{run}/export/manifest").json()
        again = client.get(f"/v1/runs/{run}/export/manifest").json()
        task = json.loads(client.get(f"/v1/runs/{run}/export").text.splitlines()[0])
        engine = client.app.state.site.engine("local")  # type: ignore[attr-defined]
        engine.approve(engine.get(run).rows()[0]["task_id"], "ann")
        decided = client.get(f"/v1/runs/{run}/export/manifest").json()
        required = start_run(client, policy={"review": "required"})
        work(client, required)
        waiting = client.get(f"/v1/runs/{required}/export/manifest").json()
        lines = client.get(f"/v1/runs/{required}/rows").text.splitlines()

    assert decided["rows"] == {"accepted": 11, "confirmed": 1}
    assert waiting["rows"] == Counter(json.loads(line)["status"] for line in lines)
    assert waiting["rows"]["unreviewed"] == 11
    assert task["user_defined"]["status"] == "accepted"
    assert (before["rows"], after["rows"]) == ({"pending": 12}, {"accepted": 12})
    assert (after["schema"], after["schema_version"]) == ("clause", 1)
    assert after == again
    assert len({before["hash"], after["hash"], decided["hash"]}) == 3


def test_a_command_given_twice_is_carried_out_once(tmp_path: Path) -> None:
    key = {"Idempotency-Key": "once"}
    with open_site(tmp_path) as client:
        upload(client)
        order = {"schema": SCHEMA, "model": "simulated/small", "new": True}
        started = [client.post("/v1/runs", json=order, headers=key).json() for _ in range(2)]
        run = started[0]["run"]
        first = client.post(f"/v1/runs/{run}/pause", headers={"Idempotency-Key": "p"}).json()
        client.post(f"/v1/runs/{run}/resume")
        second = client.post(f"/v1/runs/{run}/pause", headers={"Idempotency-Key": "p"}).json()
        standing = client.get(f"/v1/runs/{run}").json()["holds"]

    assert [item["run"] for item in started] == [run, run]
    assert (first["changed"], second["changed"], standing) == (True, False, [])


def test_runs_are_steered(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        upload(client)
        run = start_run(client)
        paused = client.post(f"/v1/runs/{run}/pause").json()
        held = client.get(f"/v1/runs/{run}").json()
        resumed = client.post(f"/v1/runs/{run}/resume", json={"budget_usd": 1.5}).json()
        cancelled = client.post(f"/v1/runs/{run}/cancel").json()
        ended = client.get("/v1/runs?state=cancelled").json()["items"]
        late = client.post(f"/v1/runs/{run}/pause")

    assert (paused["changed"], resumed["changed"], cancelled["changed"]) == (True, True, True)
    assert held["standing"] == "held"
    assert [item["run"] for item in ended] == [run]
    assert late.status_code == 409
    assert late.json()["error"]["kind"] == "IllegalMove"


def test_runs_calls_and_events_come_page_by_page(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        upload(client)
        runs = [start_run(client, new=True, policy={"pack_size": 1}) for _ in range(3)]
        work(client, runs[0])

        def pages(path: str) -> list[dict[str, Any]]:
            found, cursor = [], None
            while True:
                page = client.get(path, params={"limit": 2, "cursor": cursor}).json()
                assert len(page["items"]) <= 2
                found += page["items"]
                cursor = page["next"]
                if cursor is None:
                    return found

        listed = [item["run"] for item in pages("/v1/runs")]
        calls = pages(f"/v1/runs/{runs[0]}/calls")
        events = [item["id"] for item in pages(f"/v1/runs/{runs[0]}/events")]
        call = client.get(f"/v1/calls/{calls[0]['id']}").json()

    assert listed == runs[::-1]
    assert len(calls) == 12
    assert events == sorted(set(events))
    assert call["attempts"][0]["state"] == "settled"


def test_failures_batches_policy_spend_and_forecast_are_shown(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        upload(client)
        run = start_run(client)
        work(client, run)
        shown = {
            name: client.get(f"/v1/runs/{run}/{name}")
            for name in ("failures", "batches", "policy", "spend", "forecast")
        }
        whole = client.get("/v1/spend?by=model").json()

    assert {name: answer.status_code for name, answer in shown.items()} == dict.fromkeys(shown, 200)
    assert shown["failures"].json() == {"items": [], "next": None}
    assert shown["policy"].json()["policy"]["pack_size"]["source"] == "built-in"
    assert shown["spend"].json()["total"]["calls"] == whole["total"]["calls"] > 0
    assert shown["forecast"].json()["rows"][0]["stage"]


def test_schemas_recipes_and_models_are_shown(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        kept = client.post("/v1/schemas", json={"body": SCHEMA}).json()
        other = {**SCHEMA, "required": ["party"]}
        refused = client.post("/v1/schemas", json={"body": other, "new_version": False})
        newer = client.post("/v1/schemas", json={"body": other}).json()
        shown = client.get("/v1/schemas/clause@1").json()
        wrong = client.post("/v1/schemas/check", json={"body": {"type": "object"}}).json()
        recipes = client.get("/v1/recipes").json()["items"]
        recipe = client.get(f"/v1/recipes/{recipes[0]['name']}").json()
        models = client.get("/v1/models?q=simulated").json()["items"]

    assert (kept["version"], newer["version"], refused.status_code) == (1, 2, 409)
    assert shown["body"]["properties"] == SCHEMA["properties"]
    assert wrong["mistakes"]
    assert recipe["graph"]["stages"]
    assert {"simulated/small", "simulated/large"} <= {model["name"] for model in models}


@pytest.mark.parametrize("name", ["/etc/passwd", "../x.toml", "recipe.toml", "none"])
def test_no_file_of_this_machine_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "recipe.toml").write_text("name = 'x'")
    stage = f'[[stages]]\nname = "a"\nabout = "each_block"\nschema = "{name}"\n'
    with open_site(tmp_path) as client:
        run = client.post("/v1/runs", json={"recipe": name, "model": "simulated/small"})
        schema = client.post("/v1/plans", json={"schema": name, "model": "simulated/small"})
        checked = client.post("/v1/recipes/check", json={"text": f'name = "r"\n{stage}'}).json()

    assert (run.status_code, schema.status_code) == (404, 404)
    assert any("not read here" in mistake["message"] for mistake in checked["mistakes"])


def test_wallets_are_made_filled_and_moved(tmp_path: Path) -> None:
    key = {"Idempotency-Key": "pay"}
    with open_site(tmp_path) as client:
        for name in ("team", "other"):
            client.post("/v1/wallets", json={"name": name})
        for _ in range(2):
            client.post("/v1/wallets/team/credit", json={"amount_usd": 5}, headers=key)
        moved = client.post(
            "/v1/wallets/transfer", json={"source": "team", "target": "other", "amount_usd": 2}
        )
        found = client.get("/v1/wallets").json()["items"]
        entries = client.get("/v1/wallets/team/entries?limit=1").json()
        earlier = client.get(f"/v1/wallets/team/entries?cursor={entries['next']}").json()

    assert moved.status_code == 200
    assert {item["wallet"]: item["balance_usd"] for item in found} == {"team": 3, "other": 2}
    assert [item["kind"] for item in (*entries["items"], *earlier["items"])] == [
        "transfer",
        "credit",
    ]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/runs", b"{"),
        ("/v1/runs", b'{"schema": "a\\u0000b"}'),
        ("/v1/runs", b'{"schema": "\\ud800"}'),
        ("/v1/runs", b'{"schema": "x", "limit": 99999999999999999999}'),
        ("/v1/runs", b'{"schema": "x", "limit": 0}'),
        ("/v1/runs", b'{"schema": "x", "limit": -3}'),
        ("/v1/runs", b'{"schema": "x", "budget_usd": 0}'),
        ("/v1/runs", b'{"schema": "x", "budget_usd": -3}'),
        ("/v1/runs", b'{"schema": "x", "budget_usd": "$5"}'),
        ("/v1/runs", b'{"schema": "x", "max_cost_usd": 1e999}'),
        ("/v1/runs", b'{"schema": ["x"]}'),
        ("/v1/runs", b'{"surprise": 1}'),
        ("/v1/runs", b'{"schema": "x", "policy": {"pack_siez": 3}}'),
        ("/v1/runs", b"[" * 100_000),
        ("/v1/wallets", b'{"name": ""}'),
    ],
)
def test_hostile_bodies_get_one_clear_line(tmp_path: Path, path: str, body: bytes) -> None:
    with open_site(tmp_path) as client:
        answer = client.post(path, content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code in (400, 404, 422), answer.text
    assert answer.json()["error"]["message"].count("\n") == 0


@pytest.mark.parametrize(
    "path",
    [
        "/v1/runs/99999999999999999999",
        "/v1/runs/0",
        "/v1/runs/x",
        "/v1/runs?cursor=nonsense",
        "/v1/runs?cursor=WyJ4Il0",
        "/v1/runs?limit=501",
        "/v1/documents?cursor=%00",
        "/v1/runs/%00",
        "/v1/spend?by=%F0%9F%92%A5",
    ],
)
def test_hostile_addresses_get_one_clear_line(tmp_path: Path, path: str) -> None:
    with open_site(tmp_path) as client:
        answer = client.get(path)

    assert answer.status_code in (400, 404, 422), answer.text
    assert answer.json()["error"]["message"]
