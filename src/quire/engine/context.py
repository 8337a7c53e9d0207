"""The engine's context: ledger, settings, registry, providers and clock, shared by its parts."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from quire.dispatch.runtime import Runtime
from quire.domain.data import Json, JsonObject
from quire.domain.errors import SettingsInvalid, SettingsMistake
from quire.domain.extracts import Ranker
from quire.domain.ids import WorkspaceId
from quire.domain.models import ModelFacts
from quire.domain.policy import Policy
from quire.ledger.ledger import Ledger, open_ledger
from quire.pipeline.contexts import Contexts
from quire.providers.provider_registry import Providers
from quire.recipes.plugin_registry import Registry, with_entry_points
from quire.recipes.policy_layers import resolve_policy
from quire.recipes.setting_rules import POLICY_ALIASES
from quire.settings import Settings, read_settings

POLICY_NAMES = (*(item.name for item in fields(Policy)), *POLICY_ALIASES)
Tables = Mapping[str, JsonObject]


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
    choose_ranker: Callable[[], Ranker] = field(default=lambda: best_ranker())  # for extracts
    usual_ledger: str = ""  # which is opened here where nobody says which


def best_ranker() -> Ranker:
    """Local embeddings and rare words where those are installed, else all shared words."""
    from quire.local.embeddings import EmbeddingRanker, embeddings_installed
    from quire.planning.lexical_ranking import LexicalRanker
    from quire.planning.rare_words import RareWordRanker

    return RareWordRanker(EmbeddingRanker()) if embeddings_installed() else LexicalRanker()


def make_context(
    settings: Settings,
    ledger: Ledger,
    runtime: Runtime | None = None,
    environment: Mapping[str, str] | None = None,
    providers: Providers | None = None,
) -> EngineContext:
    """A context on an open ledger; keys and places of providers are looked for in `environment`."""
    registry, runtime = with_entry_points(), runtime or Runtime()
    return EngineContext(
        settings=settings,
        environment=os.environ if environment is None else environment,
        ledger=ledger,
        registry=registry,
        providers=providers or Providers(settings.faults, now=runtime.now),
        runtime=runtime,
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
    usual = settings.ledger
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
    context = make_context(settings, ledger, runtime, environment)
    context.usual_ledger = usual
    if faults is not None:
        context.providers.check_faults()
    return context


def find_mistakes(
    settings: Mapping[str, Json], found: Sequence[SettingsMistake]
) -> list[SettingsMistake]:
    """What else is wrong with a file of settings, beside what was found in it already.

    A model that cannot be used is no reason to refuse the whole file: it is told where something
    else is wrong too, and else when a model is asked for.
    """
    more = [*_policy_mistakes(settings.get("policy"))]
    models = settings.get("models")
    if (found or more) and isinstance(models, Mapping):
        tables = {name: table for name, table in models.items() if isinstance(table, Mapping)}
        reported = [name for mistake in found for name in mistake.models]
        more += _model_mistakes(_unaffected_models(tables, reported))
    return more


def own_models(tables: Tables) -> dict[str, ModelFacts]:
    """The facts that quire.toml states of models, or all that is wrong with them."""
    found = _model_mistakes(tables)
    if found:
        raise SettingsInvalid(*found)
    return _facts_from_tables(tables)


def _facts_from_tables(tables: Tables) -> dict[str, ModelFacts]:
    from quire.providers.catalog import facts_from_tables  # reads the whole catalog

    return facts_from_tables(tables)


def _policy_mistakes(policy: Json) -> Sequence[SettingsMistake]:
    try:
        resolve_policy([("policy", policy if isinstance(policy, Mapping) else {})])
    except SettingsInvalid as error:
        return error.mistakes
    return ()


def _model_mistakes(tables: Tables) -> list[SettingsMistake]:
    """One mistake after the other, each time without the models that it spoils."""
    found: list[SettingsMistake] = []
    while tables:
        try:
            _facts_from_tables(tables)
        except SettingsInvalid as error:
            found += error.mistakes
            spoilt = found[-1].models
            tables = _unaffected_models(tables, spoilt) if spoilt else {}
        else:
            break
    return found


def _unaffected_models(tables: Tables, spoilt: Sequence[str]) -> Tables:
    """The models that are neither spoilt nor like one that is."""
    bad = set(spoilt)
    while more := {name for name in tables if tables[name].get("like") in bad} - bad:
        bad |= more
    return {name: table for name, table in tables.items() if name not in bad}
