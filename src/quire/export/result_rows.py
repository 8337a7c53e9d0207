"""Result rows: a stage's results block by block or task by task, each with how it stands."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, TypeVar

import orjson

from quire.domain.data import Json, stored_json, stream_named_tuples
from quire.domain.documents import Document
from quire.domain.ids import DocumentId, RunId, TaskId, block_uid
from quire.domain.pricing import to_usd
from quire.domain.quotes import Quote
from quire.domain.recipes import Stage
from quire.domain.states import ReviewState, TaskState
from quire.export.critic_words import (
    ExportedVerdict,
    check_stored,
    critic_verdicts,
    data_columns,
    json_fragment,
)
from quire.export.quote_columns import QuotePlace, in_block, quotes_json, without_quotes
from quire.export.result_selection import (
    ACCEPTED,
    ALL,
    EVERY_ROW,
    UNREVIEWED,
    WITH_DATA,
    ResultSource,
    RowFilter,
    choose_stage,
    find_result_source,
    is_review_required,
    task_status,
)
from quire.export.unit_texts import UnitText, read_unit, reads_units
from quire.ledger.ledger import Transaction
from quire.ledger.stored_values import from_micros, to_micros
from quire.ledger.tables.results import CarryingCalls, ExportRow, Rejection, StageOutcome

CHUNK_ROWS = 500  # rows of which everything else is read at once
STATUSES_WITH_ERROR = ("failed", "blocked")  # statuses whose error is told
_NO_CALLS = CarryingCalls(TaskId(0))
_UNREVIEWED = ReviewState.UNREVIEWED.value

AnyRow = TypeVar("AnyRow", ExportRow, StageOutcome)


class RowFacts(NamedTuple):
    """What is known of a row besides its data: what it cost, and what a person said of it."""

    attempts: int  # calls sent with it
    cost: float  # dollars: its share of those calls, presumed or known
    review: str  # unreviewed, approved, edited, rejected
    reviewer: str | None
    reviewed_at: str | None
    changed_at: str  # when it was last answered, called or decided about

    def as_json(self) -> dict[str, Json]:
        """As it stands in a line."""
        return {name: value for name, value in self._asdict().items() if name != "attempts"}


def _read_facts(
    tx: Transaction, source: ResultSource, rows: Sequence[ExportRow | StageOutcome]
) -> Iterator[RowFacts]:
    """What else is known of some rows, read at once; while one is asked again, who rejected it."""
    calls = tx.results.calls_of_tasks([row.task_id for row in rows if row.task_id])
    waiting = [row for row in rows if row.review_state is None and row.state != TaskState.DONE]
    rejected = tx.results.rejections_of_tasks([row.task_id for row in waiting if row.task_id])
    began = to_micros(source.run.created_at)
    return stream_named_tuples(RowFacts, _row_facts(rows, calls, rejected, began))


def _row_facts(
    rows: Iterable[ExportRow | StageOutcome],
    calls: Mapping[TaskId, CarryingCalls],
    rejected: Mapping[TaskId, Rejection],
    began: int,
) -> Iterator[tuple[Json, ...]]:
    """The values of `RowFacts` for each row."""
    for row in rows:
        task = row.task_id or TaskId(0)
        _, attempts, cost, changed = calls.get(task, _NO_CALLS)
        review, reviewer, at = row.review_state, row.reviewer, row.reviewed_at
        if review is None and task in rejected:
            review = ReviewState.REJECTED
            _, reviewer, at = rejected[task]
        created = row.created_at or 0
        if at is None and created >= changed >= began:  # as nearly always: it was answered last
            changed = created
        else:
            changed = max(began, changed, created, at or 0)
        yield (
            attempts,
            to_usd(cost),
            review or _UNREVIEWED,
            reviewer,
            None if at is None else _iso_moment(at),
            _iso_moment(changed),
        )


@lru_cache(maxsize=1024)
def _iso_moment(micros: int) -> str:
    """A stored moment in words; what is written together has the same."""
    return from_micros(micros).isoformat()


def with_facts(
    tx: Transaction, source: ResultSource, rows: Sequence[AnyRow], chosen: RowFilter
) -> list[tuple[AnyRow, str, RowFacts]]:
    """Those of some rows that are wanted, each with how it stands and what else is known of it."""
    kept = [(row, task_status(row.state, row.review_state)) for row in rows]
    if is_review_required(source.run):
        kept = [_withhold(row, status) for row, status in kept]
    if chosen.only != ALL:
        kept = [(row, status) for row, status in kept if chosen.takes(status)]
    facts = _read_facts(tx, source, [row for row, _ in kept])
    found = [(row, status, known) for (row, status), known in zip(kept, facts, strict=True)]
    if chosen.since is None:
        return found
    since = chosen.since.astimezone(UTC).isoformat()
    return [item for item in found if item[2].changed_at >= since]


def _withhold(row: AnyRow, status: str) -> tuple[AnyRow, str]:
    """A row of a run that is to be reviewed: what nobody confirmed has its status, and no data."""
    if status != ACCEPTED:
        return row, status
    return row._replace(data=None, notes=None), UNREVIEWED


def locator_key(locator: str | None) -> Json:
    """The key of a row, as its source has it: a number stays one."""
    if locator is None or '"key"' not in locator:
        return None
    key: Json = orjson.loads(locator).get("key")
    return key


class SourcePath(NamedTuple):
    """One of the paths of a document; each has a row of its own."""

    source: str | None
    title: str | None


class _Paths:
    """Reads the paths of documents, some at a time; those that a run saw, though they made way."""

    def __init__(self, tx: Transaction, source: ResultSource) -> None:
        self._tx, self._since = tx, source.run.created_at
        self._known: dict[DocumentId, tuple[SourcePath, ...]] = {}

    def read(self, documents: Iterable[DocumentId | None]) -> None:
        """Look some documents up, and forget others: rows come document by document."""
        wanted = [document for document in dict.fromkeys(documents) if document]
        kept = {document: self._known[document] for document in wanted if document in self._known}
        new = [document for document in wanted if document not in kept]
        found = self._tx.sources.sources_of_documents(new, self._since)
        self._known = kept | {
            document: tuple(SourcePath(source.path, source.title) for source in sources)
            for document, sources in found.items()
        }

    def of(self, document: DocumentId | None, first: SourcePath) -> tuple[SourcePath, ...]:
        """The paths of one of them; what was read from none has the name it was given."""
        return (document and self._known.get(document)) or (first,)

    def of_document(self, document: Document) -> tuple[SourcePath, ...]:
        """The same of a document that was read."""
        return self.of(document.id, SourcePath(document.source_locator, document.title))


class ExportedBlock(NamedTuple):
    """One block, at one of its paths, with what became of it."""

    document: Document
    path: SourcePath
    row: ExportRow
    status: str  # one of STATUSES, confirmed or pending
    facts: RowFacts
    model: str | None = None  # who is asked; None while there is no task
    critics: tuple[ExportedVerdict, ...] = ()

    @property
    def block_uid(self) -> str:
        """The block's name outside the ledger."""
        return block_uid(self.document.conv_uid, self.row.block_index)

    @property
    def data(self) -> str | None:
        """The accepted data as JSON; rejected data is never exported."""
        return self.row.data if self.status in WITH_DATA else None

    @property
    def notes(self) -> str | None:
        """What of it was read in another form than it was written in, as JSON."""
        return without_quotes(self.stored_notes)

    @property
    def quotes(self) -> list[dict[str, Json]]:
        """The words of the block that prove values of it, each with its place."""
        return quotes_json(self.stored_notes, in_block(self.row.locator, self.row.content))

    @property
    def stored_notes(self) -> str | None:
        """All that was noted of it, as it is kept."""
        return self.row.notes if self.status in WITH_DATA else None

    @property
    def error(self) -> str | None:
        """Why there is no data, where that is known."""
        return self.row.error if self.status in STATUSES_WITH_ERROR else None


def run_block_rows(
    tx: Transaction, run: RunId, chosen: RowFilter = EVERY_ROW
) -> Iterator[ExportedBlock]:
    """Every block of a run's inputs in order, streamed."""
    source = find_result_source(tx, run)
    return block_rows(tx, source, choose_stage(source.recipe, None), chosen)


def block_rows(
    tx: Transaction, source: ResultSource, stage: Stage, chosen: RowFilter
) -> Iterator[ExportedBlock]:
    """The same of one stage, with what its critics said."""
    for block in judged_blocks(tx, source, stage, chosen.check()):
        check_stored(block.row.task_id, block.row.data, block.row.notes)
        yield block


def judged_blocks(
    tx: Transaction, source: ResultSource, stage: Stage, chosen: RowFilter
) -> Iterator[ExportedBlock]:
    """The same, without a look whether the data is JSON: who reads it will see."""
    judged = bool(source.recipe.critics_of(stage.name))
    models: dict[int | None, str | None] = {None: None, **dict(enumerate(source.models))}
    documents: dict[DocumentId, Document] = {}
    paths = _Paths(tx, source)
    found = tx.results.export_rows(source.run.id, source.stage_ids[stage.name])
    while chunk := list(islice(found, CHUNK_ROWS)):
        kept = with_facts(tx, source, chunk, chosen)
        said = _critics_of(tx, source, [row for row, _, _ in kept]) if judged else {}
        documents = _documents_of(tx, [row for row, _, _ in kept], documents)
        paths.read(documents)
        places = {name: paths.of_document(document) for name, document in documents.items()}
        heads = {name: (document, places[name][0]) for name, document in documents.items()}
        blocks = stream_named_tuples(
            ExportedBlock,
            [
                (*heads[row.document_id], row, status, facts, models[row.model_no], ())
                for row, status, facts in kept
            ],
        )
        if said:
            blocks = (block._replace(critics=said.get(block.row.task_id, ())) for block in blocks)
        copied = any(len(paths_of_one) > 1 for paths_of_one in places.values())
        yield from _at_every_path(blocks, places) if copied else blocks


def _critics_of(
    tx: Transaction, source: ResultSource, rows: Sequence[ExportRow]
) -> dict[TaskId | None, tuple[ExportedVerdict, ...]]:
    """What critics said of the tasks of some rows."""
    words = tx.results.critiques_of_tasks([row.task_id for row in rows if row.task_id])
    return {task: critic_verdicts(source, spoken) for task, spoken in words.items()}


def _at_every_path(
    blocks: Iterable[ExportedBlock], places: Mapping[DocumentId, Sequence[SourcePath]]
) -> Iterator[ExportedBlock]:
    """Blocks at each path of their documents; their share of money is told with the first."""
    for block in blocks:
        yield block
        for path in places[block.row.document_id][1:]:
            yield block._replace(path=path, facts=block.facts._replace(cost=0.0))


def _documents_of(
    tx: Transaction, rows: Iterable[ExportRow], known: Mapping[DocumentId, Document]
) -> dict[DocumentId, Document]:
    """The documents of some rows; rows come document by document, so that few are kept."""
    wanted = list(dict.fromkeys(row.document_id for row in rows))
    new = [document for document in wanted if document not in known]
    kept = {document: known[document] for document in wanted if document in known}
    return kept | tx.documents.documents_by_id(new)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTask:
    """One task of a stage with what became of it."""

    stage: str
    outcome: StageOutcome
    run: RunId
    model: str
    paths: tuple[SourcePath, ...]  # of what it is about
    status: str  # one of STATUSES, confirmed or pending
    facts: RowFacts
    inputs: tuple[TaskId, ...]
    critics: tuple[ExportedVerdict, ...]
    unit: UnitText | None = None  # the document, section or page that a schema was asked of

    def at_paths(self) -> Iterator["ExportedTask"]:
        """The same at each path of what it is about; its share of money is told with the first."""
        yield self
        for no in range(1, len(self.paths)):
            yield replace(self, paths=self.paths[no:], facts=self.facts._replace(cost=0.0))

    @property
    def data(self) -> Json:
        """The accepted data; what was not accepted is never exported."""
        found: Json = stored_json(self.text)
        return found

    @property
    def fields(self) -> Mapping[str, Json]:
        """The same as columns."""
        return data_columns(self.data)

    @property
    def text(self) -> str | None:
        """The same as JSON."""
        return self.outcome.data if self.status in WITH_DATA else None

    @property
    def notes(self) -> str | None:
        """What of it was read in another form than it was written in, as JSON."""
        return without_quotes(self.stored_notes)

    @property
    def quotes(self) -> list[dict[str, Json]]:
        """The words of its block that prove values of it, each with its place."""
        return quotes_json(self.stored_notes, self.locate)

    def locate(self, quote: Quote) -> QuotePlace:
        """Where words of what it is about stand in the source."""
        if self.unit is not None:
            return self.unit.locate(quote)
        return in_block(self.outcome.locator, self.outcome.content)(quote)

    @property
    def subject_text(self) -> str | None:
        """What it is about: the text of its block, section, page or document."""
        return self.outcome.content if self.unit is None else self.unit.text or None

    @property
    def stored_notes(self) -> str | None:
        """All that was noted of it, as it is kept."""
        return self.outcome.notes if self.status in WITH_DATA else None

    @property
    def error(self) -> str | None:
        """Why there is no data, where that is known."""
        return self.outcome.error if self.status in STATUSES_WITH_ERROR else None

    @property
    def block_uid(self) -> str | None:
        """The name of the block it is about, or comes from."""
        uid, index = self.outcome.conv_uid, self.outcome.block_index
        return None if uid is None or index is None else block_uid(uid, index)

    @property
    def part(self) -> Json:
        """What its grouping said of it."""
        found: Json = stored_json(self.outcome.part)
        return found

    def as_json(self) -> dict[str, object]:
        """As one line of a file; JSON that is kept goes out as it is."""
        outcome = self.outcome
        return {
            "run": self.run,
            "stage": self.stage,
            "task_id": outcome.task_id,
            "subject": {
                "source": self.paths[0].source,
                "title": self.paths[0].title,
                "key": locator_key(outcome.locator),
                "text": self.subject_text,
                "conv_uid": outcome.conv_uid,
                "block_uid": self.block_uid,
                "model": self.model,
                "sample": outcome.sample,
                "part": json_fragment(outcome.part),
                "inputs": list(self.inputs),
            },
            "status": self.status,
            "error": self.error,
            "attempt_count": self.facts.attempts,
            "version": outcome.version,
            "stale": outcome.stale_since is not None,
            "data": json_fragment(self.text),
            "critics": [critic.as_json() for critic in self.critics],
            **self.facts.as_json(),
            **({"notes": json_fragment(self.notes)} if self.notes else {}),
            **({"quotes": quotes} if (quotes := self.quotes) else {}),
            **({"reused_from": outcome.reused_from} if outcome.reused_from else {}),
        }


def task_rows(
    tx: Transaction, source: ResultSource, stage: Stage, chosen: RowFilter
) -> Iterator[ExportedTask]:
    """Every task of a stage in subject order, some read at a time.

    Of a critic's stage, those about current answers: what was said of others counts no more.
    """
    chosen.check()
    paths, of_units = _Paths(tx, source), reads_units(source, stage)
    for chunk in tx.results.all_outcomes(source.stage_ids[stage.name]):
        kept = with_facts(tx, source, chunk, chosen)
        further = tx.results.task_history([outcome.task_id for outcome, _, _ in kept])
        paths.read(outcome.document_id for outcome, _, _ in kept)
        for outcome, status, facts in kept:
            first = SourcePath(outcome.source, outcome.title)
            row = ExportedTask(
                stage=stage.name,
                outcome=outcome,
                run=source.run.id,
                model=source.models[outcome.model_no],
                paths=paths.of(outcome.document_id, first),
                status=status,
                facts=facts,
                inputs=tuple(further.inputs.get(outcome.task_id, ())),
                critics=critic_verdicts(source, further.critiques.get(outcome.task_id, [])),
                unit=read_unit(tx, outcome) if of_units else None,
            )
            check_stored(outcome.task_id, row.text, row.notes)
            yield row
