"""Audits: a random sample of a stage, marked blind, and the error rate of every field."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from quire.domain.audits import AuditMark
from quire.server.access import AskedEngine
from quire.server.json_answers import LARGEST, USUAL_ITEMS, Cursor, Limit, Number, cut_page
from quire.server.reviewers import Reviewer, Viewer, reviewer_name
from quire.server.routes.review_bodies import (
    FieldBody,
    InputBody,
    SourceBody,
    WhoBody,
)

router = APIRouter(tags=["audit"])
EXAMPLE_MARKS: dict[
    str, JsonValue
] = {  # of every field of the schema `clauses`, which `POST /v1/examples` brings
    "clause_type": "right",
    "headline": "right",
    "obliged_party": "wrong",
    "defined_terms": "unsure",
    "word_count": "right",
    "has_question": "right",
}
PlaceInAudit = Annotated[int, Path(ge=0, le=LARGEST)]


class _AuditShape(BaseModel):
    """Made from a value of the same fields."""

    model_config = ConfigDict(from_attributes=True)


class AuditHeadBody(_AuditShape):
    """An audit: its sample, and how far it is."""

    id: int
    run_id: int
    stage: str
    size: int
    population: int
    tolerance: float
    seed: int
    who: str
    started_at: datetime
    marked: int
    ended: bool


class AuditListBody(BaseModel):
    """The audits of a run."""

    items: list[AuditHeadBody]
    next: str | None


class AuditItemBody(_AuditShape):
    """One result of the sample; who made it and what became of it is left out."""

    audit_id: int
    no: int
    task_id: int
    fields: list[FieldBody]
    source: SourceBody | None
    inputs: list[InputBody]
    marks: dict[str, AuditMark]


class NextAuditItemBody(BaseModel):
    """The next item that nobody marked; null: all are marked."""

    item: AuditItemBody | None


class FieldRateBody(_AuditShape):
    """The error rate of one field, with its intervals."""

    field: str
    right: int
    wrong: int
    unsure: int
    rate: float | None
    low: float
    high: float
    sequence_low: float
    sequence_high: float
    least: float
    most: float
    verdict: str


class AuditReportBody(_AuditShape):
    """How an audit stands; Clopper-Pearson intervals are final only when it is complete."""

    head: AuditHeadBody
    fields: list[FieldRateBody]
    verdict: str
    may_stop: bool
    complete: bool


class StartAuditBody(WhoBody):
    """How large the sample is, and which error rate would still do."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"who": "Ann", "size": 200, "tolerance": 0.02}]}
    )
    size: int = Field(200, ge=1, le=100_000)
    tolerance: float = Field(0.02, gt=0, lt=1)
    stage: str | None = Field(None, max_length=200)
    seed: int = Field(0, ge=0, le=LARGEST)


class MarksBody(WhoBody):
    """Right, wrong or unsure for every field of one item."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"who": "Ann", "no": 0, "marks": EXAMPLE_MARKS}]}
    )
    no: int = Field(ge=0, le=LARGEST)
    marks: dict[str, AuditMark] = Field(max_length=1000)


@router.post("/v1/runs/{run}/audits", status_code=201)
def start_audit(
    run: Number, body: StartAuditBody, principal: Reviewer, engine: AskedEngine
) -> AuditHeadBody:
    """Draw a sample; the same again goes on with the one that is there."""
    head = engine.review.start_audit(
        run,
        size=body.size,
        tolerance=body.tolerance,
        stage=body.stage,
        seed=body.seed,
        who=reviewer_name(principal, body.who),
    )
    return AuditHeadBody.model_validate(head)


@router.get("/v1/runs/{run}/audits")
def get_audits(
    run: Number,
    principal: Viewer,
    engine: AskedEngine,
    cursor: Cursor = None,
    limit: Limit = USUAL_ITEMS,
) -> AuditListBody:
    """List the audits of a run, the oldest first."""
    shown, further = cut_page(engine.review.audits(run), cursor, limit)
    heads = [AuditHeadBody.model_validate(head) for head in shown]
    return AuditListBody(items=heads, next=further)


@router.get("/v1/audits/{audit}")
def get_audit_report(audit: Number, principal: Viewer, engine: AskedEngine) -> AuditReportBody:
    """Say how an audit stands: the error rate of every field, with its intervals."""
    return AuditReportBody.model_validate(engine.review.audit_report(audit))


@router.get("/v1/audits/{audit}/next")
def get_next_audit_item(
    audit: Number, principal: Reviewer, engine: AskedEngine
) -> NextAuditItemBody:
    """Show the next item that nobody marked."""
    item = engine.review.next_audit_item(audit)
    return NextAuditItemBody(item=AuditItemBody.model_validate(item) if item else None)


@router.get("/v1/audits/{audit}/items/{no}")
def get_audit_item(
    audit: Number, no: PlaceInAudit, principal: Reviewer, engine: AskedEngine
) -> AuditItemBody:
    """Show one item of the sample."""
    return AuditItemBody.model_validate(engine.review.audit_item(audit, no))


@router.post("/v1/audits/{audit}/marks")
def mark_audit_item(
    audit: Number, body: MarksBody, principal: Reviewer, engine: AskedEngine
) -> AuditReportBody:
    """Mark the fields of an item; marking again replaces, and changes no result."""
    who = reviewer_name(principal, body.who)
    return AuditReportBody.model_validate(engine.review.mark(audit, body.no, body.marks, who))
