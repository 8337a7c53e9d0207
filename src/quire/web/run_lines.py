"""Run lines: a run as a line of a list, with how far it is and what it costs."""

from typing import NamedTuple

from quire.domain.ids import RunId
from quire.domain.runs import Progress
from quire.domain.states import RunState, TaskState
from quire.engine import Engine
from quire.engine.progress_words import duration_words
from quire.engine.queries import RunHead
from quire.engine.run_time_left import read_time_left
from quire.web.run_standing import is_simulated, status_word

PATHS = {"batch": "batch", "paced": "paced"}  # else direct


class RunLine(NamedTuple):
    """One run."""

    head: RunHead
    now: Progress
    status: str
    forecast: int | None  # picodollars, as it was told when it began
    seconds_left: float | None = None  # None: nobody waits for it, or can tell

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.now.state == RunState.RUNNING

    @property
    def is_simulated(self) -> bool:
        """Whether none of its money is money."""
        return is_simulated(self.head)

    @property
    def parts(self) -> list[tuple[str, int]]:
        """Its bar: what is done, failed, waits for somebody, and is out."""
        count = self.now.counts.get
        waiting = count(TaskState.PROPOSED, 0) + count(TaskState.BLOCKED, 0)
        return [
            ("done", self.now.done),
            ("failed", self.now.failed + count(TaskState.CANCELLED, 0)),
            ("needs", waiting),
            ("flight", 0 if self.now.held else self.now.out),
        ]

    @property
    def percent(self) -> int:
        """How much of it has come to an end; 100 only if all of it has."""
        ended = self.now.done + self.now.failed
        return min(99 if ended < self.now.total else 100, 100 * ended // max(1, self.now.total))

    @property
    def left_words(self) -> str:
        """How long it still takes, where that is known."""
        return "" if self.seconds_left is None else f"{duration_words(self.seconds_left)} left"

    @property
    def path(self) -> str:
        """How its calls travel."""
        route = self.head.policy.get("route")
        value = route.get("value") if isinstance(route, dict) else route
        return PATHS.get(str(value), "direct")

    @property
    def most(self) -> int | None:
        """Picodollars that it may spend at most, where somebody said so."""
        return self.now.money.budget if self.now.money else None


def read_run_lines(engine: Engine, newest: int) -> list[RunLine]:
    """The newest runs, and every one that has not ended."""
    numbers = {run.id for run in engine.queries.runs(newest)} | set(engine.queries.running_runs())
    return [read_run_line(engine, run) for run in sorted(numbers, reverse=True)]


def read_run_line(engine: Engine, run: RunId) -> RunLine:
    """One run, as it stands."""
    now = engine.progress(run)
    head, workers = engine.queries.head(run), engine.workers(run)
    views = engine.batches(run) if now.batches and now.state == RunState.RUNNING else []
    left = read_time_left(engine, head, now, workers, views)
    forecast = engine.spend.forecast_cost(run)
    return RunLine(head, now, status_word(now), forecast, left.seconds if left else None)
