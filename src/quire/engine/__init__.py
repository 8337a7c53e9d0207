"""The engine: the one interface of the command line, scripts and servers."""

from quire.engine.engine import Engine, open_engine
from quire.engine.library import Ingestion
from quire.engine.run_forecasts import SchemaPlan
from quire.engine.run_handle import RunHandle

__all__ = ["Engine", "Ingestion", "RunHandle", "SchemaPlan", "open_engine"]
