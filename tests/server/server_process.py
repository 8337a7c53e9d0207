"""A server for tests in a process of its own, and what it answers."""

import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

COLD = (sys.executable, "-m", "quire")


@contextmanager
def start_server(
    folder: Path, *options: str, by: Sequence[str] = COLD
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a process of its own, and its address; `by` is how Quire starts."""
    kept = ("PATH", "PYTHONPATH", "TMPDIR", "HOME")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    process = subprocess.Popen(
        [*by, *options],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process, _address(process)
    finally:
        process.terminate()  # one that started warm could not pass on a kill
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def fetch(address: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    """The status and the text of an answer."""
    request = urllib.request.Request(address, headers=headers or {})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def send(address: str, body: str, headers: dict[str, str] | None = None) -> str:
    """The text of the answer to a POST, which is JSON unless said otherwise."""
    sent = {"Content-Type": "application/json"} | (headers or {})
    request = urllib.request.Request(address, body.encode(), sent, method="POST")
    with urllib.request.urlopen(request) as answer:
        text: str = answer.read().decode()
        return text


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://\S+", line):
            return found[0]
    raise AssertionError("the server did not say where it is")
