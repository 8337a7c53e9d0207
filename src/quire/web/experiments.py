"""The pages of experiments: all of them, and one with the tables and charts of its report."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from quire.domain.errors import NotFound
from quire.domain.ids import RunId
from quire.domain.runs import StageProgress
from quire.engine import Engine
from quire.engine.run_reports import ReportedRun, RunReport, find_reported, reported_among
from quire.export.result_selection import find_result_source
from quire.server.access import AskedEngine, Principal, find_principal, site_of
from quire.server.json_answers import LARGEST
from quire.web.pages import render
from quire.web.run_lines import read_run_line
from quire.web.run_standing import read_standing
from quire.web.stage_graph import StageGraph, draw_graph

router = APIRouter()
Viewer = Annotated[Principal, Depends(find_principal)]
RunNumber = Annotated[int, Path(ge=1, le=LARGEST)]
RUNS = 200  # looked through for a page of the list
MOST_AT_ONCE = 1_000  # tasks: whose report is made while one waits; of more it takes seconds
# A picture is shown as a picture: opened by itself, its colours may stand in it, and nothing else.
PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"

_KINDS = {"png": "image/png", "svg": "image/svg+xml", "csv": "text/csv; charset=utf-8"}


class _KeptReport(NamedTuple):
    """A report, and how the run stood when it was made."""

    mark: str
    report: RunReport


@router.get("/experiments")
def list_experiments(
    request: Request,
    principal: Viewer,
    engine: AskedEngine,
    cursor: Annotated[int, Query(ge=1, le=LARGEST)] = LARGEST,
) -> HTMLResponse:
    """Show the runs that are experiments, the newest first."""
    key = ("experiments", principal.workspace, cursor)
    shown = site_of(request).recall(engine).get(key, lambda: _read_experiments(engine, cursor))
    return render(request, "experiments.html", principal, **shown)


def _read_experiments(engine: Engine, before: int) -> dict[str, Any]:
    found = engine.listings.runs(before, RUNS + 1)
    return {
        "lines": [
            (item.title, read_run_line(engine, item.run.id))
            for item in reported_among(found[:RUNS])
        ],
        "next": found[RUNS - 1].id if len(found) > RUNS else None,
        "cursor": None if before == LARGEST else before,
    }


@router.get("/experiments/{run}")
def show_experiment(
    request: Request, principal: Viewer, engine: AskedEngine, run: RunNumber
) -> HTMLResponse:
    """Show an experiment: how far its run is, and what it says so far."""
    answers, where = site_of(request).recall(engine), principal.workspace
    reported = _find(request, principal, engine, run)
    standing = answers.get(("run", where, run), lambda: read_standing(engine, run))
    graph = _draw(engine, standing.id, {stage.name: stage for stage in standing.now.stages})
    is_large = standing.now.total > MOST_AT_ONCE
    kept = _read_report(request, principal, engine, reported, waits=not is_large)
    return render(
        request,
        "experiment.html",
        principal,
        run=standing,
        title=reported.title,
        command_line=reported.reporter.command(standing.id),
        graph=graph,
        report=kept and kept.report,
        mark=kept and kept.mark[:12],
    )


@router.get("/experiments/{run}/{name}.svg")
def show_picture(
    request: Request,
    principal: Viewer,
    engine: AskedEngine,
    run: RunNumber,
    name: str,
    *,
    dark: bool = False,
) -> Response:
    """Draw one chart of a report."""
    reported = _find(request, principal, engine, run)
    kept = _read_report(request, principal, engine, reported, waits=False)
    kept = kept or _read_report(request, principal, engine, reported, waits=True)
    picture = kept and kept.report.picture(name)
    if not kept or not picture:
        raise NotFound(f"the report of run {run} has no chart {name!r}", f"/experiments/{run}")
    key = ("picture", principal.workspace, run, name, dark)
    _, drawn = (
        site_of(request)
        .recall(engine)
        .get(key, lambda: (kept.mark, picture.draw(dark)), lambda known: known[0] == kept.mark)
    )
    return Response(
        drawn, media_type="image/svg+xml", headers={"Content-Security-Policy": PICTURE_POLICY}
    )


@router.get("/experiments/{run}/files/{name}.{ending}")
def download_chart(
    request: Request,
    principal: Viewer,
    engine: AskedEngine,
    run: RunNumber,
    name: str,
    ending: str,
) -> Response:
    """Hand out one chart of a report as a file: a picture on white, or the numbers behind it."""
    reported = _find(request, principal, engine, run)
    kept = _read_report(request, principal, engine, reported, waits=True)
    picture = kept and kept.report.picture(name)
    if not kept or not picture or ending not in picture.endings or ending not in _KINDS:
        raise NotFound(f"the report of run {run} has no file {name!r}", f"/experiments/{run}")
    key = ("drawn", principal.workspace, run, name)
    _, files = (
        site_of(request)
        .recall(engine)
        .get(key, lambda: (kept.mark, picture.files()), lambda known: known[0] == kept.mark)
    )
    headers = {
        "Content-Security-Policy": PICTURE_POLICY,
        "Content-Disposition": f'attachment; filename="{picture.name}.{ending}"',
    }
    return Response(files[ending], media_type=_KINDS[ending], headers=headers)


def _find(request: Request, principal: Principal, engine: Engine, run: int) -> ReportedRun:
    key = ("reported", principal.workspace, run)
    reported = site_of(request).recall(engine).get(key, lambda: find_reported(engine, run))
    if reported is None:
        raise NotFound(f"run {run} is not an experiment's", f"/runs/{run} shows it")
    return reported


def _read_report(
    request: Request, principal: Principal, engine: Engine, reported: ReportedRun, *, waits: bool
) -> _KeptReport | None:
    """The report, computed again only when something has happened in its run.

    Who does not wait is given the last one, which may be old; None: there is none yet.
    """
    run = reported.run.id

    def mark() -> str:
        return engine.export_streams.manifest(run).hash

    def make() -> _KeptReport:
        before = mark()  # what happens meanwhile makes it old at once
        return _KeptReport(before, reported.reporter.make(engine, run))

    key = ("report", principal.workspace, run)
    answers = site_of(request).recall(engine)
    read = answers.get if waits else answers.get_behind
    return read(key, make, lambda kept: kept.mark == mark())


def _draw(engine: Engine, run: RunId, stages: Mapping[str, StageProgress]) -> StageGraph:
    with engine.ledger.snapshot() as tx:
        recipe = find_result_source(tx, run).recipe
    return draw_graph(recipe, stages)
