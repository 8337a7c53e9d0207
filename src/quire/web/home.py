"""The home page: what needs somebody, the runs, and what is spent."""

from datetime import timedelta
from typing import Annotated, Literal, NamedTuple

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse

from quire.engine import Engine
from quire.server.access import AskedEngine, Principal, find_principal
from quire.web.needs import PersonNeed, find_needs
from quire.web.pages import render
from quire.web.run_lines import RunLine, read_run_line, read_run_lines
from quire.web.short_memory import ShortMemory

router = APIRouter()
RUNS = 20  # listed
MOST_NAMED = 1_000  # documents that a first visit is told of
KEPT = timedelta(seconds=1)
MOST_LOOKED_AT = 500  # of the newest runs, for those that somebody started
Show = Literal["all", "running", "needs", "mine"]
HomeMemory = ShortMemory[tuple[list[RunLine], list[PersonNeed], int]]


class Welcome(NamedTuple):
    """What a first visit is told of."""

    known_keys: int
    documents: int


@router.get("/")
def home(
    request: Request,
    principal: Annotated[Principal, Depends(find_principal)],
    engine: AskedEngine,
    show: Annotated[Show, Query()] = "all",
) -> HTMLResponse:
    """Show what needs somebody, and the newest runs."""
    memory: HomeMemory = request.app.state.home
    now = engine.runtime.now()
    runs, needs, unreviewed = memory.recall(
        (principal.workspace, principal.name, show),
        now,
        lambda: _read(engine, show, principal.name),
    )
    first_visit = not runs and show == "all" and not engine.queries.newest_run()
    return render(
        request,
        "home.html",
        principal,
        show=show,
        runs=runs,
        needs=needs,
        unreviewed=unreviewed,
        first_visit=_welcome(engine) if first_visit else None,
        most=RUNS,
    )


def _read(engine: Engine, show: Show, name: str) -> tuple[list[RunLine], list[PersonNeed], int]:
    lines = read_run_lines(engine, RUNS)
    needs, unreviewed = find_needs(engine, lines)
    wanted = {need.run for need in needs}
    if show == "mine":
        own = [run for run in engine.queries.runs(MOST_LOOKED_AT) if run.started_by == name]
        return [read_run_line(engine, run.id) for run in own[:RUNS]], needs, unreviewed
    chosen = {
        "all": lines[:RUNS],
        "running": [line for line in lines if line.is_running],
        "needs": [line for line in lines if line.head.id in wanted],
    }
    return chosen[show], needs, unreviewed


def _welcome(engine: Engine) -> Welcome:
    return Welcome(len(engine.keys.listing().keys), len(engine.listings.newest_titles(MOST_NAMED)))
