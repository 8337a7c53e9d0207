"""Webhooks over real HTTP: told in order, signed, tried again; hostile servers do no harm."""

import json
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from quire.dispatch import notifier, webhook_client
from quire.dispatch.webhook_client import WebhookClient
from quire.dispatch.worker import Worker
from quire.domain.states import RunState
from quire.engine import RunHandle
from quire.engine.doctor.findings import Severity
from tests.dispatch.kills import kill_newest_worker
from tests.dispatch.webhook_server import WebhookServer, webhook_server
from tests.docs.pages import ROOT, blocks
from tests.time_limits import wait_until
from tests.world import Calm, World, sentences

SECRET_WORD = "Zanzibar-7731"


@pytest.fixture
def server() -> Iterator[WebhookServer]:
    with webhook_server() as made:
        yield made


class HandClock(Calm):
    """A clock that jumps when it is told to, and goes on by itself in between."""

    def __init__(self) -> None:
        """Start with the present."""
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        """The present moment, and what it was set ahead by."""
        return super().now() + self.ahead


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.chdir(tmp_path)
    # a busy machine may take longer than anybody should wait, for an answer or the last deliveries
    monkeypatch.setattr(webhook_client, "LONGEST_TRY", 600.0)
    monkeypatch.setattr(notifier, "LAST_SECONDS", 600.0)
    made = World(str(tmp_path / "quire.db"), runtime=HandClock())
    made.ingest([f"{SECRET_WORD} stands in {text}" for text in sentences(4)])
    yield made
    made.close()


def jump(here: World, seconds: float) -> None:
    assert isinstance(here.runtime, HandClock)
    here.runtime.ahead += timedelta(seconds=seconds)


def deliver(here: World) -> None:
    """Let a worker come and go."""
    here.engine.work(lambda: True)


def types(server: WebhookServer) -> list[str]:
    return [json.loads(post.body)["type"] for post in server.heard]


def finished_run(here: World, **policy: object) -> RunHandle:
    run = here.start(**policy)  # type: ignore[arg-type]
    assert run.wait().state == RunState.FINISHED
    return run


def verifier() -> object:
    """The function that the documentation gives to receivers, as it stands there."""
    page = ROOT / "docs" / "notifications.md"
    (code,) = [block.text for block in blocks(page) if "def verify" in block.text]
    names: dict[str, object] = {}
    exec(code, names)
    return names["verify"]


def test_a_run_is_told_in_order_signed_and_without_its_text(
    here: World, server: WebhookServer
) -> None:
    added = here.engine.webhooks.add(server.url)

    run = finished_run(here)

    assert [kind for kind in types(server) if kind != "progress"] == ["started", "completed"]
    last = server.heard[-1]
    verify = verifier()
    assert callable(verify)
    now = here.runtime.now().timestamp()
    assert verify(added.secret, last.headers["Quire-Signature"], last.body, now)
    assert not verify(added.secret, last.headers["Quire-Signature"], last.body + b" ", now)
    assert not verify("whsec_other", last.headers["Quire-Signature"], last.body, now)
    assert not verify(added.secret, last.headers["Quire-Signature"], last.body, now + 3600)
    body = json.loads(last.body)
    assert body["id"] == last.headers["Quire-Delivery"]
    assert (body["run"], body["data"]) == (run.id, {"done": 4, "failed": 0})
    assert SECRET_WORD.encode() not in b"".join(post.body for post in server.heard)
    (webhook,) = here.engine.webhooks.list()
    assert (webhook.waiting, webhook.delivered) == (0, len(server.heard))


def test_only_the_events_and_the_run_that_were_asked_for_are_told(
    here: World, server: WebhookServer
) -> None:
    first = here.start()
    here.engine.webhooks.add(server.url, ["paused", "resumed"])
    second = here.start(new=True)
    here.engine.webhooks.add(server.url + "/2", ["paused"], run=second.id)
    first.pause()
    first.resume()

    deliver(here)
    deliver(here)

    assert types(server) == ["paused", "resumed"]
    told = json.loads(server.heard[0].body)
    assert told["data"] == {"hold": "user"}
    assert {post.path for post in server.heard} == {"/hook"}


def test_a_failed_delivery_goes_again_later_with_the_same_name_and_before_others(
    here: World, server: WebhookServer
) -> None:
    here.engine.webhooks.add(server.url, ["started", "completed"])
    server.answers = [500, 503]
    finished_run(here)
    assert types(server) == ["started"]
    (failing,) = here.engine.webhooks.list()
    assert (failing.failures, failing.waiting) == (1, 2)
    assert failing.problem == "it answered 500"

    deliver(here)
    assert len(server.heard) == 1  # not yet
    jump(here, 6)
    deliver(here)
    jump(here, 16)
    deliver(here)

    assert types(server) == ["started", "started", "started", "completed"]
    assert len({post.headers["Quire-Delivery"] for post in server.heard[:3]}) == 1
    assert len({post.body for post in server.heard[:3]}) == 1
    (well,) = here.engine.webhooks.list()
    assert (well.failures, well.waiting, well.delivered, well.problem) == (0, 0, 2, "")


def test_what_is_never_taken_is_given_up_told_and_does_not_hold_up_the_rest(
    here: World, server: WebhookServer
) -> None:
    here.engine.webhooks.add(server.url, ["started", "completed"])
    server.answers = [500] * 8
    finished_run(here)
    for _ in range(8):
        jump(here, 3601)
        deliver(here)

    assert types(server) == ["started"] * 8 + ["completed"]
    (webhook,) = here.engine.webhooks.list()
    assert (webhook.given_up, webhook.waiting, webhook.delivered) == (1, 0, 1)
    found = [item for item in here.engine.doctor.examine(offline=True) if item.area == "webhooks"]
    assert [item.severity for item in found] == [Severity.OK, Severity.WARNING]
    assert "1 notification given up" in found[1].message


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("silent", "no answer in 0.2 seconds"),
        (302, "it answered 302; redirects are not followed"),
        ("garbage", "the connection failed: "),
    ],
)
def test_a_hostile_server_harms_neither_the_run_nor_the_worker(
    here: World,
    server: WebhookServer,
    monkeypatch: pytest.MonkeyPatch,
    answer: int | str,
    problem: str,
) -> None:
    if answer == "silent":  # the others answer when they can, however busy the machine is
        _hurry(monkeypatch)
    here.engine.webhooks.add(server.url, ["started"])
    server.answers = [answer] * 3

    finished_run(here)

    (webhook,) = here.engine.webhooks.list()
    assert webhook.problem.startswith(problem)
    assert {post.path for post in server.heard} == {"/hook"}


def test_a_webhook_that_does_not_answer_keeps_no_other_waiting(
    here: World, server: WebhookServer
) -> None:
    with webhook_server() as silent:
        silent.answers = ["silent"]
        here.engine.webhooks.add(silent.url, ["started"])
        here.engine.webhooks.add(server.url, ["started", "completed"])

        def is_kept(number: int) -> bool:
            """Whether the model keeps its answer: until one has heard, and the other is stuck."""
            done = bool(silent.heard and server.heard)
            if done:
                silent.released.set()
            return not done

        here.model.hold = is_kept
        finished_run(here)

    assert types(server) == ["started", "completed"]
    stuck, quick = here.engine.webhooks.list()
    assert (stuck.failures, stuck.waiting, quick.waiting) == (1, 1, 0)


def test_an_answer_without_end_is_not_read(here: World, server: WebhookServer) -> None:
    here.engine.webhooks.add(server.url, ["started"])
    server.answers = ["endless"]

    finished_run(here)

    (webhook,) = here.engine.webhooks.list()
    assert (webhook.delivered, webhook.failures) == (1, 0)


def test_nobody_at_the_address_is_told_in_a_line(here: World) -> None:
    with webhook_server() as gone:
        url = gone.url
    here.engine.webhooks.add(url, ["started"])

    finished_run(here)

    (webhook,) = here.engine.webhooks.list()
    assert webhook.problem == "the connection failed: Connection refused"
    assert webhook.waiting == 1


def test_a_worker_killed_in_the_midst_of_a_delivery_leaves_it_to_the_next(
    here: World, server: WebhookServer, warm: list[str]
) -> None:
    here.engine.webhooks.add(server.url, ["started"])
    here.start()
    server.answers = ["silent"]
    command = [*warm, "quire.cli", "work", "--quiet", "--ledger", here.url]
    with subprocess.Popen(command) as process:
        wait_until(lambda: server.heard, lambda: process.poll() is None)
        kill_newest_worker(here.url)

    jump(here, 61)
    deliver(here)

    first, second = server.heard
    assert first.headers["Quire-Delivery"] == second.headers["Quire-Delivery"]
    assert first.body == second.body
    assert here.engine.webhooks.list()[0].waiting == 0


def test_a_secret_that_cannot_be_opened_is_a_failed_try_and_the_work_goes_on(
    here: World, server: WebhookServer
) -> None:
    here.engine.webhooks.add(server.url, ["started"])
    Path("quire.key").unlink()

    finished_run(here)

    (webhook,) = here.engine.webhooks.list()
    assert "secret key" in webhook.problem
    assert server.heard == []


def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait only a moment for an answer."""
    make_worker = Worker.__init__

    def quick(worker: Worker, *args: object, **how: object) -> None:
        make_worker(worker, *args, **how)  # type: ignore[arg-type]
        worker.notifier.client = WebhookClient(seconds=0.2)

    monkeypatch.setattr(Worker, "__init__", quick)
