"""Odd requests: what cannot be is said in one line, and an error of ours keeps its headers."""

import html
import logging
from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi import FastAPI

from quire.server.guard import HEADERS
from quire.server.site import SiteSettings
from tests.server.review_sites import answer_texts, clauses
from tests.server.sites import TEXT, open_site

MANY = "9" * 25


@pytest.mark.parametrize("path", ["/v1/broken", "/broken"])
def test_an_error_of_ours_tells_nothing_of_the_inside_and_has_all_headers(
    tmp_path: Path, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with open_site(tmp_path) as client:
        assert isinstance(client.app, FastAPI)

        @client.app.get(path)
        def break_down() -> None:
            raise ZeroDivisionError("a secret of the inside")

        with caplog.at_level(logging.ERROR):
            answer = client.get(path, headers={"Accept": "text/html"})

    assert answer.status_code == 500
    if path.startswith("/v1/"):
        assert answer.json()["error"]["kind"] == "InternalError"
    else:
        assert "its log says what" in answer.text
    assert "a secret" not in answer.text
    assert "ZeroDivisionError: a secret" in caplog.text
    assert {name.lower() for name in HEADERS} <= set(answer.headers)


@pytest.mark.parametrize(
    "path",
    [
        f"/v1/documents/{2**63 - 1}",
        f"/documents/{2**63 - 1}",
        f"/v1/runs/1/decisions?cursor={MANY}",
        f"/runs/1/decisions?cursor={MANY}",
        f"/runs/1/decisions?task={MANY}",
        f"/runs/1/review?item={MANY}",
        f"/v1/runs/1/inbox?cursor=1.{MANY}",
        f"/v1/runs/1/inbox?cursor={MANY}.1&filter=order%3Ddocument",
        "/v1/runs/1/export?since=0001-01-01T00:00:00%2B23:00",
        "/v1/runs/1/export?since=9999-12-31T23:59:59-23:00",
        "/v1/runs/1/inbox?filter=" + quote("field.headline=" + "[" * 3900),
    ],
)
def test_what_no_ledger_holds_is_refused(tmp_path: Path, path: str) -> None:
    answer_texts(tmp_path, clauses(1))
    with open_site(tmp_path) as client:
        answer = client.get(path)

    assert answer.status_code == 422
    assert answer.json()["error"]["message"]


def test_a_draft_may_not_cost_more_than_there_is(tmp_path: Path) -> None:
    asked = {"wish": "parties", "model": "simulated/small", "max_cost_usd": 1e300}
    with open_site(tmp_path) as client:
        answer = client.post("/v1/schemas/draft", json=asked)

    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith("max_cost_usd")


@pytest.mark.parametrize("name", ["\u6f22" * 200 + ".md", "a." + "\u6f22" * 190])
def test_a_name_of_many_bytes_loses_no_upload(tmp_path: Path, name: str) -> None:
    files = [("files", (name, TEXT.encode())), ("files", ("good.md", b"Good words."))]
    with open_site(tmp_path) as client:
        answer = client.post("/v1/documents", files=files)

    assert answer.status_code == 201
    assert "good.md" in {document["title"] for document in answer.json()["documents"]}


def test_a_file_with_two_names_is_refused(tmp_path: Path) -> None:
    header = b'Content-Disposition: form-data; name="files"; filename="%b.md"\r\n'
    body = b"--B\r\n" + header % b"a" + header % b"b" + b"\r\nhello\r\n--B--\r\n"
    with open_site(tmp_path) as client:
        kind = {"Content-Type": "multipart/form-data; boundary=B"}
        answer = client.post("/v1/documents", content=body, headers=kind)

    assert answer.status_code == 422
    assert "two names" in answer.json()["error"]["message"]


def test_a_number_of_any_size_is_shown_exactly(tmp_path: Path) -> None:
    task = answer_texts(tmp_path, clauses(1))[0]
    large = int("9" * 400)
    with open_site(tmp_path) as client:
        path = f"/v1/tasks/{task}/edit"
        edited = client.post(path, json={"who": "Ann", "changes": {"words": large}})
        rows = client.get("/v1/runs/1/rows")

    assert edited.status_code == 200
    assert rows.status_code == 200
    assert f":{large}" in rows.text


def test_nothing_but_our_own_files_is_kept_by_browsers(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        pages = [client.get(path) for path in ("/", "/v1/me", "/v1/tokens", "/v1/runs/9/export")]
        style = client.get("/static/quire.css")

    assert {page.headers["Cache-Control"] for page in pages} == {"no-store"}
    assert "Cache-Control" not in style.headers


@pytest.mark.parametrize(
    "wanted",
    [
        "/.//evil.example/x",
        "//evil.example/?a=/runs",
        "/\\evil.example?a=1",
        '/runs?a="><script>',
        "/runs?a\n=1",
        "http://localhost//evil.example",
        "//evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "javascript:alert(1)",
        "http://[",
    ],
)
def test_signing_in_leads_to_no_other_site(tmp_path: Path, wanted: str) -> None:
    assert _place_after_sign_in(tmp_path, wanted) == "/"


@pytest.mark.parametrize(
    "wanted",
    [
        "/runs/3/review",
        "/runs/3/review?filter=reason%3Drepaired+text%3Drent%27s&item=412",
        "/?a=//b",
    ],
)
def test_signing_in_leads_to_where_one_wanted_to_go(tmp_path: Path, wanted: str) -> None:
    with open_site(tmp_path, SiteSettings(local=False)) as client:
        asked = client.get(wanted, headers={"Accept": "text/html"}, follow_redirects=False)
        form = client.get(asked.headers["location"]).text

    assert html.unescape(_next_place(form)) == wanted


def _place_after_sign_in(folder: Path, wanted: str) -> str:
    with open_site(folder) as client:
        page: str = client.get("/signin", params={"next": wanted}).text
    return _next_place(page)


def _next_place(form: str) -> str:
    return form.partition('data-next="')[2].partition('"')[0]


@pytest.mark.parametrize("amount", [True, "5", None, [1]])
def test_only_numbers_are_dollars(tmp_path: Path, amount: object) -> None:
    with open_site(tmp_path) as client:
        client.post("/v1/wallets", json={"name": "w"})
        answer = client.post("/v1/wallets/w/credit", json={"amount_usd": amount})
        whole = client.post("/v1/wallets/w/credit", json={"amount_usd": 5})

    assert answer.status_code == 422
    assert whole.status_code == 200
