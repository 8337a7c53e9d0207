"""What the routes of review and audit take and give, as JSON."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, computed_field

from quire.domain.pricing import DOLLAR
from quire.server.json_answers import LARGEST, Body, Data, JsonSchema, Record

FilterText = Annotated[
    str,
    Query(
        max_length=4000,
        pattern=r"^[^\x00]*$",
        description="such as `reason=repaired without=stale score>=0.9 field.party=Tenant rent`",
        examples=["reason=objected"],
    ),
]


class _Shown(BaseModel):
    """Made from a value of the same fields."""

    model_config = ConfigDict(from_attributes=True)


class QuoteBody(_Shown):
    """Words of a block that show a value."""

    path: str
    text: str
    start: int
    end: int


class FieldBody(_Shown):
    """One field of a record, with what may stand in it."""

    name: str
    type: str
    choices: list[Data]
    nullable: bool
    required: bool
    description: str
    value: Data
    form: JsonSchema = Field(alias="schema")
    quotes: list[QuoteBody]


class NeighbourBody(_Shown):
    """A block beside the one that is looked at."""

    block_index: int
    block_type: str
    content: str


class SourceBody(_Shown):
    """The block that a result is about, in its document."""

    document_id: int
    title: str
    block_index: int | None
    block_type: str
    headings: list[str]
    content: str
    before: list[NeighbourBody]
    after: list[NeighbourBody]


class InputBody(_Shown):
    """A result that another was made from."""

    task_id: int
    stage: str
    text: str


class CriticBody(_Shown):
    """What a critic said of a result."""

    stage: str
    model: str
    score: float | None
    objects: bool
    data: Data
    text: str


class ResultVersionBody(_Shown):
    """A result that a task has or had."""

    result_id: int
    version: int
    origin: str
    data: Data
    review_state: str | None
    reviewer: str | None
    reviewed_at: datetime | None
    created_at: datetime
    superseded_at: datetime | None
    current: bool


class DecisionBody(_Shown):
    """One decision of a person, kept for good."""

    id: int
    run_id: int
    stage: str
    task_id: int
    move: str
    who: str
    at: datetime
    note: str
    before_result: int | None
    after_result: int | None
    before: Data
    after: Data
    undoes: int | None
    undone_by: int | None
    bulk: int | None


class DecisionPageBody(BaseModel):
    """Decisions, the newest first."""

    items: list[DecisionBody]
    next: str | None


class CostBody(_Shown):
    """What asking again would cost, as far as one can tell."""

    cost_pico: int | None
    basis: str

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cost_usd(self) -> float | None:
        """The same in dollars."""
        return None if self.cost_pico is None else self.cost_pico / DOLLAR


class InboxLineBody(_Shown):
    """One result that a person may decide about, as a list shows it."""

    task_id: int
    result_id: int | None
    stage: str
    title: str
    block_index: int | None
    reasons: list[str]
    score: float | None
    state: str
    review_state: str | None
    reviewer: str | None
    reviewed_at: datetime | None
    excerpt: str
    data: Data
    held_by: str | None
    held_until: datetime | None


class InboxPageBody(BaseModel):
    """A part of an inbox; it may be short, or empty, and still have a next one: ask on."""

    items: list[InboxLineBody]
    next: str | None
    looked_at: int


class CountsBody(_Shown):
    """How many items there are by their first reason; each count stops at a bound."""

    by_reason: Mapping[str, int]
    left: int
    decided: int
    capped: bool


class ItemBody(_Shown):
    """All that a page shows of one result."""

    run_id: int
    task_id: int
    result_id: int | None
    stage: str
    state: str
    review_state: str | None
    reviewer: str | None
    reviewed_at: datetime | None
    stale_since: datetime | None
    model: str | None
    data: Data
    fields: list[FieldBody]
    quotes: list[QuoteBody]
    notes: list[str]
    source: SourceBody | None
    inputs: list[InputBody]
    critics: list[CriticBody]
    score: float | None
    reasons: list[str]
    versions: list[ResultVersionBody]
    decisions: list[DecisionBody]
    reject_cost: CostBody
    held_by: str | None
    held_until: datetime | None
    undoable: int | None


class LeaseBody(_Shown):
    """Who is at an item, and until when nobody else is given it."""

    task_id: int
    who: str
    until: datetime


class DecisionResultBody(_Shown):
    """What became of a decision."""

    run_id: int
    stage: str
    task_id: int
    changed: bool
    stale: int
    decision: int | None


class BulkPreviewBody(_Shown):
    """What a filter takes, before it is decided about."""

    count: int
    again: int
    sample: list[InboxLineBody]
    reject_cost: CostBody


class BulkResultBody(_Shown):
    """What became of a decision about all that a filter takes."""

    decided: int
    skipped: int
    changed: bool
    decision: int | None


class WhoBody(Body):
    """Who asks; people who signed in leave it out."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"who": "Ann"}]})
    who: str = Field("", max_length=100)


class NoteBody(WhoBody):
    """Who decides, and a note that is kept."""

    note: str = Field("", max_length=2000)


class ApproveBody(NoteBody):
    """Who approves, which result they saw, and a note that is kept."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"who": "Ann", "note": "seen"}]})
    result: int | None = Field(
        None,
        ge=1,
        le=LARGEST,
        description="`result_id` that was seen; refused where another stands.",
    )


class RejectBody(ApproveBody):
    """What is wrong: the model is told so when it is asked again."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"who": "Ann", "note": "the tenant pays, not the owner"}]}
    )


class EditBody(ApproveBody):
    """The whole data that takes the result's place, or the fields that change."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"who": "Ann", "changes": {"obliged_party": "Tenant"}}]}
    )
    data: Data = None
    changes: Record | None = None  # the other fields stay as they are


class UndoBody(WhoBody):
    """Which decision is taken back; none named: the newest about this result."""

    decision: int | None = Field(None, ge=1, le=LARGEST)


class UndoBulkBody(WhoBody):
    """Any of the decisions that were made at once: all of them are taken back."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"who": "Ann", "decision": 17}]})
    decision: int = Field(ge=1, le=LARGEST)


class NextBody(WhoBody):
    """How many items are wanted next, and of which."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"who": "Ann", "filter": "reason=repaired", "count": 5}]}
    )
    filter: str = Field("", max_length=4000)
    count: int = Field(1, ge=1, le=100)
    cursor: str | None = Field(None, max_length=500)


class TasksBody(WhoBody):
    """Which leases are meant."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"who": "Ann", "tasks": [4, 7]}]})
    tasks: list[Annotated[int, Field(ge=1, le=LARGEST)]] = Field(max_length=500)


class BulkBody(NoteBody):
    """One decision about all that a filter takes."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"who": "Ann", "move": "approve", "filter": "score>=0.9 without=repaired"}]
        }
    )
    move: str = Field(pattern="^(approve|reject)$")
    filter: str = Field(max_length=4000)
