"""The demo, looked at: every item of every stage, and whatever its pages lead to, is there."""

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from urllib.parse import urljoin

import pytest
from fastapi.testclient import TestClient

from quire.engine import open_engine
from quire.web.demo import fill_demo
from tests.server.sites import OWN_HOST, open_site


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A site that shows the demo."""
    folder = tmp_path_factory.mktemp("demo")
    with open_engine(str(folder / "quire.db"), environment={}) as engine:
        fill_demo(engine)
    with open_site(folder) as made:
        yield made


def _items(client: TestClient, run: int) -> list[dict[str, object]]:
    items: list[dict[str, object]] = []
    cursor = ""
    while True:
        asked = {"cursor": cursor} if cursor else {}
        page = client.get(f"/v1/runs/{run}/inbox", params=asked).raise_for_status().json()
        items += page["items"]
        if not (cursor := page["next"]):
            return items


def test_every_item_can_be_reviewed_and_audited(client: TestClient) -> None:
    runs = [run["run"] for run in client.get("/v1/runs").json()["items"]]
    items = [(run, item) for run in runs for item in _items(client, run)]
    stages = {(run, str(item["stage"])) for run, item in items}

    paths = [f"/v1/tasks/{item['task_id']}" for _, item in items]
    paths += [f"/runs/{run}/review?item={item['task_id']}" for run, item in items]
    for run, stage in stages:
        wish = {"who": "Ann", "stage": stage, "size": 2}
        number = client.post(f"/v1/runs/{run}/audits", json=wish).raise_for_status().json()["id"]
        paths += [f"{start}/audits/{number}/items/{no}" for start in ("", "/v1") for no in (0, 1)]

    assert len(stages) > 4
    assert [path for path in paths if client.get(path).status_code != 200] == []


@pytest.mark.parametrize("most", [2, pytest.param(20, marks=pytest.mark.soak)])
def test_every_link_leads_somewhere(client: TestClient, most: int) -> None:
    """Of each kind of page so many are looked at, of however many there are."""
    seen, alike, broken, waiting = {"/"}, Counter[str](), list[tuple[str, int]](), ["/"]
    while waiting:
        path = waiting.pop(0)
        page = client.get(path, headers={"Accept": "text/html"})
        if page.status_code != 200:
            broken.append((path, page.status_code))
        if "text/html" not in page.headers.get("content-type", ""):
            continue
        for link in re.findall(r"""\shref=["']([^"'#]+)""", page.text):
            target = urljoin(f"{OWN_HOST}{path}", unescape(link)).removeprefix(OWN_HOST)
            kind = re.sub(r"\d+|(?<==)[^&]*", "N", target)
            if target not in seen and target.startswith("/") and alike[kind] < most:
                seen.add(target)
                alike[kind] += 1
                waiting.append(target)

    assert broken == []
    assert len(alike) > 30  # kinds of pages
