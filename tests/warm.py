"""Processes that start warm: forked from one that has imported everything, which takes longest.

They are real processes, with arguments, an environment, a folder, streams and an end of their own;
`tests/warm_client.py` stands for one: it passes signals on, and ends as the process ended.
"""

import ast
import atexit
import gc
import importlib
import os
import pkgutil
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import chdir, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from typer.testing import CliRunner

import quire
from quire.cli import app
from quire.providers.certificates import trusted_certificates
from tests.warm_client import LENGTH, STREAMS

CLIENT = Path(__file__).with_name("warm_client.py")
SOCKET = "warm"
READERS = {f"quire.sources.{form}" for form in ("docx", "parquet", "pdf", "pptx", "rst", "xlsx")}
COMMANDS = (["--help"], ["init"], ["runs"], ["runs", "--json"])  # any, in an empty folder


class Given(NamedTuple):
    """What a process is given when it starts, besides its streams."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str


@contextmanager
def warm_starts() -> Iterator[list[str]]:
    """Lend the start of a command line.

    What makes it whole is a module with a `main`, or `-c` and a program; then their arguments.
    """
    folder = Path(tempfile.mkdtemp(prefix="quire-warm-"))
    command = [sys.executable, "-m", "tests.warm", str(folder / SOCKET)]
    with subprocess.Popen(
        command,
        cwd=CLIENT.parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"warm\n"
        yield [sys.executable, "-I", "-S", str(CLIENT), str(folder / SOCKET)]
        server.communicate()  # closes its input, which ends it
    shutil.rmtree(folder)


def serve(path: str) -> None:
    """Start a process for whoever asks, until our input is closed; returns in those processes."""
    woken, waking = socket.socketpair()
    waking.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)  # so that it wakes us
    signal.set_wakeup_fd(waking.fileno())
    running = dict[int, socket.socket]()
    with socket.socket(socket.AF_UNIX) as listening, woken, waking:
        listening.bind(path)
        listening.listen()
        sys.stdout.write("warm\n")
        sys.stdout.flush()
        while sys.stdin not in (ready := select.select([listening, woken, sys.stdin], [], [])[0]):
            if woken in ready:
                woken.recv(4096)
                _tell_ends(running)
            if listening in ready and not _start_process(listening.accept()[0], running):
                return
    os.killpg(0, signal.SIGKILL)  # and with us, whoever was left behind


def _start_process(asked: socket.socket, running: dict[int, socket.socket]) -> bool:
    """Become two: one goes on serving, the other is the process that was asked for."""
    length, streams, _, _ = socket.recv_fds(asked, LENGTH, len(STREAMS))
    try:
        with asked.makefile() as words:
            given = Given(**ast.literal_eval(words.read(int(length))))
    except (ValueError, SyntaxError):  # whoever asked was killed before all was said
        asked.close()
        return True
    child = os.fork()
    if child:
        running[child] = asked
        for number in streams:
            os.close(number)
        with suppress(OSError):  # whoever asked may be gone
            asked.sendall(b"%d\n" % child)
        return True
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for other in (asked, *running.values()):
        other.close()
    _take_over(given, streams)
    return False


def _tell_ends(running: dict[int, socket.socket]) -> None:
    """Say how those ended that did; several may share one signal."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with running.pop(ended[0]) as asked, suppress(OSError):
                asked.sendall(b"%d\n" % os.waitstatus_to_exitcode(ended[1]))


def _take_over(given: Given, streams: list[int]) -> None:
    """Take over all that the process is given."""
    for ours, theirs in zip(STREAMS, streams, strict=True):
        os.dup2(theirs, ours)
        os.close(theirs)
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115  # theirs until the end
    sys.stderr = open(2, "w", errors="backslashreplace")  # noqa: SIM115
    os.environ.clear()
    os.environ.update(given.environment)
    os.chdir(given.folder)
    sys.argv = given.arguments
    tempfile.tempdir = None
    random.seed()


def import_everything() -> None:
    """Import all of Quire, and what it and its command line import only when it is needed.

    Only what reads office files is left out: it takes a third of the time, and few need it.
    """
    for package in pkgutil.walk_packages(quire.__path__, "quire."):
        if not package.name.endswith("__main__") and package.name not in READERS:
            importlib.import_module(package.name)
    said = dict.fromkeys(name for name in os.environ if name.startswith("QUIRE_"))
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for command in COMMANDS:
            CliRunner().invoke(app, command, env=said)
    trusted_certificates()
    gc.collect()
    gc.freeze()


def carry_out() -> None:
    """Be the process that was asked for, to its end."""
    code: object = None
    try:
        if sys.argv[0] == "-c":
            exec(sys.argv.pop(1), {"__name__": "__main__"})
        else:
            importlib.import_module(sys.argv[0]).main()
    except SystemExit as left:
        code = left.code
    if code is None or isinstance(code, int):
        _leave(code or 0)
    sys.exit(str(code))


def _leave(code: int) -> None:
    """Leave as Python does, but without taking every module apart, which copies all of memory."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads that are left
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code & 0xFF)


if __name__ == "__main__":
    import_everything()
    serve(sys.argv[1])
    carry_out()
