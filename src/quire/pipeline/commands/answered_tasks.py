"""Answered tasks: how much of each stage of an order earlier runs have answered already.

What a stage asks depends on what the stages above it answered, so nobody knows its questions before
they are asked. But a stage that says the same as in an earlier run, about the same documents or
contents, and whose inputs are all answered already, asks what was asked then. So shares are handed
down from stage to stage: of what is plainly asked about blocks it is counted, of what shows single
documents it is looked up by document, of what is about results it is the share of those results;
and what reads all of a stage is answered only if all of that is. An order that goes on with its run
owes what that has not ended, and no more.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from quire.domain.documents import Document
from quire.domain.groupings import ABOUT_RESULTS, Driver
from quire.domain.ids import DocumentId, RunId, StageId
from quire.domain.recipes import SAME, Recipe, Stage
from quire.domain.runs import Run
from quire.domain.states import StageState
from quire.ledger.ledger import Transaction
from quire.ledger.tables.questions import StageTaskCount
from quire.pipeline.calls.render import reads_many
from quire.pipeline.commands.answered import stage_question_key, stage_words
from quire.pipeline.commands.start import Order, find_run
from quire.pipeline.run_spec import RunSpec, possible_models
from quire.planning.builtin_groupings import shows_documents
from quire.planning.stage_lineage import Relation
from quire.recipes.recipe_snapshots import recipe_from_json

LOOKED_AT = 20  # of the newest runs
COUNTED = 5  # of those that ask the same, as far as one does not have it all
MOST_COMPARED = 100_000  # blocks of which it is looked, if none is answered, which say the same
NOTHING, ALL = Fraction(0), Fraction(1)
_UNSEALED = (StageState.WAITING, StageState.EXPANDING)


class AskedTasks(NamedTuple):
    """What is still to be asked of a stage's tasks."""

    tasks: int
    sizes: Sequence[int] | None = None  # of each, where it is a block


@dataclass(frozen=True, slots=True, kw_only=True)
class _EarlierRun:
    """A run whose answers an order may take."""

    run_id: RunId
    recipe: Recipe
    words: Mapping[str, str]
    models: tuple[str, ...]  # by number
    inputs: Sequence[tuple[DocumentId, str]]
    stages: Mapping[str, StageId]
    begun: frozenset[str]  # stages of which it has not made every task, as under a limit


@dataclass(slots=True)
class _Counts:
    """Tasks of a stage of one model, by document."""

    tasks: dict[DocumentId | None, int] = field(default_factory=dict)
    ended: int = 0
    answered: dict[DocumentId | None, int] = field(default_factory=dict)

    def share(self, document: DocumentId | None) -> Fraction:
        """How many of a document's are answered."""
        return _ratio(self.answered.get(document, 0), self.tasks.get(document, 0))

    @property
    def count(self) -> int:
        """How many it has made."""
        return sum(self.tasks.values())

    @property
    def whole_share(self) -> Fraction:
        """How many of all are answered."""
        return _ratio(sum(self.answered.values()), self.count)


class AnsweredTasks:
    """Goes through an order's stages in order, and remembers how much of each is answered."""

    def __init__(
        self, tx: Transaction, order: Order, spec: RunSpec, documents: Sequence[Document]
    ) -> None:
        """Look at the newest runs, and at the one that the order goes on with."""
        self._tx, self._order, self._spec = tx, order, spec
        self._documents = documents
        self._reuse = order.policy.policy.reuse
        self._shares: dict[str, dict[str, Fraction]] = {}  # by stage and model
        self._overall: dict[str, Fraction] = {}  # by stage
        self._counted: dict[StageId, dict[int, _Counts]] = {}
        self._same: dict[tuple[str, RunId], bool] = {}
        self._own_run = None if order.new else find_run(tx, order)

    def find_asked(self, stage: Stage, planned: Mapping[str, int]) -> dict[str, AskedTasks]:
        """What is still to be asked of a stage, by model, of so many tasks."""
        found = {model: self._count_asked(stage, model, tasks) for model, tasks in planned.items()}
        shares = {model: 1 - _ratio(found[model].tasks, planned[model]) for model in found}
        asked, tasks = sum(item.tasks for item in found.values()), sum(planned.values())
        self._shares[stage.name], self._overall[stage.name] = shares, 1 - _ratio(asked, tasks)
        return found

    def note_reused(self, stage: Stage) -> None:
        """Remember that all of a stage is kept from an earlier run."""
        self._shares[stage.name], self._overall[stage.name] = {}, ALL

    def _count_asked(self, stage: Stage, model: str, planned: int) -> AskedTasks:
        ended = self._count_ended(stage, model, planned)
        if self._spec.stage_prompts[stage.name].by_block:
            return self._count_blocks(stage, model, planned, ended)
        share = min(self._known_share(stage, model, planned), self._input_share(stage, model))
        return AskedTasks(planned - max(ended, int(share * planned)))

    def _count_blocks(self, stage: Stage, model: str, planned: int, ended: int) -> AskedTasks:
        """What is plainly asked about blocks is counted, each content once."""
        documents = self._document_ids
        if ended >= planned:
            return AskedTasks(0, ())
        question = stage_question_key(self._order, stage, model)
        if (
            not ended
            and not self._tx.questions.is_asked(question)
            and (planned > MOST_COMPARED or not self._tx.questions.has_repeats(documents))
        ):
            return AskedTasks(planned)
        if self._reuse:
            sizes = self._tx.questions.unanswered_sizes(question, documents)
        else:
            sizes = list(self._tx.documents.block_sizes(documents))
        left = min(len(sizes), planned - ended)
        return AskedTasks(left, sizes[len(sizes) - left :])

    def _count_ended(self, stage: Stage, model: str, planned: int) -> int:
        """How many tasks have ended in the run that the order goes on with."""
        if self._own_run is None:
            return 0
        stages = {item.name: item for item in self._tx.runs.stages_of_run(self._own_run)}
        own = stages[stage.name]
        if own.state == StageState.CLOSED:
            return planned
        counts = self._counts(own.id).get(self._spec.model_numbers[model])
        return min(planned, counts.ended) if counts else 0

    def _known_share(self, stage: Stage, model: str, planned: int) -> Fraction:
        """How much of a stage was answered in the same words, whatever becomes of its inputs."""
        runs = [run for run in self._earlier if model in run.models and self._is_same(stage, run)]
        best = dict.fromkeys(self._weights(stage), NOTHING)
        for run in runs[:COUNTED]:
            best = self._better_shares(best, run, stage, model, planned)
            if min(best.values(), default=ALL) == ALL:
                break
        weights = self._weights(stage)
        known = sum((share * weights[it] for it, share in best.items()), start=NOTHING)
        return known / max(1, sum(weights.values()))

    def _weights(self, stage: Stage) -> dict[DocumentId | None, int]:
        """What a stage's shares are told of: single documents, by their weight, or all at once."""
        by_content = self._is_about_contents(stage) or self._follows_results(stage)
        if by_content or self._sees_all_documents(self._spec.lineage.origin(stage)):
            return {None: 1}
        is_block = self._spec.driver_of(stage) is Driver.BLOCK
        return {item.id: item.conv_total_blocks if is_block else 1 for item in self._documents}

    def _better_shares(
        self,
        best: dict[DocumentId | None, Fraction],
        run: _EarlierRun,
        stage: Stage,
        model: str,
        planned: int,
    ) -> dict[DocumentId | None, Fraction]:
        """The same, where one more run may have more; of fewer samples it has only those."""
        before = next(item for item in run.recipe.stages if item.name == stage.name)
        drawn = min(ALL, _ratio(before.samples, stage.samples))
        counts = self._counts_in(run, stage, model)
        if self._is_about_contents(stage):
            found = dict.fromkeys(best, self._content_share(run, stage, model))
        elif None in best or None in counts.tasks:
            whole = _ratio(planned * before.samples, stage.samples)  # that it will have made
            made = min(ALL, _ratio(counts.count, whole)) if stage.name in run.begun else ALL
            found = dict.fromkeys(best, made * counts.whole_share)
        else:
            found = {document: counts.share(document) for document in best}
        return {document: max(share, drawn * found[document]) for document, share in best.items()}

    def _content_share(self, run: _EarlierRun, stage: Stage, model: str) -> Fraction:
        place = run.stages[stage.name], run.models.index(model)
        answered = self._tx.questions.count_blocks_answered_in_stage(*place, self._document_ids)
        blocks = sum(document.conv_total_blocks for document in self._documents)
        counts = self._counts_in(run, stage, model)
        return min(_ratio(answered, blocks), counts.whole_share)

    def _input_share(self, stage: Stage, model: str) -> Fraction:
        """How much of a stage has the inputs that it had before."""
        most = ALL
        same = self._spec.models_of(stage) == (SAME,)
        for name in stage.upstream:
            share = self._overall[name]
            if self._spec.lineage.relation(stage, name) is Relation.WHOLE:
                share = ALL if share == ALL else NOTHING
            elif same:
                share = self._shares[name].get(model, share)
            most = min(most, share)
        return most

    def _is_same(self, stage: Stage, run: _EarlierRun) -> bool:
        """Whether a run asked the same in a stage, of inputs that were made in the same way."""
        key = (stage.name, run.run_id)
        if key not in self._same:
            above = [self._spec.stage_named(name) for name in stage.upstream]
            self._same[key] = (
                run.words.get(stage.name) == self._words[stage.name]
                and all(self._is_same(item, run) for item in above)
                and all(self._has_same_answers(stage, item, run) for item in above)
                and (run.inputs == self._inputs or not self._sees_all_documents(stage))
            )
        return self._same[key]

    def _has_same_answers(self, stage: Stage, above: Stage, run: _EarlierRun) -> bool:
        """Whether a task that reads many answers to one thing would read as many again."""
        own = self._spec.lineage.own_stages(stage)
        if not reads_many(self._spec, stage, above.name) or above.name in own:
            return True
        before = next(item for item in run.recipe.stages if item.name == above.name)
        asked = possible_models(self._order.recipe, above, self._order.facts.name)
        earlier = possible_models(run.recipe, before, run.models[0])
        return set(asked) == set(earlier) and above.samples == before.samples

    def _sees_all_documents(self, stage: Stage) -> bool:
        grouping = self._spec.grouping_of(stage)
        return grouping.driver is Driver.ONCE or shows_documents(grouping, stage.settings)

    def _is_about_contents(self, stage: Stage) -> bool:
        """Whether it asks about blocks, wherever they stand."""
        is_block = self._spec.driver_of(stage) is Driver.BLOCK
        return is_block and not stage.upstream and not self._shows_documents(stage)

    def _follows_results(self, stage: Stage) -> bool:
        """Whether it asks about results that were made of blocks, wherever those stand."""
        about_results = self._spec.driver_of(stage) in ABOUT_RESULTS
        origin = self._spec.lineage.origin(stage)
        shows = self._shows_documents(stage)
        return about_results and not shows and self._is_about_contents(origin)

    def _shows_documents(self, stage: Stage) -> bool:
        template = self._spec.stage_prompts[stage.name].item
        return template is not None and bool(template.names & {"document", "documents"})

    def _counts_in(self, run: _EarlierRun, stage: Stage, model: str) -> _Counts:
        found = self._counts(run.stages[stage.name])
        return found.get(run.models.index(model)) or _Counts()

    def _counts(self, stage: StageId) -> dict[int, _Counts]:
        """The tasks of a run's stage, by model."""
        if stage not in self._counted:
            found: defaultdict[int, _Counts] = defaultdict(_Counts)
            for row in self._tx.questions.count_stage_tasks([stage]):
                _add_count(found[row.model_no], row)
            self._counted[stage] = found
        return self._counted[stage]

    @cached_property
    def _words(self) -> dict[str, str]:
        return stage_words(self._order.recipe)

    @cached_property
    def _inputs(self) -> list[tuple[DocumentId, str]]:
        names = self._order.input_names
        return [(document, names.get(document, "")) for document, _ in self._order.inputs]

    @cached_property
    def _document_ids(self) -> list[DocumentId]:
        return [document.id for document in self._documents]

    @cached_property
    def _earlier(self) -> list[_EarlierRun]:
        """The newest runs, which answers may be taken from."""
        if not self._reuse:
            return []
        return [self._read_run(run) for run in self._tx.runs.list_whole_runs(LOOKED_AT)]

    def _read_run(self, run: Run) -> _EarlierRun:
        recipe, runs = recipe_from_json(run.recipe), self._tx.runs
        stages = runs.stages_of_run(run.id)
        return _EarlierRun(
            run_id=run.id,
            recipe=recipe,
            words=stage_words(recipe),
            models=tuple(model.name for model in runs.models_of_run(run)),
            inputs=runs.inputs_of_run(run.id),
            stages={stage.name: stage.id for stage in stages},
            begun=frozenset(stage.name for stage in stages if stage.state in _UNSEALED),
        )


def _add_count(counts: _Counts, row: StageTaskCount) -> None:
    counts.tasks[row.document_id] = row.tasks
    counts.answered[row.document_id] = row.answered
    counts.ended += row.ended


def _ratio(part: int, whole: int | Fraction) -> Fraction:
    return Fraction(part) / whole if whole else NOTHING
