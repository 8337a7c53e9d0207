"""The CPU time that tests take: their processes', that of all these start, and PostgreSQL's."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

_servers = list[float]()  # seconds; they are nobody's children, so that nobody is told


def seconds_of(who: int) -> float:
    """What the system says of this process, or of its children that have ended."""
    usage = getrusage(who)
    return usage.ru_utime + usage.ru_stime


def seconds_so_far() -> float:
    """Seconds of this process, of those it started and that have ended, and of its servers."""
    return seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN) + sum(_servers)


def note_server(pid: int) -> None:
    """Count a server that is about to be stopped."""
    _servers.append(seconds_of_tree(pid))


@contextmanager
def count_tree(pid: int) -> Iterator[None]:
    """Count all below a child of ours that ends meanwhile, also those it does not wait for."""
    before, known = seconds_of_tree(pid), seconds_of(RUSAGE_CHILDREN)
    yield
    _servers.append(max(0.0, before - (seconds_of(RUSAGE_CHILDREN) - known)))


def seconds_of_tree(pid: int) -> float:
    """Seconds of a process and of all below it; none where the system does not say."""
    process = Path("/proc", str(pid))
    with suppress(OSError):
        fields = (process / "stat").read_text().rpartition(")")[2].split()
        threads = (process / "task").glob("*/children")  # each has those that it started
        below = [child for thread in threads for child in thread.read_text().split()]
        here = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # its own, and of the ended
        return here + sum(seconds_of_tree(int(child)) for child in below)
    return 0.0
