"""The engine: the one door that the command line, scripts and servers go through."""

from quire.engine.engine import Engine
from quire.engine.forecasting import Planned
from quire.engine.library import Ingestion
from quire.engine.opening import open_engine
from quire.engine.run import RunHandle

__all__ = ["Engine", "Ingestion", "Planned", "RunHandle", "open_engine"]
