"""What is refused whoever asks: other names of the host, and pages of other sites."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from quire.server.guard import MAX_BODY
from tests.server.sites import open_site


@pytest.mark.parametrize("host", ["localhost", "LocalHost:8321", "127.0.0.1:9", "[::1]", "[::1]:8"])
def test_names_of_this_machine_are_answered(tmp_path: Path, host: str) -> None:
    with open_site(tmp_path) as client:
        answer = client.get("/v1/health", headers={"Host": host})

    assert answer.status_code == 200
    assert answer.json()["status"] == "ok"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "",
        "localhost:8321.evil",
        "localhost:8, evil",
    ],
)
def test_a_name_that_is_not_ours_is_refused(tmp_path: Path, host: str) -> None:
    with open_site(tmp_path) as client:
        answer = client.get("/v1/health", headers={"Host": host})

    assert answer.status_code == 403
    assert answer.json()["error"]["kind"] == "Forbidden"


def test_a_page_of_another_site_changes_nothing(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        strange = client.post("/v1/runs", headers={"Origin": "http://evil.example"})
        crossed = client.post("/v1/runs", headers={"Sec-Fetch-Site": "cross-site"})

    assert (strange.status_code, crossed.status_code) == (403, 403)


def test_every_answer_says_what_pages_may_do(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        answers = [client.get(path) for path in ("/", "/v1/me", "/v1/nothing", "/static/quire.css")]

    for answer in answers:
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_a_body_in_pieces_above_the_limit_is_too_large(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"name": "'
        for _ in range(MAX_BODY // 65536 + 1):
            yield b"x" * 65536
        yield b'"}'

    with open_site(tmp_path) as client:
        kind = {"Content-Type": "application/json"}
        answer = client.post("/v1/wallets", content=pieces(), headers=kind)

    assert answer.status_code == 413
    assert "larger than" in answer.json()["error"]["message"]
