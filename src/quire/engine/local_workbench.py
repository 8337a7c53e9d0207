"""A workbench on a ledger that is here, opened for a script: a file that was made is told."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from quire.engine.engine import Engine, open_engine

if TYPE_CHECKING:
    from quire.dispatch.runtime import Runtime

_log = logging.getLogger("quire")  # what a script's or a notebook's user should hear at once


def open_workbench(
    url: str | Path | None = None,
    *,
    workspace: str | None = None,
    faults: str | None = None,
    must_exist: bool = False,
    runtime: "Runtime | None" = None,
    environment: Mapping[str, str] | None = None,
) -> Engine:
    """Open a ledger: a file or `postgresql://…`, by default the one that quire.toml names.

    A file that is not there is made, and a warning of the logger `quire` says so; with `must_exist`
    it is refused.
    """
    engine = open_engine(
        url,
        workspace=workspace,
        faults=faults,
        must_exist=must_exist,
        runtime=runtime,
        environment=environment,
    )
    if new := engine.new_ledger_words:
        _log.warning("%s; open it with must_exist=True where it should be there", new)
    return engine
