"""Forecasts of recipes: stage by stage, each from what those above it will give."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quire.domain.batches import BatchRules
from quire.domain.documents import Document
from quire.domain.groupings import Driver, GroupingContext
from quire.domain.ids import DocumentId, RunId, StageId
from quire.domain.models import ModelFacts
from quire.domain.recipes import Recipe, Stage
from quire.domain.requests import OutputSample
from quire.engine.orders import PAST_RUNS, Order
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.render import reads_many
from quire.pipeline.run_spec import RunSpec, is_plain, possible_models
from quire.plan.job_forecasts import StageForecast, StageWork, answer_bytes, forecast_stage
from quire.plan.rendering import render_prefix
from quire.plan.sizing import MOST_SAMPLES
from quire.plan.templates import SUBJECT_NAMES, Template, compile_template
from quire.recipes.plugin_registry import Registry
from quire.recipes.recipe_snapshots import recipe_to_json

WORDS = 60  # bytes of a title, a name, or what a grouping says

Rules = Callable[[str], BatchRules | None]  # of a provider's batches


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipePlan:
    """What a recipe's run would roughly take, before anything is spent."""

    recipe: Recipe
    facts: ModelFacts  # of the run's own model
    documents: int
    blocks: int
    stages: tuple[StageForecast, ...]

    @property
    def tasks(self) -> int:
        """Answers owed in all."""
        return sum(stage.tasks for stage in self.stages)

    @property
    def calls(self) -> int:
        """Calls in all."""
        return sum(stage.calls for stage in self.stages)

    @property
    def cost(self) -> int:
        """Micro-dollars in all."""
        return sum(stage.cost for stage in self.stages)

    @property
    def rough(self) -> bool:
        """Whether some sizes depend on answers that nobody has seen."""
        return any(stage.rough for stage in self.stages)


class _Sizes(NamedTuple):
    """How large one task of a stage is, in bytes."""

    tasks: int
    content: float
    largest: float
    answer: float


class _DocumentSet(NamedTuple):
    """Some documents, by what matters for sizes."""

    documents: Sequence[Document]

    @property
    def blocks(self) -> int:
        return sum(document.conv_total_blocks for document in self.documents)

    @property
    def text(self) -> int:
        return sum(document.conv_total_characters for document in self.documents)

    @property
    def longest(self) -> int:
        return max((document.conv_total_characters for document in self.documents), default=0)


def forecast_recipe(
    tx: Transaction,
    order: Order,
    registry: Registry,
    documents: Sequence[Document],
    inputs: Mapping[DocumentId, str],  # each with the name of the set it belongs to
    rules: Rules,
) -> RecipePlan:
    """Forecast a recipe over these documents, from their sizes; spends nothing."""
    forecaster = _Forecaster(tx, order, registry, documents, inputs)
    stages = [
        forecast for stage in order.recipe.stages for forecast in forecaster.forecasts(stage, rules)
    ]
    return RecipePlan(
        recipe=order.recipe,
        facts=order.facts,
        documents=len(documents),
        blocks=_DocumentSet(documents).blocks,
        stages=tuple(stages),
    )


class _Forecaster:
    """Goes through a recipe's stages in order, and remembers what each will give."""

    def __init__(
        self,
        tx: Transaction,
        order: Order,
        registry: Registry,
        documents: Sequence[Document],
        inputs: Mapping[DocumentId, str],
    ) -> None:
        self._tx, self._order, self._documents, self._inputs = tx, order, documents, inputs
        recipe = order.recipe
        self._spec = RunSpec(
            run_id=RunId(0),
            recipe=recipe,
            policy=order.policy,
            models=(order.facts, *order.models),
            stage_ids={stage.name: StageId(no) for no, stage in enumerate(recipe.stages)},
            registry=registry,
        )
        self._sizes: dict[str, _Sizes] = {}
        self._past = _past_samples(tx, recipe, order.facts)

    def forecasts(self, stage: Stage, rules: Rules) -> list[StageForecast]:
        """A stage with each of its models."""
        spec, stage_prompt = self._spec, self._spec.stage_prompts[stage.name]
        sizes = self._measure(stage)
        self._sizes[stage.name] = sizes
        names = possible_models(self._order.recipe, stage, self._order.facts.name)
        exact = is_plain(stage) and stage_prompt.by_block and len(names) == 1
        return [
            forecast_stage(
                StageWork(
                    stage=stage_prompt.stage,
                    facts=facts,
                    policy=spec.policy_of(stage),
                    rules=rules(facts.provider),
                    tasks=tasks,
                    content=sizes.content,
                    largest=sizes.largest,
                    rough=bool(stage.upstream) or stage.schema is None,
                    sizes=self._tx.documents.block_sizes(self._document_ids(stage))
                    if exact
                    else None,
                    samples=self._past.get((stage.name, name), ()),
                )
            )
            for name, tasks in _share_tasks(names, sizes.tasks)
            for facts in [spec.models[spec.model_numbers[name]]]
        ]

    def _measure(self, stage: Stage) -> _Sizes:
        document_set, driver = self._document_set(stage), self._spec.driver_of(stage)
        grouping = self._spec.grouping_of(stage)
        things = {
            Driver.ONCE: 1,
            Driver.DOCUMENT: len(document_set.documents),
            Driver.BLOCK: document_set.blocks,
        }.get(driver)
        grouping_context = GroupingContext(
            parameters=self._order.recipe.parameters,
            settings=stage.settings,
            samples=stage.samples,
            models=self._spec.models_of(stage),
            documents=self._document_ids(stage) if grouping.wants_documents else (),
        )
        driven = self._sizes[stage.of].tasks if things is None else things
        content = self._content_bytes(stage, document_set, largest=False)
        largest = max(content, self._content_bytes(stage, document_set, largest=True))
        samples = [
            sample
            for (name, _), seen in self._past.items()
            if name == stage.name
            for sample in seen
        ]
        answer = answer_bytes(stage, content, samples)
        return _Sizes(grouping.count(driven, grouping_context), content, largest, answer)

    def _content_bytes(self, stage: Stage, document_set: _DocumentSet, *, largest: bool) -> float:
        """Bytes that are said of one task, typically or at most."""
        template = compile_template(stage.prompt) if stage.templated else None
        if template is None or not template.names & SUBJECT_NAMES:
            fixed = 0 if stage.schema else len(stage.prompt.encode())
            return fixed + self._subject_bytes(stage, document_set, largest)
        parts = [
            float(len(stage.prompt.encode())),
            self._document_bytes(template, document_set, largest),
            self._result_bytes(stage, template),
            self._judged_bytes(stage, template, largest),
        ]
        return sum(parts)

    def _subject_bytes(self, stage: Stage, document_set: _DocumentSet, largest: bool) -> float:
        """The text of what a task is about, where the prompt does not say where it goes."""
        if stage.of:
            return self._sizes[stage.of].answer
        driver = self._spec.driver_of(stage)
        if driver is Driver.BLOCK:
            return _mean(document_set.text, document_set.blocks)
        if driver is Driver.DOCUMENT:
            return (
                document_set.longest
                if largest
                else _mean(document_set.text, len(document_set.documents))
            )
        return sum(self._upstream_bytes(stage, name) for name in stage.upstream)

    def _document_bytes(
        self, template: Template, document_set: _DocumentSet, largest: bool
    ) -> float:
        parts = {part for name, part in template.attributes if name == "document"}
        item = (
            document_set.longest
            if largest
            else _mean(document_set.text, len(document_set.documents))
        )
        size = 0.0
        if "block" in template.names:
            size += _mean(document_set.text, document_set.blocks)
        if "document" in template.names:
            size += item if not parts or parts & {"text", "views"} else WORDS
        if "documents" in template.names:
            size += document_set.text
        return size

    def _result_bytes(self, stage: Stage, template: Template) -> float:
        named = {part for name, part in template.attributes if name == "inputs"}
        wanted = named & set(stage.upstream) if named else set(stage.upstream)
        if "inputs" not in template.names:
            return 0.0
        return sum(self._upstream_bytes(stage, name) for name in wanted)

    def _judged_bytes(self, stage: Stage, template: Template, largest: bool) -> float:
        if "judged" not in template.names or not stage.of:
            return 0.0
        above = self._sizes[stage.of]
        parts = {part for name, part in template.attributes if name == "judged"}
        sizes = {
            "asked": above.largest if largest else above.content,
            "answer": above.answer,
            "data": above.answer,
            "system": len(render_prefix(self._spec.stage_prompts[stage.of].stage).system.encode()),
        }
        return sum(size for name, size in sizes.items() if name in parts or not parts)

    def _upstream_bytes(self, stage: Stage, name: str) -> float:
        """Bytes of the results of one stage that a task of another reads."""
        above = self._sizes[name]
        if not reads_many(self._spec, stage, name):
            return above.answer
        document_set = self._document_set(stage)
        driver = self._spec.driver_of(stage)
        groups = {Driver.ONCE: 1, Driver.BLOCK: document_set.blocks}.get(
            driver, len(document_set.documents)
        )
        return above.answer * max(1.0, _mean(above.tasks, groups))

    def _document_set(self, stage: Stage) -> _DocumentSet:
        wanted = stage.over
        return _DocumentSet(
            [e for e in self._documents if not wanted or self._inputs[e.id] == wanted]
        )

    def _document_ids(self, stage: Stage) -> list[DocumentId]:
        return [document.id for document in self._document_set(stage).documents]


def _past_samples(
    tx: Transaction, recipe: Recipe, facts: ModelFacts
) -> dict[tuple[str, str], tuple[OutputSample, ...]]:
    """Answered calls of the newest run of the same recipe, by stage and model."""
    written = recipe_to_json(recipe)
    for run in tx.runs.list_runs(PAST_RUNS):
        if run.recipe == written and run.model.get("name") == facts.name:
            names = {stage.id: stage.name for stage in tx.runs.stages_of_run(run.id)}
            found = {
                (names[lane.stage_id], lane.model): tuple(
                    tx.attempts.output_samples(lane.id, MOST_SAMPLES)
                )
                for lane in tx.requests.lanes_of_run(run.id)
            }
            if any(found.values()):
                return {key: samples for key, samples in found.items() if samples}
    return {}


def _share_tasks(names: Sequence[str], tasks: int) -> list[tuple[str, int]]:
    """Tasks by model: as evenly as whole numbers allow."""
    whole, rest = divmod(tasks, len(names))
    return [(name, whole + (no < rest)) for no, name in enumerate(names)]


def _mean(total: float, count: int) -> float:
    return total / count if count else 0.0
