"""The page of the HTTP API: its examples are requests that a server takes."""

import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from quire.domain.access import AccessRole
from quire.domain.data import Json
from quire.domain.runs import HeldError
from tests.docs.http_page import (
    FORM,
    Route,
    example_body,
    example_form,
    http_page,
    read_document,
    routes,
)
from tests.server.review_sites import sign_in
from tests.server.sites import open_site, start_run, work

UNDOES_BULK = "POST /v1/runs/{run}/bulk/undo"
WAIVES = "POST /v1/runs/{run}/waive"
SIGNS_IN = "POST /v1/signin"
STOPS_AFTER = "POST /v1/runs/{run}/stop-after"
KEEPS_OWN_KEY = "POST /v1/me/keys"
NOTHING_FITS: dict[str, Json] = {
    "title": "unanswered",
    "type": "object",
    "properties": {"code": {"type": "string", "pattern": "^(?!.)x$"}},
    "required": ["code"],
}


def test_the_page_tells_of_every_route_and_of_fields_that_may_be_left_out_together() -> None:
    page = http_page()
    named = [route.title for route in routes(read_document()) if f"### {route.title}\n" in page]
    _, _, resuming = page.partition("### POST /v1/runs/{run}/resume\n")

    assert len(named) == len(list(routes(read_document()))) > 80
    assert "| `budget_usd` | body | Number above 0 up to 1,000,000." in resuming.split("###")[0]


def test_every_body_has_an_example_that_a_server_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where the file goes that guards kept keys
    document = read_document()
    with_body = [route for route in routes(document) if "requestBody" in route.said]
    with open_site(tmp_path) as client:
        _fill(client)
        sign_in(client, "Ann", AccessRole.ADMIN)  # nobody has keys of their own without a name
        answers = {route.title: _take(client, document, route) for route in with_body}

    assert len(answers) > 30
    assert {title: said for title, said in answers.items() if not said.startswith("20")} == {}


def _fill(client: TestClient) -> None:
    """What the examples are about: the example's run, an audit, two wallets."""
    client.post("/v1/examples")
    run = start_run(client, schema="clauses")
    work(client, run)
    client.post(f"/v1/runs/{run}/audits", json={"size": 20, "tolerance": 0.1, "who": "Bea"})
    client.post("/v1/wallets", json={"name": "spare"})


def _take(client: TestClient, document: dict[str, Any], route: Route) -> str:
    """What a server answers to the example of a route."""
    path = re.sub(r"{name}", "team", re.sub(r"{\w+}(?<!{name})", "1", route.path))
    if FORM in route.said["requestBody"]["content"]:
        form = example_form(route)
        files = [(key, (f"{key}.md", text)) for key, texts in form.items() for text in texts]
        return f"{(answer := client.post(path, files=files)).status_code} {answer.text}"
    body = example_body(document, route)
    if body is None:
        return "no example"
    if route.title == SIGNS_IN:  # a token is told to nobody but who made it
        asked = {"name": "eve", "role": "viewer"}
        body["token"] = client.post("/v1/tokens", json=asked).json()["token"]
    if route.title == KEEPS_OWN_KEY:  # no key is kept twice, and the workspace's was a moment ago
        assert client.delete("/v1/keys/anthropic/default").status_code == 200
    if route.title == STOPS_AFTER:  # a finished run has nothing to stop: something is owed again
        assert client.post("/v1/tasks/2/reject", json={"note": "No."}).status_code == 200
    if route.title == UNDOES_BULK:  # which decisions were made at once, no example can know
        asked = {"move": "approve", "filter": ""}
        assert client.post("/v1/runs/1/bulk", json=asked).json()["decided"] > 1
        body["decision"] = client.get("/v1/runs/1/decisions").json()["items"][0]["id"]
    if route.title == WAIVES:
        path, body = _make_waivable(client, body)
    answer = client.request(route.method, path, json=body)
    return f"{answer.status_code} {answer.text}"


def _make_waivable(client: TestClient, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """An exact run waits for its failed tasks; which they are, no example can know."""
    policy = {"completion_mode": "exact", "max_tries": 1}
    run = start_run(client, schema=NOTHING_FITS, policy=policy, documents=[2])
    with pytest.raises(HeldError):
        work(client, run)
    failed = client.get(f"/v1/runs/{run}/results?state=failed&limit=2").json()["items"]
    assert len(failed) == len(body["tasks"])
    return f"/v1/runs/{run}/waive", {"tasks": [line["task_id"] for line in failed]}
