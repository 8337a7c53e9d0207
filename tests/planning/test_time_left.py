"""Time left: by the pace so far, until a provider ends its batches, or unknown for a reason."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from quire.domain.ids import RunId
from quire.domain.reasons import EventKind, HoldKind
from quire.domain.runs import Event, Hold, Progress, StageProgress
from quire.domain.states import RunState, StageState, TaskState
from quire.planning.time_left import (
    BatchOut,
    Pace,
    StageCalls,
    TimeLeft,
    UnknownReason,
    forecast_time_left,
    idle_seconds,
)

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = BEGIN + timedelta(minutes=10)
PACE = Pace(started_at=BEGIN, now=NOW, workers=1)
PLAIN = Progress(
    run_id=RunId(1),
    state=RunState.RUNNING,
    total=100,
    expanded=40,
    counts={TaskState.DONE: 20, TaskState.PACKED: 20},
    calls=2,
)
EXTRACT = StageProgress(
    name="extract",
    state=StageState.OPEN,
    counts={TaskState.DONE: 30, TaskState.FAILED: 10, TaskState.READY: 20},
)
JUDGE = StageProgress(name="judge", state=StageState.WAITING, counts={}, judges="extract")
RECIPE = replace(PLAIN, noun="task", stages=(EXTRACT, JUDGE), calls=4)
FORECAST = {
    "extract": StageCalls(forecast_tasks=60, forecast_calls=12, calls=4),
    "judge": StageCalls(forecast_tasks=30, forecast_calls=6, calls=0),
}


def unknown(reason: UnknownReason) -> TimeLeft:
    return TimeLeft(unknown=reason)


def test_a_schema_goes_on_as_it_went() -> None:
    left = forecast_time_left(PLAIN, PACE)

    assert left == TimeLeft(seconds=4 * 600.0)  # 80 of 100 blocks, 20 of which took ten minutes


def test_a_limit_is_all_that_is_waited_for() -> None:
    left = forecast_time_left(replace(PLAIN, task_limit=40), PACE)

    assert left == TimeLeft(seconds=600.0)


def test_what_was_there_before_is_not_owed_and_says_nothing_of_the_pace() -> None:
    reusing = replace(PLAIN, counts={TaskState.DONE: 70, TaskState.PACKED: 20}, reused=50)

    assert forecast_time_left(reusing, PACE) == TimeLeft(seconds=600.0 * 30 / 20)


def test_a_recipe_owes_the_calls_of_all_its_stages() -> None:
    """Of extract 20 tasks at ten a call, of judge what was forecast: 8 calls; 4 took 600 s."""
    left = forecast_time_left(RECIPE, replace(PACE, stages=FORECAST))

    assert left == TimeLeft(seconds=1200.0)


def test_a_stage_that_still_grows_owes_what_was_forecast_and_is_not_there_yet() -> None:
    growing = replace(EXTRACT, state=StageState.EXPANDING)
    more = FORECAST | {"extract": StageCalls(forecast_tasks=100, forecast_calls=20, calls=4)}

    left = forecast_time_left(replace(RECIPE, stages=(growing, JUDGE)), replace(PACE, stages=more))

    assert left == TimeLeft(seconds=150.0 * (6 + 6))  # 20 tasks under way and 40 to come


def test_a_stage_that_is_through_owes_nothing() -> None:
    closed = replace(EXTRACT, state=StageState.CLOSED, counts={TaskState.DONE: 40})

    left = forecast_time_left(
        replace(RECIPE, stages=(closed, JUDGE)), replace(PACE, stages=FORECAST)
    )

    assert left == TimeLeft(seconds=150.0 * 6)


def test_batches_last_until_the_provider_ends_the_last_of_them() -> None:
    begun, day = BEGIN - timedelta(hours=3), 86_400.0
    out = (BatchOut("openai", begun, day), BatchOut("openai", None, day))

    left = forecast_time_left(replace(PLAIN, batches=2), replace(PACE, batches=out))
    first = forecast_time_left(replace(PLAIN, batches=1), replace(PACE, batches=out[:1]))
    endless = (*out, BatchOut("azure", begun, 0.0))
    never = forecast_time_left(replace(PLAIN, batches=3), replace(PACE, batches=endless))

    assert first == TimeLeft(seconds=day - 11_400, providers=("openai",), batches=1)
    assert left == TimeLeft(seconds=day, providers=("openai",), batches=2)  # one is not sent yet
    assert never == TimeLeft(seconds=None, providers=("azure", "openai"), batches=3)


def test_what_cannot_be_known_has_a_reason() -> None:
    begun = replace(PLAIN, counts={TaskState.READY: 20})
    held = replace(PLAIN, holds=(Hold(HoldKind.USER, "paused", BEGIN),))
    alone = replace(PACE, stages={"extract": FORECAST["extract"]})

    assert forecast_time_left(begun, PACE) == unknown(UnknownReason.NOTHING_ANSWERED)
    assert forecast_time_left(replace(RECIPE, calls=0), PACE) == unknown(
        UnknownReason.NOTHING_ANSWERED
    )
    assert forecast_time_left(held, PACE) == unknown(UnknownReason.HELD)
    assert forecast_time_left(PLAIN, replace(PACE, workers=0)) == unknown(UnknownReason.NO_WORKER)
    assert forecast_time_left(RECIPE, alone) == unknown(UnknownReason.NO_FORECAST)


def test_of_a_run_that_owes_nothing_there_is_no_time_left_to_tell() -> None:
    for over in (
        replace(PLAIN, state=RunState.FINISHED),
        replace(PLAIN, spent=True),
        replace(PLAIN, cancelling=True),
    ):
        assert forecast_time_left(over, PACE) is None


def _happened(*events: tuple[int, EventKind]) -> list[Event]:
    return [Event(BEGIN + timedelta(seconds=at), kind, "") for at, kind in events]


def test_the_time_in_which_nothing_was_to_do_says_nothing_of_the_pace() -> None:
    """Three blocks were tried, and looked at for nine minutes before the rest was asked for."""
    tried = _happened(
        (0, EventKind.RUN_STARTED), (2, EventKind.PROGRESS), (598, EventKind.LIMIT_CHANGED)
    )

    left = forecast_time_left(PLAIN, replace(PACE, idle=idle_seconds(tried)))

    assert left == TimeLeft(seconds=4 * 4.0)


def test_a_run_is_idle_from_an_end_to_where_it_goes_on() -> None:
    paused = ((0, EventKind.RUN_STARTED), (10, EventKind.PAUSED), (12, EventKind.PROGRESS))
    back = (*paused, (70, EventKind.RESUMED))
    again = (*back, (80, EventKind.RUN_FINISHED), (90, EventKind.APPROVED), (95, EventKind.PAUSED))

    assert idle_seconds([]) == 0
    assert idle_seconds(_happened(*paused)) == 0  # it is held: nobody asks how long it takes
    assert idle_seconds(_happened(*back)) == 60
    assert idle_seconds(_happened(*again, (100, EventKind.REJECTED))) == 60 + 20
    assert idle_seconds(_happened((0, EventKind.RUN_STARTED), (50, EventKind.REJECTED))) == 0
