"""Wrong addresses and broken wires, as whoever types `quire run` sees them."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from quire.dispatch.courier import HOLD_WHEN_NEVER_SEEN_FOR
from quire.domain.reasons import HoldKind
from quire.engine import open_engine
from tests.cli.conftest import Quire
from tests.providers.servers import certificate
from tests.rehearsed.conftest import Serve
from tests.rehearsed.front_proxy import Answer, front_proxy
from tests.rehearsed.network import closed_port, passing_on, silent, talk_server, tunnels
from tests.rehearsed.rehearsed import ANTHROPIC, OPENAI, ByClock, QuickClock
from tests.time_limits import PATIENCE, wait_until
from tests.world import until_rest

RUN = ("run", "-s", "metadata", "-m", OPENAI, "--pack-size", "1")
# A port of this machine is given as long as any other: what is waited for takes a busy one a while.
PATIENT = """
from quire.cli import main
from quire.dispatch import courier

courier.HOLD_WHEN_NEVER_SEEN_HERE_FOR = courier.HOLD_WHEN_ABSENT_FOR
courier.HOLD_WHEN_NEVER_SEEN_FOR = courier.HOLD_WHEN_ABSENT_FOR
main()
"""
PAGE = Answer(400, b"<html><h1>Bad Request</h1></html>", {"Content-Type": "text/html"})


def held(quire: Quire, monkeypatch: pytest.MonkeyPatch, url: str, kind: str = "address") -> str:
    """Run against an address that cannot work; returns the one line that says why."""
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    result = quire(*RUN, code=4)
    (line,) = result.stderr.splitlines()[1:]
    assert "Traceback" not in result.output
    assert "0 of 30 blocks done, 0 failed" in result.stdout  # no block is to blame
    told = "next: after that, quire attach 1 goes on" in result.stdout
    assert told or "the same command" in line
    status = quire.json("status")
    assert (status["cost_usd"], status["presumed_usd"]) == (0, 0)
    head = f"quire: run 1 is held ({kind}): "
    assert line.startswith(head)
    assert line.endswith("`quire resume 1`")
    return line.removeprefix(head)


def goes_on(quire: Quire, serve: Serve) -> None:
    """Once the address is right, the same command does everything that is owed."""
    server = serve()
    quire("resume", "1")
    result = quire(*RUN)
    assert "run 1 is done: 30 of 30 blocks done, 0 failed" in result.stdout
    assert server.stats()["blocks"] == 30


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("not-a-url", "OPENAI_BASE_URL must be an address like https://HOST/path"),
        ("ftp://api.test/v1", "OPENAI_BASE_URL must be an address like https://HOST/path"),
        ("http://no-such-host.invalid/v1", "there is no host no-such-host.invalid"),
        ("https://user:word@api.test/v1", "OPENAI_BASE_URL holds a name or a key"),
    ],
)
def test_an_address_that_is_none_holds_the_run_before_anything_is_sent(
    quire: Quire, serve: Serve, monkeypatch: pytest.MonkeyPatch, url: str, said: str
) -> None:
    assert said in held(quire, monkeypatch, url, "address")
    goes_on(quire, serve)


def test_a_wrong_path_holds_the_run(
    quire: Quire, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()

    said = held(quire, monkeypatch, f"{server.url}/v2")

    assert "openai 404" in said
    assert "check the base URL" in said
    goes_on(quire, serve)


def test_a_parameter_that_no_call_can_go_with_holds_the_run_and_blames_no_block(
    quire: Quire, serve: Serve
) -> None:
    serve()

    result = quire("run", "-s", "metadata", "-m", ANTHROPIC, "--effort", "minimal", code=4)

    assert "0 of 30 blocks done, 0 failed" in result.stdout
    assert "change the run's parameters" in result.stderr
    assert quire.json("status")["splits"] == 0


def test_a_server_that_redirects_is_not_followed_and_says_where_to(
    quire: Quire, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def say(number: int, key: str) -> Answer:
        return Answer(301, b"", {"Location": "https://elsewhere.test/v1/responses?key=1"})

    with front_proxy(say) as url:
        said = held(quire, monkeypatch, f"{url}/v1")

    assert "it points to https://elsewhere.test/v1/responses; put that address" in said
    goes_on(quire, serve)


@pytest.mark.parametrize("status", [400, 403, 404, 405, 501])
def test_a_web_page_in_the_api_s_place_blames_no_block(
    quire: Quire, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    with front_proxy(lambda number, key: PAGE._replace(status=status)) as url:
        said = held(quire, monkeypatch, f"{url}/v1")

    assert f"{status} from 127.0.0.1" in said
    assert "an HTML page, not an API answer; check the base URL" in said


def test_a_certificate_that_nobody_vouches_for_holds_the_run(
    quire: Quire, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    public, tls = certificate(tmp_path)
    server = serve()
    with talk_server(passing_on(server.url), tls) as port:
        said = held(quire, monkeypatch, f"https://127.0.0.1:{port}/v1")
        assert "is not trusted: self-signed certificate" in said
        assert "SSL_CERT_FILE" in said

        monkeypatch.setenv("SSL_CERT_FILE", str(public))
        quire("resume", "1")
        result = quire(*RUN)

    assert "run 1 is done: 30 of 30 blocks done" in result.stdout


def test_calls_go_through_the_proxy_of_the_environment(
    quire: Quire, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    public, tls = certificate(tmp_path)
    server, proxy = serve(), tunnels()
    with talk_server(passing_on(server.url), tls) as port, talk_server(proxy.talk) as proxied:
        monkeypatch.setenv("SSL_CERT_FILE", str(public))
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxied}")
        monkeypatch.setenv("OPENAI_BASE_URL", f"https://127.0.0.1:{port}/v1")

        quire(*RUN)

        assert {*proxy.asked} == {f"CONNECT 127.0.0.1:{port} HTTP/1.1"}
    assert server.stats()["blocks"] == 30


def test_a_server_that_never_answers_holds_the_run_by_the_call_s_own_time(
    quire: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talk_server(silent) as port:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{port}/v1")
        quire(*RUN, "--limit", "2", "--call-timeout", "0.3", "--max-calls", "2", code=4)

    now = quire.json("status")
    assert now["failed"] == 0  # nobody knows whether it was the blocks
    assert "calls, and each may be billed" in now["holds"][0]["detail"]
    attempt = quire.json("ledger", "--request", "1")["attempts"][0]
    assert attempt["error"] == "no answer within 0.3 s"
    assert now["presumed_usd"] > 0  # it may have been carried out


def test_a_port_at_which_nobody_listens_is_tried_again_until_somebody_does(
    quire: Quire, serve: Serve, warm: list[str]
) -> None:
    closed = ExitStack()
    port = closed.enter_context(closed_port())
    with closed, running(warm, port, "--json") as process:
        wait_for_calls(quire, 4)
        closed.close()
        serve(port=port)
        out, _ = process.communicate(timeout=PATIENCE)

    ended = json.loads(out)
    assert (process.returncode, ended["done"]) == (0, 30)
    assert ended["presumed_usd"] == 0  # nothing that was not carried out is presumed


def test_who_waits_for_a_port_that_stays_closed_may_stop_and_go_on_later(
    quire: Quire, serve: Serve, warm: list[str]
) -> None:
    why: list[str] = []

    def told() -> list[str]:
        why[:] = quire.json("status")["why"]
        return why

    with closed_port() as port, running(warm, port) as process:
        wait_for_calls(quire, 4)
        wait_until(told)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)

    assert process.returncode == 130
    assert b"run 1 was stopped: 0 of 30 blocks done, 0 failed" in out
    assert b"next: the same command goes on" in out
    assert why[0].startswith("nothing listens at 127.0.0.1")
    serve()
    assert "30 of 30 blocks done" in quire(*RUN).stdout


def test_a_port_that_stays_closed_holds_the_run_in_the_end(
    quire: Quire, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    quire(*RUN, "--detach")
    with closed_port() as port, open_engine(runtime=ByClock(QuickClock(240))) as engine:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{port}/v1")
        ended = until_rest(engine.get(1))

    (hold,) = ended.holds
    assert hold.kind is HoldKind.ADDRESS
    assert hold.detail.startswith("nothing listens at 127.0.0.1:")
    assert "start the server, or set base_url in [providers.openai] of quire.toml" in hold.detail
    assert hold.detail.count("start") == 1
    assert hold.detail.endswith("then `quire resume 1`")
    assert (ended.failed, ended.presumed_pico) == (0, 0)
    assert max(request["sent"] for request in requests(quire)) > 1
    goes_on(quire, serve)


def test_a_port_of_this_machine_in_a_models_name_is_held_soon_and_told_as_such(
    quire: Quire,
) -> None:
    runtime = ByClock(QuickClock(240))
    begun = runtime.now()
    with closed_port() as port, open_engine(runtime=runtime) as engine:
        model = f"compatible/m@http://127.0.0.1:{port}/v1"
        quire("run", "-s", "metadata", "-m", model, "--detach")
        ended = until_rest(engine.get(1))

    (hold,) = ended.holds
    assert hold.since - begun < HOLD_WHEN_NEVER_SEEN_FOR
    assert "base_url" not in hold.detail
    assert hold.detail.endswith("; another URL in the model's name makes another run")


@contextmanager
def running(warm: list[str], port: int, *args: str) -> Iterator[subprocess.Popen[bytes]]:
    """Type the command in a process of its own; it does not outlive the test."""
    environment = os.environ | {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
    command = [*warm, "-c", PATIENT, *RUN, *args]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_calls(quire: Quire, count: int) -> None:
    """Wait until calls were sent again so often."""
    wait_until(
        lambda: (
            any(request["sent"] > 1 for request in requests(quire))
            and quire.json("status")["resent"] >= count
        )
    )


def requests(quire: Quire) -> list[dict[str, Any]]:
    """The requests of the only run, once there is one."""
    listed: list[dict[str, Any]] = quire.json("ledger", "1") if quire.json("runs") else []
    return listed
