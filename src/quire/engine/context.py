"""The engine's context: ledger, settings, registry, providers and clock, shared by its parts."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from quire.dispatch.runtime import Runtime
from quire.domain.ids import WorkspaceId
from quire.domain.policy import Policy
from quire.engine.settings_checks import find_mistakes
from quire.ledger.ledger import Ledger, open_ledger
from quire.pipeline.contexts import Contexts
from quire.providers.provider_registry import Providers
from quire.recipes.plugin_registry import Registry, with_entry_points
from quire.recipes.setting_rules import POLICY_ALIASES
from quire.settings import Settings, read_settings

POLICY_NAMES = (*(item.name for item in fields(Policy)), *POLICY_ALIASES)


@dataclass(slots=True, kw_only=True)
class EngineContext:
    """What the parts of an engine work with; each reads it when it acts, so it may be replaced."""

    settings: Settings
    environment: Mapping[str, str] = field(repr=False)  # may hold keys
    ledger: Ledger
    registry: Registry
    providers: Providers
    runtime: Runtime
    contexts: Contexts  # what runs were told, read once for all queries
    exact_tokens: bool = False  # count with the model's tokenizer, if installed, when planning


def make_context(
    settings: Settings,
    ledger: Ledger,
    runtime: Runtime | None = None,
    environment: Mapping[str, str] | None = None,
    providers: Providers | None = None,
) -> EngineContext:
    """A context on an open ledger; keys and places of providers are looked for in `environment`."""
    registry = with_entry_points()
    return EngineContext(
        settings=settings,
        environment=os.environ if environment is None else environment,
        ledger=ledger,
        registry=registry,
        providers=providers or Providers(settings.faults),
        runtime=runtime or Runtime(),
        contexts=Contexts(registry),
    )


def open_context(
    url: str | None = None,
    *,
    workspace: str | None = None,
    faults: str | None = None,
    must_exist: bool = False,
    runtime: Runtime | None = None,
    environment: Mapping[str, str] | None = None,
) -> EngineContext:
    """Open a ledger: a file or `postgresql://…`, by default the one that quire.toml names."""
    environment = os.environ if environment is None else environment
    settings = read_settings(Path.cwd(), environment, POLICY_NAMES, find_mistakes)
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
    return make_context(settings, ledger, runtime, environment)
