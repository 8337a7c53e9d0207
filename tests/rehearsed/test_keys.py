"""Keys that are refused or spent: the next one takes over, or the run waits and says what for."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from signal import SIGINT
from threading import Event, Thread
from typing import Any

import pytest
from typer.testing import CliRunner

from quire.cli import app
from quire.rehearsal.server import RehearsalThread
from tests.cli.conftest import Quire
from tests.ledger.raw import Raw
from tests.rehearsed.conftest import Serve
from tests.rehearsed.rehearsed import ANTHROPIC, GEMINI, KEYS, OPENAI, VENDORS

BAD = {
    OPENAI: "sk-nobody-knows-this-one-bad1",
    ANTHROPIC: "sk-ant-nobody-knows-this-one-bad2",
    GEMINI: "AIza-nobody-knows-this-one-bad3",
}
VARIABLE = dict(zip(VENDORS, KEYS, strict=True))
GOOD = {asks: KEYS[VARIABLE[asks]] for asks in VENDORS}
MOST_USES = 100
RUN = ("run", "-s", "metadata", "--pack-size", "1")

_SENT = """SELECT c.source, c.name, a.state, count(*) FROM attempts a
    JOIN credentials c ON c.id = a.credential_id GROUP BY c.source, c.name, a.state"""


def keep(provider: str, key: str, name: str = "work") -> None:
    """Pipe a key into `quire keys add`."""
    told = ["keys", "add", provider, "--name", name, "--stdin"]
    result = CliRunner().invoke(app, told, input=key)
    assert result.exit_code == 0, result.output


def states(quire: Quire, provider: str) -> dict[str, tuple[str, str]]:
    """How the keys of a provider stand, and why, by name."""
    listed: list[dict[str, Any]] = quire.json("keys", "list")
    return {
        record["name"]: (record["state"], record["reason"])
        for record in listed
        if record["provider"] == provider
    }


def sent() -> dict[tuple[str, str], int]:
    """How many attempts went out with which key, by its name and what became of them."""
    raw = Raw("quire.db")
    found = {(name, state): count for _, name, state, count in raw.rows(_SENT)}
    raw.close()
    return found


@contextmanager
def used_little(server: RehearsalThread, key: str) -> Iterator[None]:
    """Stop the run, and say why, if a refused key is used again and again."""
    over = Event()

    def uses() -> int:
        return sum(entry.key == key for entry in server.entries())

    def watch() -> None:
        while not over.wait(0.1):
            if uses() > MOST_USES:
                os.kill(os.getpid(), SIGINT)  # as a person would
                return

    watcher = Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        assert uses() <= MOST_USES, f"a refused key was not set aside: it was used {uses()} times"


@pytest.mark.parametrize("asks", VENDORS)
@pytest.mark.parametrize("standing", ["invalid", "spent"])
def test_the_next_key_takes_over_from_one_that_is_refused(
    quire: Quire, serve: Serve, asks: str, standing: str
) -> None:
    provider = asks.partition("/")[0]
    server = serve(keys={BAD[asks]: standing, GOOD[asks]: "valid"})
    keep(provider, BAD[asks])

    with used_little(server, "bad" + BAD[asks][-1]):
        result = quire(*RUN, "-m", asks)

    assert "run 1 is done: 30 of 30 blocks done, 0 failed" in result.stdout
    state, reason = states(quire, provider)["work"]
    assert state == standing
    assert reason.startswith(provider)
    assert states(quire, provider)[VARIABLE[asks]] == ("valid", "")
    refused = sum(entry.key == "bad" + BAD[asks][-1] for entry in server.entries())
    assert sent() == {("work", "refused"): refused, (VARIABLE[asks], "settled"): 30}
    assert 0 < refused <= 8  # what was out when the first one came back
    (told,) = [item for item in quire.json("events", "1") if item["kind"] == "key_refused"]
    assert told["detail"].startswith(f"stored work …{BAD[asks][-4:]}: {provider}")


@pytest.mark.parametrize("asks", VENDORS)
def test_with_one_key_only_the_run_is_held_and_a_new_key_lets_it_go_on(
    quire: Quire, serve: Serve, asks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, variable = asks.partition("/")[0], VARIABLE[asks]
    server = serve(keys={GOOD[asks]: "valid"})
    monkeypatch.setenv(variable, BAD[asks])

    with used_little(server, "bad" + BAD[asks][-1]):
        held = quire(*RUN, "-m", asks, code=4)

    assert "run 1 is held: 0 of 30 blocks done" in held.stdout
    (line,) = held.stderr.splitlines()[1:]
    assert line.startswith("quire: run 1 is held (credential): no usable key for")
    assert f"env {variable} …{BAD[asks][-4:]} was not accepted" in line
    assert f"`quire keys add {provider} --name another`" in line
    assert line.endswith("`quire resume 1`")
    assert quire.json("status")["why"] == [line.removeprefix("quire: run 1 is ")]
    assert quire.json("status")["cost_usd"] == 0

    monkeypatch.setenv(variable, GOOD[asks])
    quire("resume", "1")
    done = quire(*RUN, "-m", asks)

    assert "run 1 is done: 30 of 30 blocks done" in done.stdout


def test_a_key_that_is_added_takes_over_once_the_run_is_resumed(
    quire: Quire, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(keys={GOOD[OPENAI]: "valid"})
    monkeypatch.setenv("OPENAI_API_KEY", BAD[OPENAI])
    quire(*RUN, "-m", OPENAI, code=4)
    keep("openai", GOOD[OPENAI], "new")

    quire("resume", "1")
    quire(*RUN, "-m", OPENAI)

    assert sent()[("new", "settled")] == 30
    assert states(quire, "openai")["new"] == ("valid", "")


@pytest.mark.parametrize("asks", VENDORS)
def test_an_account_without_credit_holds_the_run_and_is_tried_again_on_resume(
    quire: Quire, serve: Serve, asks: str
) -> None:
    server = serve(faults="spend=1")

    held = quire(*RUN, "-m", asks, code=4)

    assert "has no credit left" in held.stderr
    assert states(quire, asks.partition("/")[0])[VARIABLE[asks]][0] == "spent"
    server.change_faults("")
    quire("resume", "1")
    quire(*RUN, "-m", asks)
    assert states(quire, asks.partition("/")[0])[VARIABLE[asks]] == ("valid", "")


def test_without_any_key_a_vendor_s_own_address_is_never_called(
    quire: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in KEYS:
        monkeypatch.delenv(name)

    held = quire(*RUN, "-m", OPENAI, code=4)

    assert "no key for openai: `quire keys add openai` (with --person NAME:" in held.stderr
    assert {item["sent"] for item in quire.json("ledger", "1")} <= {0}  # packed at most
