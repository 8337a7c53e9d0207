"""Forecasts: what a run would take, stage by stage, from documents, answers and batch prices."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from quire.domain.batches import BatchRules
from quire.domain.data import Json
from quire.domain.documents import Document
from quire.domain.errors import CostAboveLimit, UsageError
from quire.domain.ids import DocumentId, RunId
from quire.domain.models import ModelFacts
from quire.domain.pricing import DOLLAR, dollars, to_usd
from quire.domain.quantities import quantity
from quire.domain.recipes import GATE, Recipe
from quire.domain.runs import DIRECT
from quire.engine.context import EngineContext
from quire.engine.html_tables import html_table
from quire.engine.orders import read_recipe, resolve_order
from quire.engine.past_calls import ASKED_ALL, find_past_work
from quire.engine.stage_sizes import StageForecaster
from quire.ledger.ledger import Transaction
from quire.pipeline.commands.answered import (
    NOTHING_ANSWERED,
    AnsweredBefore,
    find_answered,
    stage_words,
)
from quire.pipeline.commands.reuse import check_same_inputs, reusable_stages
from quire.pipeline.commands.start import Order, Reuse
from quire.planning.document_sets import DocumentSet
from quire.planning.forecast_corrections import correct_forecasts
from quire.planning.funding import round_up
from quire.planning.routing import AUTO, choose_route, with_usual_route
from quire.planning.sizing import FORECAST_BYTES
from quire.planning.stage_forecasts import VETOED, StageForecast
from quire.planning.variants import Forecast
from quire.providers.model_facts import token_counter

DOCUMENTS, BLOCKS = 40, 25  # of each at most, read to count their tokens
SIZED_TO_START = 2_000  # blocks that a run which begins waits for; a few ms
SIZED_TO_REFUSE = 100_000  # where it may be refused for what it would cost
MANY = 1_000_000  # calls, where how many there will be depends on the answers


class AskedPart(NamedTuple):
    """What of a plan is not answered yet; in picodollars."""

    tasks: int
    calls: int
    low: int
    cost: int
    high: int

    @property
    def cost_usd(self) -> float:
        """Dollars that are paid for it."""
        return to_usd(self.cost)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan:
    """What a run would take, before anything is spent."""

    order: Order
    documents: int
    blocks: int
    stages: tuple[StageForecast, ...]
    token_factor: float  # that it was reckoned with: the model's own tokenizer's, or as stated
    learnt_from: RunId | None = None  # the run of the same recipe that it was put right by
    answered: AnsweredBefore = NOTHING_ANSWERED  # of its blocks, and what those answers had cost

    @property
    def forecast(self) -> Forecast:
        """Every way a schema's calls could go; of a recipe, those of its first stage of records."""
        return next(stage.forecast for stage in self.stages if stage.forecast is not None)

    @property
    def stage_words(self) -> dict[str, str]:
        """What each stage says, with all that its templates name: the same words ask the same."""
        return stage_words(self.order.recipe)

    @property
    def tasks(self) -> int:
        """Answers owed in all."""
        return sum(stage.tasks for stage in self.stages if not stage.reused)

    @property
    def calls(self) -> int:
        """Calls in all."""
        return sum(stage.calls for stage in self.stages)

    @property
    def cost(self) -> int:
        """Picodollars in all."""
        return sum(stage.cost for stage in self.stages)

    @property
    def low(self) -> int:
        """Picodollars that it will hardly cost less than."""
        return sum(stage.low for stage in self.stages)

    @property
    def high(self) -> int:
        """Picodollars that it will hardly cost more than."""
        return sum(stage.high for stage in self.stages)

    @property
    def to_ask(self) -> "AskedPart":
        """What of it is really asked and paid for: what was answered before is not."""
        parts = [stage.to_ask for stage in self.stages if not stage.reused]
        return AskedPart(
            tasks=sum(part.tasks for part in parts),
            calls=sum(part.calls for part in parts),
            low=sum(part.low for part in parts),
            cost=sum(part.cost for part in parts),
            high=sum(part.high for part in parts),
        )

    @property
    def forecast_to_ask(self) -> Forecast | None:
        """Every way in which what is left of a schema could be asked; None: of a recipe, or all."""
        if not self.order.recipe.is_single_schema or not self.to_ask.tasks:
            return None
        return self.stages[0].to_ask.forecast

    @property
    def least_budget(self) -> int:
        """Picodollars that no budget may be below: the most that one call about one task may cost.

        Every call reserves that before it is sent, whatever it costs in the end.
        """
        asked = [stage for stage in self.stages if stage.to_ask.tasks and not stage.reused]
        return round_up(max((stage.lone_call for stage in asked), default=0))

    @property
    def is_answered_in_part(self) -> bool:
        """Whether less is asked than it is about."""
        return any(stage.asked is not None for stage in self.stages)

    @property
    def answered_stages(self) -> tuple[str, ...]:
        """The stages that ask nothing, because all of it is answered."""
        asked = {stage.stage for stage in self.stages if stage.to_ask.tasks and not stage.reused}
        names = dict.fromkeys(stage.stage for stage in self.stages if stage.tasks)
        return tuple(name for name in names if name not in asked)

    @property
    def cost_usd(self) -> float:
        """Dollars in all."""
        return to_usd(self.cost)

    def refuse_above(self, max_cost_usd: float) -> None:
        """Refuse what may cost more than that, by the upper end of what is forecast to be asked."""
        tasks, limit = self.stages[0].to_ask.tasks, self.order.task_limit
        share = min(1.0, limit / tasks) if limit is not None and tasks else 1.0
        if not 0 <= max_cost_usd < math.inf:
            raise UsageError(f"max_cost_usd is an amount in dollars, not {max_cost_usd}")
        high, most = math.ceil(self.to_ask.high * share), round(max_cost_usd * DOLLAR)
        if high > most:
            raise CostAboveLimit(
                f"this may cost up to {dollars(high)} by its forecast, more than {dollars(most)}:"
                " nothing was started",
                "raise --max-cost, try a part with --limit N (in Python max_cost=, limit=), or look"
                " at a plan for a cheaper model or route",
            )

    def __repr__(self) -> str:
        """Say what it comes to."""
        words = f"{quantity(self.tasks, 'task')} in {quantity(self.calls, 'call')}"
        words += f", about {dollars(self.cost)}"
        if self.is_answered_in_part:
            asked = self.to_ask
            are = "is" if asked.tasks == 1 else "are"
            words += f"; {asked.tasks:,} {are} not answered yet, about {dollars(asked.cost)}"
        words += ", simulated" * self.is_simulated
        return f"<quire plan: {words}>"

    def _repr_html_(self) -> str:
        """Every way that a schema's calls could go; of a recipe, its stages."""
        columns = ["", "requests", "tokens in", "tokens out", "cost"]
        ways = self.forecast.variants if self.order.recipe.is_single_schema else ()
        rows = [
            (way.name, way.requests, way.input_tokens, way.output_tokens, dollars(way.cost))
            for way in ways
        ] or [
            (stage.stage, stage.calls, stage.input_tokens, stage.output_tokens, dollars(stage.cost))
            for stage in self.stages
        ]
        return html_table(columns, rows, repr(self))

    @property
    def is_simulated(self) -> bool:
        """Whether all answers would be made up, and its dollars are no money."""
        return all(facts.is_simulated for facts in (self.order.facts, *self.order.models))

    @property
    def rough(self) -> bool:
        """Whether some sizes depend on answers that nobody has seen."""
        return any(stage.rough for stage in self.stages)


class Forecasts:
    """What an engine says of orders before anything is spent."""

    def __init__(self, context: EngineContext) -> None:
        """Forecast from what the context's ledger holds."""
        self._context = context

    def plan(self, order: Order) -> Plan:
        """Forecast requests, tokens and dollars, from answers where some came; spends nothing."""
        if not order.recipe.is_single_schema:
            self.route(order)  # refuses what cannot be; a schema's plan tells it beside what can
        with self._context.ledger.snapshot() as tx:
            documents = _documents(tx, order)
            planned = self._forecast(tx, order, documents)
            # what was answered is more exact than any count; nobody counts prompts of templates
            counts = self._context.exact_tokens and order.recipe.is_single_schema
            if counts and not planned.forecast.learnt:
                facts = _with_counted_tokens(tx, order.facts, documents)
                counted = self._forecast(tx, replace(order, facts=facts), documents)
                planned = replace(counted, order=order)
            return replace(planned, answered=find_answered(tx, order))

    def plan_start(self, order: Order, *, refusable: bool) -> Plan:
        """The same for a run that is about to begin: of very many blocks a sample is sized."""
        most = SIZED_TO_REFUSE if refusable else SIZED_TO_START
        with self._context.ledger.snapshot() as tx:
            return self._forecast(tx, order, _documents(tx, order), most)

    def plan_documents(
        self,
        recipe: Recipe,
        documents: Sequence[Document],
        reuse: tuple[int, str] | None = None,
        **policy: Json,
    ) -> Plan:
        """Forecast a recipe without inputs over documents that the ledger need not hold yet."""
        read = read_recipe(recipe, self._context.registry, {})
        order = resolve_order(self._context.settings, read, None, policy)
        order = replace(order, reuse=Reuse(RunId(reuse[0]), reuse[1]) if reuse else None)
        self.route(order)
        with self._context.ledger.snapshot() as tx:
            stored = [tx.documents.find_document(document.conv_uid) for document in documents]
            return self._forecast(tx, *_over_stored(order, documents, stored))

    def route(self, order: Order) -> str:
        """How a run's calls travel; every model must be able to go that way.

        It is decided here, because only here prices and vendors meet.
        """
        routes = set()
        for facts in (order.facts, *order.models):
            policy = with_usual_route(order.policy, facts).policy
            if policy.route == AUTO and order.recipe.is_single_schema:
                # all its calls are known before the first: what either way costs is compared
                with self._context.ledger.snapshot() as tx:
                    stage, *_ = self._forecast_stages(tx, order, _documents(tx, order))
                    assert stage.forecast is not None
                    choice = stage.forecast.route
            else:
                choice = choose_route(policy, facts, MANY, self._batch_rules(facts.provider))
            if choice.problem:
                raise UsageError(choice.problem)
            routes.add(choice.route)
        return routes.pop() if len(routes) == 1 else DIRECT

    def _batch_rules(self, provider: str) -> BatchRules | None:
        vendor = self._context.providers.batch_api(provider)
        return vendor.rules if vendor else None

    def _forecast(
        self,
        tx: Transaction,
        order: Order,
        documents: Sequence[Document],
        most_sized: int | None = None,
    ) -> Plan:
        stages = self._forecast_stages(tx, order, documents, most_sized, answers=True)
        past = find_past_work(tx, order)
        if past is not None:
            earlier = stages
            if not past.is_same(order, documents):
                earlier = self._forecast_stages(tx, past.order, past.documents, most_sized)
            earlier = [item.in_part(*past.asked.get(item.stage, ASKED_ALL)) for item in earlier]
            stages = correct_forecasts(stages, earlier, past.spent)
        return Plan(
            order=order,
            documents=len(documents),
            blocks=DocumentSet(documents).blocks,
            stages=tuple(stages),
            token_factor=order.facts.token_factor,
            learnt_from=past.run_id if past is not None else None,
        )

    def _forecast_stages(
        self,
        tx: Transaction,
        order: Order,
        documents: Sequence[Document],
        most_sized: int | None = None,
        *,
        answers: bool = False,
    ) -> list[StageForecast]:
        """What every stage takes by rule, and by answers to the same questions.

        With `answers` it is told, too, what of it need not be asked again.
        """
        forecaster = StageForecaster(tx, order, self._context.registry, documents, most_sized)
        if answers and order.sample is None and len(order.inputs) == len(documents):
            forecaster.look_for_answers()
        kept: tuple[str, ...] = ()
        if order.reuse is not None:
            if order.inputs:  # an experiment's evidence need not be in the ledger yet
                check_same_inputs(tx, order.reuse, order.inputs, order.input_names)
            kept = reusable_stages(tx, order.reuse, order.recipe, order.facts.name)
        vetoed = _vetoed_stages(order.recipe)
        return [
            forecast.with_vetoes(VETOED if stage.name in vetoed else 0.0)
            for stage in order.recipe.stages
            for forecast in forecaster.forecasts(
                stage, self._batch_rules, reused=stage.name in kept
            )
        ]


def _vetoed_stages(recipe: Recipe) -> set[str]:
    """Critics that decide, and the stages whose answers they may send back."""
    critics = [stage for stage in recipe.stages if stage.critic == GATE]
    return {name for stage in critics for name in (stage.name, stage.of)}


def _documents(tx: Transaction, order: Order) -> list[Document]:
    wanted = {document for document, _ in order.inputs}
    return [document for document in tx.documents.list_documents() if document.id in wanted]


def _over_stored(
    order: Order, documents: Sequence[Document], stored: Sequence[DocumentId | None]
) -> tuple[Order, Sequence[Document]]:
    """An order over the ledger's own documents, where it has them all: some may be answered."""
    known = [
        replace(document, id=found)
        for document, found in zip(documents, stored, strict=True)
        if found is not None
    ]
    if len(known) < len(documents):
        return order, documents
    return replace(order, inputs=[(item.id, item.conv_uid) for item in known]), known


def _with_counted_tokens(
    tx: Transaction, facts: ModelFacts, documents: Sequence[Document]
) -> ModelFacts:
    """The facts with the tokens that these documents really have; as they were if nobody knows."""
    count = token_counter(facts)
    if count is None:
        return facts
    size = tokens = 0
    for text in _sample_texts(tx, documents):
        size += len(text.encode())
        tokens += count(text)
    if not size:
        return facts
    return replace(facts, token_factor=tokens * FORECAST_BYTES / size)


def _sample_texts(tx: Transaction, documents: Sequence[Document]) -> Iterator[str]:
    for document in documents[:: max(1, len(documents) // DOCUMENTS)][:DOCUMENTS]:
        for block in islice(tx.documents.copy_document(document).blocks, BLOCKS):
            yield block.content
