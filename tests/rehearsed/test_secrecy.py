"""A key is in nothing that a run leaves behind, even where a server repeats it in its errors."""

import base64
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from typer.testing import CliRunner, Result

from quire.cli import app
from tests.accounts.test_secrecy import TABLES
from tests.cli.conftest import Quire
from tests.ledger.raw import Raw
from tests.rehearsed.conftest import Serve
from tests.rehearsed.front_proxy import Answer, front_proxy
from tests.rehearsed.rehearsed import ANTHROPIC, GEMINI, OPENAI
from tests.rehearsed.test_keys import VARIABLE, keep
from tests.world import METADATA, sentences

FOUND = "sk-ant-AIza-found+outside/which=is~long-enough-7531"
STORED = "sk-ant-AIza-kept+inside/which=is~long-enough-8642"
BASE = {
    OPENAI: ("OPENAI_BASE_URL", "/v1"),
    ANTHROPIC: ("ANTHROPIC_BASE_URL", ""),
    GEMINI: ("GOOGLE_GEMINI_BASE_URL", ""),
}
PLAIN = {"Content-Type": "text/plain"}
PAGE = {"Content-Type": "text/html"}


def repeating(number: int, key: str) -> Answer | None:
    """Say the key back in every kind of error, then let calls in; the stored one never is."""
    said = {"error": {"message": f"Bad key {key}, really {key}!", "type": key, "code": key}}
    words = json.dumps(said).encode()
    if key == STORED:
        return Answer(401, words, {"x-request-id": key})
    answers = {
        1: Answer(500, words, {}),
        2: Answer(429, words, {"Retry-After": "0"}),
        3: Answer(400, words, {"WWW-Authenticate": key}),
        4: Answer(503, f"{key} {quote(key, safe='')}".encode(), PLAIN),
        5: Answer(502, f"<html><title>{key}</title></html>".encode(), PAGE),
        6: Answer(500, json.dumps([{"error": key}]).encode(), {}),
        7: Answer(529, key.encode("utf-16"), PLAIN),
        8: Answer(500, b'{"error": {"message": "' + key.encode(), {}),
        9: Answer(413, words, {}),
        10: Answer(404, words, {}),
    }
    return answers.get(number)


@pytest.mark.parametrize(
    ("ledger_url", "asks"),
    [("sqlite", OPENAI), ("sqlite", ANTHROPIC), ("postgres", GEMINI)],
    indirect=["ledger_url"],
)
def test_no_key_is_in_anything_that_a_run_leaves_behind(
    serve: Serve,
    ledger_url: str,
    asks: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    server = serve()
    (tmp_path / "notes.txt").write_text("\n\n".join(sentences(20)))
    (tmp_path / "metadata.json").write_text(json.dumps(METADATA))
    monkeypatch.setenv("QUIRE_DEBUG", "1")
    monkeypatch.setenv("QUIRE_LEDGER", ledger_url)
    monkeypatch.setenv(VARIABLE[asks], FOUND)
    quire, provider = Quire(), asks.partition("/")[0]
    quire("ingest", "notes.txt")
    keep(provider, STORED)
    watching = Raw(ledger_url)  # keeps SQLite's log where it is
    watching.rows("SELECT count(*) FROM runs")

    with front_proxy(repeating, server.url) as url:
        variable, path = BASE[asks]
        monkeypatch.setenv(variable, url + path)
        told = list(everything_that_is_said(quire, asks))

    found = [*told, caplog.text.encode(), *files(tmp_path), *rows(watching)]
    watching.close()
    held = b"\n".join(found)
    assert b"is done: 20 of 20" in held
    assert b"7531" in held  # the end may be seen: everything was looked at
    assert [form for form in forms() if form in held] == []


def everything_that_is_said(quire: Quire, asks: str) -> Iterator[bytes]:
    """Carry out a run among all these errors, and look at it in every way there is."""
    run = ("run", "-s", "metadata.json", "-m", asks, "--pack-size", "2", "--concurrency", "1")
    for _ in range(4):
        result = typed(*run)
        yield result.output.encode()
        if result.exit_code == 0:
            break
        yield typed("resume", "1").output.encode()
        yield typed("retry", "1").output.encode()
    commands = [
        ["status"],
        ["events", "--limit", "1000"],
        ["ledger", "--limit", "1000"],
        ["failures"],
        ["keys", "list"],
        ["export"],
        ["show"],
        ["prompt", "1"],
        ["runs"],
        *(["ledger", "--request", str(item["id"])] for item in quire.json("ledger", "1")),
    ]
    for command in commands:
        yield typed(*command).output.encode()
        if command not in (["export"], ["show"]):
            yield typed(*command, "--json").output.encode()
    yield typed("export", "-o", "out.jsonl").output.encode()


def typed(*args: str) -> Result:
    """Carry out one command line, however it ends."""
    return CliRunner().invoke(app, args)


def forms() -> Iterator[bytes]:
    """What a key, or a good part of one, may look like."""
    for key in (FOUND, STORED):
        part = key[:-4]
        plain = part.encode()
        yield from (plain, plain.hex().encode(), base64.b64encode(plain)[:-4])
        yield from (plain[:16], plain[-16:], quote(part, safe="").encode())
        yield json.dumps(part)[1:-1].replace("/", "\\/").encode()
        yield part.encode("utf-16-le")


def files(folder: Path) -> Iterator[bytes]:
    """Every file in the folder, and their names."""
    for path in folder.rglob("*"):
        yield str(path).encode()
        if path.is_file():
            yield path.read_bytes()


def rows(raw: Raw) -> Iterator[bytes]:
    """Every value of every table, what is compressed also in plain."""
    for (table,) in raw.rows(TABLES[raw.dialect]):
        for row in raw.rows(f"SELECT * FROM {table}"):
            for item in row:
                yield item if isinstance(item, bytes) else str(item).encode()


GATEWAY_KEY = "gateway+secret/which=is~long-enough-9753"


def repeating_header(number: int) -> Answer | None:
    """Say what is in a header back, without its scheme, in errors, an address and a page."""
    said = json.dumps({"error": {"message": f"not with {GATEWAY_KEY}"}})
    to = f"http://127.0.0.1:1/login/{GATEWAY_KEY}"
    answers = {
        1: Answer(500, said.encode(), {}),
        2: Answer(401, said.replace("/", "\\/").encode(), {}),
        3: Answer(302, b"", {"Location": to}),
        4: Answer(200, f"<html>{GATEWAY_KEY} {quote(GATEWAY_KEY)}</html>".encode(), PAGE),
    }
    return answers.get(number)


def test_headers_of_the_settings_go_with_every_call_and_stay_nowhere(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server, seen = serve(), list[dict[str, str]]()

    def echo(number: int, headers: dict[str, str]) -> Answer | None:
        seen.append(headers)
        return repeating_header(number)

    (tmp_path / "notes.txt").write_text("\n\n".join(sentences(10)))
    (tmp_path / "metadata.json").write_text(json.dumps(METADATA))
    monkeypatch.setenv("GATEWAY_KEY", f"Bearer {GATEWAY_KEY}")
    with front_proxy(lambda number, key: None, server.url, watch=echo) as url:
        monkeypatch.delenv("OPENAI_BASE_URL")
        (tmp_path / "quire.toml").write_text(
            f'[providers.openai]\nbase_url = "{url}/v1"\n'
            'headers = { X-Team = "research", X-Gateway-Key = "$GATEWAY_KEY" }\n'
        )
        quire = Quire()
        quire("ingest", "notes.txt")
        told = list(everything_that_is_said(quire, OPENAI))
        told.append(typed("doctor").output.encode())

    assert len(seen) > 5
    sent = [(item.get("x-team"), item.get("x-gateway-key")) for item in seen]
    assert set(sent) == {("research", f"Bearer {GATEWAY_KEY}")}
    held = b"\n".join([*told, caplog.text.encode(), *files(tmp_path)])
    assert b"is done: 10 of 10" in held
    assert [part for part in (b"gateway+", b"gateway%2B", b"enough-9753") if part in held] == []
