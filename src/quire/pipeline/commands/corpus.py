"""Corpus: a parsed source becomes a document with blocks; purge erases it with all about it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

import orjson

from quire.domain.data import Json, canonical_json, to_named_tuples
from quire.domain.documents import Block, ParsedDocument
from quire.domain.errors import Conflict, SourceUnreadable
from quire.domain.ids import DocumentId, TaskId, hash_number, hash_numbers
from quire.domain.sources import Source, SourceReading, options_json
from quire.domain.states import TASK_OPEN, RequestState, TaskMove
from quire.ledger.ledger import Transaction
from quire.ledger.tables.documents import NewBlock
from quire.pipeline.calls.record import drop_requests
from quire.planning.questions import HALF, block_content

CHUNK = 2000  # blocks held in memory at once


class ReplacedDocument(NamedTuple):
    """What a path gave before it was read again, with other content or in another way."""

    document_id: DocumentId
    path: str
    kept_at: str  # another path that has it still; "": it is left to the runs that name it
    options: Mapping[str, Json]  # how it was read


class IngestedSource(NamedTuple):
    """What became of one source."""

    document_id: DocumentId
    title: str
    blocks: int
    new: bool  # False: the same content was here already
    delimiter: str = ""  # what parts the cells of its rows, where its ending states another
    path: str = ""
    new_path: bool = True  # False: this path had the document already
    replaced: tuple[ReplacedDocument, ...] = ()
    beside: tuple[DocumentId, ...] = ()  # others that this path gave, and that stay in use
    options: Mapping[str, Json] = MappingProxyType({})  # how it is read, where that was said


def ingest(
    tx: Transaction,
    parsed: ParsedDocument,
    now: datetime,
    *,
    reading: SourceReading | None = None,
    aside: bool = False,
    keep: bool = False,
) -> IngestedSource:
    """Add a source's document and blocks; the same content again only gets another path.

    What its path gave before is left to the runs that have it, unless that is to `keep` its place.
    What is put aside is for the runs that name it, until it is ingested for all.
    """
    known = tx.documents.find_document(parsed.conv_uid)
    document, blocks = (known, 0) if known else _add_document(tx, parsed, now, aside=aside)
    if known and not aside:
        tx.documents.ingest_document_again(known)
    reading = reading or SourceReading(place=parsed.source_locator)
    before = tx.sources.live_sources_at([reading.place])
    others = [source for source in before if source.document_id != document]
    tx.sources.add_source(document, parsed, reading, now)
    source = IngestedSource(document, parsed.title, blocks, not known, parsed.delimiter)
    source = source._replace(path=parsed.source_locator, new_path=len(others) == len(before))
    source = source._replace(options=options_json(parsed.options))
    if aside:
        return source
    if keep:
        return source._replace(beside=tuple(other.document_id for other in others))
    return source._replace(replaced=_retire(tx, others, now))


def _retire(
    tx: Transaction, sources: Sequence[Source], now: datetime
) -> tuple[ReplacedDocument, ...]:
    """Let paths make way; a document that another path has stays what runs are about."""
    tx.sources.retire_sources(sources, now)
    left = tx.sources.sources_of_documents([source.document_id for source in sources])
    return tuple(
        ReplacedDocument(
            source.document_id,
            source.path,
            next((it.path for it in left[source.document_id] if it.retired_at is None), ""),
            source.options,
        )
        for source in sources
    )


def _add_document(
    tx: Transaction, parsed: ParsedDocument, now: datetime, *, aside: bool
) -> tuple[DocumentId, int]:
    """Add a document that is new, with its blocks; returns how many those are."""
    document = tx.documents.add_document(parsed, now, aside=aside)
    types: Counter[str] = Counter()
    characters = 0
    for chunk in _chunks(parsed.blocks):
        rows = to_named_tuples(NewBlock, map(_block_values, chunk))
        types.update([row.block_type for row in rows])
        characters += sum([len(row.content) for row in rows])
        add_blocks(tx, document, rows)
    if not types:
        raise SourceUnreadable(f"{parsed.source_locator}: there is nothing in it to ask about")
    tx.documents.set_document_counts(document, dict(types), characters)
    return document, types.total()


def add_blocks(tx: Transaction, document: DocumentId, rows: Sequence[NewBlock]) -> None:
    """Add some of a document's blocks; who says what an earlier one does, has its number."""
    numbers = hash_numbers([row.content_hash for row in rows])
    known = tx.documents.first_blocks(numbers)
    before = len(known)
    ids = tx.documents.take_block_ids(len(rows))
    firsts = [known.setdefault(*new) for new in zip(numbers, ids, strict=True)]
    tx.documents.add_blocks(document, list(zip(ids, firsts, strict=True)), rows)
    tx.documents.add_contents(list(known.items())[before:])


def _block_values(block: Block) -> tuple[object, ...]:
    """The columns of a block, as `NewBlock` names them."""
    index, block_type, content, locator, headings = block
    kind = block_type._value_  # `value` is looked up by a function, each time
    return (
        index,
        kind,
        canonical_json(locator),
        orjson.dumps(headings).decode() if headings else "[]",
        content,
        block_content(kind, content),
        len(orjson.dumps(content)),
    )


def _chunks(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    remaining = iter(blocks)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk


class PurgeCounts(NamedTuple):
    """What was erased."""

    requests: int
    tasks: int  # that were still owed, and are now cancelled
    documents: int = 1  # itself, and those made of results that came from it


def purge(tx: Transaction, document: DocumentId, now: datetime) -> PurgeCounts:
    """Erase a document, and the documents made of results that come from it.

    Refused while a call about it is out, for its answer is not here yet.
    """
    touched = tx.purges.take_scope(document)
    requests = touched.requests
    out = any(state == RequestState.OUT for _, state in requests)
    if out or tx.purges.has_unsettled_answers([request for request, _ in requests]):
        raise Conflict(
            "a call about this document is out; pause or cancel the run, or wait, then purge again"
        )
    drop_requests(tx, [request for request, state in requests if state == RequestState.QUEUED])
    owed = [task for task, state in touched.tasks if state in TASK_OPEN]
    tx.tasks.move_tasks(TaskMove.CANCEL, owed)
    tx.purges.erase_exchanges([request for request, _ in requests], now)
    _forget_questions(tx, [task for task, _ in touched.tasks])
    tx.purges.erase_documents(touched, now)
    return PurgeCounts(len(requests), len(owed), len(touched.documents))


def _forget_questions(tx: Transaction, tasks: Sequence[TaskId]) -> None:
    """Erase the numbers that questions were found by: they come from what was asked."""
    numbers: dict[bytes, set[int]] = defaultdict(set)
    for _, question_hash, content in tx.questions.questions_of_tasks(tasks) if tasks else ():
        stage, asked = bytes(question_hash[:HALF]), bytes(question_hash[HALF:])
        numbers[stage] |= {hash_number(asked), content or 0}
    for stage, contents in numbers.items():
        tx.questions.forget_questions(hash_number(stage), sorted(contents), tasks)
