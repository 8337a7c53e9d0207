"""What both soak tests need: rows to work on, and proof from outside that each was done once."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from quire.domain.states import TaskState
from tests.ledger.raw import Raw


class Sent(NamedTuple):
    """One call as the model itself logged it."""

    attempt: int
    blocks: int
    contents: str  # a digest of what the call carried


def write_rows(path: Path, count: int) -> Path:
    """Write short rows that all differ."""
    with path.open("w") as file:
        for number in range(count):
            asks = " Is it so?" if number % 3 == 0 else ""
            file.write(f'{{"text":"Row {number} says {"so " * (number % 5)}little.{asks}"}}\n')
    return path


def calls(log: Path) -> list[Sent]:
    """Read the model's own call log."""
    if not log.exists():
        return []
    lines = (line.split() for line in log.read_text().splitlines())
    return [Sent(int(attempt), int(blocks), contents) for attempt, blocks, contents, _ in lines]


def read_export(path: Path) -> Iterator[tuple[Any, Any]]:
    """Each block of an export with what was found about it, moments and names of files apart."""
    with path.open("rb") as file:
        for line in file:
            row = orjson.loads(line)
            yield row["immutable"]["block"], row["user_defined"]


def assert_each_task_done_once(url: str, count: int) -> None:
    """Every task is done, with one result that was never replaced."""
    raw = Raw(url)
    states = Counter(dict(raw.rows("SELECT state, count(*) FROM tasks GROUP BY state")))
    results = raw.rows(
        "SELECT count(*), count(DISTINCT task_id), count(superseded_at) FROM results"
    )
    raw.close()
    assert states == {TaskState.DONE: count}
    assert results == [(count, count, 0)]
