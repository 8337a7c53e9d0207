"""The engine: the one interface of the command line, scripts, servers and kits."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quire.engine.engine import Engine, open_engine
    from quire.engine.library import Ingestion
    from quire.engine.queries import RunOutcomes
    from quire.engine.recipe_forecasts import RecipePlan
    from quire.engine.run_forecasts import SchemaPlan
    from quire.engine.run_handle import RunHandle
    from quire.export.formats import check_format
    from quire.ledger.tables.results import TaskOutcome

__all__ = [
    "Engine",
    "Ingestion",
    "RecipePlan",
    "RunHandle",
    "RunOutcomes",
    "SchemaPlan",
    "TaskOutcome",
    "check_format",
    "open_engine",
]

_MODULES = {
    "Engine": "quire.engine.engine",
    "Ingestion": "quire.engine.library",
    "RecipePlan": "quire.engine.recipe_forecasts",
    "RunHandle": "quire.engine.run_handle",
    "RunOutcomes": "quire.engine.queries",
    "SchemaPlan": "quire.engine.run_forecasts",
    "TaskOutcome": "quire.ledger.tables.results",
    "check_format": "quire.export.formats",
    "open_engine": "quire.engine.engine",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: `quire models` needs no database."""
    if name not in _MODULES:
        raise AttributeError(f"module 'quire.engine' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
