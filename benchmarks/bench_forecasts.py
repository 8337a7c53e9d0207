"""Forecast against actual, on the first run and on the second of the same work; spends nothing."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from quire.domain.pricing import dollars
from quire.engine import Engine, Plan, RunHandle, open_engine
from quire.kits.judge.experiment_file import write_example
from quire.kits.judge.experiment_runs import plan_experiment, start_experiment
from quire.providers.catalog import CATALOG
from quire.rehearsal.server import rehearsal_server

EXAMPLES = Path(__file__).parents[1] / "examples"
BRIEF = "# Workshop\n\nShould the workshop be leased again, and on which terms?"
SIMULATED = ("simulated/small", "simulated/large")
REHEARSED = ("openai/gpt-6-luna", "anthropic/claude-haiku-5-5")
ANY_KEY = "rehearsal-0000-0000"
SAMPLES = 15  # of a judge experiment: its draws differ from run to run
FIRST, SECOND = 10.0, 2.0  # percent that a forecast may be off


class Job(NamedTuple):
    """How one piece of work is forecast, and how it is begun."""

    plan: Callable[[], Plan]
    start: Callable[[], RunHandle]


class Measured(NamedTuple):
    """What a run was forecast to cost, and what it cost; in picodollars."""

    low: int
    expected: int
    high: int
    spent: int

    @property
    def error(self) -> float:
        """How far above what was spent the forecast was, in percent of that."""
        return 100 * (self.expected - self.spent) / self.spent

    @property
    def within(self) -> bool:
        """Whether what was spent lies between low and high."""
        return self.low <= self.spent <= self.high


def ask_clauses(engine: Engine, models: Sequence[str]) -> Job:
    """A schema over the example contracts."""
    over = engine.ingest(str(EXAMPLES / "contracts"))
    return make_job(engine, schema=str(EXAMPLES / "clauses.json"), model=models[0], over=over)


def ask_recipe(name: str) -> Callable[[Engine, Sequence[str]], Job]:
    """A recipe over the example contracts."""

    def ask(engine: Engine, models: Sequence[str]) -> Job:
        over = engine.ingest(str(EXAMPLES / "contracts"))
        return make_job(engine, recipe=name, model=models[0], over=over)

    return ask


def ask_brief(name: str, asked: int) -> Callable[[Engine, Sequence[str]], Job]:
    """A recipe that answers a brief about a contract, by so many models."""

    def ask(engine: Engine, models: Sequence[str]) -> Job:
        over = {"material": engine.ingest(str(EXAMPLES / "contracts" / "lease.md"))}
        given = {"models": models[:asked], "parameters": {"brief": BRIEF}}
        return make_job(engine, recipe=name, over=over, **given)

    return ask


def ask_experiment(engine: Engine, models: Sequence[str]) -> Job:
    """The example of a judge experiment, with samples enough that chance evens out."""
    path = write_example(Path(engine.ledger.url).parent / "experiment")[0]
    text = path.read_text().replace(SIMULATED[0], models[0])
    path.write_text(text.replace("samples = 3 ", f"samples = {SAMPLES} "))
    return Job(
        lambda: plan_experiment(engine, path), lambda: start_experiment(engine, path, new=True)
    )


def make_job(engine: Engine, **order: Any) -> Job:
    """An order that is begun anew each time."""
    return Job(lambda: engine.plan(**order), lambda: engine.run(**order, new=True))


JOBS: dict[str, Callable[[Engine, Sequence[str]], Job]] = {
    "clauses": ask_clauses,
    "summarise": ask_recipe("summarise"),
    "extract_checked": ask_recipe("extract_checked"),
    "report": ask_brief("report", 1),
    "dialectic": ask_brief("dialectic", 2),
    "judge": ask_experiment,
}


def measure(job: str, models: Sequence[str]) -> tuple[Measured, Measured]:
    """Forecast and run one piece of work twice, in a ledger of its own; all is asked twice."""
    asking = {**os.environ, "QUIRE_REUSE": "off"}
    with (
        tempfile.TemporaryDirectory() as folder,
        open_engine(f"{folder}/quire.db", environment=asking) as engine,
    ):
        asked = JOBS[job](engine, models)
        return run_once(asked), run_once(asked)


def run_once(job: Job) -> Measured:
    """Forecast and run a piece of work."""
    planned = job.plan()
    spent = job.start().wait().cost_pico
    return Measured(planned.low, planned.cost, planned.high, spent)


@contextmanager
def rehearsal() -> Iterator[None]:
    """The vendors' servers in this process, where the vendors are found from then on."""
    with rehearsal_server(models=CATALOG) as server:
        os.environ |= {"OPENAI_BASE_URL": f"{server.url}/v1", "ANTHROPIC_BASE_URL": server.url}
        os.environ |= {"OPENAI_API_KEY": ANY_KEY, "ANTHROPIC_API_KEY": ANY_KEY}
        yield


def tell(where: str, job: str, runs: tuple[Measured, Measured]) -> bool:
    """Print a line; whether both forecasts were near enough, and between low and high."""
    cells = [
        f"{dollars(run.expected):>10} {dollars(run.spent):>10} {run.error:+6.1f} %" for run in runs
    ]
    first, second = runs
    near = abs(first.error) <= FIRST and abs(second.error) <= SECOND
    kept = near and first.within and second.within
    print(f"{where:10} {job:16} {' | '.join(cells)}{'' if kept else '   <- missed'}")
    return kept


def main() -> int:
    """Measure everything; 1 if a limit is passed."""
    print(f"first run within {FIRST:g} %, second within {SECOND:g} %: forecast, spent, error")
    kept = [tell("simulated", job, measure(job, SIMULATED)) for job in JOBS]
    with rehearsal():
        kept += [tell("rehearsed", job, measure(job, REHEARSED)) for job in JOBS]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
