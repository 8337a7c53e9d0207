"""Embedders: who ranks passages for each stage of an order, found and checked before it begins."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from quire.domain.embeddings import LOCAL, RANKERS
from quire.domain.errors import UsageError
from quire.domain.models import ModelFacts
from quire.domain.policy import SourcedPolicy
from quire.domain.recipes import Recipe, Stage
from quire.engine.context import own_models
from quire.local.embeddings import embeddings_installed
from quire.pipeline.commands.start import Order
from quire.providers.catalog import CATALOG, find_model
from quire.providers.vendors import PROVIDER_NAMES, VENDORS, vendor_facts
from quire.settings import Settings


def with_embedders(settings: Settings, order: Order) -> Order:
    """The order with every model of embeddings found, and named in full."""
    wanted = order.policy.policy.embedder
    named = [stage.policy.get("embedder") for stage in order.recipe.stages]
    found = find_embedders(settings, [wanted, *(str(name) for name in named if name is not None)])
    if not found:
        return order
    full = {name: facts.name for name, facts in found.items()}
    unique = {facts.name: facts for facts in found.values()}
    return replace(
        order,
        policy=_policy_naming(order.policy, full.get(wanted, wanted)),
        recipe=_recipe_naming(order.recipe, full),
        embedders=tuple(unique.values()),
    )


def find_embedders(settings: Settings, names: Iterable[str]) -> dict[str, ModelFacts]:
    """The models of embeddings that are named; what nobody could rank with is refused."""
    named = dict.fromkeys(names)
    if LOCAL in named and not embeddings_installed():
        raise UsageError(
            "embedder = local needs embeddings on this machine", "pip install 'quire[compress]'"
        )
    return {name: _find_embedder(settings, name) for name in named if name not in RANKERS}


def refuse_as_answerer(facts: ModelFacts) -> None:
    """Refuse to ask a model that only makes embeddings."""
    if facts.embeds:
        raise UsageError(
            f"{facts.name} makes embeddings and answers nothing", "name it with --embedder"
        )


def _find_embedder(settings: Settings, name: str) -> ModelFacts:
    facts = find_model(name, own_models(settings.models), settings.aliases)
    vendor = vendor_facts(facts.provider)
    if vendor.embeddings is None:
        others = [name for name in PROVIDER_NAMES if VENDORS[name].embeddings]
        raise UsageError(
            f"{facts.provider} makes no embeddings that can be asked for",
            f"embedder may name a model of {', '.join(others)}; or be local, or words",
        )
    if facts.embeds or vendor.own_machine or vendor.statement_needed:
        return replace(facts, embeds=True)
    raise UsageError(f"{facts.name} makes no embeddings", _others(facts.provider))


def _others(provider: str) -> str:
    known: Sequence[str] = [
        facts.name for facts in CATALOG.values() if facts.embeds and facts.provider == provider
    ]
    stated = 'one that is not known is stated in quire.toml, with "embeds = true"'
    return f"those that do: {', '.join(known)}; {stated}" if known else stated


def _policy_naming(policy: SourcedPolicy, embedder: str) -> SourcedPolicy:
    return replace(policy, policy=replace(policy.policy, embedder=embedder))


def _recipe_naming(recipe: Recipe, full: dict[str, str]) -> Recipe:
    return replace(recipe, stages=tuple(_stage_naming(stage, full) for stage in recipe.stages))


def _stage_naming(stage: Stage, full: dict[str, str]) -> Stage:
    own = stage.policy.get("embedder")
    if own not in full:
        return stage
    return replace(stage, policy={**stage.policy, "embedder": full[str(own)]})
