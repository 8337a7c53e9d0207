"""A run's time left, from what the ledger knows of it: as a forecast, in words and as JSON."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quire.domain.batches import BatchView
from quire.domain.ids import RunId
from quire.domain.quantities import quantity
from quire.domain.runs import Progress
from quire.domain.states import RunState
from quire.engine.progress_words import BATCH_OVER, duration_words
from quire.engine.status_json import run_json
from quire.planning.time_left import (
    BatchOut,
    Pace,
    StageCalls,
    TimeLeft,
    UnknownReason,
    forecast_time_left,
    idle_seconds,
)
from quire.providers.vendors import vendor_facts

if TYPE_CHECKING:
    from quire.engine import Engine
    from quire.engine.queries import RunHead

HISTORY = 200  # events of a run that are looked through for when it was at rest
_REASONS = {
    UnknownReason.HELD: "it is held",
    UnknownReason.NO_WORKER: "no worker",
    UnknownReason.NOTHING_ANSWERED: "nothing is answered yet",
    UnknownReason.NO_FORECAST: "no forecast of what is to come",
}


def read_time_left(
    engine: "Engine", head: "RunHead", now: Progress, workers: int, views: Sequence[BatchView]
) -> TimeLeft | None:
    """How long a run still takes; None: it owes nothing that somebody waits for."""
    going = now.state == RunState.RUNNING
    pace = Pace(
        started_at=head.started_at,
        now=engine.runtime.now(),
        workers=workers,
        idle=idle_seconds(engine.queries.events(head.id, HISTORY)) if going else 0.0,
        stages=_stage_calls(engine, now) if going and now.is_staged else {},
        batches=[_batch_out(view) for view in views if view.state not in BATCH_OVER],
    )
    return forecast_time_left(now, pace)


def time_left_words(left: TimeLeft | None) -> str:
    """The same for a person; "" where there is nothing to wait for."""
    if left is None:
        return ""
    if left.unknown:
        return f"unknown: {_REASONS[left.unknown]}"
    if left.providers:
        batches = quantity(left.batches, "batch", "batches").removeprefix("1 ")
        which = f"the {batches}" if left.batches == 1 else f"{batches}"
        ends = "end" if len(left.providers) > 1 else "ends"
        most = "no limit is named"
        if left.seconds is not None:
            most = f"at most {duration_words(left.seconds)}"
        return f"until {' and '.join(left.providers)} {ends} {which}, {most}"
    return f"about {duration_words(left.seconds or 0)}"


def time_left_json(left: TimeLeft | None) -> dict[str, object] | None:
    """The same for programs."""
    if left is None:
        return None
    return {
        "seconds": left.seconds,
        "batches": left.batches,
        "providers": list(left.providers),
        "unknown": left.unknown,
    }


def timed_run_json(engine: "Engine", run: RunId) -> dict[str, object]:
    """All of a run's status with its time left, which changes while nothing happens."""
    head, now, workers = engine.queries.head(run), engine.progress(run), engine.workers(run)
    views = engine.batches(run) if now.batches else []
    left = read_time_left(engine, head, now, workers, views)
    return run_json(engine, run) | {"time_left": time_left_json(left)}


def _stage_calls(engine: "Engine", now: Progress) -> dict[str, StageCalls]:
    """What each stage was forecast to take, and took so far; of all its models together."""
    found: dict[str, StageCalls] = {}
    for row in engine.spend.compare_forecast(now.run_id):
        name, before = str(row["stage"]), found.get(str(row["stage"]), StageCalls(0, 0, 0))
        found[name] = StageCalls(
            before.forecast_tasks + int(str(row["tasks"])),
            before.forecast_calls + int(str(row["forecast_calls"])),
            before.calls + int(str(row["calls"])),
        )
    return found


def _batch_out(view: BatchView) -> BatchOut:
    provider = view.model.partition("/")[0]
    rules = vendor_facts(provider).batch_rules
    return BatchOut(provider, view.submitted_at, rules.window if rules else 0.0)
