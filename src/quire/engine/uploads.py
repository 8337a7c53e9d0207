"""Uploads: files that came over the network, ingested under the names that they were given.

A file lies in a folder that is gone afterwards, so its place is its name: the same name again, with
other content, takes the place of what it had before, as a changed file does.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from quire.domain.documents import ReadChoices
from quire.domain.errors import SourceUnreadable
from quire.domain.sources import SourceReading
from quire.engine.context import EngineContext
from quire.engine.library import Ingestion
from quire.pipeline.commands.corpus import IngestedSource, ingest
from quire.sources.read_options import make_read_options
from quire.sources.reading_pool import ReadFile, read_sources

SCHEME = "upload://"  # before the name that a file was given


class Uploads:
    """Takes files that somebody else put on this machine for a moment."""

    def __init__(self, context: EngineContext) -> None:
        """Keep them in the context's ledger."""
        self._context = context

    def ingest(
        self, files: Mapping[Path, str], *, keep: bool = False, **choices: Unpack[ReadChoices]
    ) -> Ingestion:
        """Read files, each under a name; a bad one is refused with a line, the rest go in."""
        options = make_read_options(choices)
        documents: list[IngestedSource] = []
        refused: list[str] = []
        with closing(read_sources(list(files), options)) as read:
            for file in read:
                try:
                    documents.append(self._ingest_file(file, files[file.path], keep=keep))
                except SourceUnreadable as error:
                    said = str(error).replace(str(file.path), files[file.path])
                    refused.append(" ".join(said.splitlines()))
        return Ingestion(documents=tuple(documents), refused=tuple(refused))

    def _ingest_file(self, file: ReadFile, name: str, *, keep: bool) -> IngestedSource:
        if file.parsed is None:
            raise SourceUnreadable(file.refusal)
        path = SCHEME + name
        parsed = replace(file.parsed, source_locator=path)
        if parsed.title == file.path.name:
            parsed = replace(parsed, title=name)
        now = self._context.runtime.now()
        with self._context.ledger.transaction() as tx:
            return ingest(tx, parsed, now, reading=SourceReading(place=path), keep=keep)
