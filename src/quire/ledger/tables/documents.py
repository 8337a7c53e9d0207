"""Documents and blocks: what was ingested, immutable, named by content, and copied elsewhere."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

import orjson

from quire.domain.documents import Block, BlockType, Document, ParsedDocument
from quire.domain.groupings import BlockPlace
from quire.domain.ids import DocumentId, RunId
from quire.domain.tasks import BlockSubject
from quire.ledger.stored_values import row_reader, to_micros
from quire.ledger.tables.table import Table

_to_document = row_reader(Document)
_MARKS = re.compile(r"^\s*#{1,6}\s+|\s+#+\s*$")  # of headings in markdown


class NewBlock(NamedTuple):
    """A block on its way into the ledger."""

    block_index: int
    block_type: str
    locator: str
    headings: str
    content: str
    content_hash: bytes
    json_bytes: int


class SizedBlock(NamedTuple):
    """A block as whoever draws a sample sees it."""

    block_index: int
    json_bytes: int


class LocatedText(NamedTuple):
    """What a block says, and where it stands in its source."""

    locator: str  # JSON
    content: str


class Documents(Table):
    """Documents and their blocks."""

    def find_document(self, conv_uid: str) -> DocumentId | None:
        """The document of this conversion, if it is here already."""
        return self._one(itemgetter(0), "find_document", conv_uid=conv_uid)

    def add_document(
        self, parsed: ParsedDocument, now: datetime, *, aside: bool = False
    ) -> DocumentId:
        """Add a document whose blocks are still to come; `aside`: for the run that names it."""
        document = DocumentId(self._connection.take_ids("documents", 1)[0])
        row = (
            document,
            self._workspace,
            parsed.source_uid,
            parsed.source_type,
            parsed.source_filesize,
            parsed.source_total_characters,
            parsed.source_locator,
            parsed.title,
            to_micros(now),
            parsed.conv_uid,
            parsed.parsing_tool,
            parsed.representation_type,
            0,
            "{}",
            0,
            int(aside),
            parsed.result_id,
        )
        self._connection.run_many("add_document", [row])
        return document

    def take_block_ids(self, count: int) -> Sequence[int]:
        """Set keys aside."""
        return self._connection.take_ids("blocks", count)

    def add_blocks(
        self, document: DocumentId, placed: Sequence[tuple[int, int]], blocks: Sequence[NewBlock]
    ) -> None:
        """Add some of a document's blocks, each with its key and that of who said the same."""
        same = {"workspace": self._workspace, "document": document}
        rows = zip(placed, blocks, strict=True)
        new = [(key, *block) for (key, first), block in rows if first == key]
        self._connection.insert_many("add_blocks", new, **same)
        if len(new) < len(blocks):
            rows = zip(placed, blocks, strict=True)
            repeating = [(*at, *block) for at, block in rows if at[0] != at[1]]
            self._connection.insert_many("add_repeating_blocks", repeating, **same)

    def first_blocks(self, numbers: Sequence[int]) -> dict[int, int]:
        """The first block of each content that is known, by the content's number."""
        return dict(self._run("first_blocks", numbers=numbers))

    def add_contents(self, firsts: Sequence[tuple[int, int]]) -> None:
        """Note what is said for the first time: the content's number, and the block."""
        # in the order of their numbers, each page of the table is written to once
        self._connection.insert_many("add_contents", sorted(firsts))

    def set_document_counts(
        self, document: DocumentId, freq: dict[str, int], characters: int
    ) -> None:
        """Write down what was learnt while the blocks streamed in."""
        self._change(
            "set_document_counts",
            id=document,
            blocks=sum(freq.values()),
            freq=orjson.dumps(freq, option=orjson.OPT_SORT_KEYS).decode(),
            characters=characters,
        )

    def list_documents(self) -> list[Document]:
        """Every document that is still here."""
        return [_to_document(row) for row in self._run("list_documents")]

    def document_names(self) -> list[tuple[DocumentId, str]]:
        """Key and fingerprint of every document that is still here."""
        return self._run("document_names")

    def usual_documents(self) -> set[DocumentId]:
        """What a run is about that does not say."""
        return set(self._column("usual_documents"))

    def ingest_document_again(self, document: DocumentId) -> None:
        """Let a document that came with one run be there for all."""
        self._change("ingest_document_again", id=document)

    def put_aside(self, documents: Sequence[DocumentId], *, aside: bool) -> int:
        """Leave documents to the runs that name them, or take them back; returns how many."""
        asked = {"ids": list(documents), "aside": int(aside)}
        return self._change("put_aside", **asked) if documents else 0

    def match_documents(self, name: str) -> list[Document]:
        """Up to three documents by number, title, path, file name, or start of a fingerprint.

        The one with that number, or else those that are called so now; where none is, those that
        were before another document took their place.
        """
        start = f"{name}%" if len(name) >= 6 and name.isalnum() else ""  # no wildcards from outside
        tail = "%/" + re.sub(r"([\\%_])", r"\\\1", name)
        rows = self._run("match_documents", name=name, start=start, tail=tail)
        return [_to_document(row[:-1]) for row in rows if row[-1] == rows[0][-1]]

    def documents_of_run(self, run: RunId) -> list[Document]:
        """A run's inputs, in order."""
        return [_to_document(row) for row in self._run("documents_of_run", run=run)]

    def documents_by_id(self, documents: Sequence[DocumentId]) -> dict[DocumentId, Document]:
        """Some documents by their keys."""
        rows = self._run("documents_by_id", ids=list(documents)) if documents else []
        return {row[0]: _to_document(row) for row in rows}

    def first_locators(self, run: RunId) -> Iterator[str]:
        """Where the first block of each of a run's inputs stands, as JSON, streamed."""
        rows = self._connection.stream("first_locators", workspace=self._workspace, run=run)
        return (row[0] for row in rows)

    def block_sizes(self, documents: Sequence[DocumentId]) -> Iterator[int]:
        """The size of every block as a JSON string, in subject order."""
        rows = self._connection.stream(
            "block_sizes", workspace=self._workspace, documents=documents
        )
        return (row[0] for row in rows)

    def block_sizes_from(
        self, document: DocumentId, index: int, limit: int
    ) -> list[tuple[int, int]]:
        """Size as a JSON string, and characters, of some neighbours from a block on."""
        return self._run("block_sizes_from", document=document, index=index, limit=limit)

    def first_block_sizes(
        self, documents: Sequence[DocumentId], limit: int
    ) -> list[tuple[int, int]]:
        """The same of the first blocks of some documents."""
        return self._run("first_block_sizes", documents=documents, limit=limit)

    def block_sizes_of_types(
        self, documents: Sequence[DocumentId], types: Sequence[str]
    ) -> Iterator[int]:
        """The same of blocks of some types."""
        named = {"documents": documents, "types": list(types)}
        rows = self._connection.stream("block_sizes_of_types", workspace=self._workspace, **named)
        return (row[0] for row in rows)

    def blocks_of_types(
        self, documents: Sequence[DocumentId], types: Sequence[str]
    ) -> list[tuple[DocumentId, int]]:
        """Where the blocks of some types stand: document and index."""
        return self._run("blocks_of_types", documents=documents, types=list(types))

    def documents_with_pages(self, documents: Sequence[DocumentId]) -> set[DocumentId]:
        """Those of some documents that have pages, or slides."""
        forms = {"page": '%"page":%', "slide": '%"slide":%'}
        return set(self._column("documents_with_pages", documents=documents, **forms))

    def outline_of_document(self, document: DocumentId) -> Iterator[BlockPlace]:
        """The blocks of a document as one sees them who divides it."""
        rows = self._connection.stream(
            "outline_of_document", workspace=self._workspace, document=document
        )
        for index, headings, heading, locator, size in rows:
            place = orjson.loads(locator) if '"page"' in locator or '"slide"' in locator else {}
            page = place.get("page", place.get("slide"))
            yield BlockPlace(
                index,
                tuple(orjson.loads(headings)),
                _MARKS.sub("", heading.split("\n", 1)[0]) or heading,
                page if isinstance(page, int) else None,
                size,
            )

    def located_texts(self, document: DocumentId, first: int, last: int) -> list[LocatedText]:
        """Blocks of a document that follow each other."""
        return self._list(LocatedText, "located_texts", document=document, first=first, last=last)

    def count_blocks(self, documents: Sequence[DocumentId]) -> int:
        """How many blocks these documents have."""
        return self._count("count_blocks", documents=documents)

    def count_fitting_blocks(
        self, documents: Sequence[DocumentId], most: int
    ) -> list[tuple[DocumentId, int]]:
        """How many blocks of each document take at most so many bytes as a JSON string."""
        return self._run("count_fitting_blocks", documents=documents, most=most)

    def fitting_blocks(self, document: DocumentId, most: int) -> Iterator[SizedBlock]:
        """The blocks of a document that take at most so many bytes as a JSON string, in order."""
        rows = self._connection.stream(
            "fitting_blocks", workspace=self._workspace, document=document, most=most
        )
        return map(SizedBlock._make, rows)

    def next_subjects(self, run: RunId, ordinal: int, index: int, limit: int) -> list[BlockSubject]:
        """The next blocks of a run's inputs, or of its sample of them, after a place."""
        sampled = self._connection.run("is_sampled", run=run)
        statement = "sampled_subjects_after" if sampled else "subjects_after"
        return self._list(
            BlockSubject, statement, run=run, ordinal=ordinal, index=index, limit=limit
        )

    def copy_document(self, document: Document) -> ParsedDocument:
        """A document with its names unchanged; its blocks stream while the transaction lasts."""
        return ParsedDocument(
            source_uid=document.source_uid,
            source_type=document.source_type,
            source_filesize=document.source_filesize,
            source_total_characters=document.source_total_characters,
            source_locator=document.source_locator,
            title=document.title,
            conv_uid=document.conv_uid,
            parsing_tool=document.conv_parsing_tool,
            representation_type=document.conv_representation_type,
            blocks=self._blocks_of_document(document.id),
        )

    def _blocks_of_document(self, document: DocumentId) -> Iterator[Block]:
        rows = self._connection.stream(
            "blocks_of_document", workspace=self._workspace, document=document
        )
        for index, kind, locator, headings, content in rows:
            yield Block(
                index=index,
                type=BlockType(kind),
                content=content,
                locator=orjson.loads(locator),
                headings=tuple(orjson.loads(headings)),
            )
