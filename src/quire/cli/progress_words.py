"""What is said of a run's stages and of the batches that providers have of it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from quire.cli.printing import Narrowing, clip, print_table, quantity
from quire.domain.runs import BATCH, Progress, StageProgress
from quire.domain.states import (
    TASK_ENDED,
    TASK_UNDER_WAY,
    BatchState,
    RunState,
    StageState,
    TaskState,
)

if TYPE_CHECKING:
    from quire.domain.batches import BatchView
    from quire.engine.queries import RunHead


_TOLD_STATES = (
    TaskState.DONE,
    TaskState.FAILED,
    TaskState.BLOCKED,
    TaskState.PROPOSED,
    TaskState.CANCELLED,
)
_STAGE_NARROWING: tuple[Narrowing, ...] = (
    ("stage", lambda name: clip(name, 20)),
    ("remarks", lambda text: clip(text, 30)),
    ("state", None),
)


def print_stages(now: Progress) -> None:
    """Print a table of stages; what is 0 everywhere is no column."""
    counts: tuple[tuple[str, tuple[TaskState, ...]], ...] = (
        ("done", (TaskState.DONE,)),
        ("failed", (TaskState.FAILED,)),
        ("proposed", (TaskState.PROPOSED,)),
        ("blocked", (TaskState.BLOCKED,)),
        ("under way", TASK_UNDER_WAY),
        ("cancelled", (TaskState.CANCELLED,)),
    )
    columns: dict[str, list[object]] = {
        "stage": [stage.name for stage in now.stages],
        "state": [stage.state for stage in now.stages],
        ">tasks": [task_count(stage) for stage in now.stages],
        **{f">{name}": [stage.count(*states) for stage in now.stages] for name, states in counts},
        "*remarks": [stage_remarks(stage) for stage in now.stages],
    }
    used = {name: cells for name, cells in columns.items() if name == ">done" or any(cells)}
    rows = zip(*used.values(), strict=True)
    print_table([*used], rows, narrowing=_STAGE_NARROWING)


def stage_remarks(stage: StageProgress) -> str:
    """What else there is to say of a stage."""
    judges = f"judges {stage.judges}" if stage.judges else ""
    stale = f"{stage.stale:,} stale" if stage.stale else ""
    return ", ".join(filter(None, (judges, stage.waits_for, stale)))


def task_count(stage: StageProgress) -> str:
    """How many tasks a stage has; `+` where more may come."""
    if stage.state == StageState.WAITING:
        return "–"
    return f"{stage.expanded:,}{'+' if stage.growing else ''}"


def stages_summary(now: Progress) -> str:
    """All stages in one line: what each came to."""
    return " · ".join(f"{stage.name}: {_stage_summary(stage)}" for stage in now.stages)


def _stage_summary(stage: StageProgress) -> str:
    if not stage.expanded:
        return "not begun" if stage.growing else "nothing"
    to_come = stage.count(*TASK_UNDER_WAY)
    parts = _nonzero_counts(stage, _TOLD_STATES)
    return ", ".join([*parts, f"{to_come:,} to come"] if to_come else parts)


def _nonzero_counts(stage: StageProgress, states: Sequence[TaskState]) -> list[str]:
    return [f"{stage.count(state):,} {state}" for state in states if stage.count(state)]


def stage_words(stage: StageProgress, room: int) -> str:
    """What stands beside a stage's bar: what is not 0, as much of it as there is room for."""
    if stage.waits_for:
        return clip(stage.waits_for, max(1, room))
    parts = _nonzero_counts(stage, (TaskState.FAILED, TaskState.BLOCKED, TaskState.PROPOSED))
    for some in range(len(parts), 0, -1):
        words = " · ".join(parts[:some])
        if len(words) <= room:
            return words
    return ""


def ended_tasks(stage: StageProgress) -> int:
    """Tasks that have come to an end, one way or the other."""
    return stage.count(*TASK_ENDED, TaskState.BLOCKED)


NEEDS_WORKER = "needs a worker: quire work"
BATCH_OVER = (BatchState.COLLECTED, BatchState.ABANDONED)
_ENDED_COUNTS = ("complet", "succe", "fail", "error", "cancel", "expired")  # as vendors begin
_COUNT_WORDS = {  # what they count by, without their ends
    "": "in all",
    "total": "in all",
    "successful": "answered",
    "succeeded": "answered",
    "errored": "failed",
    "canceled": "cancelled",
    "processing": "in progress",
    "pending": "waiting",
    "incomplete": "not done",
}
_QUEUE_FULL = "the provider's queue was full"
_ONE_CALL = re.compile(r"(?<![0-9.,])1 calls\b")


def outstanding_batches(now: Progress, workers: int, views: Iterable["BatchView"] = ()) -> str:
    """What providers have of a run, and when the next look is; "" where they have nothing."""
    if not now.batches:
        return ""
    if now.state != RunState.RUNNING:
        return _cancelling_words(now, workers)
    out = f"{quantity(now.batches, 'batch', 'batches')} out"
    done, of = answer_counts(views)
    parts = [out + (f", {done:,} of {quantity(of, 'call')} answered there" if done else "")]
    if poll := next_poll(now.next_poll_at, workers):
        parts.append(str(poll) if poll.unattended else f"next look {poll}")
    return ", ".join(parts)


def _cancelling_words(now: Progress, workers: int) -> str:
    """What becomes of batches that nobody waits for any more."""
    some = now.batches > 1
    out = quantity(now.batches, "batch is", "batches are")
    answered = f"what {'they' if some else 'it'} answered is recorded when a worker looks"
    does_it = "" if workers else f": quire attach {now.run_id}"
    return f"{out} being cancelled; {answered}{does_it}"


def direct_reason(head: "RunHead", now: Progress) -> str:
    """Why a run that was to go in batches made none; "" where it was not, or nothing went yet."""
    least = policy_value(head, "min_batch_size")
    batch = policy_value(head, "route") == BATCH and not policy_value(head, "deadline")
    if not batch or not now.calls or not isinstance(least, int):
        return ""
    calls = quantity(now.calls, "call")
    if now.calls >= least:
        said = (
            f"never were {least:,} calls together, the fewest of a batch: all {calls} went direct"
        )
    elif now.calls == 1:
        said = f"1 call is fewer than the {least:,} of a batch: it went direct"
    else:
        said = f"{calls} are fewer than the {least:,} of a batch: they went direct"
    return f"{said}; --min-batch-size 1 changes that"


def pacing_note(provider: str) -> str:
    """That calls go steadily without being asked to."""
    return f"calls to {provider} go steadily (paced), at most four at a time, unless told otherwise"


def policy_value(head: "RunHead", name: str) -> object:
    """What a run's policy says."""
    sourced = head.policy.get(name)
    return sourced.get("value") if isinstance(sourced, Mapping) else None


class NextPoll(NamedTuple):
    """When somebody looks at a batch next."""

    when: str  # in so long, now, or since when it is due
    unattended: bool = False  # it is due, and there is no worker

    def __str__(self) -> str:
        """Say what is missing, too."""
        return f"{self.when}; {NEEDS_WORKER}" if self.unattended else self.when


def next_poll(at: datetime | None, workers: int) -> NextPoll | None:
    """When somebody looks at a batch: in so long, now, or not before there is a worker."""
    from quire.engine import Runtime  # loads asyncio: not for --help

    if at is None:
        return None
    now = Runtime().now()
    if at > now:
        return NextPoll(f"in {_duration_words((at - now).total_seconds())}")
    if workers:
        return NextPoll("now")
    local, today = at.astimezone(), now.astimezone().date()
    since = f"{local:%H:%M}" if local.date() == today else f"{local:%Y-%m-%d %H:%M}"
    return NextPoll(f"due since {since}", unattended=True)


def plain_words(recorded: str) -> str:
    """What was written down, without the names that only programs know."""
    text = recorded.replace("the batch queue_full", _QUEUE_FULL).replace(
        " queue_full", f": {_QUEUE_FULL}"
    )
    return _ONE_CALL.sub("1 call", text)


def provider_counts(counts: Mapping[str, int]) -> str:
    """A provider's own counts in plain words."""
    words = (
        (_COUNT_WORDS.get(_bare_count_name(name), _bare_count_name(name)), count)
        for name, count in counts.items()
    )
    return ", ".join(f"{count:,} {word}" for word, count in words if count)


def _bare_count_name(name: str) -> str:
    """A vendor's name for a count without what all of them end with: requestCount is the sum."""
    return name.lower().removesuffix("count").removesuffix("_requests").removesuffix("request")


def answer_counts(views: Iterable["BatchView"]) -> tuple[int, int]:
    """How many calls the providers say they are through with, of how many that are out."""
    out = [view for view in views if view.state not in BATCH_OVER]
    ended = sum(min(_ended_calls(view.counts), view.rows) for view in out)
    return ended, sum(view.rows for view in out)


def _ended_calls(counts: Mapping[str, int]) -> int:
    """What a provider's own counts add up to, leaving out what waits and what is a sum."""
    if "completed" in counts and "succeeded" in counts:  # then the one is part of the other
        return counts["completed"]
    return sum(count for name, count in counts.items() if name.lower().startswith(_ENDED_COUNTS))


def _duration_words(seconds: float) -> str:
    """A length of time as people say it."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{ceil(seconds)} s"
