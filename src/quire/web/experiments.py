"""The page of an experiment: its run in numbers, and the command that makes its report."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import HTMLResponse

from quire.domain.ids import RunId
from quire.domain.runs import StageProgress
from quire.engine import Engine
from quire.export.result_selection import find_result_source
from quire.server.access import AskedEngine, Principal, find_principal, site_of
from quire.web.pages import render
from quire.web.run_standing import read_standing
from quire.web.stage_graph import StageGraph, draw_graph

router = APIRouter()


@router.get("/experiments/{run}")
def show_experiment(
    request: Request,
    principal: Annotated[Principal, Depends(find_principal)],
    engine: AskedEngine,
    run: Annotated[int, Path(ge=1, le=2**63 - 1)],
) -> HTMLResponse:
    """Show the run that an experiment is; its report is made by the command of its kit."""
    answers, where = site_of(request).answers, principal.workspace
    standing = answers.get(("run", where, run), lambda: read_standing(engine, run))
    graph = _draw(engine, standing.id, {stage.name: stage for stage in standing.now.stages})
    return render(request, "experiment.html", principal, run=standing, graph=graph)


def _draw(engine: Engine, run: RunId, stages: Mapping[str, StageProgress]) -> StageGraph:
    with engine.ledger.snapshot() as tx:
        recipe = find_result_source(tx, run).recipe
    return draw_graph(recipe, stages)
