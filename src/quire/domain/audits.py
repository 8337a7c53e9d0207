"""Audits: a random sample of results, marked field by field without knowing who answered."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from quire.domain.data import Json
from quire.domain.ids import RunId, TaskId
from quire.domain.reviews import FieldView, InputText, SourceText


class AuditMark(StrEnum):
    """What a person says of one field of a result."""

    RIGHT = "right"
    WRONG = "wrong"
    UNSURE = "unsure"


class AuditVerdict(StrEnum):
    """Whether a stated tolerance is met."""

    MET = "met"  # no share of wrong values above the tolerance is believed any more
    MISSED = "missed"  # none below it is
    GO_ON = "go_on"  # what was marked does not tell


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditHead:
    """One audit of a stage's accepted results."""

    id: int
    run_id: RunId
    stage: str
    size: int
    population: int  # accepted results when it began
    tolerance: float  # the share of wrong values that is still good enough
    seed: int
    who: str
    started_at: datetime
    marked: int  # items
    ended: bool  # all are marked


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditItem:
    """One result of an audit, with what it was made from and nothing about who made it."""

    audit_id: int
    no: int  # 0 to size - 1
    task_id: TaskId
    data: Json
    fields: tuple[FieldView, ...]
    source: SourceText | None
    inputs: tuple[InputText, ...]
    marks: Mapping[str, AuditMark]  # none: it is not marked yet


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRate:
    """How often a field is wrong, as far as was marked."""

    field: str
    right: int
    wrong: int
    unsure: int
    rate: float | None  # wrong among right and wrong
    low: float  # of the rate: Clopper and Pearson's interval of 95 %, for a fixed number
    high: float
    sequence_low: float  # of the population: holds at every look; unsure counts as right
    sequence_high: float  # unsure counts as wrong
    least: float  # of the population: unsure counts as right; what the verdict rests on
    most: float  # unsure counts as wrong
    verdict: AuditVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What an audit has shown so far."""

    head: AuditHead
    fields: tuple[FieldRate, ...]
    verdict: AuditVerdict  # met if every field is, missed if one is
    complete: bool  # all are marked

    @property
    def is_whole(self) -> bool:
        """Whether every result there was is marked, so that nothing is estimated."""
        return self.complete and self.head.size >= self.head.population

    @property
    def may_stop(self) -> bool:
        """Whether marking more would change nothing about the verdict."""
        return self.complete or self.verdict != AuditVerdict.GO_ON
