"""Lifecycles: every state, every move, and where it leads. Nothing else decides that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """One noun's states and moves; a move always leads to the same state."""

    noun: str
    start: str
    states: tuple[str, ...]
    targets: Mapping[str, str]  # move -> state it leads to
    sources: Mapping[str, tuple[str, ...]]  # move -> states it may start from

    def allows(self, state: str, move: str) -> bool:
        """Say whether a row in this state may make this move."""
        return state in self.sources.get(move, ())


def _lifecycle(noun: str, start: str, moves: Iterable[tuple[str, str, str]]) -> Lifecycle:
    states: dict[str, None] = {start: None}
    targets: dict[str, str] = {}
    sources: dict[str, tuple[str, ...]] = {}
    for froms, move, target in moves:
        if targets.setdefault(move, target) != target:
            raise ValueError(f"{noun}: {move} leads to both {targets[move]} and {target}")
        names = tuple(froms.split("|"))
        states.update(dict.fromkeys((*names, target)))
        sources[move] = sources.get(move, ()) + names
    return Lifecycle(
        noun, start, tuple(states), MappingProxyType(targets), MappingProxyType(sources)
    )


RUN = _lifecycle(
    "run",
    "running",
    [
        ("running", "finish", "finished"),
        ("running", "cancel", "cancelled"),
        ("finished|cancelled", "reopen", "running"),
    ],
)

STAGE = _lifecycle(
    "stage",
    "waiting",
    [
        ("waiting", "expand", "expanding"),
        ("expanding", "seal", "open"),
        ("open", "close", "closed"),
        ("closed", "reopen", "open"),
    ],
)

TASK = _lifecycle(
    "task",
    "waiting",
    [
        ("waiting", "unblock", "ready"),
        ("ready", "pack", "packed"),
        ("packed", "return", "ready"),
        ("waiting|ready|packed|blocked|done|failed|cancelled", "propose", "proposed"),
        ("waiting|ready|packed|proposed|blocked|failed|cancelled", "accept", "done"),
        ("proposed|done", "reopen", "ready"),
        ("failed|cancelled", "retry", "ready"),
        ("waiting", "block", "blocked"),
        ("ready|blocked", "reset", "waiting"),
        ("ready|packed|proposed|done", "give_up", "failed"),
        ("waiting|ready|proposed|blocked", "cancel", "cancelled"),
    ],
)

REQUEST = _lifecycle(
    "request",
    "queued",
    [
        ("queued", "claim", "out"),
        ("out", "close", "closed"),
        ("out", "release", "queued"),
        ("queued|out", "drop", "dropped"),
    ],
)

ATTEMPT = _lifecycle(
    "attempt",
    "open",
    [
        ("open|unknown|written_off|refused", "answer", "answered"),
        ("answered", "settle", "settled"),
        ("open", "lose", "unknown"),
        ("unknown", "write_off", "written_off"),
        ("open|unknown|written_off", "refuse", "refused"),
    ],
)

BATCH = _lifecycle(
    "batch",
    "draft",
    [
        ("draft", "submit", "submitting"),
        ("submitting|unknown", "confirm", "open"),
        ("submitting", "refuse", "draft"),
        ("submitting", "lose", "unknown"),
        ("unknown", "absent", "draft"),
        ("open", "end", "ended"),
        ("ended", "collect", "collected"),
        ("draft|unknown|open|ended", "abandon", "abandoned"),
    ],
)

REVIEW = _lifecycle(
    "review",
    "unreviewed",
    [
        ("unreviewed", "approve", "approved"),
        ("unreviewed", "edit", "edited"),
        ("unreviewed", "reject", "rejected"),
        ("approved|edited|rejected", "undo", "unreviewed"),
    ],
)

CREDENTIAL = _lifecycle(
    "credential",
    "valid",
    [
        ("valid", "reject", "invalid"),
        ("valid", "exhaust", "spent"),
        ("invalid|spent", "clear", "valid"),
    ],
)

LIFECYCLES = (RUN, STAGE, TASK, REQUEST, ATTEMPT, BATCH, REVIEW, CREDENTIAL)

TASK_OWED = ("waiting", "ready", "packed", "proposed")  # something is still to come
TASK_OPEN = (*TASK_OWED, "blocked")  # not ended; what is blocked goes on when its input does
TASK_ENDED = ("done", "failed", "cancelled")
