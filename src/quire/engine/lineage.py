"""The lineage of a result: results and documents that it was made from, back to what was ingested.

What it was made from need not be what is there now: a result that made way is shown where it was
used. A document may be made of a result of another run; then the lineage goes on there. Many paths
lead to the same sources, so this is a graph of results by number, each of them once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import NamedTuple

from quire.domain.continuation import may_declare
from quire.domain.data import stored_json
from quire.domain.errors import NotFound
from quire.domain.ids import DocumentId, ResultId, RunId, TaskId
from quire.engine.context import EngineContext
from quire.export.result_rows import task_rows
from quire.export.result_selection import ACCEPTED_ROWS, RowFilter, choose_stage, find_result_source
from quire.export.result_tree import (
    check_results_filter,
    result_marks,
    subject_title,
)
from quire.ledger.ledger import Transaction
from quire.ledger.tables.origins import ResultOriginRow

PERSON = "person"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageResult:
    """A result, and what it was made from."""

    id: ResultId
    run_id: RunId
    stage: str
    model: str
    sample: int
    task_id: TaskId
    version: int
    current: bool  # False: another has taken its place
    stale: bool  # something it was made from has changed since
    by_person: bool  # who edited it
    purged: bool
    reused_from: ResultId | None  # of an earlier run
    origin: TaskId  # the task at which its line of results began
    block_index: int | None  # of the block that it is about
    sources: tuple[ResultId, ...]
    documents: tuple[DocumentId, ...]  # but for those that its sources have


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageDocument:
    """A document that a result was made from."""

    id: DocumentId
    title: str  # "" once purged
    locator: str
    result_id: ResultId | None  # that it is made of itself
    purged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultLineage:
    """All that one result was made from."""

    root: ResultId
    results: Mapping[ResultId, LineageResult]
    documents: Mapping[DocumentId, LineageDocument]

    def as_json(self) -> dict[str, object]:
        """The graph as two lists; what is linked is named by its number."""
        return {
            "result": self.root,
            "results": [asdict(node) for node in self.results.values()],
            "documents": [asdict(node) for node in self.documents.values()],
        }


class ListedResult(NamedTuple):
    """A result in a list."""

    result: ResultId
    stage: str
    task: TaskId
    model: str
    about: str
    marks: tuple[str, ...]  # stale, incomplete and the like


class Lineages:
    """What results were made from."""

    def __init__(self, context: EngineContext) -> None:
        """Look at the context's ledger."""
        self._context = context

    def results_of_run(
        self,
        run: RunId,
        stage: str | None = None,
        limit: int | None = None,
        chosen: RowFilter = ACCEPTED_ROWS,
    ) -> list[ListedResult]:
        """The accepted results of all stages of a run, or of one; the first of them."""
        check_results_filter(chosen.check())
        with self._context.ledger.snapshot() as tx:
            source = find_result_source(tx, run)
            stages = [choose_stage(source.recipe, stage)] if stage else source.recipe.stages
            found = (
                ListedResult(
                    row.outcome.result_id,
                    row.stage,
                    row.outcome.task_id,
                    row.model,
                    subject_title(row),
                    tuple(result_marks(row, wanted)),
                )
                for wanted in stages
                for row in task_rows(tx, source, wanted, chosen)
                if row.outcome.result_id is not None
            )
            return list(islice(found, limit))

    def count_incomplete(self, run: RunId) -> dict[str, int]:
        """How many results of a run are not whole, by stage; only texts, and records that say so.

        Any other record that is not whole was refused.
        """
        with self._context.ledger.snapshot() as tx:
            source = find_result_source(tx, run)
            stages = [
                source.stage_ids[stage.name]
                for stage in source.recipe.stages
                if stage.schema is None or may_declare(stage.schema.properties)
            ]
            return tx.results.count_incomplete(stages)

    def trace(self, result: int) -> ResultLineage:
        """What a result was made from, back to the documents, also through other runs."""
        with self._context.ledger.snapshot() as tx:
            return trace_lineage(tx, ResultId(result))

    def result_of_task(self, task: int) -> ResultId:
        """The result that a task has now."""
        with self._context.ledger.snapshot() as tx:
            found = tx.origins.current_result_of_task(TaskId(task))
        if found is None:
            raise NotFound(f"task {task} has no result; `quire show RUN` lists tasks")
        return found


def trace_lineage(tx: Transaction, result: ResultId) -> ResultLineage:
    """Follow a result to its sources, a generation at a time."""
    search = _Search(tx)
    wanted = [result]
    while wanted:
        wanted = search.visit(wanted)
    if result not in search.results:
        raise NotFound(
            f"there is no result {result}; `quire results RUN` lists results,"
            " and --task N takes that of a task"
        )
    return ResultLineage(root=result, results=search.own_documents(), documents=search.documents)


class _Search:
    """A search under way."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self.results: dict[ResultId, LineageResult] = {}
        self.documents: dict[DocumentId, LineageDocument] = {}
        self._shown: dict[ResultId, tuple[DocumentId, ...]] = {}  # also those of its sources
        self._models: dict[RunId, Sequence[str]] = {}

    def visit(self, wanted: Sequence[ResultId]) -> list[ResultId]:
        """Take in some results; returns those that they were made from and nobody has seen yet."""
        rows = self._tx.origins.results_with_origins(wanted)
        sources = self._sources(rows)
        shown = self._tx.subjects.documents_shown_by_tasks([row.task_id for row in rows])
        for row in rows:
            own = () if row.document_id is None else (row.document_id,)
            self._shown[row.id] = tuple(dict.fromkeys((*own, *shown.get(row.task_id, ()))))
            self.results[row.id] = self._result(row, sources[row.id])
        made_of = self._add_documents(row.id for row in rows)
        found = dict.fromkeys([*(source for row in rows for source in sources[row.id]), *made_of])
        return [result for result in found if result not in self.results]

    def own_documents(self) -> dict[ResultId, LineageResult]:
        """The results, each without the documents that it has from its sources."""
        found = {}
        for number, node in self.results.items():
            known = {document for source in node.sources for document in self._shown[source]}
            own = tuple(document for document in node.documents if document not in known)
            found[number] = replace(node, documents=own)
        return found

    def _sources(self, rows: Sequence[ResultOriginRow]) -> dict[ResultId, tuple[ResultId, ...]]:
        current = [row.task_id for row in rows if row.current]
        used = self._tx.origins.results_used_by_tasks(current)
        found = {}
        for row in rows:
            # an answer that made way knows what its call showed; a critic names what it judged
            earlier = [] if row.current else [one for one in stored_json(row.used) or () if one]
            judged = [row.judged_result_id] if row.judged_result_id else []
            read = used.get(row.task_id, []) if row.current else earlier
            found[row.id] = tuple(dict.fromkeys([*judged, *read]))
        return found

    def _result(self, row: ResultOriginRow, sources: tuple[ResultId, ...]) -> LineageResult:
        return LineageResult(
            id=row.id,
            run_id=row.run_id,
            stage=row.stage,
            model=self._model_names(row.run_id)[row.model_no],
            sample=row.sample,
            task_id=row.task_id,
            version=row.version,
            current=bool(row.current),
            stale=bool(row.current and row.stale),
            by_person=row.author == PERSON,
            purged=bool(row.purged),
            reused_from=row.reused_from,
            origin=row.origin_id or row.task_id,
            block_index=row.block_index,
            sources=sources,
            documents=self._shown[row.id],
        )

    def _model_names(self, run: RunId) -> Sequence[str]:
        if run not in self._models:
            models = self._tx.runs.models_of_run(self._tx.runs.must_get_run(run))
            self._models[run] = [model.name for model in models]
        return self._models[run]

    def _add_documents(self, results: Iterable[ResultId]) -> list[ResultId]:
        """Take in the documents of some results; returns the results that those are made of."""
        wanted = {document for result in results for document in self._shown[result]}
        new = sorted(wanted - set(self.documents))
        rows = self._tx.origins.documents_with_results(new) if new else []
        for row in rows:
            self.documents[row.id] = LineageDocument(
                id=row.id,
                title=row.title,
                locator=row.locator,
                result_id=row.result_id,
                purged=bool(row.purged),
            )
        return [row.result_id for row in rows if row.result_id is not None]
