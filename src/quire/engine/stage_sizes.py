"""Stage sizes: how many tasks each stage of an order has, how large they are, what each takes."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from quire.domain.batches import BatchRules
from quire.domain.data import plain_json, to_named_tuples
from quire.domain.documents import Document
from quire.domain.errors import TemplateFailed
from quire.domain.groupings import Driver, DriverItem, GroupingContext, Part
from quire.domain.ids import DocumentId, RunId, StageId
from quire.domain.recipes import HistoryEntry, Stage
from quire.engine.past_calls import past_calls
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.render import reads_many
from quire.pipeline.commands.answered_tasks import AnsweredTasks, AskedTasks
from quire.pipeline.commands.start import Order
from quire.pipeline.run_spec import RunSpec, possible_models
from quire.planning.builtin_groupings import shows_documents
from quire.planning.compression import HEAD_TURNS, TAIL_TURNS
from quire.planning.document_sets import DocumentSet
from quire.planning.embedding_forecasts import forecast_embeddings
from quire.planning.prompt_variables import Material, PromptAnswer, PromptResult, template_variables
from quire.planning.rendering import render_prefix
from quire.planning.size_samples import STRETCH, SampledSize, fit_to_mean, spread_stretches
from quire.planning.spans import SpanGrouping
from quire.planning.stage_counts import LineCount, count_things, inputs_per_task, line_count
from quire.planning.stage_forecasts import StageForecast, StageWork, answer_bytes, forecast_stage
from quire.planning.stand_ins import (
    document_stand_in,
    judged_stand_in,
    result_stand_in,
    row_stand_in,
)
from quire.planning.templates import SUBJECT_NAMES, Template, compile_template
from quire.planning.token_estimates import NO_PAST_CALLS
from quire.providers.vendors import vendor_facts
from quire.recipes.plugin_registry import Registry

_PARAMETERS = "parameters"  # as templates call them
MOST_PARTS = 100  # of the tasks of one thing, that are looked at for how much they show
WORDS = 60  # bytes of a title, a name, or what a grouping says

Rules = Callable[[str], BatchRules | None]  # of a provider's batches


class _Sizes(NamedTuple):
    """How large one task of a stage is, in bytes."""

    tasks: int
    content: float
    largest: float
    answer: float
    asked: str = ""  # the prompt of a typical task, where a template says it


class StageForecaster:
    """Goes through a recipe's stages in order, and remembers what each will give."""

    def __init__(
        self,
        tx: Transaction,
        order: Order,
        registry: Registry,
        documents: Sequence[Document],
        most_sized: int | None = None,
    ) -> None:
        """Forecast an order over documents; of more blocks than that a sample is sized."""
        self._most_sized = most_sized
        self._answered: AnsweredTasks | None = None
        self._tx, self._order, self._documents = tx, order, documents
        recipe = order.recipe
        self._spec = RunSpec(
            run_id=RunId(0),
            recipe=recipe,
            policy=order.policy,
            models=(order.facts, *order.models, *order.embedders),
            stage_ids={stage.name: StageId(no) for no, stage in enumerate(recipe.stages)},
            registry=registry,
        )
        self._sizes: dict[str, _Sizes] = {}
        self._spans: dict[str, list[int]] = {}  # of stages that divide documents
        self._types = order.sample.types if order.sample else ()
        self._counts: dict[str, LineCount] = {}
        self._shown: dict[str, int] = {}  # documents that one task of a stage shows, if it is some
        self._past = past_calls(tx, recipe, order.facts)

    def look_for_answers(self) -> None:
        """Tell from here on how much of each stage need not be asked again."""
        self._answered = AnsweredTasks(self._tx, self._order, self._spec, self._documents)

    def forecasts(self, stage: Stage, rules: Rules, *, reused: bool = False) -> list[StageForecast]:
        """A stage with each of its models; reused: an earlier run's results are kept whole."""
        spec, stage_prompt = self._spec, self._spec.stage_prompts[stage.name]
        sizes = self._measure(stage)
        names = possible_models(self._order.recipe, stage, self._order.facts.name)
        contents = self._contents(stage, sizes.content)
        listed = None if contents is None else list(contents)
        works = [
            StageWork(
                stage=stage_prompt.stage,
                facts=facts,
                policy=spec.policy_of(stage),
                rules=rules(facts.provider),
                tasks=tasks,
                content=sizes.content,
                largest=sizes.largest,
                rough=bool(stage.upstream) or stage.schema is None,
                sizes=self._block_sizes(stage) if stage_prompt.by_block else None,
                contents=listed,
                fixed=self._fixed_bytes(stage),
                past=self._past.get((stage.name, name), NO_PAST_CALLS),
                asked=sizes.asked,
            )
            for name, tasks in _share_tasks(names, sizes.tasks)
            for facts in [spec.models[spec.model_numbers[name]]]
        ]
        found = [forecast_stage(work) for work in works]
        answered = sum(item.tasks - item.oversized for item in found)
        self._sizes[stage.name] = sizes._replace(tasks=answered)
        self._counts[stage.name] = line_count(spec.lineage, stage, self._counts, answered)
        embedded = [*self._forecast_embeddings(works)]
        if reused:
            return self._as_reused(stage, [*found, *embedded])
        return self._with_asked(stage, works, found, embedded)

    def _as_reused(self, stage: Stage, found: Sequence[StageForecast]) -> list[StageForecast]:
        if self._answered is not None:
            self._answered.note_reused(stage)
        return [forecast.as_reused() for forecast in found]

    def _with_asked(
        self,
        stage: Stage,
        works: Sequence[StageWork],
        found: Sequence[StageForecast],
        embedded: Sequence[StageForecast],
    ) -> list[StageForecast]:
        """The forecasts, each with what of it is not answered yet."""
        if self._answered is None:
            return [*found, *embedded]
        planned = {forecast.model: forecast.tasks for forecast in found}
        asked = self._answered.find_asked(stage, planned)
        tasks, left = sum(planned.values()), sum(item.tasks for item in asked.values())
        return [
            *(
                _with_part(forecast, work, asked[forecast.model])
                for forecast, work in zip(found, works, strict=True)
            ),
            *(replace(item, asked=item.in_part(left, tasks)) for item in embedded),
        ]

    def _forecast_embeddings(self, works: Sequence[StageWork]) -> Iterator[StageForecast]:
        """What ranking passages costs, where a model is asked to."""
        name = works[0].policy.embedder
        for facts in self._order.embedders:
            rules = vendor_facts(facts.provider).embeddings
            if facts.name == name and rules and (found := forecast_embeddings(works, facts, rules)):
                yield found

    def _measure(self, stage: Stage) -> _Sizes:
        document_set, grouping = self._document_set(stage), self._spec.grouping_of(stage)
        grouping_context = GroupingContext(
            parameters=self._order.recipe.parameters,
            settings=stage.settings,
            samples=stage.samples,
            models=self._spec.models_of(stage),
            documents=self._document_ids(stage)
            if shows_documents(grouping, stage.settings)
            else (),
        )
        driven = count_things(self._spec.lineage, stage, self._counts, document_set.input_count)
        prompts = self._typical_prompts(stage, grouping_context)
        asked = next(iter(prompts), None)
        content = self._content_bytes(stage, document_set, largest=False)
        if prompts:
            before = sum(self._turn_bytes(stage, entry, document_set) for entry in stage.history)
            said_of_all = sum(len(prompt.encode()) * times for prompt, times in prompts.items())
            content = before + said_of_all / prompts.total()
        largest = max(content, self._content_bytes(stage, document_set, largest=True))
        samples = [
            sample
            for (name, _), past in self._past.items()
            if name == stage.name
            for sample in past.acceptable
        ]
        said = self._spec.stage_prompts[stage.name].stage.prompt if asked is None else asked
        answer = answer_bytes(stage, content, samples, said)
        tasks = grouping.count(driven, grouping_context)
        return _Sizes(tasks, content, largest, answer, said)

    def _typical_prompts(self, stage: Stage, around: GroupingContext) -> Counter[str]:
        """Prompts of typical tasks, filled in with stand-ins, by how many tasks are like each.

        Tasks of one thing differ by how much they show: of seven documents in threes, the last
        shows one. There is none without a template, or where it does not suit.
        """
        item = self._spec.stage_prompts[stage.name].item
        prompts = Counter[str]()
        if item is None:
            return prompts
        try:
            for part, times in self._typical_parts(stage, item, around):
                stand_in = self._stand_in(stage, item, part)
                prompts[item.render(template_variables(stand_in))] += times
        except TemplateFailed:
            return Counter()
        return prompts

    def _typical_parts(
        self, stage: Stage, item: Template, around: GroupingContext
    ) -> list[tuple[Part, int]]:
        """A task for each number of documents shown, the most first, and how many show as many."""
        own = self._order.facts.name
        if not item.names & {"part", "documents"}:
            return [(Part(own), 1)]
        driven = DriverItem(key=0, model=own)
        fanned = islice(self._spec.grouping_of(stage).fan(driven, around), MOST_PARTS)
        parts, times = dict[int, Part](), Counter[int]()
        for part in fanned:
            parts.setdefault(len(part.documents), part)
            times[len(part.documents)] += 1
        self._shown[stage.name] = max(parts, default=0)
        return [(parts[count], times[count]) for count in sorted(parts)[::-1]] or [(Part(own), 1)]

    def _stand_in(self, stage: Stage, item: Template, part: Part) -> Material:
        """A typical task: values as large as those that its prompt will be filled in with."""
        document_set, own = self._document_set(stage), self._order.facts.name
        views = {name: self._sizes[name].answer for name in stage.upstream}
        shown = document_stand_in(document_set.document_size(largest=False), views)
        block = _mean(document_set.text, document_set.blocks) if "block" in item.names else None
        return Material(
            row=row_stand_in(block, part.sample),
            parameters=self._order.recipe.parameters,
            model=own,
            part=part.part,
            document=shown if "document" in item.names else None,
            documents=[shown] * len(part.documents),
            inputs={name: self._read_stand_in(stage, name) for name in stage.upstream},
            of=stage.of,
            judged_answer=self._judged_stand_in(stage) if "judged" in item.names else None,
        )

    def _read_stand_in(self, stage: Stage, name: str) -> PromptResult | list[PromptResult]:
        above, size = self._spec.stage_named(name), self._sizes[name].answer
        if not reads_many(self._spec, stage, name):
            return result_stand_in(above, size)
        count = round(self._upstream_bytes(stage, name) / size) if size else 1
        return [result_stand_in(above, size)] * max(1, count)

    def _judged_stand_in(self, stage: Stage) -> PromptAnswer:
        above, sizes = self._spec.stage_prompts[stage.of].stage, self._sizes[stage.of]
        return judged_stand_in(above, sizes.content, render_prefix(above).system, sizes.answer)

    def _content_bytes(self, stage: Stage, document_set: DocumentSet, *, largest: bool) -> float:
        """Bytes that are said of one task, typically or at most."""
        before = sum(self._turn_bytes(stage, entry, document_set) for entry in stage.history)
        template = compile_template(stage.prompt) if stage.templated else None
        if template is None or not template.names & SUBJECT_NAMES:
            said = self._spec.stage_prompts[stage.name].stage.prompt  # its parameters filled in
            fixed = 0 if stage.schema else len(said.encode())
            return before + fixed + self._subject_bytes(stage, document_set, largest)
        parts = [
            self._own_bytes(stage.prompt),
            self._document_bytes(stage, template, document_set, largest),
            self._result_bytes(stage, template),
            self._judged_bytes(stage, template, largest),
        ]
        return before + sum(parts)

    def _turn_bytes(self, stage: Stage, entry: HistoryEntry, document_set: DocumentSet) -> float:
        """Bytes of what was said before, by one entry of a stage's history."""
        if entry.inputs:
            return self._upstream_bytes(stage, entry.inputs)
        template = compile_template(entry.content)
        shown = self._document_bytes(stage, template, document_set, largest=False)
        return self._own_bytes(entry.content) + shown + self._result_bytes(stage, template)

    def _own_bytes(self, prompt: str) -> float:
        """Bytes of a template's own words, and of the parameters that it names."""
        given, parts = self._order.recipe.parameters, compile_template(prompt).attributes
        named = [given.get(part) for name, part in parts if name == _PARAMETERS]
        texts = [value if isinstance(value, str) else plain_json(value) for value in named]
        return float(len(prompt.encode()) + sum(len(text.encode()) for text in texts))

    def _contents(self, stage: Stage, typical: float) -> Iterable[float] | None:
        """Bytes that are said of each thing a stage is about; None where answers are among them."""
        document_set, driver = self._document_set(stage), self._spec.driver_of(stage)
        if stage.upstream or self._spec.stage_prompts[stage.name].by_block:
            return None
        if driver is Driver.DOCUMENT:
            rest = typical - document_set.document_size(largest=False)
            return (rest + size for size in document_set.sizes)
        if driver is Driver.BLOCK:
            rest = typical - _mean(document_set.text, document_set.blocks)
            return (rest + size for size in self._block_sizes(stage))
        return (typical,)

    def _block_sizes(self, stage: Stage) -> Iterable[int]:
        """Of every block, or of a sample where there are more than are looked at."""
        document_set, most = self._document_set(stage), self._most_sized
        ids = self._document_ids(stage)
        if self._types:
            return islice(self._tx.documents.block_sizes_of_types(ids, self._types), most)
        if most is None or document_set.blocks <= most:
            return self._tx.documents.block_sizes(ids)
        counts = [document.conv_total_blocks for document in document_set.documents]
        rows = [
            row
            for document, index in spread_stretches(counts, most)
            for row in self._stretch_sizes(ids[document : document + STRETCH], index)
        ]
        mean = _mean(document_set.text, document_set.blocks)
        return fit_to_mean(to_named_tuples(SampledSize, rows), mean)

    def _stretch_sizes(self, ids: Sequence[DocumentId], index: int) -> list[tuple[int, int]]:
        """Of neighbours that begin in the first of some documents."""
        first, *others = ids
        found = self._tx.documents.block_sizes_from(first, index, STRETCH)
        rest = STRETCH - len(found)
        return found + (self._tx.documents.first_block_sizes(others, rest) if rest else [])

    def _fixed_bytes(self, stage: Stage) -> float | None:
        """Bytes said of a task that are never compressed; None where nothing in it can be."""
        driver, documents = self._spec.driver_of(stage), self._document_set(stage)
        kept = (*stage.history[:HEAD_TURNS], *stage.history[HEAD_TURNS:][-TAIL_TURNS:])
        before = sum(self._turn_bytes(stage, entry, documents) for entry in kept)
        template = compile_template(stage.prompt) if stage.templated else None
        if template is None or not template.names & SUBJECT_NAMES:
            about_block = driver is Driver.BLOCK and not stage.of
            return None if about_block else before + len(stage.prompt.encode())
        if not template.names & {"document", "documents", "inputs"}:
            return None
        block = _mean(documents.text, documents.blocks) if "block" in template.names else 0.0
        judged = self._judged_bytes(stage, template, largest=False)
        return before + self._own_bytes(stage.prompt) + block + judged

    def _subject_bytes(self, stage: Stage, document_set: DocumentSet, largest: bool) -> float:
        """The text of what a task is about, where the prompt does not say where it goes."""
        if stage.of:
            return self._sizes[stage.of].answer
        driver = self._spec.driver_of(stage)
        if driver is Driver.BLOCK:
            return _mean(document_set.text, document_set.blocks)
        if driver is Driver.DOCUMENT:
            return document_set.document_size(largest)
        return sum(self._upstream_bytes(stage, name) for name in stage.upstream)

    def _document_bytes(
        self, stage: Stage, template: Template, document_set: DocumentSet, largest: bool
    ) -> float:
        parts = {part for name, part in template.attributes if name == "document"}
        item = document_set.document_size(largest)
        size = 0.0
        if "block" in template.names:
            size += _mean(document_set.text, document_set.blocks)
        if "document" in template.names:
            size += item if not parts or parts & {"text", "views"} else WORDS
        if "documents" in template.names:
            shown = self._shown.get(stage.name, 0)
            size += min(document_set.text, shown * item) if shown else document_set.text
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
        lineage, inputs = self._spec.lineage, self._document_set(stage).input_count
        reads = inputs_per_task(lineage, stage, name, self._counts, inputs)
        if name in lineage.own_stages(stage):
            recipe, own = self._order.recipe, self._order.facts.name
            reads /= len(possible_models(recipe, self._spec.stage_named(name), own))
        return above.answer * max(1.0, reads)

    def _document_set(self, stage: Stage) -> DocumentSet:
        names, over = self._order.input_names, self._input_name(stage)
        documents = [
            document for document in self._documents if not over or names.get(document.id) == over
        ]
        return DocumentSet(documents, self._span_sizes(stage, documents), self._types)

    def _span_sizes(self, stage: Stage, documents: Sequence[Document]) -> Sequence[int] | None:
        """How large each section or page is, where a stage divides documents."""
        grouping = self._spec.grouping_of(stage)
        if not isinstance(grouping, SpanGrouping):
            return None
        if stage.name not in self._spans:
            self._spans[stage.name] = [
                span.size
                for document in documents
                for span in grouping.spans(
                    [*self._tx.documents.outline_of_document(document.id)], stage.settings
                )
            ]
        return self._spans[stage.name]

    def _input_name(self, stage: Stage) -> str:
        """The input of its documents: of results, that which they came from; empty means all."""
        if stage.over or shows_documents(self._spec.grouping_of(stage), stage.settings):
            return stage.over
        return self._spec.lineage.origin(stage).over

    def _document_ids(self, stage: Stage) -> list[DocumentId]:
        return [document.id for document in self._document_set(stage).documents]


def _with_part(forecast: StageForecast, work: StageWork, asked: AskedTasks) -> StageForecast:
    """A forecast with that of what is still to be asked."""
    if asked.tasks == forecast.tasks:
        return forecast
    if not asked.tasks:
        return replace(forecast, asked=forecast.in_part(0, 1))
    sizes = work.sizes if asked.sizes is None else asked.sizes
    return replace(forecast, asked=forecast_stage(replace(work, tasks=asked.tasks, sizes=sizes)))


def _share_tasks(names: Sequence[str], tasks: int) -> list[tuple[str, int]]:
    """Tasks by model: as evenly as whole numbers allow."""
    whole, rest = divmod(tasks, len(names))
    return [(name, whole + (no < rest)) for no, name in enumerate(names)]


def _mean(total: float, count: int) -> float:
    return total / count if count else 0.0
