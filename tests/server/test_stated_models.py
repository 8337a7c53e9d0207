"""Models with an address in their name: over a network an admin says which there are."""

from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from quire.domain.access import AccessRole
from quire.domain.data import Json
from quire.server.site import Site
from tests.server.review_sites import sign_in
from tests.server.sites import SCHEMA, open_site, upload

OWN = "compatible/x@http://127.0.0.1:9/v1"
NAMING: dict[str, dict[str, Json]] = {
    "model": {"model": OWN},
    "models": {"models": ["simulated/small", OWN]},
    "other case": {"model": OWN.replace("http", "HTTP")},
    "policy": {"model": "simulated/small", "policy": {"embedder": OWN}},
    "parameters": {"model": "simulated/small", "parameters": {"judge": [OWN]}},
    "schema": {"schema": {**SCHEMA, "prompt_config": {"model": OWN}}},
}


def refusal(client: TestClient, path: str, body: object) -> str:
    """What a request is refused with, for its model's address."""
    answer = client.post(path, json=body)
    assert answer.status_code == 403, answer.text
    return f"{answer.json()['error']['message']}; {answer.json()['error']['fix']}"


@pytest.mark.parametrize("naming", NAMING)
@pytest.mark.parametrize("path", ["/v1/plans", "/v1/runs"])
def test_an_operator_names_no_address(tmp_path: Path, path: str, naming: str) -> None:
    with open_site(tmp_path) as client:
        upload(client)
        sign_in(client, "Ann", AccessRole.OPERATOR)
        said = refusal(client, path, {"schema": SCHEMA, **NAMING[naming]})
        runs = client.get("/v1/runs").json()["items"]

    assert "an admin adds it to [models] of quire.toml" in said
    assert runs == []


def test_an_operator_names_no_address_for_a_draft(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        upload(client)
        sign_in(client, "Ann", AccessRole.OPERATOR)
        refusal(client, "/v1/schemas/draft", {"wish": "parties", "model": OWN})


def test_an_operator_uses_no_kept_schema_that_names_an_address(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        upload(client)
        sign_in(client, "Ann", AccessRole.OPERATOR)
        body = {**SCHEMA, "prompt_config": {"model": OWN}}
        client.post("/v1/schemas", json={"body": body, "name": "kept"}).raise_for_status()
        refusal(client, "/v1/runs", {"schema": "kept"})


@pytest.mark.parametrize("who", ["an admin", "whoever sits here", "an operator who was told"])
def test_an_address_that_may_be_named_is_planned_with(tmp_path: Path, who: str) -> None:
    with open_site(tmp_path) as client:
        upload(client)
        site: Site = client.app.state.site  # type: ignore[attr-defined]
        context = site.engine("local").context
        if who == "an admin":
            sign_in(client, "Ann", AccessRole.ADMIN)
        if who == "an operator who was told":
            sign_in(client, "Ann", AccessRole.OPERATOR)
            context.settings = replace(context.settings, models={OWN: {"window": 8000}})
        answer = client.post("/v1/plans", json={"schema": SCHEMA, "model": OWN})

    assert answer.status_code == 200, answer.text
