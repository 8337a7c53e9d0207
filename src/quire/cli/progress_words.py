"""What the command line says of a run's stages, and of how its calls go."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from quire.cli.printing import Narrowing, clip, print_table
from quire.domain.quantities import quantity
from quire.domain.runs import BATCH, Progress, StageProgress
from quire.domain.states import TASK_UNDER_WAY, TaskState
from quire.engine.progress_words import stage_remarks, task_count

if TYPE_CHECKING:
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


def filled_stage(now: Progress) -> StageProgress | None:
    """The last stage with results, where what a recipe is for has none yet; else None."""
    made = [stage for stage in now.stages if not stage.critic]
    filled = [stage for stage in made if stage.counts.get(TaskState.DONE)]
    return filled[-1] if filled and made[-1].expanded == 0 else None


def filled_stage_note(now: Progress) -> str:
    """Where there are results while what a recipe is for has none yet; else empty."""
    filled = filled_stage(now)
    if filled is None:
        return ""
    last = [stage.name for stage in now.stages if not stage.critic][-1]
    return f"{last} has nothing yet; --stage {filled.name} has {filled.counts[TaskState.DONE]:,}"


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
