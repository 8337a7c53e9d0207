"""A real notebook kernel: its stop button ends the spending, and nothing that was paid is lost."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty
from time import sleep
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from quire.rehearsal.server import RehearsalThread
from tests.rehearsed.conftest import Serve
from tests.rehearsed.rehearsed import OPENAI
from tests.world import METADATA, sentences

PATIENCE = 120  # seconds, on a busy machine
BLOCKS = 400
CONCURRENCY = 4
START = f"""
import json, os, threading, quire
os.environ.update(OPENAI_BASE_URL="{{url}}", QUIRE_GRACE="{{grace}}")
q = quire.open("notebook.db")
q.ingest("notes.txt")
run = q.run(schema=json.load(open("schema.json")), model={OPENAI!r}, pack_size=1,
            concurrency={CONCURRENCY})
"""
THREADS = "sorted(t.name for t in threading.enumerate() if t.name.startswith('quire-work'))"


class Kernel:
    """A notebook's kernel, and how cells are run in it."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        """Talk to a kernel that is up."""
        self.manager, self.client = manager, client

    def wait_for_run(self, server: RehearsalThread, grace: float = 60) -> str:
        """Start a run over the server in one cell, and wait for it in another: that one's name."""
        code = START.format(url=f"{server.url}/v1", grace=grace)
        assert self.reply(self.client.execute(code))["status"] == "ok"
        return str(self.client.execute("run.wait()"))

    def wait_for_word(self, word: str) -> None:
        """Wait until the reader of the notebook is told something."""
        while word not in self.client.get_iopub_msg(timeout=PATIENCE)["content"].get("text", ""):
            pass

    def reply(self, cell: str) -> dict[str, Any]:
        """How a cell ended."""
        while True:
            message = self.client.get_shell_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") == cell:
                content: dict[str, Any] = message["content"]
                return content

    def value(self, expression: str) -> Any:
        """What an expression without a quote sign comes to, by way of JSON."""
        asked = {"value": f"__import__('json').dumps({expression})"}
        said: dict[str, Any] = {"status": "aborted"}  # as a kernel says until an error is over
        while said["status"] == "aborted":
            said = self.reply(self.client.execute("", user_expressions=asked))
        answered = said["user_expressions"]["value"]
        assert answered["status"] == "ok", answered
        return json.loads(answered["data"]["text/plain"].strip("'"))


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    """A kernel in a folder with something to ask about."""
    (tmp_path / "notes.txt").write_text("\n\n".join(sentences(BLOCKS)))
    (tmp_path / "schema.json").write_text(json.dumps(METADATA))
    manager = KernelManager()
    manager.start_kernel(cwd=str(tmp_path))
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=PATIENCE)
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        with suppress(Empty):
            manager.shutdown_kernel(now=True)


def calls(server: RehearsalThread) -> int:
    """How many calls have reached the server."""
    return len(server.entries())


def wait_for_calls(server: RehearsalThread, least: int) -> None:
    """Wait until so many calls have reached the server; tests/time_limits.py bounds it."""
    while calls(server) < least:
        sleep(0.02)


def test_the_stop_button_ends_the_spending_and_keeps_what_was_paid(
    kernel: Kernel, serve: Serve
) -> None:
    server = serve(latency="0.3")
    cell = kernel.wait_for_run(server)
    wait_for_calls(server, 2 * CONCURRENCY)

    kernel.manager.interrupt_kernel()

    ended = kernel.reply(cell)
    sent = calls(server)
    assert (ended["status"], ended["ename"]) == ("error", "KeyboardInterrupt")
    assert ended["evalue"] == "run 1 stopped, all answers are kept: wait() goes on"
    assert kernel.value(THREADS) == []
    assert kernel.value("run.progress().done") == sent
    kernel.manager.shutdown_kernel()
    assert calls(server) == sent < BLOCKS


def test_pressed_again_it_waits_for_no_call(kernel: Kernel, serve: Serve) -> None:
    server = serve(faults="hang=1")
    cell = kernel.wait_for_run(server, grace=PATIENCE * 10)
    wait_for_calls(server, 1)

    kernel.manager.interrupt_kernel()
    kernel.wait_for_word("stopping")  # a kernel hears one signal at a time
    kernel.manager.interrupt_kernel()

    assert kernel.reply(cell)["ename"] == "KeyboardInterrupt"
    assert kernel.value(THREADS) == []
    assert kernel.value("run.progress().in_flight") == 0
    sent = calls(server)
    kernel.manager.shutdown_kernel()
    assert calls(server) == sent <= CONCURRENCY
