"""Progress in words: of a run's stages, and of the batches that providers have of it."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from quire.domain.quantities import quantity
from quire.domain.runs import Progress, StageProgress
from quire.domain.states import TASK_ENDED, BatchState, RunState, StageState, TaskState

if TYPE_CHECKING:
    from quire.domain.batches import BatchView


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


class NextPoll(NamedTuple):
    """When somebody looks at a batch next."""

    when: str  # in so long, now, or since when it is due
    unattended: bool = False  # it is due, and there is no worker

    def __str__(self) -> str:
        """Say what is missing, too."""
        return f"{self.when}; {NEEDS_WORKER}" if self.unattended else self.when


def next_poll(at: datetime | None, workers: int) -> NextPoll | None:
    """When somebody looks at a batch: in so long, now, or not before there is a worker."""
    from quire.dispatch.runtime import Runtime  # loads asyncio: not for --help

    if at is None:
        return None
    now = Runtime().now()
    if at > now:
        return NextPoll(f"in {duration_words((at - now).total_seconds())}")
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


def duration_words(seconds: float) -> str:
    """A length of time as people say it."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{ceil(seconds)} s"
