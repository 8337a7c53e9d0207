"""Orders: a schema or recipe with its models and policy, checked before anything is spent."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quire.domain.data import Json
from quire.domain.errors import Conflict, NotFound, UnknownModel, UsageError
from quire.domain.ids import DocumentId
from quire.domain.models import ModelFacts, Params
from quire.domain.policy import SourcedPolicy
from quire.domain.recipes import SAME, Recipe, Schema
from quire.engine.settings_checks import own_models
from quire.ledger.ledger import Transaction
from quire.pipeline.run_spec import possible_models
from quire.plan.routing import with_usual_route
from quire.providers.catalog import find_model
from quire.providers.vendors import PROVIDER_NAMES
from quire.recipes.plugin_registry import Registry
from quire.recipes.policy_layers import resolve_policy, schema_layer
from quire.recipes.recipe_checks import validate_recipe
from quire.recipes.recipe_files import load_recipe
from quire.recipes.user_schemas import extraction_recipe, load_schema, read_schema, schema_of
from quire.settings import Settings

PAST_RUNS = 50  # searched for answers to the same question


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaOrder:
    """What is to be asked, of whom, and how it may spend."""

    recipe: Recipe
    facts: ModelFacts
    policy: SourcedPolicy


def resolve_schema_order(
    settings: Settings, schema: Schema, model: str | None, overrides: Mapping[str, Json]
) -> SchemaOrder:
    """Resolve model and policy: flag over schema over quire.toml over environment over built-in."""
    flags = {name: value for name, value in overrides.items() if value is not None}
    policy = resolve_policy(
        [
            ("flag", flags),
            ("schema", schema_layer(schema)),
            ("quire.toml", settings.file_policy),
            ("environment", settings.environment_policy),
        ]
    )
    wanted = model or schema.prompt_config.get("model") or settings.model
    if not isinstance(wanted, str):
        raise UsageError("no model: give --model, or set `model` in quire.toml")
    params = Params(temperature=policy.policy.temperature, effort=policy.policy.effort)
    facts = find_model(wanted, own_models(settings.models), settings.aliases)
    if facts.provider not in PROVIDER_NAMES:
        raise UnknownModel(
            f"nobody answers for {facts.provider}/…; there are {', '.join(PROVIDER_NAMES)};"
            " a server like OpenAI's is called compatible/MODEL@URL"
        )
    recipe = extraction_recipe(schema, params)
    check_params(facts, recipe.stages[0].params)
    return SchemaOrder(recipe=recipe, facts=facts, policy=with_usual_route(policy, facts))


def check_params(facts: ModelFacts, params: Params) -> None:
    """Refuse what the model would refuse, before anything is sent."""
    refused = [name for name in ("temperature", "top_p") if getattr(params, name) is not None]
    if refused and not facts.wire.sampling:
        raise UsageError(f"{facts.name} takes no {' and no '.join(refused)}; leave it out")


def read_schema_source(source: "str | Path | Mapping[str, Any] | type", ref: str | None) -> Schema:
    """Read a schema from a file, a mapping, or a Pydantic class."""
    if isinstance(source, Mapping):
        return load_schema(dict(source), name=ref or "schema", ref=ref)
    if isinstance(source, type):
        return schema_of(source, ref=ref)  # type: ignore[arg-type]  # refuses other classes itself
    try:
        text = Path(source).read_bytes()
    except OSError as error:
        raise UsageError(f"{source}: {error.strerror}") from None
    return read_schema(text, os.fspath(source), ref)


def find_schema(tx: Transaction, name: str) -> Schema:
    """A kept schema by its name, or by the start of its fingerprint."""
    found = tx.schemas.schema_by_ref(name)
    if found is not None:
        return found
    known = tx.schemas.list_schemas()
    alike = [schema for schema in known if len(name) >= 6 and schema.uid.startswith(name)]
    if len(alike) == 1:
        return alike[0]
    names = (
        ", ".join(schema.ref for schema in known) or "none yet; `quire schema add FILE` keeps one"
    )
    raise NotFound(f"there is no schema {name!r}; known: {names}")


def find_same_schema(tx: Transaction, schema: Schema) -> Schema | None:
    """Check a schema against those kept; returns the kept one if it is the same."""
    same_name = tx.schemas.schema_by_ref(schema.ref)
    if same_name is not None:
        if same_name.uid == schema.uid:
            return same_name
        raise Conflict(
            f"schema {schema.ref!r} is kept with other content; schemas never change, so add this"
            f" one under another name: --ref {schema.ref}_v2"
        )
    same_body = tx.schemas.schema_by_uid(schema.uid)
    if same_body is not None:
        raise Conflict(f"this schema is kept already, as {same_body.ref!r}")
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A checked recipe with everybody who is asked, and how it may spend."""

    recipe: Recipe
    facts: ModelFacts  # of the run's own model
    models: tuple[ModelFacts, ...]  # of the others that stages name
    policy: SourcedPolicy


def read_recipe(
    source: "str | Path | Recipe", registry: Registry, parameters: Mapping[str, Json]
) -> Recipe:
    """A recipe by name, file or value, every mistake told at once."""
    if isinstance(source, Recipe):
        if parameters:
            raise UsageError("a Recipe value holds its parameters already; change them there")
        return validate_recipe(source, registry)
    return load_recipe(source, registry, parameters)


def resolve_order(
    settings: Settings, recipe: Recipe, model: str | None, overrides: Mapping[str, Json]
) -> Order:
    """Find every model that a recipe names, and resolve its policy."""
    flags = {name: value for name, value in overrides.items() if value is not None}
    policy = resolve_policy(
        [
            ("flag", flags),
            ("quire.toml", settings.file_policy),
            ("environment", settings.environment_policy),
        ]
    )
    named = [text for stage in recipe.stages for text in stage.models if text != SAME]
    own = model or next(iter(named), None) or settings.model
    if not isinstance(own, str):
        raise UsageError("no model: give --model, name one in the recipe, or set it in quire.toml")
    facts = _find_model(settings, own)
    known = {own: facts, facts.name: facts}
    for name in named:
        known.setdefault(name, _find_model(settings, name))
    recipe = _with_full_names(recipe, known)
    for stage in recipe.stages:
        for name in possible_models(recipe, stage, facts.name):
            check_params(known[name], stage.params)
    others = {
        model_facts.name: model_facts
        for model_facts in known.values()
        if model_facts.name != facts.name
    }
    return Order(recipe=recipe, facts=facts, models=tuple(others.values()), policy=policy)


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


def _find_model(settings: Settings, name: str) -> ModelFacts:
    facts = find_model(name, own_models(settings.models), settings.aliases)
    if facts.provider not in PROVIDER_NAMES:
        raise UnknownModel(
            f"nobody answers for {facts.provider}/…; there are {', '.join(PROVIDER_NAMES)};"
            " a server like OpenAI's is called compatible/MODEL@URL"
        )
    return facts


def _with_full_names(recipe: Recipe, known: Mapping[str, ModelFacts]) -> Recipe:
    """The recipe with every model under its full name, aliases resolved."""
    stages = [
        replace(
            stage,
            models=tuple(model if model == SAME else known[model].name for model in stage.models),
        )
        for stage in recipe.stages
    ]
    return replace(recipe, stages=tuple(stages))


def check_stop_after(recipe: Recipe, stage: str | None) -> None:
    """Refuse to stop after what is not there."""
    names = [item.name for item in recipe.stages]
    if stage is not None and stage not in names:
        raise UsageError(f"{recipe.name} has no stage {stage!r}; stages: {', '.join(names)}")
