"""Orders: a schema or recipe with its models and policy, checked before anything is spent."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from quire.domain.data import Json, as_object, canonical_json
from quire.domain.errors import UnknownModel, UsageError
from quire.domain.ids import DocumentId, RunId, fingerprint
from quire.domain.models import ModelFacts, Params
from quire.domain.pricing import from_usd
from quire.domain.recipes import EACH_BLOCK, SAME, UNITS, Recipe, Schema
from quire.domain.spend import ForecastRow
from quire.engine.block_selection import select_blocks
from quire.engine.context import EngineContext, own_models
from quire.engine.embedders import refuse_as_answerer, with_embedders
from quire.engine.kept_schemas import SchemaSource
from quire.engine.library import Library, Over
from quire.engine.wallets import Dollars
from quire.engine.workspace_policy import (
    read_usual_funds,
    settings_layers,
    with_workspace_policy,
)
from quire.export.result_selection import choose_stage
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.tables.runs import ProbeQuestion
from quire.pipeline.commands.earlier import EarlierAnswers, find_earlier
from quire.pipeline.commands.reuse import carry_over, reusable_stages
from quire.pipeline.commands.start import Order, Reuse, StartedRun, find_run, start
from quire.pipeline.run_spec import possible_models
from quire.planning.routing import with_usual_route
from quire.planning.stage_lineage import recipe_lineage
from quire.providers.catalog import find_model
from quire.providers.vendors import PROVIDER_NAMES, VendorFacts, vendor_facts
from quire.recipes.plugin_registry import Registry
from quire.recipes.policy_layers import policy_from_json, resolve_policy, schema_layer
from quire.recipes.recipe_checks import validate_recipe
from quire.recipes.recipe_files import load_recipe
from quire.recipes.recipe_parameters import name_models, named_models
from quire.recipes.user_schemas import EVERY_BLOCK, Per, extraction_recipe, parse_per
from quire.settings import Settings

FLAG = "flag"  # the layer of what was said with the order itself
PROBE_SOURCE = "probe"  # where a run's pack size came from

RecipeSource = str | Path | Recipe


class _EarlierOrder(NamedTuple):
    """What a run was told besides its recipe."""

    models: tuple[str, ...]  # its own first
    over: Over
    policy: Mapping[str, Json]


class Orders:
    """What callers want done: made out of what they say, and begun."""

    def __init__(self, context: EngineContext, library: Library) -> None:
        """Take orders about what is in the library."""
        self._context, self._library = context, library

    def resolve(  # noqa: PLR0913 - all that a person may say of a run
        self,
        *,
        schema: SchemaSource | None = None,
        recipe: RecipeSource | None = None,
        model: str | None = None,
        models: Sequence[str] | None = None,
        over: Over = None,
        parameters: Mapping[str, Json] | None = None,
        limit: int | None = None,
        stop_after: str | None = None,
        new: bool = False,
        reuse: tuple[int, str] | bool | None = None,
        per: str | None = None,
        policy: Mapping[str, Json],
    ) -> Order:
        """The order that is meant, checked; unsaid things are as a run that it reuses was told."""
        chosen = _chosen_models(model, models)
        if isinstance(reuse, bool):  # no run is named: whether answers that are there are taken
            policy, reuse = {**policy, "reuse": reuse}, None
        if reuse is not None:
            earlier = self._order_of_run(RunId(reuse[0]))
            chosen, over = chosen or earlier.models, earlier.over if over is None else over
            policy = {**earlier.policy, **_given_flags(policy)}
        if schema is not None:
            _refuse_for_schema(parameters=parameters, stop_after=stop_after, reuse=reuse)
        asked = self._read_asked(schema, recipe, parameters or {})
        order = self._resolve_order(asked, chosen, policy, per)
        inputs, names = self._library.inputs(order.recipe, over)
        return replace(
            order,
            inputs=inputs,
            input_names=names,
            task_limit=limit,
            stop_after=stop_after and choose_stage(order.recipe, stop_after).name,
            new=new,
            reuse=self._check_reuse(order, reuse),
        )

    def _resolve_order(
        self,
        asked: Schema | Recipe,
        models: Sequence[str],
        policy: Mapping[str, Json],
        per: str | None,
    ) -> Order:
        own, others = next(iter(models), None), models[1:]
        if isinstance(asked, Schema):
            _refuse_for_schema(models=others)
        elif per is not None:
            raise UsageError("per is for schemas; a recipe's stages say what they are about")
        unit = EVERY_BLOCK if per is None else parse_per(per)
        settings = with_workspace_policy(self._context)
        order = resolve_order(settings, asked, own, policy, others, unit)
        return with_probed_size(self._context.ledger, order)

    def _read_asked(
        self,
        schema: SchemaSource | None,
        recipe: RecipeSource | None,
        parameters: Mapping[str, Json],
    ) -> Schema | Recipe:
        """What one of the two names, checked."""
        if recipe is not None and schema is None:
            return read_recipe(recipe, self._context.registry, parameters)
        if schema is not None and recipe is None:
            return self._library.resolve_schema(schema)
        raise UsageError("give a schema (--schema) or a recipe (--recipe), one of the two")

    def _check_reuse(self, order: Order, reuse: tuple[int, str] | None) -> Reuse | None:
        """Refuse results that cannot be kept before anything is begun."""
        if reuse is None:
            return None
        kept = Reuse(RunId(reuse[0]), reuse[1])
        with self._context.ledger.snapshot() as tx:
            reusable_stages(tx, kept, order.recipe, order.facts.name)
        return kept

    def _order_of_run(self, run: RunId) -> _EarlierOrder:
        """What a run was told, as far as another may be told the same."""
        with self._context.ledger.snapshot() as tx:
            found, documents = tx.runs.must_get_run(run), tx.runs.inputs_of_run(run)
        by_input: defaultdict[str, list[DocumentId]] = defaultdict(list)
        for document, name in documents:
            by_input[name].append(document)
        over: Over = by_input if any(by_input) else tuple(document for document, _ in documents)
        wishes = policy_from_json(found.policy)
        flags = [name for name, source in wishes.sources.items() if source == FLAG]
        policy = {name: getattr(wishes.policy, name) for name in flags}
        facts = as_object(as_object(found.recipe).get("facts"))
        models = named_models(facts) or (str(found.model["name"]),)
        return _EarlierOrder(models, over, policy)

    def earlier_answers(self, order: Order) -> EarlierAnswers | None:
        """The run, if any, that has answers to what a new run of this order would ask again."""
        with self._context.ledger.snapshot() as tx:
            return find_earlier(tx, order)

    def with_blocks(self, order: Order, types: Sequence[str]) -> Order:
        """The order, asked of blocks of these types only; none: of all."""
        documents = [document for document, _ in order.inputs]
        found = select_blocks(self._context.ledger, order.recipe, documents, types)
        return order if found is None else replace(order, sample=found)

    def with_funds(self, order: Order, wallet: str | None, budget_usd: Dollars | None) -> Order:
        """The order, spending no more than this wallet holds and this budget allows."""
        budget = None if budget_usd is None else from_usd(budget_usd)
        return replace(order, wallet=wallet, budget=budget)

    def is_begun(self, order: Order) -> bool:
        """Whether the same order was given before, so that its run would go on."""
        with self._context.ledger.snapshot() as tx:
            return not order.new and find_run(tx, order) is not None

    def with_own_reuse(self, order: Order) -> Order:
        """The order as its run goes on: whether answers are taken, as that was told unless said."""
        with self._context.ledger.snapshot() as tx:
            known = None if order.new else find_run(tx, order)
            if known is None or order.policy.sources.get("reuse") == FLAG:
                return order
            own = policy_from_json(tx.runs.must_get_run(known).policy).policy.reuse
        policy = replace(order.policy.policy, reuse=own)
        return replace(order, policy=replace(order.policy, policy=policy))

    def start(self, order: Order, forecasts: Sequence[ForecastRow] = ()) -> StartedRun:
        """Begin a run, or go on with that of the same order; of a new one keep its forecast."""
        self._context.providers.check_faults()
        now = self._context.runtime.now()
        with self._context.ledger.transaction() as tx:
            if order.command and (known := _run_of_command(tx, order.command)):
                return StartedRun(known, goes_on=True)
            started = start(tx, order, now, read_usual_funds(tx))
            if order.command:
                tx.runs.add_command(order.command, started.run_id, "start", now)
            if not started.goes_on:
                tx.spend.add_stage_forecasts(started.run_id, forecasts)
            if order.reuse is not None and not started.goes_on:
                carry_over(tx, order.reuse, started.run_id, order, now)
            return started


def _run_of_command(tx: Transaction, command: str) -> RunId | None:
    tx.runs.lock_key(fingerprint("commands", command))  # the same twice at once begins one run
    return tx.list_pages.run_of_command(command)


def resolve_order(
    settings: Settings,
    asked: Schema | Recipe,
    model: str | None,
    overrides: Mapping[str, Json],
    others: Sequence[str] = (),
    per: Per = EVERY_BLOCK,
) -> Order:
    """Resolve models and policy, the most specific layer first; quire.toml over environment.

    `model` is the run's own, `others` are asked besides by stages that ask all.
    A schema is a recipe of one stage; only its wishes are a layer of their own.
    """
    schema = asked if isinstance(asked, Schema) else None
    own_layers = [
        (FLAG, _given_flags(overrides)),
        ("schema", schema_layer(schema) if schema else {}),
    ]
    policy = resolve_policy([*own_layers, *settings_layers(settings)])
    if isinstance(asked, Schema):
        params = Params(temperature=policy.policy.temperature, effort=policy.policy.effort)
        asked = extraction_recipe(asked, params, per)
    named = [name for stage in asked.stages for name in stage.models if name != SAME]
    wished = schema.prompt_config.get("model") if schema else next(iter(named), None)
    own = model or wished or settings.model
    if not isinstance(own, str):
        place = "set `model`" if schema else "name one in the recipe, or set it"
        free = "simulated/small costs nothing, and makes its answers up"
        raise UsageError(
            f"no model: give --model or model=, or {place} in quire.toml or QUIRE_MODEL; {free}"
        )
    known = _find_models(settings, (own, *named, *others))
    facts = known[own]
    recipe = _with_models(asked, [known[name].name for name in (own, *others)], known)
    _check_models(settings, recipe, facts.name, known)
    besides = {item.name: item for item in known.values() if item.name != facts.name}
    if not besides:  # several models agree on a way when it is chosen
        policy = with_usual_route(policy, facts)
    order = Order(recipe=recipe, facts=facts, models=tuple(besides.values()), policy=policy)
    return with_embedders(settings, order)


def read_recipe(source: RecipeSource, registry: Registry, parameters: Mapping[str, Json]) -> Recipe:
    """A recipe by name, file or value, every mistake told at once."""
    if isinstance(source, Recipe):
        if parameters:
            raise UsageError("a Recipe value holds its parameters already; change them there")
        return validate_recipe(source, registry)
    return load_recipe(source, registry, parameters)


def _refuse_for_schema(**of_recipes: object) -> None:
    for name, value in of_recipes.items():
        if value:
            raise UsageError(f"{name} is for recipes; a schema has one stage, and no parameters")


def _check_models(
    settings: Settings, recipe: Recipe, own: str, known: Mapping[str, ModelFacts]
) -> None:
    """Refuse what a model of some stage would refuse, or has nothing to read of."""
    for stage in recipe.stages:
        for name in possible_models(recipe, stage, own):
            refuse_as_answerer(known[name])
            _check_params(settings, known[name], stage.params)
    _check_own_models(recipe, own)


def _check_params(settings: Settings, facts: ModelFacts, params: Params) -> None:
    """Refuse what the model would refuse, or its calls could not say, before anything is sent."""
    vendor = vendor_facts(facts.provider)
    chosen = [name for name in ("temperature", "top_p") if getattr(params, name) is not None]
    refused = [] if facts.wire.sampling else chosen
    if params.seed is not None and not _takes_seed(settings, vendor):
        refused.append("seed")
    if refused:
        raise UsageError(
            f"{facts.name} takes no {' and no '.join(refused)};"
            f" leave {'it' if len(refused) == 1 else 'them'} out"
        )
    if params.temperature is not None and params.temperature > vendor.hottest:
        raise UsageError(
            f"{facts.name} takes a temperature from 0 to {vendor.hottest:g},"
            f" not {params.temperature:g}"
        )


def _takes_seed(settings: Settings, vendor: VendorFacts) -> bool:
    by_chat = settings.providers.get(vendor.name, {}).get("api") == "chat"
    return vendor.seed == "taken" or (vendor.seed == "by chat" and by_chat)


def _given_flags(policy: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in policy.items() if value is not None}


def _chosen_models(model: str | None, models: Sequence[str] | None) -> tuple[str, ...]:
    """Whom an order names, the run's own first; nobody: it is found elsewhere."""
    if models is None:
        return (model,) if model else ()
    if model is not None:
        raise UsageError("give model or models, not both: the first of models is the run's own")
    if not models or not all(name.strip() for name in models):
        raise UsageError("models needs at least one model, and each its name")
    return tuple(name.strip() for name in models)


def _with_models(recipe: Recipe, models: Sequence[str], known: Mapping[str, ModelFacts]) -> Recipe:
    """The recipe with every model under its full name; who asks all asks each of these."""
    for place, name in enumerate(models):
        if name in models[:place]:
            raise UsageError(f"{name} is named twice among the models")
    found = name_models(recipe, models)
    if len(models) > 1 and found is recipe:
        raise UsageError(
            f"no stage of {recipe.name} asks all models, so only {models[0]} would be asked",
            'models = "all" in a stage asks each of them; or give one model',
        )
    return _with_full_names(found, known)


def _check_own_models(recipe: Recipe, own: str) -> None:
    """Refuse a model that would read its own results of a stage that does not ask it."""
    lineage = recipe_lineage(recipe)
    for stage in recipe.stages:
        for name in lineage.own_stages(stage):
            asked = possible_models(recipe, lineage.stages[name], own)
            others = [model for model in possible_models(recipe, stage, own) if model not in asked]
            if others:
                raise UsageError(
                    f"{others[0]} is to read its own results of {name} in {stage.name},"
                    f" and {name} asks only {', '.join(asked)}",
                    f"let {name} ask the same models, or leave it out of own_model",
                )


def _find_model(settings: Settings, name: str) -> ModelFacts:
    facts = find_model(name, own_models(settings.models), settings.aliases)
    if facts.provider not in PROVIDER_NAMES:
        raise UnknownModel(
            f"nobody answers for {facts.provider}/…; there are {', '.join(PROVIDER_NAMES)};"
            " a server like OpenAI's is called compatible/MODEL@URL"
        )
    return facts


def _find_models(settings: Settings, names: Sequence[str]) -> dict[str, ModelFacts]:
    """Models by the names that were given, and by their full names."""
    known: dict[str, ModelFacts] = {}
    for name in names:
        facts = known.setdefault(name, _find_model(settings, name))
        known[facts.name] = facts
    return known


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


def with_probed_size(ledger: Ledger, order: Order) -> Order:
    """Put the recommended pack size where one was asked for; whoever gave a number keeps it."""
    if not order.policy.probed:
        return order
    if order.recipe.unit != UNITS[EACH_BLOCK]:
        what = f"a {order.recipe.unit}" if order.recipe.is_single_schema else "a recipe"
        raise UsageError(
            f"probes are of schemas asked of blocks, not of {what}: give --pack-size a number"
        )
    with ledger.snapshot() as tx:
        found = tx.runs.newest_probe(_question(order))
    if found is None:
        schema, model = order.recipe.stages[0].record.label, order.facts.name
        raise UsageError(
            f"no probe of {schema} with {model} yet:"
            f" `quire probe --schema {schema} --model {model}`"
        )
    return replace(order, policy=order.policy.with_pack_size(found.size, PROBE_SOURCE))


def store_probe_result(
    ledger: Ledger, order: Order, size: int, report: Mapping[str, Json], now: datetime
) -> None:
    """Keep what a probe found; the same found again is kept once."""
    question = _question(order)
    with ledger.transaction() as tx:
        known = tx.runs.newest_probe(question)
        if known is None or (known.size, known.report) != (size, report):
            tx.runs.add_probe(question, size, report, now)


def _question(order: Order) -> ProbeQuestion:
    stage = order.recipe.stages[0]
    return ProbeQuestion(stage.record.uid, order.facts.name, canonical_json(stage.params.as_json()))
