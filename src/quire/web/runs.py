"""The pages of runs: all of them, and one with its strip, its stages and its tabs."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import HTMLResponse

from quire.domain.ids import RunId
from quire.domain.states import TaskState
from quire.engine import Engine
from quire.engine.run_reports import find_reported
from quire.export.formats import FORMATS
from quire.export.result_selection import ONLY, find_result_source
from quire.server.access import AccessRole, AskedEngine, Principal, find_principal, site_of
from quire.server.json_answers import LARGEST
from quire.server.routes.strips import shared_strip
from quire.web.pages import render
from quire.web.result_grid import read_grid, read_record
from quire.web.run_standing import RunStanding, is_simulated, read_standing, status_word
from quire.web.run_tabs import (
    read_batches,
    read_calls,
    read_events,
    read_failures,
    read_policy,
)
from quire.web.stage_graph import StageGraph, draw_graph
from quire.web.strip_drawing import draw_strip

router = APIRouter()

Viewer = Annotated[Principal, Depends(find_principal)]
RunNumber = Annotated[int, Path(ge=1, le=LARGEST)]
RUNS = 25  # a page of the list
LEDGER_STATES = ("finished", "cancelled")  # the others are a matter of holds and workers

TabReader = Callable[[Engine, RunStanding, Mapping[str, str]], dict[str, Any]]
TABS: Mapping[str, tuple[str, TabReader]] = {  # by address: what it is called, what it reads
    "results": ("Results", read_grid),
    "failures": ("Failures", read_failures),
    "calls": ("Calls", read_calls),
    "batches": ("Batches", read_batches),
    "events": ("Events", read_events),
    "policy": ("Policy", read_policy),
}
FIRST_TAB = "results"
TASK_WORDS = {  # states of tasks, as people say them
    TaskState.WAITING: "waiting for earlier stages",
    TaskState.READY: "to be asked",
    TaskState.PACKED: "in calls",
    TaskState.PROPOSED: "waiting for a critic",
}


@router.get("/runs")
def list_runs(
    request: Request,
    principal: Viewer,
    engine: AskedEngine,
    state: Annotated[str, Query(max_length=20)] = "",
    cursor: Annotated[int, Query(ge=1, le=LARGEST)] = LARGEST,
) -> HTMLResponse:
    """Show a page of runs, the newest first."""
    key = ("runs", principal.workspace, state, cursor)
    shown = site_of(request).recall(engine).get(key, lambda: _read_runs(engine, state, cursor))
    return render(request, "runs.html", principal, state=state, **shown)


def _read_runs(engine: Engine, state: str, before: int) -> dict[str, Any]:
    """Runs before one, the newest first; of one state, or of all."""
    found = engine.listings.runs(before, RUNS + 1, state if state in LEDGER_STATES else "")
    runs = []
    for run in found[:RUNS]:
        head, now = engine.queries.head(run.id), engine.progress(run.id)
        if state in ("", now.standing):
            simulated = is_simulated(head)
            line = {"head": head, "now": now, "status": status_word(now), "simulated": simulated}
            runs.append(line)
    return {
        "runs": runs,
        "next": found[RUNS - 1].id if len(found) > RUNS else None,
        "cursor": None if before == LARGEST else before,
    }


@router.get("/runs/{run}")
def show_run(
    request: Request, principal: Viewer, engine: AskedEngine, run: RunNumber
) -> HTMLResponse:
    """Show a run with its results."""
    return _show(request, principal, engine, run, FIRST_TAB)


def _tab_page(tab: str) -> Callable[..., HTMLResponse]:
    def show_tab(
        request: Request, principal: Viewer, engine: AskedEngine, run: RunNumber
    ) -> HTMLResponse:
        return _show(request, principal, engine, run, tab)

    return show_tab


for _name in TABS:  # one by one: other pages of a run are others' business
    router.get(f"/runs/{{run}}/{_name}")(_tab_page(_name))


@router.get("/runs/{run}/results/{task}")
def show_record(
    request: Request, principal: Viewer, engine: AskedEngine, run: RunNumber, task: RunNumber
) -> HTMLResponse:
    """Show one result whole."""
    found = read_record(engine, run, task)
    may_decide = found["reviewable"] and principal.role >= AccessRole.REVIEWER
    return render(request, "record.html", principal, run=run, may_decide=may_decide, **found)


def _show(
    request: Request, principal: Principal, engine: Engine, run: int, tab: str
) -> HTMLResponse:
    """What many look at is read once; who has just acted reads anew."""
    asked = dict(request.query_params)
    anew = asked.pop("fresh", None) is not None
    answers, where = site_of(request).recall(engine), principal.workspace
    standing = answers.get(("run", where, run), lambda: read_standing(engine, run), anew=anew)
    _, read = TABS[tab]
    key = ("tab", where, run, tab, *sorted(asked.items()))
    shown = answers.get(key, lambda: read(engine, standing, asked), anew=anew)
    strip = shared_strip(request, engine, where, run, None)
    graph = answers.get(("graph", where, run), lambda: _draw_stages(engine, standing), anew=anew)
    return render(
        request,
        f"run_{tab}.html",
        principal,
        run=standing,
        strip=draw_strip(strip),
        graph=graph,
        tab=tab,
        tab_names={name: title for name, (title, _) in TABS.items()},
        formats=tuple(FORMATS),
        export_counts=answers.get(
            ("exported", where, run), lambda: _read_export_counts(engine, run), anew=anew
        ),
        only=ONLY,
        reported=answers.get(("reported", where, run), lambda: find_reported(engine, run)),
        task_words=TASK_WORDS,
        may_steer=principal.role >= AccessRole.OPERATOR,
        **shown,
    )


def _read_export_counts(engine: Engine, run: int) -> dict[str, dict[str, dict[str, object]]]:
    found = engine.result_pages.export_counts(run)
    return {
        stage: {only: count._asdict() for only, count in counts.items()}
        for stage, counts in found.items()
    }


def _draw_stages(engine: Engine, standing: RunStanding) -> StageGraph | None:
    """The graph of a recipe's stages; None of a schema."""
    if not standing.now.is_staged:
        return None
    with engine.ledger.snapshot() as tx:
        recipe = find_result_source(tx, RunId(standing.id)).recipe
    return draw_graph(recipe, {stage.name: stage for stage in standing.now.stages})
