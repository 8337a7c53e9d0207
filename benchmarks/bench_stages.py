"""CPU per task of stages with templates, history and lineage against a plain one; memory flat."""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import NamedTuple

from benchmarks.corpus import fill
from quire.engine import Engine
from quire.engine.context import make_context
from quire.ledger.ledger import open_ledger
from quire.settings import Settings

ROUNDS = 3
MOST_GROWTH = 1.5  # of the most memory, from a quarter of the tasks to all of them
MEGABYTE = 1024  # of what the system counts memory in

_FIELDS = """
[stages.schema]
type = "object"
additionalProperties = false
required = ["topic"]
properties = { topic = { type = "string" } }
"""
_PLAIN = f"""
[[stages]]
name = "first"
about = "each_block"
{_FIELDS}
"""
_TEMPLATED = f"""
[[stages]]
name = "first"
about = "each_block"
prompt = "What is this about? {{{{ block.text }}}}"
{_FIELDS}
"""
_HISTORY = f"""
[[stages]]
name = "first"
about = "each_block"
prompt = "What is this about? {{{{ block.text }}}}"
history = [
    {{ role = "user", content = "What is this about? The tenant pays on the first of the month." }},
    {{ role = "assistant", content = "Rent." }},
]
{_FIELDS}
"""
_OF_RESULTS = f"""
[[stages]]
name = "second"
about = "each_result"
of = "first"
prompt = "Say it in other words: {{{{ inputs.first.data.topic }}}}"
{_FIELDS}
"""
_OF_LINEAGES = _OF_RESULTS.replace("each_result", "by_lineage").replace(
    "inputs.first.data.topic", "inputs.first|length"
)


class Measured(NamedTuple):
    """A recipe, and what of it is measured: all of it, or what it costs beyond another."""

    name: str
    recipe: str
    beyond: str = ""


WORK = (
    Measured("plain", _PLAIN),
    Measured("templates", _TEMPLATED),
    Measured("templates, history", _HISTORY),
    Measured("results of the plain one", _PLAIN + _OF_RESULTS, "plain"),
    Measured("lineages of the plain one", _PLAIN + _OF_LINEAGES, "plain"),
)


def cpu_seconds(folder: Path, recipe: str, count: int) -> float:
    """CPU seconds of a whole run, a call for each task; the blocks are filled in apart."""
    file, path = folder / "measured.toml", str(folder / "engine.db")
    file.write_text(recipe, encoding="utf-8")
    run_apart("--fill", path, str(count))
    with Engine(make_context(Settings(ledger=path), open_ledger(path))) as engine:
        began = process_time()
        run = engine.run(recipe=str(file), model="simulated/small", pack_size=1, concurrency=64)
        ended = run.wait()
        spent = process_time() - began
    assert ended.failed == 0, ended
    assert ended.done % count == 0, ended
    return spent


def least_seconds(count: int) -> dict[str, float]:
    """The least CPU seconds of each recipe over some rounds, turn about."""
    spent: dict[str, list[float]] = {work.name: [] for work in WORK}
    for _ in range(ROUNDS):
        for work in WORK:
            with tempfile.TemporaryDirectory() as name:
                spent[work.name].append(cpu_seconds(Path(name), work.recipe, count))
    return {name: min(times) for name, times in spent.items()}


def peak_megabytes(name: str, count: int) -> float:
    """The most memory of a process that does one of them."""
    return float(run_apart("--only", name, str(count)))


def run_apart(*arguments: str) -> str:
    """Run a part of this in a process of its own; returns what it prints."""
    command = [sys.executable, "-m", "benchmarks.bench_stages", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def do_one(name: str, count: int) -> None:
    """Run one recipe, and print how much memory that took."""
    recipe = next(work.recipe for work in WORK if work.name == name)
    with tempfile.TemporaryDirectory() as folder:
        cpu_seconds(Path(folder), recipe, count)
    print(own_peak() / MEGABYTE)


def own_peak() -> int:
    """The most memory this process had, in KiB; elsewhere than on Linux its parent's may count."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = status.read_text(encoding="ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))


def main() -> int:
    """Print CPU per task and memory; 1 if memory grows with the tasks."""
    if sys.argv[1:2] == ["--fill"]:
        fill(open_ledger(sys.argv[2]), int(sys.argv[3]))
        return 0
    if sys.argv[1:2] == ["--only"]:
        do_one(sys.argv[2], int(sys.argv[3]))
        return 0
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seconds, failed = least_seconds(count), 0
    print(f"{count:,} tasks, a call each, simulated provider at zero latency")
    print(f"{'stage':26s} CPU µs a task  × plain     MB at a quarter  at all")
    for work in WORK:
        spent = seconds[work.name] - (seconds[work.beyond] if work.beyond else 0.0)
        few, many = (peak_megabytes(work.name, number) for number in (count // 4, count))
        failed += many > MOST_GROWTH * few
        ratio = spent / seconds["plain"]
        print(f"{work.name:26s} {spent / count * 1e6:13.1f} {ratio:8.2f} {few:19.0f} {many:7.0f}")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
