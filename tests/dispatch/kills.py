"""Kills a worker outright, also one that was started warm, for which another process stands."""

import os
import signal

from tests.ledger.raw import Raw


def kill_newest_worker(url: str) -> None:
    """Kill the process that signed on last; whoever stands for it ends as it did."""
    raw = Raw(url)
    (process,) = raw.rows("SELECT pid FROM workers ORDER BY id DESC LIMIT 1")[0]
    raw.close()
    assert process != os.getpid()
    os.kill(int(process), signal.SIGKILL)
