"""POST /v1/schemas/draft."""

from pathlib import Path

from tests.server.sites import open_site


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
