"""The library of an engine: documents and schemas come in, and documents may leave again."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quire.dispatch.runtime import Runtime
from quire.domain.documents import Document, ParsedDocument
from quire.domain.errors import SourceUnreadable, UsageError
from quire.domain.ids import DocumentId
from quire.domain.recipes import Recipe, Schema
from quire.engine.orders import find_same_schema, find_schema, name_inputs, read_schema_source
from quire.engine.queries import resolve_document
from quire.ledger.ledger import Ledger
from quire.pipeline.commands.corpus import IngestedSource, PurgeCounts, ingest, purge
from quire.sources.source_files import find_sources
from quire.sources.source_reader import read_source


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestion:
    """What became of the sources of one call."""

    documents: tuple[IngestedSource, ...]
    refused: tuple[str, ...] = ()  # one line each: the file and the reason
    skipped: int = 0  # files in folders that are of no type we read


class Library:
    """What an engine can be asked about."""

    ledger: Ledger
    runtime: Runtime

    def ingest(
        self,
        *paths: str | Path,
        text_column: str | None = None,
        key_column: str | None = None,
        watch: Callable[[Path], None] | None = None,
    ) -> Ingestion:
        """Read files, folders and globs; a bad one is refused with a line, the rest go in."""
        found = find_sources([os.fspath(path) for path in paths])
        documents: list[IngestedSource] = []
        refused = list(found.problems)
        for path in found.paths:
            if watch:
                watch(path)
            try:
                parsed = read_source(path, text_column=text_column, key_column=key_column)
                with self.ledger.transaction() as tx:
                    documents.append(ingest(tx, parsed, self.runtime.now()))
            except SourceUnreadable as error:
                refused.append(" ".join(str(error).splitlines()))
        return Ingestion(documents=tuple(documents), refused=tuple(refused), skipped=found.skipped)

    def add_parsed(self, sources: Iterable[ParsedDocument]) -> tuple[DocumentId, ...]:
        """Take in sources that somebody else has read, all or none; returns them in order."""
        now = self.runtime.now()
        with self.ledger.transaction() as tx:
            return tuple(ingest(tx, source, now).document_id for source in sources)

    def documents(self) -> list[Document]:
        """Every document in the ledger."""
        with self.ledger.snapshot() as tx:
            return tx.documents.list_documents()

    def add_schema(self, source: Any, ref: str | None = None) -> Schema:
        """Keep a schema under its name; the same one again is a no-op."""
        schema = read_schema_source(source, ref)
        with self.ledger.transaction() as tx:
            kept = find_same_schema(tx, schema)
            if kept is None:
                tx.schemas.add_schema(schema, self.runtime.now())
        return kept or schema

    def schemas(self) -> list[Schema]:
        """Every kept schema."""
        with self.ledger.snapshot() as tx:
            return tx.schemas.list_schemas()

    def purge(self, name: str) -> tuple[Document, PurgeCounts]:
        """Erase a document with its prompts, responses and results."""
        with self.ledger.transaction() as tx:
            found = resolve_document(name, tx.documents.match_documents(name))
            purged = purge(tx, found.id, self.runtime.now())
        self.ledger.scrub()
        return found, purged

    def _resolve_schema(self, source: Any) -> Schema:
        """A kept schema by name; a file, mapping or class is kept on the way."""
        if isinstance(source, Schema):
            return source
        is_file = isinstance(source, Path) or (isinstance(source, str) and Path(source).is_file())
        if isinstance(source, str) and not is_file:
            with self.ledger.snapshot() as tx:
                return find_schema(tx, source)
        return self.add_schema(source)

    def _inputs(
        self, over: "Ingestion | Iterable[DocumentId] | None"
    ) -> list[tuple[DocumentId, str]]:
        """The documents a run is over, each with its fingerprint; all of them by default."""
        with self.ledger.snapshot() as tx:
            names = tx.documents.document_names()
        if over is not None:
            wanted = _document_ids(over)
            names = [name for name in names if name[0] in wanted]
        if not names:
            raise UsageError("there is nothing to ask about: `quire ingest` documents first")
        return names

    def _named_inputs(
        self, recipe: Recipe, over: Any
    ) -> tuple[list[tuple[DocumentId, str]], dict[DocumentId, str]]:
        """A recipe's documents, and which of its inputs each belongs to; may be none at all.

        A tuple of documents keeps its order; else they come in the order they were ingested in.
        """
        given = over if isinstance(over, Mapping) else {}
        named = name_inputs(recipe, {name: _document_ids(item) for name, item in given.items()})
        with self.ledger.snapshot() as tx:
            known = tx.documents.document_names()
        wanted = set(named) if given else None if over is None else _document_ids(over)
        found = [item for item in known if wanted is None or item[0] in wanted]
        if isinstance(over, tuple):
            places = {document: place for place, document in enumerate(over)}
            found.sort(key=lambda item: places[item[0]])
        return found, named


def _document_ids(over: "Ingestion | Iterable[DocumentId]") -> set[DocumentId]:
    if isinstance(over, Ingestion):
        if not over.documents and over.refused:
            raise UsageError(f"nothing was ingested: {over.refused[0]}")
        return {document.document_id for document in over.documents}
    return set(over)
