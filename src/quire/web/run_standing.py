"""Run standing: how a run stands, in the words of `quire status`, with its money and its end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from quire.domain.batches import BatchView
from quire.domain.data import Json
from quire.domain.ids import RunId
from quire.domain.quantities import quantity
from quire.domain.runs import Progress
from quire.domain.states import TASK_ENDED, TASK_UNDER_WAY, RunState, TaskState
from quire.engine import Engine
from quire.engine.progress_words import outstanding_batches, plain_words
from quire.engine.queries import RunHead, run_status


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMoneyView:
    """What a run cost, against what was forecast and what it may cost, in picodollars."""

    spent: int
    presumed: int
    forecast: int | None  # None: none was kept with it
    high: int | None
    budget: int | None

    @property
    def scale(self) -> int:
        """The most of all of them: as long as the bar is."""
        known = (self.spent + self.presumed, self.high or self.forecast or 0, self.budget or 0)
        return max(known)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStanding:
    """A run as its page shows it."""

    head: RunHead
    now: Progress
    status: str  # in a word
    words: str  # what happens now
    why: tuple[str, ...]  # why nothing moves, where nothing does
    workers: int
    money: RunMoneyView
    parts: tuple[tuple[str, int], ...]  # of its bar: kind of state, tasks
    seconds_left: float | None  # about; None: nobody can tell
    retry_cost: int | None  # picodollars, about, to ask again what failed

    @property
    def id(self) -> RunId:
        """Its number."""
        return self.head.id

    @property
    def live(self) -> bool:
        """Whether it has not ended."""
        return self.now.state == RunState.RUNNING

    @property
    def ended_tasks(self) -> int:
        """Tasks that have come to an end."""
        return sum(self.now.counts.get(state, 0) for state in (*TASK_ENDED, TaskState.BLOCKED))


def read_standing(engine: Engine, run: int) -> RunStanding:
    """Look how a run stands."""
    number = engine.queries.must_get(run).id
    head, now = engine.queries.head(number), engine.progress(number)
    workers, why = engine.workers(number), engine.stall_reasons(number)
    views = engine.batches(number) if now.batches else []
    forecast = engine.spend.compare_forecast(number)
    return RunStanding(
        head=head,
        now=now,
        status=run_status(now, workers),
        words=_words(now, workers, views),
        why=tuple(map(plain_words, why)),
        workers=workers,
        money=RunMoneyView(
            spent=now.cost_pico,
            presumed=now.presumed_pico,
            forecast=_sum(forecast, "forecast_cost_pico") if forecast else None,
            high=_sum(forecast, "high_pico") if forecast else None,
            budget=now.money.budget if now.money else None,
        ),
        parts=_bar_parts(now),
        seconds_left=_seconds_left(head, now, workers, engine.runtime.now()),
        retry_cost=_retry_cost(now),
    )


def _sum(rows: Sequence[Mapping[str, Json]], name: str) -> int:
    return sum(int(str(row[name])) for row in rows)


def _words(now: Progress, workers: int, views: Sequence[BatchView]) -> str:
    """What happens now: what is out, and when somebody looks again."""
    parts = []
    if now.in_flight:
        parts.append(f"{quantity(now.in_flight, 'call')} out")
    if batches := outstanding_batches(now, workers, views):
        parts.append(batches)
    if not parts and now.state == RunState.RUNNING and workers and not now.holds:
        waiting = sum(now.counts.get(state, 0) for state in TASK_UNDER_WAY)
        parts.append(f"{quantity(waiting, now.noun)} on the way" if waiting else "at rest")
    doing = "sending: " if now.in_flight and now.state == RunState.RUNNING else ""
    return doing + ", ".join(parts)


def _bar_parts(now: Progress) -> tuple[tuple[str, int], ...]:
    kinds = (
        ("done", (TaskState.DONE,)),
        ("failed", (TaskState.FAILED, TaskState.CANCELLED)),
        ("needs", (TaskState.BLOCKED, TaskState.PROPOSED)),
        ("flight", (TaskState.PACKED,)),
    )
    return tuple(
        (kind, sum(now.counts.get(state, 0) for state in states)) for kind, states in kinds
    )


def _seconds_left(head: RunHead, now: Progress, workers: int, at: datetime) -> float | None:
    """How long it will still take if it goes on as it went; batches keep their own time."""
    ended = sum(now.counts.get(state, 0) for state in TASK_ENDED) - now.reused
    goes_on = now.state == RunState.RUNNING and workers and not now.holds and not now.batches
    if not goes_on or ended <= 0 or now.is_staged:
        return None
    goal = min(now.total, now.task_limit or now.total)
    return (at - head.started_at).total_seconds() * max(0, goal - ended) / ended


def _retry_cost(now: Progress) -> int | None:
    """What it may cost to ask again what failed: as much a task as those did that have ended."""
    answered = now.done + now.failed - now.reused
    return now.cost_pico * now.failed // answered if now.failed and answered > 0 else None
