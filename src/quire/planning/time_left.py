"""Time left: how long a run still takes at the pace it had so far, or why nobody can tell.

A schema's tasks are counted. Stages of a recipe differ in what a task takes, so there the calls
are: those that its tasks owe at the calls a task took so far, and of a stage that still grows those
that were forecast besides. Batches keep the time of whoever carries them out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from quire.domain.reasons import EventKind
from quire.domain.runs import Event, Progress, StageProgress
from quire.domain.states import TASK_ENDED, TASK_UNDER_WAY, RunState

AT_REST = {
    EventKind.RUN_FINISHED,
    *(EventKind.HELD, EventKind.PAUSED, EventKind.STOPPED, EventKind.WORKER_LOST),
}
GOES_ON = {
    *(EventKind.LIMIT_CHANGED, EventKind.RESUMED, EventKind.WENT_ON),
    *(EventKind.RETRIED, EventKind.RERUN, EventKind.REGATED),
    *(EventKind.REJECTED, EventKind.UNDONE),
}


class UnknownReason(StrEnum):
    """Why nobody can tell how long a run takes."""

    HELD = "held"
    NO_WORKER = "no_worker"
    NOTHING_ANSWERED = "nothing_answered"
    NO_FORECAST = "no_forecast"


class StageCalls(NamedTuple):
    """What was forecast of a stage when its run began, and the calls that it took so far."""

    forecast_tasks: int
    forecast_calls: int
    calls: int


class BatchOut(NamedTuple):
    """A batch that a provider has, or is about to get."""

    provider: str
    submitted_at: datetime | None
    window: float  # seconds after which the provider ends it; 0: never


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What a forecast of the time left goes by, besides how far the run is."""

    started_at: datetime
    now: datetime
    workers: int
    idle: float = 0.0  # seconds since it started in which there was nothing to do
    stages: Mapping[str, StageCalls] = field(default_factory=dict)
    batches: Sequence[BatchOut] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLeft:
    """How long a run still takes."""

    seconds: float | None = None  # about; of batches at most, None: their provider names no end
    providers: tuple[str, ...] = ()  # who ends the batches that it waits for
    batches: int = 0
    unknown: UnknownReason | None = None


def forecast_time_left(now: Progress, pace: Pace) -> TimeLeft | None:
    """How long a run still takes; None: it owes nothing that somebody waits for."""
    if now.state != RunState.RUNNING or now.cancelling or now.spent:
        return None
    if pace.batches:
        return _until_batches_end(pace)
    if now.holds:
        return TimeLeft(unknown=UnknownReason.HELD)
    if not pace.workers:
        return TimeLeft(unknown=UnknownReason.NO_WORKER)
    return _recipe_time(now, pace) if now.is_staged else _schema_time(now, pace)


def _until_batches_end(pace: Pace) -> TimeLeft:
    providers = tuple(sorted({batch.provider for batch in pace.batches}))
    waits = [
        batch.window - (pace.now - (batch.submitted_at or pace.now)).total_seconds()
        for batch in pace.batches
    ]
    ends = all(batch.window for batch in pace.batches)
    return TimeLeft(
        seconds=max(0.0, *waits) if ends else None,
        providers=providers,
        batches=len(pace.batches),
    )


def _schema_time(now: Progress, pace: Pace) -> TimeLeft:
    ended = sum(now.counts.get(state, 0) for state in TASK_ENDED)
    asked = ended - now.reused
    if asked <= 0:
        return TimeLeft(unknown=UnknownReason.NOTHING_ANSWERED)
    goal = min(now.total, now.task_limit or now.total)
    return TimeLeft(seconds=_elapsed_seconds(pace) * max(0, goal - ended) / asked)


def _recipe_time(now: Progress, pace: Pace) -> TimeLeft:
    if not now.calls:
        return TimeLeft(unknown=UnknownReason.NOTHING_ANSWERED)
    owed = [_owed_calls(stage, pace.stages.get(stage.name)) for stage in now.stages]
    known = [calls for calls in owed if calls is not None]
    if len(known) < len(owed):
        return TimeLeft(unknown=UnknownReason.NO_FORECAST)
    return TimeLeft(seconds=_elapsed_seconds(pace) * sum(known) / now.calls)


def _owed_calls(stage: StageProgress, known: StageCalls | None) -> float | None:
    """The calls that a stage still takes; None: it grows, and nobody forecast how far."""
    tasks = stage.count(*TASK_UNDER_WAY)
    if stage.growing:
        if known is None:
            return None
        tasks += max(0, known.forecast_tasks - stage.expanded)
    return tasks * _calls_a_task(stage, known)


def _calls_a_task(stage: StageProgress, known: StageCalls | None) -> float:
    answered = stage.expanded - stage.count(*TASK_UNDER_WAY)
    if known is None:
        return 1.0
    if known.calls and answered:
        return known.calls / answered
    return known.forecast_calls / known.forecast_tasks if known.forecast_tasks else 1.0


def _elapsed_seconds(pace: Pace) -> float:
    return max(0.0, (pace.now - pace.started_at).total_seconds() - pace.idle)


def idle_seconds(events: Sequence[Event]) -> float:
    """How long a run was at rest before it went on, by its history, the oldest first.

    Nothing is told when a limit is reached: a run that is asked for more rested since it last told
    something.
    """
    idle, since, last = 0.0, None, None
    for event in events:
        if event.kind in AT_REST:
            since = since or event.at
        elif event.kind in GOES_ON:
            rested = since or (last if event.kind == EventKind.LIMIT_CHANGED else None)
            idle += (event.at - rested).total_seconds() if rested else 0.0
            since = None
        last = event.at
    return idle
