"""Forecasting: a run is forecast from its documents, the answers so far, and what batches cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quire.domain.batches import BatchRules
from quire.domain.data import Json
from quire.domain.documents import Document
from quire.domain.errors import UsageError
from quire.domain.ids import DocumentId
from quire.domain.recipes import Recipe
from quire.domain.runs import DIRECT
from quire.engine.cooking import Dish, prepare_dish, read_dish
from quire.engine.counting import exactly
from quire.engine.library import Library
from quire.engine.ordering import PAST_RUNS, Ask, ask
from quire.engine.probed import with_probed_size
from quire.engine.recipe_forecasting import PlannedRecipe, forecast_recipe
from quire.ledger.ledger import Transaction
from quire.plan.calibrating import MOST_SAMPLES
from quire.plan.forecasting import Forecast, forecast
from quire.plan.learning import NO_PAST, Past
from quire.plan.routing import AUTO, choose_route, with_usual_route
from quire.providers.registry import Providers
from quire.recipes.registry import Registry
from quire.recipes.snapshots import recipe_to_json
from quire.settings import Settings

MANY = 1_000_000  # calls, where how many there will be depends on the answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a run would take, before anything is spent."""

    ask: Ask
    forecast: Forecast
    token_factor: float  # that it was reckoned with: the model's own tokenizer's, or as stated


class Forecasting(Library):
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
            one_of_two(schema, recipe)
            return self._plan_recipe(recipe, parameters or {}, model, over, policy)
        one_of_two(schema, recipe, parameters=parameters)
        asked = self._ask(schema, model, policy)
        told, factor = self._forecast(asked, over), asked.facts.token_factor
        if self.exact_tokens and not told.learnt:  # what was answered is more exact than any count
            inputs = [document for document, _ in self._inputs(over)]
            with self.ledger.snapshot() as tx:
                counted = replace(asked, facts=exactly(tx, asked.facts, inputs))
            told, factor = self._forecast(counted, over), counted.facts.token_factor
        return Planned(ask=asked, forecast=told, token_factor=factor)

    def _plan_recipe(
        self,
        recipe: Any,
        parameters: Mapping[str, Json],
        model: str | None,
        over: Any,
        policy: Mapping[str, Json],
    ) -> PlannedRecipe:
        read = read_dish(recipe, self.registry, parameters)
        dish = prepare_dish(self.settings, read, model, policy)
        inputs, names = self._named_inputs(dish.recipe, self._served(dish.recipe, over))
        sets = {document: names.get(document, "") for document, _ in inputs}
        self._dish_route(dish)  # whatever cannot be is told before it is forecast
        with self.ledger.snapshot() as tx:
            documents = [each for each in tx.documents.all() if each.id in sets]
            return forecast_recipe(tx, dish, self.registry, documents, sets, self._rules)

    def plan_unread(
        self, recipe: Recipe, documents: Sequence[Document], **policy: Json
    ) -> PlannedRecipe:
        """Forecast a recipe without inputs over documents that the ledger need not hold yet."""
        dish = prepare_dish(self.settings, read_dish(recipe, self.registry, {}), None, policy)
        self._dish_route(dish)
        sets = {each.id: "" for each in documents}
        with self.ledger.snapshot() as tx:
            return forecast_recipe(tx, dish, self.registry, documents, sets, self._rules)

    def _served(self, recipe: Recipe, over: Any) -> Any:
        """What is given without a name belongs to the one input there is; several need names."""
        if not recipe.inputs or isinstance(over, Mapping):
            return over
        if len(recipe.inputs) > 1:
            told = " ".join(f"--input {name}=PATH" for name in recipe.inputs)
            raise UsageError(f"{recipe.name} has several inputs, each needs documents: {told}")
        if over is None:
            with self.ledger.snapshot() as tx:
                over = [document for document, _ in tx.documents.names()]
        return {recipe.inputs[0]: over}

    def _rules(self, provider: str) -> BatchRules | None:
        vendor = self.providers.batching(provider)
        return vendor.rules if vendor else None

    def _forecast(self, asked: Ask, over: Any) -> Forecast:
        inputs = [document for document, _ in self._inputs(over)]
        rules = self._rules(asked.facts.provider)
        with self.ledger.snapshot() as tx:
            return forecast_run(tx, asked, inputs, rules)

    def _route(self, asked: Ask, over: Any) -> str:
        """How a run's calls travel: decided here, because only here prices and vendors meet."""
        policy, facts = asked.policy.policy, asked.facts
        if policy.route == AUTO:
            route = self._forecast(asked, over).route
        else:
            route = choose_route(policy, facts, 0, self._rules(facts.provider))
        if route.problem:
            raise UsageError(route.problem)
        return route.lane

    def _dish_route(self, dish: Dish) -> str:
        """How the calls of a recipe travel; every model must be able to go that way."""
        lanes = []
        for facts in (dish.facts, *dish.models):
            policy = with_usual_route(dish.policy, facts).policy
            route = choose_route(policy, facts, MANY, self._rules(facts.provider))
            if route.problem:
                raise UsageError(route.problem)
            lanes.append(route.lane)
        return lanes[0] if len(set(lanes)) == 1 else DIRECT

    def _ask(self, schema: Any, model: str | None, policy: Mapping[str, Json]) -> Ask:
        asked = ask(self.settings, self._schema(schema), model, policy)
        return with_probed_size(self.ledger, asked)


def one_of_two(schema: Any, recipe: Any, **of_recipes: object) -> None:
    """Refuse both, neither, and what only recipes know."""
    if (schema is None) == (recipe is None):
        raise UsageError("give a schema (--schema) or a recipe (--recipe), one of the two")
    for name, value in of_recipes.items():
        if value:
            raise UsageError(f"{name} is for recipes; a schema has one stage, and no parameters")


def forecast_run(
    tx: Transaction, asked: Ask, inputs: Sequence[DocumentId], rules: BatchRules | None
) -> Forecast:
    """Forecast a run over these documents."""
    return forecast(
        tx.documents.sizes(inputs),
        asked.recipe.stages[0],
        asked.facts,
        asked.policy.policy,
        past_of(tx, asked),
        rules,
    )


def past_of(tx: Transaction, asked: Ask) -> Past:
    """Answered calls of the newest run that asked the same of the same model."""
    recipe, model = recipe_to_json(asked.recipe), asked.facts.name
    for run in tx.runs.newest(PAST_RUNS):
        if run.recipe == recipe and run.model.get("name") == model:
            lanes = tx.requests.lanes_of_run(run.id)
            samples = [
                each for lane in lanes for each in tx.attempts.samples(lane.id, MOST_SAMPLES)
            ]
            if samples:
                sums = tx.tallies.of_run(run.id)
                return Past(
                    samples=samples,
                    calls=sums.get("calls", 0),
                    output_tokens=sums.get("output_tokens", 0),
                    cached_tokens=sums.get("cached_tokens", 0),
                    batched=sum(each.answered for each in tx.batch_views.all(run.id)),
                )
    return NO_PAST
