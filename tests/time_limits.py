"""How long a test may take: one that hangs fails in words, and shows where it was."""

import faulthandler
import gc
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from quire.dispatch.worker import Worker
from quire.domain.runs import Progress

# Seconds, on a machine that is busy with other things too. A test that does not even hear this
# has its process ended a minute later, by pyproject.toml.
LONGEST = 240.0
AGAIN = 15.0  # seconds, in which a worker that was told to stop has stopped


@contextmanager
def time_limit(seconds: float = LONGEST) -> Iterator[None]:
    """Fail whatever still runs in the main thread after so many seconds."""
    verdict = f"not over after {seconds:g} seconds: it hangs, or waits for what never comes"
    late = 0

    def too_late(_signal: int, _frame: FrameType | None) -> None:
        nonlocal late
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


def at_most(seconds: float) -> Callable[[Progress], None]:
    """Watch a run that is waited for: one that takes longer fails, and says how it stood."""
    until = time.monotonic() + seconds

    def watch(progress: Progress) -> None:
        assert time.monotonic() < until, f"the run did not end in {seconds:g} s: {progress}"

    return watch
