"""Staging: what is said of a recipe's stages, in a table and in a few words."""

from collections.abc import Iterator, Sequence

from quire.cli.printing import Narrowing, clipped, print_table
from quire.domain.runs import Progress, StageProgress
from quire.domain.states import TASK_ENDED

_UNDER_WAY = ("waiting", "ready", "packed")
_GIVE_WAY: tuple[Narrowing, ...] = (
    ("stage", lambda name: clipped(name, 20)),
    ("remarks", lambda text: clipped(text, 30)),
    ("state", None),
)


def print_stages(now: Progress) -> None:
    """Print a table of stages; what is 0 everywhere is no column."""
    counts: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("done", ("done",)),
        ("failed", ("failed",)),
        ("proposed", ("proposed",)),
        ("blocked", ("blocked",)),
        ("under way", _UNDER_WAY),
        ("cancelled", ("cancelled",)),
    )
    told = [each for each in counts if each[0] == "done" or _any(now, each[1])]
    columns = ["stage", "state", ">tasks", *(f">{name}" for name, _ in told), "*remarks"]
    rows = [
        [
            each.name,
            each.state,
            known(each),
            *(each.count(*states) for _, states in told),
            remarks(each),
        ]
        for each in now.stages
    ]
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
        print_table(columns, rows, narrowing=(_GIVE_WAY[0], _GIVE_WAY[2]))
        return
    print_table(columns, rows, narrowing=_GIVE_WAY)


def _any(now: Progress, states: Sequence[str]) -> bool:
    return any(each.count(*states) for each in now.stages)


def remarks(stage: StageProgress) -> str:
    """What else there is to say of a stage."""
    parts = (
        f"judges {stage.judges}" if stage.judges else "",
        stage.waits_for,
        f"{stage.stale:,} stale" if stage.stale else "",
    )
    return ", ".join(part for part in parts if part)


def known(stage: StageProgress) -> str:
    """How many tasks a stage has; `+` where more may come."""
    if stage.state == "waiting":
        return "–"
    return f"{stage.expanded:,}{'+' if stage.growing else ''}"


def summed_up(now: Progress) -> str:
    """All stages in one line: what each came to."""
    return " · ".join(_came_to(each) for each in now.stages)


def _came_to(stage: StageProgress) -> str:
    if not stage.expanded:
        return f"{stage.name}: {'not begun' if stage.state == 'waiting' else 'nothing'}"
    return f"{stage.name}: {', '.join(_parts(stage))}"


def _parts(stage: StageProgress) -> Iterator[str]:
    for state in ("done", "failed", "blocked", "proposed", "cancelled"):
        if count := stage.count(state):
            yield f"{count:,} {state}"
    if count := stage.count(*_UNDER_WAY):
        yield f"{count:,} to come"


def live_words(stage: StageProgress, room: int) -> str:
    """What stands beside a stage's bar: what is not 0, as much of it as there is room for."""
    if stage.waits_for:
        return clipped(stage.waits_for, max(1, room))
    parts = [
        f"{stage.count(state):,} {state}"
        for state in ("failed", "blocked", "proposed")
        if stage.count(state)
    ]
    for some in range(len(parts), 0, -1):
        told = " · ".join(parts[:some])
        if len(told) <= room:
            return told
    return ""


def through(stage: StageProgress) -> int:
    """Tasks that have come to an end, one way or the other."""
    return stage.count(*TASK_ENDED, "blocked")
