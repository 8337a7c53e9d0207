"""The audit pages: the audits of a run, an item of a sample shown blind, and the error rates."""

from typing import Annotated, NamedTuple

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from quire.domain.audits import AuditItem, AuditMark
from quire.domain.ids import RunId
from quire.domain.states import TaskState
from quire.engine import Engine
from quire.server.access import AccessRole, AskedEngine
from quire.server.json_answers import LARGEST, Number
from quire.server.reviewers import Reviewer, Viewer
from quire.server.routes.audits import PlaceInAudit
from quire.web.interval_chart import make_chart
from quire.web.pages import render
from quire.web.source_panes import SourcePane, make_source_pane

router = APIRouter()


class AuditedStage(NamedTuple):
    """A stage whose results can be audited, and how many there are."""

    name: str
    results: int


class AuditItemView(NamedTuple):
    """An item of a sample as the page shows it."""

    item: AuditItem
    source: SourcePane | None


@router.get("/runs/{run}/audits")
def show_audits(
    request: Request, run: Number, principal: Viewer, engine: AskedEngine
) -> HTMLResponse:
    """Show the audits of a run, and begin another."""
    return render(
        request,
        "audits.html",
        principal,
        run=engine.queries.head(RunId(run)),
        audits=engine.review.audits(run),
        stages=[
            AuditedStage(stage.name, stage.counts.get(TaskState.DONE, 0))
            for stage in engine.progress(RunId(run)).stages
            if not stage.judges
        ],
        may_decide=principal.role >= AccessRole.REVIEWER,
    )


@router.get("/audits/{audit}")
def show_audit(
    request: Request,
    audit: Number,
    principal: Viewer,
    engine: AskedEngine,
    no: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
) -> HTMLResponse:
    """Show the item that is next, and how the error rates stand."""
    report = engine.review.audit_report(audit)
    view = None
    if principal.role >= AccessRole.REVIEWER:
        view = _open_view(engine, audit, no)
    chart = make_chart(report.fields, report.head.tolerance)
    return render(
        request,
        "audit.html",
        principal,
        report=report,
        chart=chart,
        view=view,
        marks=list(AuditMark),
        may_decide=principal.role >= AccessRole.REVIEWER,
    )


@router.get("/audits/{audit}/items/{no}")
def show_audit_item(
    request: Request, audit: Number, no: PlaceInAudit, principal: Reviewer, engine: AskedEngine
) -> HTMLResponse:
    """One item, for the script, which has it before it is wanted."""
    view = _item_view(engine.review.audit_item(audit, no))
    return render(request, "audit_item.html", principal, view=view, marks=list(AuditMark))


@router.get("/audits/{audit}/report")
def show_audit_report(
    request: Request, audit: Number, principal: Viewer, engine: AskedEngine
) -> HTMLResponse:
    """How the rates stand, for the script."""
    report = engine.review.audit_report(audit)
    chart = make_chart(report.fields, report.head.tolerance)
    return render(request, "audit_report.html", principal, report=report, chart=chart)


def _open_view(engine: Engine, audit: int, no: int | None) -> AuditItemView | None:
    item = (
        engine.review.next_audit_item(audit) if no is None else engine.review.audit_item(audit, no)
    )
    return _item_view(item) if item else None


def _item_view(item: AuditItem) -> AuditItemView:
    return AuditItemView(item, make_source_pane(item.source, item.fields))
