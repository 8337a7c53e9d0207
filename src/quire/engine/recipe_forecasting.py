"""Forecasting of recipes: stage by stage, each from what those above it will give."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quire.domain.batches import BatchRules
from quire.domain.documents import Document
from quire.domain.groupings import Driver, Surroundings
from quire.domain.ids import DocumentId, RunId, StageId
from quire.domain.models import ModelFacts
from quire.domain.recipes import Recipe, Stage
from quire.domain.requests import Sample
from quire.engine.cooking import Dish
from quire.engine.ordering import PAST_RUNS
from quire.ledger.ledger import Transaction
from quire.pipeline.render import reads_many
from quire.pipeline.told import Told, asked_of, is_plain
from quire.plan.calibrating import MOST_SAMPLES
from quire.plan.rendering import prefix
from quire.plan.stage_forecasting import StageForecast, Work, answer_bytes, forecast_stage
from quire.plan.templating import SUBJECT_NAMES, Template, compile_template
from quire.recipes.registry import Registry
from quire.recipes.snapshots import recipe_to_json

WORDS = 60  # bytes of a title, a name, or what a grouping says

Rules = Callable[[str], BatchRules | None]  # of a provider's batches


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRecipe:
    """What a recipe's run would roughly take, before anything is spent."""

    recipe: Recipe
    facts: ModelFacts  # of the run's own model
    documents: int
    blocks: int
    stages: tuple[StageForecast, ...]

    @property
    def tasks(self) -> int:
        """Answers owed in all."""
        return sum(each.tasks for each in self.stages)

    @property
    def calls(self) -> int:
        """Calls in all."""
        return sum(each.calls for each in self.stages)

    @property
    def cost(self) -> int:
        """Micro-dollars in all."""
        return sum(each.cost for each in self.stages)

    @property
    def rough(self) -> bool:
        """Whether some sizes depend on answers that nobody has seen."""
        return any(each.rough for each in self.stages)


class _Sizes(NamedTuple):
    """How large one task of a stage is, in bytes."""

    tasks: int
    content: float
    largest: float
    answer: float


class _Pile(NamedTuple):
    """Some documents, by what matters for sizes."""

    documents: Sequence[Document]

    @property
    def blocks(self) -> int:
        return sum(each.conv_total_blocks for each in self.documents)

    @property
    def text(self) -> int:
        return sum(each.conv_total_characters for each in self.documents)

    @property
    def longest(self) -> int:
        return max((each.conv_total_characters for each in self.documents), default=0)


def forecast_recipe(
    tx: Transaction,
    dish: Dish,
    registry: Registry,
    documents: Sequence[Document],
    inputs: Mapping[DocumentId, str],  # each with the name of the set it belongs to
    rules: Rules,
) -> PlannedRecipe:
    """Forecast a recipe over these documents, from their sizes; spends nothing."""
    forecaster = _Forecaster(tx, dish, registry, documents, inputs)
    stages = [each for stage in dish.recipe.stages for each in forecaster.forecasts(stage, rules)]
    return PlannedRecipe(
        recipe=dish.recipe,
        facts=dish.facts,
        documents=len(documents),
        blocks=_Pile(documents).blocks,
        stages=tuple(stages),
    )


class _Forecaster:
    """Goes through a recipe's stages in order, and remembers what each will give."""

    def __init__(
        self,
        tx: Transaction,
        dish: Dish,
        registry: Registry,
        documents: Sequence[Document],
        inputs: Mapping[DocumentId, str],
    ) -> None:
        self._tx, self._dish, self._documents, self._inputs = tx, dish, documents, inputs
        recipe = dish.recipe
        self._told = Told(
            run_id=RunId(0),
            recipe=recipe,
            policy=dish.policy,
            models=(dish.facts, *dish.models),
            stage_ids={each.name: StageId(no) for no, each in enumerate(recipe.stages)},
            registry=registry,
        )
        self._sizes: dict[str, _Sizes] = {}
        self._past = _past(tx, recipe, dish.facts)

    def forecasts(self, stage: Stage, rules: Rules) -> list[StageForecast]:
        """A stage with each of its models."""
        told, asking = self._told, self._told.askings[stage.name]
        sizes = self._measure(stage)
        self._sizes[stage.name] = sizes
        names = asked_of(self._dish.recipe, stage, self._dish.facts.name)
        exact = is_plain(stage) and asking.by_block and len(names) == 1
        return [
            forecast_stage(
                Work(
                    stage=asking.stage,
                    facts=facts,
                    policy=told.policy_of(stage),
                    rules=rules(facts.provider),
                    tasks=tasks,
                    content=sizes.content,
                    largest=sizes.largest,
                    rough=bool(stage.upstream) or stage.schema is None,
                    sizes=self._tx.documents.sizes(self._ids(stage)) if exact else None,
                    samples=self._past.get((stage.name, name), ()),
                )
            )
            for name, tasks in _shared(names, sizes.tasks)
            for facts in [told.models[told.model_numbers[name]]]
        ]

    def _measure(self, stage: Stage) -> _Sizes:
        pile, driver = self._pile(stage), self._told.driver_of(stage)
        grouping = self._told.grouping_of(stage)
        things = {
            Driver.ONCE: 1,
            Driver.DOCUMENT: len(pile.documents),
            Driver.BLOCK: pile.blocks,
        }.get(driver)
        around = Surroundings(
            parameters=self._dish.recipe.parameters,
            settings=stage.settings,
            samples=stage.samples,
            models=self._told.models_of(stage),
            documents=self._ids(stage) if grouping.wants_documents else (),
        )
        driven = self._sizes[stage.of].tasks if things is None else things
        content = self._content(stage, pile, largest=False)
        largest = max(content, self._content(stage, pile, largest=True))
        samples = [
            each for (name, _), seen in self._past.items() if name == stage.name for each in seen
        ]
        answer = answer_bytes(stage, content, samples)
        return _Sizes(grouping.count(driven, around), content, largest, answer)

    def _content(self, stage: Stage, pile: _Pile, *, largest: bool) -> float:
        """Bytes that are said of one task, typically or at most."""
        template = compile_template(stage.prompt) if stage.templated else None
        if template is None or not template.names & SUBJECT_NAMES:
            fixed = 0 if stage.schema else len(stage.prompt.encode())
            return fixed + self._subject(stage, pile, largest)
        parts = [
            float(len(stage.prompt.encode())),
            self._of_documents(template, pile, largest),
            self._of_results(stage, template),
            self._of_judged(stage, template, largest),
        ]
        return sum(parts)

    def _subject(self, stage: Stage, pile: _Pile, largest: bool) -> float:
        """The text of what a task is about, where the prompt does not say where it goes."""
        if stage.of:
            return self._sizes[stage.of].answer
        driver = self._told.driver_of(stage)
        if driver is Driver.BLOCK:
            return _mean(pile.text, pile.blocks)
        if driver is Driver.DOCUMENT:
            return pile.longest if largest else _mean(pile.text, len(pile.documents))
        return sum(self._reads(stage, name) for name in stage.upstream)

    def _of_documents(self, template: Template, pile: _Pile, largest: bool) -> float:
        parts = {part for name, part in template.attributes if name == "document"}
        each = pile.longest if largest else _mean(pile.text, len(pile.documents))
        size = 0.0
        if "block" in template.names:
            size += _mean(pile.text, pile.blocks)
        if "document" in template.names:
            size += each if not parts or parts & {"text", "views"} else WORDS
        if "documents" in template.names:
            size += pile.text
        return size

    def _of_results(self, stage: Stage, template: Template) -> float:
        named = {part for name, part in template.attributes if name == "inputs"}
        wanted = named & set(stage.upstream) if named else set(stage.upstream)
        if "inputs" not in template.names:
            return 0.0
        return sum(self._reads(stage, name) for name in wanted)

    def _of_judged(self, stage: Stage, template: Template, largest: bool) -> float:
        if "judged" not in template.names or not stage.of:
            return 0.0
        above = self._sizes[stage.of]
        parts = {part for name, part in template.attributes if name == "judged"}
        sizes = {
            "asked": above.largest if largest else above.content,
            "answer": above.answer,
            "data": above.answer,
            "system": len(prefix(self._told.askings[stage.of].stage).system.encode()),
        }
        return sum(size for name, size in sizes.items() if name in parts or not parts)

    def _reads(self, stage: Stage, name: str) -> float:
        """Bytes of the results of one stage that a task of another reads."""
        above = self._sizes[name]
        if not reads_many(self._told, stage, name):
            return above.answer
        pile = self._pile(stage)
        driver = self._told.driver_of(stage)
        groups = {Driver.ONCE: 1, Driver.BLOCK: pile.blocks}.get(driver, len(pile.documents))
        return above.answer * max(1.0, _mean(above.tasks, groups))

    def _pile(self, stage: Stage) -> _Pile:
        wanted = stage.over
        return _Pile([e for e in self._documents if not wanted or self._inputs[e.id] == wanted])

    def _ids(self, stage: Stage) -> list[DocumentId]:
        return [each.id for each in self._pile(stage).documents]


def _past(
    tx: Transaction, recipe: Recipe, facts: ModelFacts
) -> dict[tuple[str, str], tuple[Sample, ...]]:
    """Answered calls of the newest run of the same recipe, by stage and model."""
    written = recipe_to_json(recipe)
    for run in tx.runs.newest(PAST_RUNS):
        if run.recipe == written and run.model.get("name") == facts.name:
            names = {each.id: each.name for each in tx.runs.stages(run.id)}
            found = {
                (names[lane.stage_id], lane.model): tuple(
                    tx.attempts.samples(lane.id, MOST_SAMPLES)
                )
                for lane in tx.requests.lanes_of_run(run.id)
            }
            if any(found.values()):
                return {key: samples for key, samples in found.items() if samples}
    return {}


def _shared(names: Sequence[str], tasks: int) -> list[tuple[str, int]]:
    """Tasks by model: as evenly as whole numbers allow."""
    whole, rest = divmod(tasks, len(names))
    return [(name, whole + (no < rest)) for no, name in enumerate(names)]


def _mean(total: float, count: int) -> float:
    return total / count if count else 0.0
