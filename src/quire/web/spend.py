"""The page of money: spend by anything, with bars; wallets, limits, forecast against actual."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse

from quire.domain.spend import SpendBy
from quire.engine import Engine
from quire.server.access import AccessRole, AskedEngine, Principal, find_principal
from quire.web.pages import render
from quire.web.run_standing import is_simulated

router = APIRouter()
RUNS = 20  # whose forecast is held against what they cost


@router.get("/spend")
def show_spend(
    request: Request,
    principal: Annotated[Principal, Depends(find_principal)],
    engine: AskedEngine,
    by: Annotated[str, Query(max_length=20)] = SpendBy.RUN,
    run: Annotated[int | None, Query(ge=1, le=2**63 - 1)] = None,
) -> HTMLResponse:
    """Show what was spent, and what for."""
    view = engine.spend.view(by, run)
    total = view.total
    return render(
        request,
        "spend.html",
        principal,
        view=view,
        ways=list(SpendBy),
        whole=total.cost + total.presumed,  # that each line has a share of
        wallets=engine.wallets.list(),
        limits=engine.limits.newest(),
        learnt=engine.limits.learnt(),
        forecasts=_forecasts(engine, run),
        may_pay=principal.role >= AccessRole.ADMIN,
        only_run=run,
    )


def _forecasts(engine: Engine, run: int | None) -> list[dict[str, object]]:
    """What runs were forecast to cost, and what they cost; of one run by stage."""
    if run is not None:
        rows = engine.spend.compare_forecast(run)
        ended = engine.queries.must_get(run).ended_at is not None
        return [
            {
                "run": run,
                "what": f"{row['stage']} · {row['model']}",
                "simulated": str(row["model"]).startswith("simulated/"),
                "ended": ended,
                **row,
            }
            for row in rows
        ]
    found = []
    for item in engine.queries.runs(RUNS, drafts=True):
        rows = engine.spend.compare_forecast(item.id)
        if rows:
            names = ("low_pico", "forecast_cost_pico", "high_pico", "cost_pico")
            sums = {name: sum(int(str(row[name])) for row in rows) for name in names}
            head = engine.queries.head(item.id)
            known = {"run": item.id, "what": head.name, "simulated": is_simulated(head)}
            found.append({**known, "ended": head.ended_at is not None, **sums})
    return found
