"""Regating: what judging stored answers again with newer gates says of a stage."""

from dataclasses import dataclass, field
from typing import NamedTuple

from quire.domain.ids import TaskId

SAME, CHANGED, ACCEPTED, REFUSED = "same", "changed", "accepted", "refused"
CONFIRMED, UNANSWERED = "confirmed", "unanswered"
KINDS = (SAME, CHANGED, ACCEPTED, REFUSED, CONFIRMED, UNANSWERED)
DIFFERENT = (CHANGED, ACCEPTED, REFUSED)


class RegateExample(NamedTuple):
    """One task that newer gates see differently."""

    task_id: TaskId
    kind: str  # changed, accepted or refused
    before: str
    after: str


@dataclass(slots=True)
class RegateReport:
    """What newer gates say of one stage."""

    stage: str
    gate_version: str
    applied: bool
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    stale: int = 0  # dependants that were marked
    examples: list[RegateExample] = field(default_factory=list)

    @property
    def difference_count(self) -> int:
        """How many tasks would change, or did."""
        return sum(self.counts[kind] for kind in DIFFERENT)
