"""The home page: what needs somebody, the runs, and what is spent."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from quire.engine.queries import run_status
from quire.server.access import AskedEngine, Principal, find_principal
from quire.web.pages import render

router = APIRouter()
RUNS = 20  # listed


@router.get("/")
def home(
    request: Request,
    principal: Annotated[Principal, Depends(find_principal)],
    engine: AskedEngine,
) -> HTMLResponse:
    """Show the newest runs."""
    runs = []
    for run in engine.runs(RUNS):
        now, head = engine.progress(run.id), engine.queries.head(run.id)
        runs.append({"head": head, "now": now, "status": run_status(now, engine.workers(run.id))})
    return render(request, "home.html", principal, runs=runs)
