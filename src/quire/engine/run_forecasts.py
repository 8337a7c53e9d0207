"""Forecasts: what a run would take, from its documents, answers so far, and batch prices."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from quire.domain.batches import BatchRules
from quire.domain.data import Json
from quire.domain.documents import Document
from quire.domain.errors import UsageError
from quire.domain.ids import DocumentId
from quire.domain.models import ModelFacts
from quire.domain.recipes import Recipe
from quire.domain.runs import DIRECT
from quire.engine.library import Library
from quire.engine.orders import (
    PAST_RUNS,
    Order,
    SchemaOrder,
    read_recipe,
    resolve_order,
    resolve_schema_order,
)
from quire.engine.probes import with_probed_size
from quire.engine.recipe_forecasts import RecipePlan, forecast_recipe
from quire.ledger.ledger import Transaction
from quire.plan.job_forecasts import Forecast, forecast
from quire.plan.routing import AUTO, choose_route, with_usual_route
from quire.plan.sizing import FORECAST_BYTES, MOST_SAMPLES
from quire.plan.token_estimates import NO_PAST_CALLS, PastCalls
from quire.providers.provider_registry import Providers
from quire.providers.tokenizer import token_counter
from quire.recipes.plugin_registry import Registry
from quire.recipes.recipe_snapshots import recipe_to_json
from quire.settings import Settings

DOCUMENTS, BLOCKS = 40, 25  # of each at most, read for the count


def with_counted_tokens(
    tx: Transaction, facts: ModelFacts, inputs: Sequence[DocumentId]
) -> ModelFacts:
    """The facts with the tokens that these documents really have; as they were if nobody knows."""
    count = token_counter(facts)
    if count is None:
        return facts
    size = tokens = 0
    for text in _sample_texts(tx, frozenset(inputs)):
        size += len(text.encode())
        tokens += count(text)
    if not size:
        return facts
    return replace(facts, token_factor=tokens * FORECAST_BYTES / size)


def _sample_texts(tx: Transaction, inputs: frozenset[DocumentId]) -> Iterator[str]:
    wanted = [item for item in tx.documents.list_documents() if item.id in inputs]
    for document in wanted[:: max(1, len(wanted) // DOCUMENTS)][:DOCUMENTS]:
        for block in islice(tx.copies.copy_document(document).blocks, BLOCKS):
            yield block.content


MANY = 1_000_000  # calls, where how many there will be depends on the answers


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaPlan:
    """What a run would take, before anything is spent."""

    order: SchemaOrder
    forecast: Forecast
    token_factor: float  # that it was reckoned with: the model's own tokenizer's, or as stated


class Forecasts(Library):
    """What an engine says of runs before anything is spent."""

    settings: Settings
    providers: Providers
    registry: Registry
    exact_tokens: bool

    def plan(
        self,
        *,
        schema: Any = None,
        recipe: Any = None,
        model: str | None = None,
        over: Any = None,
        parameters: Any = None,
        **policy: Json,
    ) -> Any:
        """Forecast requests, tokens and dollars, from answers where some came; spends nothing.

        Of a schema it is a `Planned`, of a recipe a `PlannedRecipe`.
        """
        if recipe is not None:
            check_one_given(schema, recipe)
            return self._plan_recipe(recipe, parameters or {}, model, over, policy)
        check_one_given(schema, recipe, parameters=parameters)
        order = self._schema_order(schema, model, policy)
        estimate, factor = self._forecast(order, over), order.facts.token_factor
        if (
            self.exact_tokens and not estimate.learnt
        ):  # what was answered is more exact than any count
            inputs = [document for document, _ in self._inputs(over)]
            with self.ledger.snapshot() as tx:
                counted = replace(order, facts=with_counted_tokens(tx, order.facts, inputs))
            estimate, factor = self._forecast(counted, over), counted.facts.token_factor
        return SchemaPlan(order=order, forecast=estimate, token_factor=factor)

    def _plan_recipe(
        self,
        recipe: Any,
        parameters: Mapping[str, Json],
        model: str | None,
        over: Any,
        policy: Mapping[str, Json],
    ) -> RecipePlan:
        read = read_recipe(recipe, self.registry, parameters)
        order = resolve_order(self.settings, read, model, policy)
        inputs, names = self._named_inputs(order.recipe, self._name_only_input(order.recipe, over))
        sets = {document: names.get(document, "") for document, _ in inputs}
        self._order_route(order)  # whatever cannot be is told before it is forecast
        with self.ledger.snapshot() as tx:
            documents = [item for item in tx.documents.list_documents() if item.id in sets]
            return forecast_recipe(tx, order, self.registry, documents, sets, self._batch_rules)

    def plan_documents(
        self, recipe: Recipe, documents: Sequence[Document], **policy: Json
    ) -> RecipePlan:
        """Forecast a recipe without inputs over documents that the ledger need not hold yet."""
        order = resolve_order(self.settings, read_recipe(recipe, self.registry, {}), None, policy)
        self._order_route(order)
        sets = {document.id: "" for document in documents}
        with self.ledger.snapshot() as tx:
            return forecast_recipe(tx, order, self.registry, documents, sets, self._batch_rules)

    def _name_only_input(self, recipe: Recipe, over: Any) -> Any:
        """What is given without a name belongs to the one input there is; several need names."""
        if not recipe.inputs or isinstance(over, Mapping):
            return over
        if len(recipe.inputs) > 1:
            options = " ".join(f"--input {name}=PATH" for name in recipe.inputs)
            raise UsageError(f"{recipe.name} has several inputs, each needs documents: {options}")
        if over is None:
            with self.ledger.snapshot() as tx:
                over = [document for document, _ in tx.documents.document_names()]
        return {recipe.inputs[0]: over}

    def _batch_rules(self, provider: str) -> BatchRules | None:
        vendor = self.providers.batch_api(provider)
        return vendor.rules if vendor else None

    def _forecast(self, order: SchemaOrder, over: Any) -> Forecast:
        inputs = [document for document, _ in self._inputs(over)]
        rules = self._batch_rules(order.facts.provider)
        with self.ledger.snapshot() as tx:
            return forecast_run(tx, order, inputs, rules)

    def _schema_route(self, order: SchemaOrder, over: Any) -> str:
        """How a run's calls travel: decided here, because only here prices and vendors meet."""
        policy, facts = order.policy.policy, order.facts
        if policy.route == AUTO:
            route = self._forecast(order, over).route
        else:
            route = choose_route(policy, facts, 0, self._batch_rules(facts.provider))
        if route.problem:
            raise UsageError(route.problem)
        return route.lane

    def _order_route(self, order: Order) -> str:
        """How the calls of a recipe travel; every model must be able to go that way."""
        lanes = []
        for facts in (order.facts, *order.models):
            policy = with_usual_route(order.policy, facts).policy
            route = choose_route(policy, facts, MANY, self._batch_rules(facts.provider))
            if route.problem:
                raise UsageError(route.problem)
            lanes.append(route.lane)
        return lanes[0] if len(set(lanes)) == 1 else DIRECT

    def _schema_order(
        self, schema: Any, model: str | None, policy: Mapping[str, Json]
    ) -> SchemaOrder:
        order = resolve_schema_order(self.settings, self._resolve_schema(schema), model, policy)
        return with_probed_size(self.ledger, order)


def check_one_given(schema: Any, recipe: Any, **of_recipes: object) -> None:
    """Refuse both, neither, and what only recipes know."""
    if (schema is None) == (recipe is None):
        raise UsageError("give a schema (--schema) or a recipe (--recipe), one of the two")
    for name, value in of_recipes.items():
        if value:
            raise UsageError(f"{name} is for recipes; a schema has one stage, and no parameters")


def forecast_run(
    tx: Transaction, order: SchemaOrder, inputs: Sequence[DocumentId], rules: BatchRules | None
) -> Forecast:
    """Forecast a run over these documents."""
    return forecast(
        tx.documents.block_sizes(inputs),
        order.recipe.stages[0],
        order.facts,
        order.policy.policy,
        past_answers(tx, order),
        rules,
    )


def past_answers(tx: Transaction, order: SchemaOrder) -> PastCalls:
    """Answered calls of the newest run that asked the same of the same model."""
    recipe, model = recipe_to_json(order.recipe), order.facts.name
    for run in tx.runs.list_runs(PAST_RUNS):
        if run.recipe == recipe and run.model.get("name") == model:
            lanes = tx.requests.lanes_of_run(run.id)
            samples = [
                sample
                for lane in lanes
                for sample in tx.attempts.output_samples(lane.id, MOST_SAMPLES)
            ]
            if samples:
                sums = tx.tallies.tallies_of_run(run.id)
                return PastCalls(
                    samples=samples,
                    calls=sums.get("calls", 0),
                    output_tokens=sums.get("output_tokens", 0),
                    cached_tokens=sums.get("cached_tokens", 0),
                    batched=sum(view.answered for view in tx.batch_views.list_batches(run.id)),
                )
    return NO_PAST_CALLS
