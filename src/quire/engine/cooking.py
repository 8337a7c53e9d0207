"""Cooking: a recipe with its models, policy and inputs becomes an order."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from quire.domain.data import Json
from quire.domain.errors import UnknownModel, UsageError
from quire.domain.ids import DocumentId
from quire.domain.models import ModelFacts
from quire.domain.policy import SourcedPolicy
from quire.domain.recipes import SAME, Recipe
from quire.engine.mistakes import own_models
from quire.engine.ordering import check_params
from quire.pipeline.told import asked_of
from quire.providers.catalog import find_model
from quire.providers.registry import NAMES
from quire.recipes.checking import checked
from quire.recipes.policies import resolve
from quire.recipes.reading import load_recipe
from quire.recipes.registry import Registry
from quire.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Dish:
    """A checked recipe with everybody who is asked, and how it may spend."""

    recipe: Recipe
    facts: ModelFacts  # of the run's own model
    models: tuple[ModelFacts, ...]  # of the others that stages name
    policy: SourcedPolicy


def read_dish(
    source: "str | Path | Recipe", registry: Registry, parameters: Mapping[str, Json]
) -> Recipe:
    """A recipe by name, file or value, every mistake told at once."""
    if isinstance(source, Recipe):
        if parameters:
            raise UsageError("a Recipe value holds its parameters already; change them there")
        return checked(source, registry)
    return load_recipe(source, registry, parameters)


def prepare_dish(
    settings: Settings, recipe: Recipe, model: str | None, told: Mapping[str, Json]
) -> Dish:
    """Find every model that a recipe names, and resolve its policy."""
    flags = {name: value for name, value in told.items() if value is not None}
    policy = resolve(
        [
            ("flag", flags),
            ("quire.toml", settings.file_policy),
            ("environment", settings.environment_policy),
        ]
    )
    named = [each for stage in recipe.stages for each in stage.models if each != SAME]
    own = model or next(iter(named), None) or settings.model
    if not isinstance(own, str):
        raise UsageError("no model: give --model, name one in the recipe, or set it in quire.toml")
    facts = _find(settings, own)
    known = {own: facts, facts.name: facts}
    for name in named:
        known.setdefault(name, _find(settings, name))
    recipe = _with_names(recipe, known)
    for stage in recipe.stages:
        for name in asked_of(recipe, stage, facts.name):
            check_params(known[name], stage.params)
    others = {each.name: each for each in known.values() if each.name != facts.name}
    return Dish(recipe=recipe, facts=facts, models=tuple(others.values()), policy=policy)


def name_inputs(recipe: Recipe, given: Mapping[str, Iterable[DocumentId]]) -> dict[DocumentId, str]:
    """Which of the recipe's inputs each document belongs to."""
    unknown = sorted(set(given) - set(recipe.inputs))
    if unknown:
        names = ", ".join(recipe.inputs) or "it has one, without a name"
        raise UsageError(f"{recipe.name} has no input {unknown[0]!r}; inputs: {names}")
    missing = [name for name in recipe.inputs if not list(given.get(name, ()))]
    if recipe.inputs and given and missing:
        raise UsageError(f"{recipe.name} needs documents for its input {missing[0]!r}")
    named: dict[DocumentId, str] = {}
    for name, documents in given.items():
        for document in documents:
            if named.setdefault(document, name) != name:
                raise UsageError(
                    f"document {document} is given as {named[document]} and as {name};"
                    " a document belongs to one input"
                )
    return named


def _find(settings: Settings, name: str) -> ModelFacts:
    facts = find_model(name, own_models(settings.models), settings.aliases)
    if facts.provider not in NAMES:
        raise UnknownModel(
            f"nobody answers for {facts.provider}/…; there are {', '.join(NAMES)};"
            " a server like OpenAI's is called compatible/MODEL@URL"
        )
    return facts


def _with_names(recipe: Recipe, known: Mapping[str, ModelFacts]) -> Recipe:
    """The recipe with every model under its full name, aliases resolved."""
    stages = [
        replace(
            stage,
            models=tuple(each if each == SAME else known[each].name for each in stage.models),
        )
        for stage in recipe.stages
    ]
    return replace(recipe, stages=tuple(stages))


def check_stop_after(recipe: Recipe, stage: str | None) -> None:
    """Refuse to stop after what is not there."""
    names = [each.name for each in recipe.stages]
    if stage is not None and stage not in names:
        raise UsageError(f"{recipe.name} has no stage {stage!r}; stages: {', '.join(names)}")
