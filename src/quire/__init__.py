"""Quire turns piles of documents into reviewed, structured data with language models."""

from typing import TYPE_CHECKING

from quire.domain.version import VERSION

if TYPE_CHECKING:
    from quire.domain.errors import Error, LedgerError, ProviderError, UsageError
    from quire.domain.runs import HeldError
    from quire.engine import Engine, Ingestion, RunHandle, read_export
    from quire.engine import open_engine as open

__version__ = VERSION

__all__ = [
    "Engine",
    "Error",
    "HeldError",
    "Ingestion",
    "LedgerError",
    "ProviderError",
    "RunHandle",
    "UsageError",
    "__version__",
    "open",
    "read_export",
]


def __dir__() -> list[str]:
    """Offer all of it to whoever completes names."""
    return __all__


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: `quire --help` must not load a database."""
    if name not in __all__:
        raise AttributeError(f"module 'quire' has no attribute {name!r}")
    from quire import engine
    from quire.domain import errors, runs

    if name == "open":
        return engine.open_engine
    if name == "HeldError":
        return runs.HeldError
    return getattr(engine, name, None) or getattr(errors, name)
