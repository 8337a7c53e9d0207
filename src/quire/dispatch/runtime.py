"""The runtime: clock, chance, sleep, living processes, and the points where one may die."""

import base64
import os
import random
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from quire.domain.ids import RunId, WorkerId
from quire.ledger.ledger import Transaction

# Where a process may die; a test kills it at each, and everything must still come right.
POINTS = (
    "after_start",
    "after_expand",
    "after_claim",
    "after_send",
    "before_record",
    "after_record",
    "before_settle",
    "after_settle",
)
BATCH_POINTS = (  # and these, where calls travel in batches
    "after_draft",
    "after_intent",
    "after_spool",
    "after_upload",
    "before_create",
    "after_create",
    "after_confirm",
    "after_poll",
    "after_end",
    "after_rows",
    "before_collect",
    "after_collect",
)
COMPRESSION_POINTS = ("after_take", "before_extracts", "after_extracts")  # and where one shrinks
EMBEDDING_POINTS = ("after_embeddings",)  # and where passages are embedded for that


class Runtime:
    """The real world; a test may put another in its place."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - the one place where the clock is read

    def jitter(self) -> float:
        """A number from [0, 1), so that those who wait do not all come back at once."""
        return random.random()  # noqa: S311 - spreads load, guards nothing

    def nonce(self) -> str:
        """A new name for what must be found again among things of others."""
        return "q" + base64.b32encode(secrets.token_bytes(7)).decode().lower()[:10]

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        import asyncio  # who only asks for the time does not wait for it

        await asyncio.sleep(seconds)

    def rest(self, wait: Callable[[float], None], seconds: float) -> None:
        """Wait for news from others, with nothing of ours out; a test lets time fly meanwhile."""
        wait(seconds)

    def reach(self, point: str) -> None:
        """Pass a point where a process may die."""


def host_name() -> str:
    """Name this machine and its process namespace: process ids mean something only inside it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return os.uname().nodename


def is_process_alive(pid: int) -> bool:
    """Whether a process of this host still exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def dead_neighbours(tx: Transaction, host: str) -> list[WorkerId]:
    """Workers of this host that never signed off, and whose process is gone."""
    neighbours = tx.workers.workers_on_host(host)
    return [worker for worker, pid in neighbours if not is_process_alive(pid)]


def living_workers(tx: Transaction, since: datetime, run: RunId | None = None) -> int:
    """How many workers, of all or of a run, were heard of since then and are not known dead."""
    return len(set(tx.workers.live_workers(since, run)) - set(dead_neighbours(tx, host_name())))
