"""Run standing: how a run stands, in the words of `quire status`, with its money and its end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quire.domain.batches import BatchView
from quire.domain.data import Json
from quire.domain.ids import RunId
from quire.domain.quantities import quantity
from quire.domain.runs import Progress
from quire.domain.states import TASK_ENDED, TASK_UNDER_WAY, RunState, TaskState
from quire.engine import Engine
from quire.engine.progress_words import outstanding_batches
from quire.engine.queries import RunHead
from quire.engine.run_time_left import read_time_left, time_left_words
from quire.planning.time_left import TimeLeft, UnknownReason
from quire.web.standing_reasons import StandingReason, is_paused, standing_reasons

SEEN_REASONS = (UnknownReason.HELD, UnknownReason.NO_WORKER)  # the page says both in large


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
    status: str  # in a word, as people are told it
    words: str  # what happens now
    why: tuple[StandingReason, ...]  # why nothing moves, where nothing does
    workers: int
    money: RunMoneyView
    parts: tuple[tuple[str, int], ...]  # of its bar: kind of state, tasks
    time_left: TimeLeft | None  # None: nobody waits for anything
    task_cost: int | None  # picodollars that a task took so far; None: none was paid for

    @property
    def id(self) -> RunId:
        """Its number."""
        return self.head.id

    @property
    def live(self) -> bool:
        """Whether it has not ended."""
        return self.now.state == RunState.RUNNING

    @property
    def limit_words(self) -> str:
        """That it goes on to its limit only; "" where it has none, or has reached it."""
        limit, total = self.now.task_limit, self.now.total
        if not self.live or limit is None or limit >= total or self.now.spent:
            return ""
        return f"limited to {limit:,} of {total:,}"

    @property
    def time_left_words(self) -> str:
        """How long it still takes; "" where what stands beside it says why nobody can tell."""
        if self.time_left is None or self.time_left.unknown in SEEN_REASONS:
            return ""
        return time_left_words(self.time_left)

    @property
    def is_simulated(self) -> bool:
        """Whether none of its money is money."""
        return is_simulated(self.head)

    @property
    def moves(self) -> bool:
        """Whether there is something to pause."""
        return self.status == RunState.RUNNING

    def cost_of(self, tasks: int) -> int | None:
        """Picodollars that so many tasks may take, as those did that have ended."""
        return None if self.task_cost is None else self.task_cost * tasks

    @property
    def ended_tasks(self) -> int:
        """Tasks that have come to an end."""
        return sum(self.now.counts.get(state, 0) for state in (*TASK_ENDED, TaskState.BLOCKED))


def read_standing(engine: Engine, run: int) -> RunStanding:
    """Look how a run stands."""
    number = engine.queries.must_get(run).id
    head, now = engine.queries.head(number), engine.progress(number)
    workers, task_cost = engine.workers(number), _task_cost(now)
    stale_cost = engine.spend.stale_cost(number) if any(it.stale for it in now.stages) else None
    why = standing_reasons(now, engine.queries.stalls(number), task_cost, stale_cost)
    views = engine.batches(number) if now.batches else []
    forecast = engine.spend.compare_forecast(number)
    return RunStanding(
        head=head,
        now=now,
        status=status_word(now),
        words=_words(now, workers, views),
        why=tuple(why),
        workers=workers,
        money=RunMoneyView(
            spent=now.cost_pico,
            presumed=now.presumed_pico,
            forecast=_sum(forecast, "forecast_cost_pico") if forecast else None,
            high=_sum(forecast, "high_pico") if forecast else None,
            budget=now.money.budget if now.money else None,
        ),
        parts=_bar_parts(now),
        time_left=read_time_left(engine, head, now, workers, views),
        task_cost=task_cost,
    )


def status_word(now: Progress) -> str:
    """A run's state in a word; what a person asked for is told apart from what went wrong."""
    return "paused" if is_paused(now) else now.standing


def is_simulated(head: RunHead) -> bool:
    """Whether no model of a run costs money."""
    return head.is_simulated


def _sum(rows: Sequence[Mapping[str, Json]], name: str) -> int:
    return sum(int(str(row[name])) for row in rows)


def _words(now: Progress, workers: int, views: Sequence[BatchView]) -> str:
    """What happens now: what is out, and when somebody looks again."""
    parts = []
    if now.in_flight:
        parts.append(f"{quantity(now.in_flight, 'call')} out")
    if batches := outstanding_batches(now, workers, views):
        parts.append(batches)
    goes_on = now.state == RunState.RUNNING and workers and not now.holds and not now.spent
    if goes_on and not parts:
        waiting = sum(now.counts.get(state, 0) for state in TASK_UNDER_WAY)
        parts.append(f"{quantity(waiting, now.noun)} on the way" if waiting else "it begins")
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


def _task_cost(now: Progress) -> int | None:
    """What a task took on average, of those that have ended and were paid for."""
    answered = now.done + now.failed - now.reused
    return now.cost_pico // answered if answered > 0 else None
