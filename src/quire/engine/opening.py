"""Opening: settings and a ledger become an engine."""

import os
from collections.abc import Mapping
from dataclasses import fields as fields_of
from dataclasses import replace
from pathlib import Path

from quire.dispatch.outside import Outside
from quire.domain.ids import WorkspaceId
from quire.domain.policy import Policy
from quire.engine.engine import Engine
from quire.engine.mistakes import further_mistakes
from quire.ledger.ledger import open_ledger
from quire.recipes.rules import POLICY_ALIASES
from quire.settings import read_settings

POLICY_NAMES = (*(each.name for each in fields_of(Policy)), *POLICY_ALIASES)


def open_engine(
    url: str | None = None,
    *,
    workspace: str | None = None,
    faults: str | None = None,
    must_exist: bool = False,
    outside: Outside | None = None,
    environment: Mapping[str, str] | None = None,
) -> Engine:
    """Open a ledger: a file or `postgresql://…`, by default the one that quire.toml names."""
    environment = os.environ if environment is None else environment
    settings = read_settings(Path.cwd(), environment, POLICY_NAMES, further_mistakes)
    settings = replace(
        settings,
        ledger=url or settings.ledger,
        workspace=workspace or settings.workspace,
        faults=settings.faults if faults is None else faults,
    )
    ledger = open_ledger(
        settings.ledger,
        workspace=WorkspaceId(settings.workspace),
        durable=settings.durable,
        must_exist=must_exist,
    )
    return Engine(settings, ledger, outside, environment)
