"""How long a test may take: one that hangs fails in words, and shows where it was."""

import faulthandler
import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from quire.dispatch.worker import Worker
from quire.domain.runs import Progress

# Seconds, on a machine that is busy with nothing else. A limit is there to end what hangs, never to
# judge what is slow: on a busy machine it grows as the load does. A test that does not even hear it
# has its process ended later, by pyproject.toml.
LONGEST = 240.0
MOST_LOAD = 6.0  # times as long, at most
AGAIN = 15.0  # seconds, in which a worker that was told to stop has stopped
PATIENCE = 900.0  # seconds for a process or a thread to do what it must, however busy the machine
TICK = 0.01  # seconds between two looks, at least
LOOKING = 5  # times as long is waited as a look took of the CPU: whoever works needs it more


def wait_until(holds: Callable[[], object], alive: Callable[[], bool] = lambda: True) -> None:
    """Wait until something holds, for as long as whoever must bring it about is alive."""
    until, began = time.monotonic() + PATIENCE, time.process_time()
    while not holds():
        assert alive(), "it ended before that"
        assert time.monotonic() < until, f"nothing came of it in {PATIENCE:g} seconds"
        time.sleep(max(TICK, LOOKING * (time.process_time() - began)))
        began = time.process_time()


def load() -> float:
    """How many times longer everything takes than on an idle machine, roughly."""
    return min(MOST_LOAD, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


@contextmanager
def time_limit(seconds: float = LONGEST) -> Iterator[None]:
    """Fail whatever still runs in the main thread after so many seconds, or more under load."""
    verdict = f"not over after {seconds:g} seconds: it hangs, or waits for what never comes"
    late, began = 0, time.monotonic()

    def too_late(_signal: int, _frame: FrameType | None) -> None:
        nonlocal late
        left = began + seconds * load() - time.monotonic()
        if left > 0:
            signal.setitimer(signal.ITIMER_REAL, left, AGAIN)
            return
        late += 1
        faulthandler.dump_traceback(sys.__stderr__ or 2)
        workers = [get_object for get_object in gc.get_objects() if type(get_object) is Worker]
        for worker in workers:  # their loops swallow what is raised inside them
            worker.stop()
        if late > 1 or not workers:
            pytest.fail(verdict)

    before = signal.signal(signal.SIGALRM, too_late)
    outer = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *outer)
    if late:
        pytest.fail(verdict)


def at_most(seconds: float = 0.8 * LONGEST) -> Callable[[Progress], None]:
    """Watch a run that is waited for: one that hangs fails, and says how it stood."""
    began = time.monotonic()

    def watch(progress: Progress) -> None:
        in_time = time.monotonic() < began + seconds * load()
        assert in_time, f"not over in {seconds:g} s: {progress} {dict(progress.counts)}"

    return watch
