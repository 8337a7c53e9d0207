"""A run's status as JSON: all that `quire status --json` says."""

from typing import TYPE_CHECKING

from quire.domain.ids import RunId
from quire.domain.runs import Progress
from quire.engine.json_views.run_views import progress_json

if TYPE_CHECKING:
    from quire.engine import Engine


def run_json(engine: "Engine", run: RunId) -> dict[str, object]:
    """How a run stands, and why nothing moves if nothing does: all that `quire status` says."""
    head, now = engine.queries.head(run), engine.progress(run)
    status = progress_json(head, now, engine.stall_reasons(run), engine.workers(run))
    return status | {"incomplete": incomplete_results(engine, now)}


def incomplete_results(engine: "Engine", now: Progress) -> dict[str, int]:
    """How many results of a recipe's stages are not whole, by stage."""
    return engine.lineages.count_incomplete(now.run_id) if now.is_staged and now.done else {}
