"""Extraction in a real notebook: one live line, a stop button that stops, a cell that goes on."""

from typing import Any

from quire.rehearsal.server import RehearsalThread
from tests.rehearsed.conftest import Serve
from tests.rehearsed.rehearsed import OPENAI
from tests.rehearsed.test_notebook import (
    BLOCKS,
    CONCURRENCY,
    PATIENCE,
    THREADS,
    Kernel,
    calls,
    kernel,
    wait_for_calls,
)

__all__ = ["kernel"]  # the fixture

ROWS = 60
PREPARE = f"""
import os, threading, quire
from pydantic import BaseModel
class Ticket(BaseModel):
    urgent: bool
os.environ.update(OPENAI_BASE_URL="{{url}}", QUIRE_GRACE="60")
texts = [f"Ticket {{{{number}}}} is about something." for number in range({ROWS})]
"""
CELL = f"""
found = quire.extract(texts, Ticket, model={OPENAI!r}, store="cell.db", pack_size=1,
                      concurrency={CONCURRENCY})
"""


def shown_lines(kernel: Kernel, cell: str) -> list[str]:
    """What a cell showed as HTML, displayed first and then updated, until it was over."""
    found: list[tuple[str, str]] = []
    while True:
        message: dict[str, Any] = kernel.client.get_iopub_msg(timeout=PATIENCE)
        if message["parent_header"].get("msg_id") != cell:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind == "status" and content["execution_state"] == "idle":
            break
        if kind in ("display_data", "update_display_data"):
            found.append((kind, content["data"]["text/html"]))
    assert [kind for kind, _ in found] == ["display_data"] + ["update_display_data"] * (
        len(found) - 1
    )
    return [html for _, html in found]


def begin(kernel: Kernel, server: RehearsalThread) -> str:
    """Run the cell, and do not wait for it."""
    prepare = PREPARE.format(url=f"{server.url}/v1")
    assert kernel.reply(kernel.client.execute(prepare))["status"] == "ok"
    return str(kernel.client.execute(CELL))


def test_a_stopped_cell_sends_nothing_more_and_goes_on_when_it_is_run_again(
    kernel: Kernel, serve: Serve
) -> None:
    server = serve(latency="0.3")
    cell = begin(kernel, server)
    wait_for_calls(server, 2 * CONCURRENCY)

    kernel.manager.interrupt_kernel()

    ended = kernel.reply(cell)
    sent = calls(server)
    assert (ended["status"], ended["ename"]) == ("error", "KeyboardInterrupt")
    assert ended["evalue"] == "run 1 stopped, all answers are kept: the same call goes on"
    assert kernel.value(THREADS) == []
    assert calls(server) == sent < ROWS
    lines = shown_lines(kernel, cell)
    assert f"run 1: {sent} of {ROWS} rows · {sent} calls" in lines[-1]

    again = str(kernel.client.execute(CELL))

    assert kernel.reply(again)["status"] == "ok"
    assert calls(server) == ROWS
    assert kernel.value("found.statuses") == {"accepted": ROWS}
    assert f"run 1: {ROWS} of {ROWS} rows · {ROWS - sent} calls" in shown_lines(kernel, again)[-1]


def test_waiting_for_a_run_shows_in_one_line_how_far_it_is(kernel: Kernel, serve: Serve) -> None:
    cell = kernel.wait_for_run(serve())

    assert kernel.reply(cell)["status"] == "ok"
    assert f"run 1: {BLOCKS} of {BLOCKS} blocks · {BLOCKS} calls" in shown_lines(kernel, cell)[-1]
