"""Quire turns piles of documents into reviewed, structured data with language models."""

from typing import TYPE_CHECKING

from quire.domain.version import VERSION
from quire.engine.frame_accessors import offer_accessors

if TYPE_CHECKING:
    from quire.client import connect
    from quire.domain.errors import Error, LedgerError, ProviderError, UsageError
    from quire.domain.runs import HeldError
    from quire.engine import Engine, Ingestion, RunHandle, read_export
    from quire.engine.local_workbench import open_workbench as open
    from quire.engine.one_call import extract, plan, stream
    from quire.recipes.quoted_class_fields import field

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
    "connect",
    "extract",
    "field",
    "open",
    "plan",
    "read_export",
    "stream",
]

offer_accessors()


def __dir__() -> list[str]:
    """Offer all of it to whoever completes names."""
    return __all__


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: `quire --help` must not load a database."""
    if name not in __all__:
        raise AttributeError(f"module 'quire' has no attribute {name!r}")
    from quire import engine
    from quire.domain import errors, runs

    if name in ("extract", "plan", "stream"):
        from quire.engine import one_call

        return getattr(one_call, name)
    if name == "open":
        from quire.engine.local_workbench import open_workbench

        return open_workbench
    if name == "connect":
        from quire.client import connect

        return connect
    if name == "field":
        from quire.recipes.quoted_class_fields import field

        return field
    if name == "HeldError":
        return runs.HeldError
    return getattr(engine, name, None) or getattr(errors, name)
