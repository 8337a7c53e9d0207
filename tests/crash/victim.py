"""A process to be killed: works on a run and dies by SIGKILL at a named point."""

import os
import signal
import sys
from datetime import datetime

from quire.dispatch.runtime import BATCH_POINTS, POINTS, Runtime
from quire.engine import open_engine
from tests.crash.pace import VARIABLE, Pace


class Doomed(Runtime):
    """Dies for real when a point is reached for the n-th time."""

    def __init__(self, point: str, times: int) -> None:
        """Count down."""
        assert point in (*POINTS, *BATCH_POINTS, "never")
        self._point = point
        self._left = times
        self._pace = Pace.parse(os.environ.get(VARIABLE, ""))

    def now(self) -> datetime:
        """The present, at the pace that whoever started this keeps."""
        return self._pace.moment()

    def jitter(self) -> float:
        """The shortest waits."""
        return 0.0

    def reach(self, point: str) -> None:
        """Count, and die."""
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """victim.py URL RUN POINT TIMES FAULTS: drive a run until it is at rest, or until death."""
    url, run, point, times, faults = sys.argv[1:]
    with open_engine(url, faults=faults, runtime=Doomed(point, int(times))) as engine:
        engine.get(int(run)).wait()


if __name__ == "__main__":
    main()
