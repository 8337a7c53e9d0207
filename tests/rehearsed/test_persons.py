"""Keys of persons: whoever starts a run pays with their own key, and nobody else does."""

from collections import Counter
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from quire.cli import app
from quire.engine import open_engine
from quire.rehearsal.server import RehearsalThread
from quire.server.site import Site, SiteSettings
from tests.cli.conftest import Quire
from tests.rehearsed.conftest import Serve
from tests.rehearsed.rehearsed import KEYS, OPENAI
from tests.server.site_apps import ready_site_app
from tests.world import METADATA

ANN, BOB, TEAM = "sk-the-key-of-ann-aaaa", "sk-the-key-of-bob-bbbb", "sk-the-key-of-all-tttt"
PLATFORM = KEYS["OPENAI_API_KEY"]
VALID = dict.fromkeys((ANN, BOB, TEAM, PLATFORM), "valid")
RUN = ("run", "-s", "metadata", "-m", OPENAI, "--no-reuse", "--limit", "2")


def keep(key: str, *options: str) -> None:
    told = ["keys", "add", "openai", "--stdin", *options]
    result = CliRunner().invoke(app, told, input=key)
    assert result.exit_code == 0, result.output


def seen_by(server: RehearsalThread, since: int = 0) -> Counter[str]:
    """How often the server saw which key, by its last characters."""
    return Counter(entry.key for entry in server.entries()[since:])


def test_a_run_uses_the_key_of_who_started_it_then_the_workspaces_then_the_platforms(
    quire: Quire, serve: Serve
) -> None:
    server = serve(keys=VALID)
    keep(ANN, "--person", "ann")
    keep(TEAM)

    def keys_of(*options: str) -> set[str]:
        before = len(server.entries())
        quire(*RUN, "--new", *options)
        return {*seen_by(server, before)}

    assert keys_of("--person", "ann") == {"aaaa"}
    assert keys_of("--person", "bob") == {"tttt"}
    assert keys_of() == {"tttt"}
    listed = {record["tail"]: record["person"] for record in quire.json("keys", "list")}
    assert (listed["aaaa"], listed["tttt"]) == ("ann", "")
    assert "the workspace" in quire("keys", "list").stdout
    quire("keys", "remove", "openai")
    assert keys_of("--person", "bob") == {PLATFORM[-4:]}
    quire("keys", "remove", "openai", "--person", "ann")
    assert keys_of("--person", "ann") == {PLATFORM[-4:]}


def test_the_same_order_of_somebody_else_begins_a_run_that_they_pay_for(
    quire: Quire, serve: Serve
) -> None:
    server = serve(keys=VALID)
    keep(ANN, "--person", "ann")
    quire(*RUN, "--person", "ann")

    quire(*RUN, "--person", "bob")  # not run 1, which ann pays for
    again = quire(*RUN, "--person", "ann")

    assert "run 1 " in again.stdout
    assert seen_by(server)["aaaa"] == 1
    assert seen_by(server)[PLATFORM[-4:]] == 1
    assert [record["started_by"] for record in quire.json("runs")] == ["bob", "ann"]


def test_over_http_only_the_person_and_admins_keep_and_erase_a_persons_key(
    quire: Quire, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(keys=VALID)
    engine = open_engine(str(tmp_path / "quire.db"))
    tokens = {
        name: engine.access_tokens.create(name, role).token
        for name, role in {"ann": "operator", "bob": "operator", "root": "admin"}.items()
    }
    site = Site(lambda workspace: engine, SiteSettings(local=False, host_names=("testserver",)))
    client = TestClient(ready_site_app(site))

    def ask(who: str, method: str, path: str, **body: object) -> tuple[int, str]:
        header = {"Authorization": f"Bearer {tokens[who]}"}
        answer = client.request(method, path, json=body or None, headers=header)
        return answer.status_code, answer.text

    assert ask("ann", "POST", "/v1/me/keys", provider="openai", key=ANN)[0] == 201
    assert ask("bob", "POST", "/v1/keys", provider="openai", key=BOB, person="ann")[0] == 403
    assert ask("bob", "DELETE", "/v1/keys/openai/default?person=ann")[0] == 403
    assert ask("bob", "DELETE", "/v1/me/keys/openai/default")[0] == 404
    assert '"items":[]' in ask("bob", "GET", "/v1/me/keys")[1]
    for page in ("/v1/me/keys", "/settings"):
        assert "aaaa" in ask("ann", "GET", page)[1]
        assert "aaaa" not in ask("bob", "GET", page)[1]
        assert ANN not in ask("ann", "GET", page)[1]
    assert "aaaa" in ask("root", "GET", "/settings")[1]
    for who in ("ann", "bob"):
        order = {"schema": METADATA, "model": OPENAI, "limit": 1, "new": True, "reuse": False}
        started = ask(who, "POST", "/v1/runs", **order)
        assert started[0] == 201
    for run in (1, 2):
        engine.get(run).wait()
    assert seen_by(server) == {"aaaa": 1, PLATFORM[-4:]: 1}
    assert ask("root", "DELETE", "/v1/keys/openai/default?person=ann")[0] == 200
    assert '"items":[]' in ask("ann", "GET", "/v1/me/keys")[1]
    engine.close()
