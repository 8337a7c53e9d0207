"""Audits over HTTP: a sample that is drawn again alike, marks, and rates that can be recomputed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from quire.server.access import AccessRole
from tests.server.review_sites import answer_texts, clauses, sign_in
from tests.server.sites import open_site
from tests.server.test_reviews import get, post

FIELDS = ("kind", "headline", "party", "terms", "words", "asks")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """A site with a run of twelve results."""
    answer_texts(tmp_path, clauses(12))
    with open_site(tmp_path) as client:
        yield client


def start(client: TestClient, code: int = 201, **asked: Any) -> dict[str, object]:
    answer: dict[str, object] = post(client, "/v1/runs/1/audits", code, who="Ann", **asked)
    return answer


def test_the_same_words_go_on_with_the_same_sample(client: TestClient) -> None:
    first = start(client, size=5, seed=3)
    again = start(client, size=5, seed=3)
    other = start(client, size=5, seed=4)

    assert first == again
    assert other["id"] != first["id"]
    assert (first["size"], first["population"], first["marked"]) == (5, 12, 0)
    assert [head["id"] for head in get(client, "/v1/runs/1/audits")["items"]] == [1, 2]


def test_an_item_says_nothing_of_who_made_it(client: TestClient) -> None:
    start(client, size=5)

    item = get(client, "/v1/audits/1/next")["item"]

    assert item == get(client, "/v1/audits/1/items/0")
    assert [field["name"] for field in item["fields"]] == list(FIELDS)
    assert not {"model", "critics", "score", "reviewer", "decisions"} & set(item)


def test_marks_give_rates_and_marking_again_replaces(client: TestClient) -> None:
    start(client, size=4, tolerance=0.5)
    right = dict.fromkeys(FIELDS, "right")

    for no in range(3):
        post(client, "/v1/audits/1/marks", who="Ann", no=no, marks=right)
    post(client, "/v1/audits/1/marks", who="Ann", no=3, marks={**right, "party": "unsure"})
    again = post(client, "/v1/audits/1/marks", who="Bo", no=0, marks={**right, "party": "wrong"})

    rates = {rate["field"]: rate for rate in again["fields"]}
    assert (rates["party"]["right"], rates["party"]["wrong"], rates["party"]["unsure"]) == (2, 1, 1)
    assert rates["party"]["rate"] == pytest.approx(1 / 3)
    assert rates["kind"]["high"] == pytest.approx(1 - 0.025 ** (1 / 4))  # none of four is wrong
    assert again["complete"] is True
    assert get(client, "/v1/audits/1") == again
    assert get(client, "/v1/audits/1/next")["item"] is None


def test_what_is_wrong_with_a_mark_or_a_start_is_said(client: TestClient) -> None:
    start(client, size=2)

    for marks in ({"kind": "right"}, {**dict.fromkeys(FIELDS, "right"), "colour": "wrong"}):
        post(client, "/v1/audits/1/marks", 422, who="Ann", no=0, marks=marks)
    post(client, "/v1/audits/1/marks", 422, who="Ann", no=0, marks=dict.fromkeys(FIELDS, "maybe"))
    post(client, "/v1/audits/1/marks", 404, who="Ann", no=9, marks=dict.fromkeys(FIELDS, "right"))
    get(client, "/v1/audits/7", 404)
    start(client, 422, size=0)
    start(client, 422, tolerance=1.5)
    nameless = post(client, "/v1/runs/1/audits", 422)

    assert "say who" in nameless["error"]["message"]
    assert get(client, "/v1/audits/1")["head"]["marked"] == 0


def test_a_viewer_sees_rates_and_no_items(client: TestClient) -> None:
    start(client, size=2)
    sign_in(client, "Vi", AccessRole.VIEWER)

    get(client, "/v1/audits/1")
    get(client, "/v1/audits/1/next", 403)
    get(client, "/v1/audits/1/items/0", 403)
    post(client, "/v1/audits/1/marks", 403, no=0, marks={})
    page = client.get("/audits/1").text

    assert "data-act" not in page
    assert "Error rates" in page
