"""Many files are read at once, risky ones in processes that are ended when they take too much.

Results come in the order in which files were named, each as soon as it and those before it are
read. A file that breaks its process, or takes more than it may, is refused with a line; the next
file gets a new process.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, NamedTuple, Self

from quire.domain.documents import AS_FOUND, ParsedDocument, ReadOptions
from quire.domain.errors import SourceUnreadable
from quire.domain.source_formats import known_format
from quire.sources.reading_limits import USUAL_LIMITS, ReadingLimits
from quire.sources.source_files import FORMATS, Intake
from quire.sources.source_reader import read_source
from quire.sources.spooled_blocks import SpooledBlocks, received_document

_FEW = 24  # harmless files that are read before a process has even started
_MOST_PROCESSES = 8
_FILES_OF_A_PROCESS = 500  # then another begins, for what libraries may have leaked
_CLOCK = 10  # seconds on the clock for one of CPU, beyond which a process is stuck
_START = 60  # seconds on the clock besides
_SECRET = re.compile("KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.I)


class ReadFile(NamedTuple):
    """A file with what it holds, or with the line that says why it cannot be read."""

    path: Path
    parsed: ParsedDocument | None
    refusal: str = ""


def read_sources(
    paths: Sequence[Path],
    options: ReadOptions | Mapping[Path, ReadOptions] = AS_FOUND,
    limits: ReadingLimits = USUAL_LIMITS,
) -> Generator[ReadFile, None, None]:
    """Read files, in order; the blocks of one can be read until the next is asked for.

    The options are those of all, or each path's own.
    """
    ways = dict.fromkeys(paths, options) if isinstance(options, ReadOptions) else options
    apart = [path for path in paths if _goes_apart(path, many=len(paths) > _FEW)]
    with ReadingPool(ways, limits, len(apart)) as pool:
        ahead = deque((path, pool.read(path)) for path in apart[: pool.most_ahead])
        waiting = iter(apart[pool.most_ahead :])
        for path in paths:
            if not ahead or ahead[0][0] is not path:
                yield _read_here(path, ways[path])
                continue
            outcome = ahead.popleft()[1].result()
            yield outcome
            _remove_spool(outcome)
            following = next(waiting, None)
            if following is not None:
                ahead.append((following, pool.read(following)))


def _goes_apart(path: Path, *, many: bool) -> bool:
    """Whether a file is read in another process: because of what it may do, or to share the work.

    Rows are not: they stream into the ledger, which takes longer than reading them.
    """
    form = known_format(path.name)
    if form is None or FORMATS[form].intake is Intake.ROWS:
        return False
    return FORMATS[form].risky or many


def _read_here(path: Path, options: ReadOptions) -> ReadFile:
    try:
        return ReadFile(path, read_source(path, options))
    except SourceUnreadable as error:
        return ReadFile(path, None, str(error))


def _remove_spool(outcome: ReadFile) -> None:
    if outcome.parsed is not None and isinstance(outcome.parsed.blocks, SpooledBlocks):
        outcome.parsed.blocks.path.unlink(missing_ok=True)


class ReadingPool:
    """Threads that each hand files to a process of their own."""

    def __init__(
        self, options: Mapping[Path, ReadOptions], limits: ReadingLimits, files: int
    ) -> None:
        """Be ready for so many files; nothing is started before the first."""
        self._options = options
        self._limits = limits
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self._size = max(1, min(cores or 1, _MOST_PROCESSES, files))
        self.most_ahead = 4 * self._size
        self._numbers = iter(range(1 << 62))
        self._own = threading.local()
        self._processes: list[_ReadingProcess] = []

    def __enter__(self) -> Self:
        """Begin."""
        self._folder = TemporaryDirectory(prefix="quire-")
        self._threads = ThreadPoolExecutor(self._size, thread_name_prefix="quire-read")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every process, whatever it is doing, and remove what was on its way."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in self._processes:
            process.end()
        self._threads.shutdown(wait=True)
        self._folder.cleanup()

    def read(self, path: Path) -> "Future[ReadFile]":
        """Have a file read."""
        spool = Path(self._folder.name, f"{next(self._numbers)}.jsonl")
        return self._threads.submit(self._read, path, spool)

    def _read(self, path: Path, spool: Path) -> ReadFile:
        process = getattr(self._own, "process", None)
        if process is None:
            process = self._own.process = _ReadingProcess(self._limits)
            self._processes.append(process)
        name = os.fsencode(path).decode(errors="replace")
        try:
            answer = process.ask(path, name, spool, self._options[path])
        except _Ended as error:
            return ReadFile(path, None, f"{name}: {error}")
        if "refused" in answer:
            return ReadFile(path, None, answer["refused"])
        return ReadFile(path, received_document(answer["document"], SpooledBlocks(spool)))


class _Ended(Exception):
    """A process is no more, and why, as far as that can be told."""


class _ReadingProcess:
    """A process that reads, started when it is needed and again when it has ended."""

    def __init__(self, limits: ReadingLimits) -> None:
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._read = 0  # files, by this process

    def ask(self, path: Path, name: str, spool: Path, options: ReadOptions) -> dict[str, Any]:
        """Have a file read, within its limits."""
        process = self._running()
        request = {
            "path": os.fspath(path),
            "name": name,
            "spool": str(spool),
            "options": asdict(options),
        }
        seconds = self._limits.cpu_limit(_size(path), ocr=options.ocr)
        stuck = threading.Timer(_START + _CLOCK * seconds, process.kill)
        stuck.start()
        try:
            answer = _exchange(process, request)
        finally:
            stuck.cancel()
        if answer is None:
            self._process = None
            raise _Ended(_why_ended(process, stuck, self._limits, seconds))
        self._read += 1
        if answer.get("spent") or self._read >= _FILES_OF_A_PROCESS:
            self.end()
            self._process, self._read = None, 0
        return answer

    def end(self) -> None:
        """End it now."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            environment = {
                name: value for name, value in os.environ.items() if not _SECRET.search(name)
            }
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "quire.sources.reading_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
            )
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(asdict(self._limits)).encode() + b"\n")
        return self._process


def _exchange(process: "subprocess.Popen[bytes]", request: dict[str, Any]) -> dict[str, Any] | None:
    """Send a request and wait for its answer; None: the process has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
        return dict(json.loads(line)) if line.endswith(b"\n") else None
    except (OSError, ValueError):
        return None


def _why_ended(
    process: "subprocess.Popen[bytes]", stuck: threading.Timer, limits: ReadingLimits, seconds: int
) -> str:
    process.communicate()
    ended_by = -process.returncode
    if ended_by == getattr(signal, "SIGXCPU", 0):
        return f"takes more than {seconds} seconds of CPU to read"
    if ended_by == getattr(signal, "SIGKILL", 0) and not stuck.is_alive():
        return f"is not read after {_START + _CLOCK * seconds} seconds"
    name = signal.Signals(ended_by).name if ended_by > 0 else f"exit code {process.returncode}"
    return f"breaks its reader ({name}); perhaps it takes more than {limits.memory_mib} MiB"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
