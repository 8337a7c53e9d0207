"""Outstanding: what is said of batches that providers have, and of the next look at them."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from math import ceil
from typing import TYPE_CHECKING

from quire.cli.printing import counted, moment
from quire.domain.runs import BATCH, Progress

if TYPE_CHECKING:
    from quire.domain.batches import BatchView
    from quire.engine.looking import RunHead

NEEDS = "needs a worker: quire work"
OVER = ("collected", "abandoned")
_ENDED = ("complet", "succe", "fail", "error", "cancel", "expired")  # as the vendors begin to count

_COUNTS = {  # what they count by, without their ends
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
_FULL = "the provider's queue was full"
_ONE = re.compile(r"(?<![0-9.,])1 calls\b")


def batches_out(now: Progress, workers: int, views: Iterable["BatchView"] = ()) -> str:
    """What providers have of a run, and when the next look is; "" where they have nothing."""
    if not now.batches:
        return ""
    if now.state != "running":
        return _cancelling(now, workers)
    out = f"{counted(now.batches, 'batch', 'batches')} out"
    done, of = through(views)
    told = [out + (f", {done:,} of {counted(of, 'call')} answered there" if done else "")]
    if look := next_look(now.next_poll_at, workers):
        told.append(look if look.startswith("due") else f"next look {look}")
    return ", ".join(told)


def _cancelling(now: Progress, workers: int) -> str:
    """What becomes of batches that nobody waits for any more."""
    some = now.batches > 1
    out = counted(now.batches, "batch is", "batches are")
    answered = f"what {'they' if some else 'it'} answered is recorded when a worker looks"
    does_it = "" if workers else f": quire attach {now.run_id}"
    return f"{out} being cancelled; {answered}{does_it}"


def went_direct(head: "RunHead", now: Progress) -> str:
    """Why a run that was to go in batches made none; "" where it was not, or nothing went yet."""
    least = stated(head, "min_batch_size")
    batch = stated(head, "route") == BATCH and not stated(head, "deadline")
    if not batch or not now.calls or not isinstance(least, int):
        return ""
    calls = counted(now.calls, "call")
    if now.calls >= least:
        said = (
            f"never were {least:,} calls together, the fewest of a batch: all {calls} went direct"
        )
    elif now.calls == 1:
        said = f"1 call is fewer than the {least:,} of a batch: it went direct"
    else:
        said = f"{calls} are fewer than the {least:,} of a batch: they went direct"
    return f"{said}; --min-batch-size 1 changes that"


def usually_paced(provider: str) -> str:
    """That calls go steadily without being asked to."""
    return f"calls to {provider} go steadily (paced), at most four at a time, unless told otherwise"


def stated(head: "RunHead", name: str) -> object:
    """What a run's policy says."""
    sourced = head.policy.get(name)
    return sourced.get("value") if isinstance(sourced, Mapping) else None


def next_look(at: datetime | None, workers: int) -> str:
    """When somebody looks at a batch: in so long, now, or not before there is a worker."""
    from quire.dispatch.outside import Outside  # loads asyncio: not for --help

    if at is None:
        return ""
    now = Outside().now()
    if at > now:
        return f"in {_time((at - now).total_seconds())}"
    return "now" if workers else f"due since {clock(at, now)}; {NEEDS}"


def clock(at: datetime, now: datetime) -> str:
    """The time of a moment, with its date where that is not today's."""
    told, today = moment(at)[:-3], moment(now)[:10]
    return told.removeprefix(f"{today} ")


def in_words(recorded: str) -> str:
    """What was written down, without the names that only programs know."""
    told = recorded.replace("the batch queue_full", _FULL).replace(" queue_full", f": {_FULL}")
    return _ONE.sub("1 call", told)


def counted_there(counts: Mapping[str, int]) -> str:
    """A provider's own counts in plain words."""
    words = ((_COUNTS.get(_bare(name), _bare(name)), count) for name, count in counts.items())
    return ", ".join(f"{count:,} {word}" for word, count in words if count)


def _bare(name: str) -> str:
    """A vendor's name for a count without what all of them end with: requestCount is the sum."""
    return name.lower().removesuffix("count").removesuffix("_requests").removesuffix("request")


def through(views: Iterable["BatchView"]) -> tuple[int, int]:
    """How many calls the providers say they are through with, of how many that are out."""
    out = [each for each in views if each.state not in OVER]
    return sum(min(_ended(each.counts), each.rows) for each in out), sum(each.rows for each in out)


def _ended(counts: Mapping[str, int]) -> int:
    """What a provider's own counts add up to, leaving out what waits and what is a sum."""
    if "completed" in counts and "succeeded" in counts:  # then the one is part of the other
        return counts["completed"]
    return sum(count for name, count in counts.items() if name.lower().startswith(_ENDED))


def _time(seconds: float) -> str:
    """A length of time as people say it."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{ceil(seconds)} s"
