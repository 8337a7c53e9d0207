"""The process that reads risky files, one after the other: whatever they do to it, they do to it.

It takes a request a line and answers each with a line; the blocks go to a file that the request
names. It has limits of memory, CPU and disk, which the system enforces, and it ends when its input
does. Whoever started it ends it if it takes too long.
"""

import json
import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any, BinaryIO

from quire.domain.documents import ReadOptions
from quire.domain.errors import SourceUnreadable
from quire.sources.reading_limits import ReadingLimits, limit_cpu, limit_process
from quire.sources.source_reader import read_source
from quire.sources.spooled_blocks import document_message, spool_blocks


def main() -> None:
    """Answer requests until there are none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started us is asked, and ends us
    logging.disable(logging.CRITICAL)
    answers = _take_output()
    limits = ReadingLimits(**json.loads(sys.stdin.readline()))
    limit_process(limits)
    for line in sys.stdin:
        answers.write(json.dumps(_answer(json.loads(line), limits)).encode() + b"\n")
        answers.flush()


def _take_output() -> BinaryIO:
    """Keep standard output for answers: a library that prints must not spoil them."""
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return answers


def _answer(request: dict[str, Any], limits: ReadingLimits) -> dict[str, Any]:
    path, spool = Path(request["path"]), Path(request["spool"])
    options = ReadOptions(**request["options"])
    try:
        size = path.stat().st_size if path.exists() else 0
        limit_cpu(limits.cpu_limit(size, ocr=options.ocr))
        parsed = read_source(path, options)
        spool_blocks(parsed.blocks, spool)
        return {"document": document_message(parsed)}
    except SourceUnreadable as error:
        if not isinstance(error.__cause__, MemoryError):
            return {"refused": str(error)}
        reason = f"takes more than {limits.memory_mib} MiB of memory to read"
        return {"refused": f"{request['name']}: {reason}", "spent": True}  # too little is left here
    except OSError as error:
        return {"refused": f"{request['name']}: its blocks cannot be written: {error.strerror}"}
    except Exception as error:  # noqa: BLE001 - a bug in a reader costs one file, and says so
        reason = f"its reader failed: {type(error).__name__}: {error}"
        return {"refused": f"{request['name']}: {reason}"}


if __name__ == "__main__":
    main()
