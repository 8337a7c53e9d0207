"""Sources: the paths that documents were read from, each with its row."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from quire.domain.data import canonical_json
from quire.domain.documents import ParsedDocument
from quire.domain.ids import DocumentId, RunId
from quire.domain.sources import Source, SourceReading, options_json, shown_sources
from quire.ledger.stored_values import row_reader, to_micros
from quire.ledger.tables.table import Table

SourcesByDocument = dict[DocumentId, tuple[Source, ...]]

_to_source = row_reader(Source)


class Sources(Table):
    """The workspace's paths."""

    def add_source(
        self,
        document: DocumentId,
        parsed: ParsedDocument,
        reading: SourceReading,
        now: datetime,
    ) -> None:
        """Note what a path was read as; one that had this document before has it again."""
        self._change(
            "add_source",
            document=document,
            place=reading.place,
            path=parsed.source_locator,
            title=parsed.title,
            options=canonical_json(options_json(parsed.options)),
            stamp=reading.stamp,
            now=to_micros(now),
        )

    def retire_sources(self, sources: Sequence[Source], now: datetime) -> None:
        """Let paths make way for what was read from them since."""
        ids = [source.id for source in sources]
        if ids:
            self._change("retire_sources", ids=ids, now=to_micros(now))

    def live_sources_at(self, places: Sequence[str]) -> list[Source]:
        """What was read at some places and has not made way."""
        return [_to_source(row) for row in self._run("live_sources_at", places=list(places))]

    def sources_of_documents(
        self, documents: Sequence[DocumentId], since: datetime | None = None
    ) -> SourcesByDocument:
        """The live paths of some documents, in order, and those retired `since` then.

        Where there is none, the last one that was.
        """
        rows = self._run("sources_of_documents", documents=list(documents)) if documents else []
        return _by_document(map(_to_source, rows), since)

    def sources_of_run(self, run: RunId, since: datetime) -> SourcesByDocument:
        """The paths of a run's documents, in order: live ones, and those retired `since` then.

        With the moment at which the run began that is every path that its answers are about.
        """
        return _by_document(map(_to_source, self._run("sources_of_run", run=run)), since)

    def list_sources(self) -> list[Source]:
        """Every path that was ever read, document by document."""
        return [_to_source(row) for row in self._run("list_sources")]


def _by_document(sources: Iterable[Source], since: datetime | None = None) -> SourcesByDocument:
    found: dict[DocumentId, list[Source]] = defaultdict(list)
    for source in sources:
        found[source.document_id].append(source)
    return {document: shown_sources(rows, since) for document, rows in found.items()}
