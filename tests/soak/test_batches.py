"""A hundred thousand requests through batches: all answered, in little memory, each made once."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import orjson
import pytest

from quire.domain.models import Usage
from quire.domain.pricing import price_call
from quire.providers.catalog import CATALOG
from tests.soak.batch_job_process import MODEL, PER_CALL
from tests.soak.proof import assert_each_task_done_once, write_rows
from tests.soak.test_million import Figures, finish

REQUESTS = int(os.environ.get("QUIRE_SOAK_REQUESTS", "100_000"))
BLOCKS = REQUESTS * PER_CALL
FIRST = (
    5  # requests that are looked at before the rest: too few for a batch, so that they go direct
)
MOST_MEMORY = 500 << 20  # bytes that the worker may ever have
LATENCY = "5s"  # of a batch, besides the time that the server needs for its rows

_EXPORT = re.compile(r"^export (\w+)=(\S+)$", re.MULTILINE)


@contextmanager
def serve_process() -> Iterator[dict[str, str]]:
    """Run a rehearsal server in a process of its own; gives what to put into the environment."""
    command = [sys.executable, "-m", "quire", "rehearse", "serve", "--port", "0"]
    command += ["--batch-latency", LATENCY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        output = ""
        while "GEMINI_API_KEY" not in output:
            line = process.stdout.readline()
            assert line, "the server did not start"
            output += line
        try:
            yield dict(_EXPORT.findall(output))
        finally:
            process.terminate()


def read_control(environment: dict[str, str], what: str) -> Any:
    """What the server has on record."""
    base = environment["ANTHROPIC_BASE_URL"]
    with urlopen(f"{base}/_rehearsal/{what}", timeout=600) as answer:
        return orjson.loads(answer.read())


def bill(environment: dict[str, str]) -> int:
    """What the server carried out, at the catalog's prices, each call rounded up."""
    facts, total, after = CATALOG[MODEL], 0, 0
    while after is not None:
        page = read_control(environment, f"log?after={after}")
        for entry in page["requests"]:
            if entry["usage"]:
                usage = Usage(**entry["usage"])
                total += price_call(facts, usage, batched=entry["route"] == "batch")
        after = page["next"]
    return total


def format_figures(figures: Figures) -> str:
    """What the worker said, for people."""
    head = f"\nsqlite, 1 worker, {REQUESTS:,} requests in batches, {BLOCKS:,} blocks"
    lines = (" ".join(f"{key}={value}" for key, value in figure.items()) for figure in figures)
    return "\n    ".join((head, *lines))


@pytest.mark.soak
def test_a_hundred_thousand_requests_in_batches_stay_under_half_a_gibibyte(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    rows, url = write_rows(tmp_path / "rows.jsonl", BLOCKS), str(tmp_path / "quire.db")
    command = [sys.executable, "-m", "tests.soak.batch_job_process", url, str(rows)]
    with serve_process() as environment:
        variables = {**os.environ, **environment, "QUIRE_POLL": "1", "NO_PROXY": "*"}
        figures = finish(subprocess.Popen(command, stdout=subprocess.PIPE, env=variables))
        made, counted = read_control(environment, "batches"), read_control(environment, "stats")
        billed = bill(environment)

    sizes = [item["rows"] for item in made["batches"]]
    tell(format_figures(figures))
    tell(f"    by the server's record: {len(sizes)} batches, of {sizes} rows")
    assert figures[-2]["state"] == "finished"
    assert_each_task_done_once(url, BLOCKS)
    assert REQUESTS - FIRST <= sum(sizes) <= figures[-1]["calls"] == REQUESTS
    assert len({item["digest"] for item in made["batches"]}) == len(sizes)
    assert set(made["creates"].values()) == {1}
    (model,) = counted["models"].values()
    assert (model["batch"]["answered"], model["blocks"]) == (sum(sizes), BLOCKS)
    assert (figures[-1]["cost"], figures[-1]["presumed"]) == (billed, 0)
    assert max(figure.get("peak", 0) for figure in figures) < MOST_MEMORY
