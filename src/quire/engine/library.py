"""The library of an engine: documents and schemas come in, and documents may leave again."""

import logging
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Unpack

from quire.dispatch.rare_collections import rare_collections
from quire.domain.data import Json, plain_json
from quire.domain.documents import Document, LeftOut, ParsedDocument, ReadChoices
from quire.domain.errors import NotFound, SourceUnreadable, UsageError
from quire.domain.ids import DocumentId, RunId
from quire.domain.recipes import EACH_PAGE, UNITS, Recipe, Schema
from quire.domain.sources import Source, SourceReading
from quire.engine.context import EngineContext
from quire.engine.document_names import choose_document, match_documents
from quire.engine.kept_schemas import (
    SchemaFile,
    SchemaSource,
    find_kept_schema,
    keep_schema,
    read_schema_source,
)
from quire.engine.known_files import KnownFiles
from quire.engine.result_documents import (
    NamedResults,
    ResultDocuments,
    make_result_documents,
    parse_results_name,
)
from quire.pipeline.commands.corpus import IngestedSource, PurgeCounts, ingest, purge
from quire.sources.read_options import make_read_options
from quire.sources.reading_pool import ReadFile, read_sources
from quire.sources.source_files import find_sources

_log = logging.getLogger("quire")  # what a script's or a notebook's user should hear at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestion:
    """What became of the sources of one call."""

    documents: tuple[IngestedSource, ...]
    refused: tuple[str, ...] = ()  # one line each: the file and the reason
    left_out: tuple[LeftOut, ...] = ()  # files in folders, and parts of files, that are not read

    @property
    def skipped(self) -> int:
        """How many files in folders are of no type that we read."""
        return sum(not item.source for item in self.left_out)

    @property
    def without_text(self) -> int:
        """How many rows have nothing in the column that is asked about."""
        return sum(item.without_text for item in self.left_out)

    def without_text_line(self) -> str:
        """Say how many these are; empty where there are none."""
        count = self.without_text
        return f"{count:,} row{'s' * (count != 1)} without text left out" if count else ""

    def warnings(self) -> Iterator[str]:
        """What may not be as it was meant, a line each."""
        for source in self.documents:
            if source.delimiter:
                yield f"{source.title}: its cells are parted by {source.delimiter}s, and read so"
        yield from _say_first([line for item in self.documents for line in _say_replaced(item)])
        yield from _say_first([line for item in self.documents for line in _say_beside(item)])


def _say_first(lines: Sequence[str]) -> Iterator[str]:
    """The first of lines that say the same of many files."""
    if lines:
        yield lines[0] + (f"; so with {len(lines) - 1:,} more" if len(lines) > 1 else "")


def _say_replaced(source: IngestedSource) -> Iterator[str]:
    """What makes way for a file that was read before with other content or in another way."""
    for earlier in source.replaced:
        number, now = earlier.document_id, source.document_id
        left = (
            f"document {number} stays, as {earlier.kept_at}"
            if earlier.kept_at
            else f"document {number} is left to the runs that have it, or name it (--keep: both)"
        )
        differing = _differing_options(earlier.options, source.options)
        how = f"is read in another way ({differing})" if differing else "has changed"
        yield f"{source.path} {how}: now document {now}; {left}"


def _differing_options(before: Mapping[str, Json], now: Mapping[str, Json]) -> str:
    """What is chosen otherwise than before, in the names that it is chosen by."""
    return ", ".join(
        f"--{name.replace('_', '-')} {_say_choice(now.get(name))}, before"
        f" {_say_choice(before.get(name))}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    )


def _say_choice(value: Json) -> str:
    return "not given" if value is None else "given" if value is True else plain_json(value)


def _say_beside(source: IngestedSource) -> Iterator[str]:
    for number in source.beside:
        yield (
            f"{source.path} was read before with other content or in another way: a run asks"
            f" about both, documents {number} and {source.document_id}"
        )


Documents = Ingestion | Iterable[DocumentId]
Over = Documents | Mapping[str, Documents] | None  # None: all; a mapping names a recipe's inputs


class PurgedDocument(NamedTuple):
    """A document that was erased, with the paths that it was read from."""

    document: Document
    paths: tuple[str, ...]
    counts: PurgeCounts


class Inputs(NamedTuple):
    """The documents of an order."""

    documents: tuple[tuple[DocumentId, str], ...]  # each with its fingerprint
    names: Mapping[DocumentId, str]  # of the recipe's input that it belongs to


class Library:
    """What an engine can be asked about."""

    def __init__(self, context: EngineContext) -> None:
        """Keep documents and schemas in the context's ledger."""
        self._context = context

    def ingest(
        self,
        *paths: str | Path,
        watch: Callable[[Path, int], None] | None = None,
        aside: bool = False,
        keep: bool = False,
        tell: Callable[[str], None] = _log.warning,
        **choices: Unpack[ReadChoices],
    ) -> Ingestion:
        """Read files, folders and globs; a bad one is refused with a line, the rest go in.

        Runs that do not say what they are about are about all that was ingested, but for what was
        put `aside` for the runs that name it, and for what a file held before it was read again,
        with other content or in another way; `keep` leaves that in use too. A path is read as it
        was before but for the choices that are given: an empty text takes one back.
        """
        make_read_options(choices)  # refuses what cannot be, whatever is found
        found = find_sources([os.fspath(path) for path in paths])
        documents: list[IngestedSource] = []
        refused = list(found.problems)
        left_out = list(found.left_out)
        with closing(self._read_files(found.paths, choices, watch, aside=aside)) as files:
            for reading, file in files:
                try:
                    documents.append(self._ingest_file(file, reading, aside=aside, keep=keep))
                    left_out += _left_out_of(file)
                except SourceUnreadable as error:
                    refused.append(" ".join(str(error).splitlines()))
        ingestion = Ingestion(
            documents=tuple(documents), refused=tuple(refused), left_out=tuple(left_out)
        )
        for line in (ingestion.without_text_line(), *ingestion.warnings()):
            if line:
                tell(line)
        return ingestion

    def _read_files(
        self,
        paths: Sequence[Path],
        choices: ReadChoices,
        watch: Callable[[Path, int], None] | None,
        *,
        aside: bool,
    ) -> Generator[tuple[SourceReading, Source | ReadFile], None, None]:
        """What each file holds now, or what is known of it if it has not changed."""
        known = self._known_files.look_up(paths, choices, aside=aside)
        new = {path: known[path].options for path in paths if known[path].unchanged is None}
        # noted before they are read: what changes meanwhile is read again the next time
        readings = {path: self._known_files.reading_of(path) for path in paths}
        with closing(read_sources(list(new), new)) as files:
            for path in paths:
                if watch:
                    watch(path, len(paths))
                yield readings[path], known[path].unchanged or next(files)

    def _ingest_file(
        self, file: Source | ReadFile, reading: SourceReading, *, aside: bool, keep: bool
    ) -> IngestedSource:
        if isinstance(file, Source):
            return _ingested_before(file)
        if file.parsed is None:
            raise SourceUnreadable(file.refusal)
        with rare_collections(), self._context.ledger.transaction() as tx:
            now = self._context.runtime.now()
            return ingest(tx, file.parsed, now, reading=reading, aside=aside, keep=keep)

    @cached_property
    def _known_files(self) -> KnownFiles:
        return KnownFiles(self._context.ledger)

    def add_parsed(self, sources: Iterable[ParsedDocument]) -> tuple[DocumentId, ...]:
        """Put sources aside that somebody else has read, all or none; returns them in order."""
        now = self._context.runtime.now()
        with self._context.ledger.transaction() as tx:
            return tuple(ingest(tx, source, now, aside=True).document_id for source in sources)

    def documents(self) -> list[Document]:
        """Every document in the ledger."""
        with self._context.ledger.snapshot() as tx:
            return tx.documents.list_documents()

    def documents_aside(self) -> set[DocumentId]:
        """Which documents are only for the runs that name them."""
        with self._context.ledger.snapshot() as tx:
            known = {document for document, _ in tx.documents.document_names()}
            return known - tx.documents.usual_documents()

    def sources(self) -> dict[DocumentId, tuple[Source, ...]]:
        """The paths that each document is at, in order; of one that made way, its last."""
        with self._context.ledger.snapshot() as tx:
            known = [document for document, _ in tx.documents.document_names()]
            return tx.sources.sources_of_documents(known)

    def find_unpaged(self, documents: Sequence[DocumentId]) -> list[DocumentId]:
        """Those of some documents that have no pages, and count as one; not all may be so."""
        with self._context.ledger.snapshot() as tx:
            paged = tx.documents.documents_with_pages(list(documents))
        if documents and not paged:
            raise UsageError(
                "none of these documents has pages: pdf and pptx have; --per section or"
                " --per document suits others"
            )
        return [document for document in documents if document not in paged]

    def result_documents(self, run: int, stage: str | None = None) -> ResultDocuments:
        """The results of a run's stage, by default its last one, as documents for other runs."""
        named = NamedResults(RunId(run), stage)
        return make_result_documents(self._context.ledger, named, self._context.runtime.now())

    def find_result_documents(self, name: str) -> ResultDocuments | None:
        """The same of `run:7/thesis` or `run:7/thesis/31`; None where that names no results."""
        named = parse_results_name(name)
        if named is None:
            return None
        return make_result_documents(self._context.ledger, named, self._context.runtime.now())

    def resolve_documents(self, names: Sequence[str]) -> list[DocumentId]:
        """Documents by number, title, path, file name or fingerprint, each once.

        A folder or a glob means every document there; `run:7/thesis` all results of a stage, and
        `run:7/thesis/31` one of them.
        """
        found: list[DocumentId] = []
        for name in names:
            results = self.find_result_documents(name)
            if results is not None:
                found += results.documents
                continue
            with self._context.ledger.snapshot() as tx:
                found += match_documents(tx, name, self._known_files.place_of)
        return list(dict.fromkeys(found))

    def put_aside(self, names: Sequence[str], *, back: bool = False) -> list[DocumentId]:
        """Leave documents to the runs that name them, or take them `back`; returns those meant."""
        wanted = self.resolve_documents(names)
        with self._context.ledger.transaction() as tx:
            tx.documents.put_aside(wanted, aside=not back)
        return wanted

    def purge(self, name: str) -> tuple[Document, PurgeCounts]:
        """Erase a document with its prompts, responses and results."""
        with self._context.ledger.transaction() as tx:
            found = choose_document(tx.documents.match_documents(name), name)
            purged = purge(tx, found.id, self._context.runtime.now())
        self._context.ledger.scrub()
        return found, purged

    def purge_all(self, names: Sequence[str]) -> list[PurgedDocument]:
        """The same of all documents that names, folders and globs mean, one after the other."""
        erased: list[PurgedDocument] = []
        wanted = self.resolve_documents(names)
        try:
            for number in wanted:
                with self._context.ledger.transaction() as tx:
                    found = tx.documents.match_documents(str(number))
                    paths = tx.sources.sources_of_documents([number]).get(number, ())
                    if found:  # else it was made of results that are gone, and went with them
                        counts = purge(tx, number, self._context.runtime.now())
                        named = tuple(source.path for source in paths)
                        erased.append(PurgedDocument(found[0], named, counts))
        finally:
            self._context.ledger.scrub()
        return erased

    def add_schema(
        self, source: SchemaFile, ref: str | None = None, *, new_version: bool = False
    ) -> Schema:
        """Keep a schema under its name; the same one again is a no-op, or goes back to it.

        Other content under a kept name becomes a version of its own: of a class or a mapping by
        itself, of a file where `new_version` says so.
        """
        schema = read_schema_source(source, ref)
        file = os.fspath(source) if isinstance(source, str | Path) and not new_version else ""
        now = self._context.runtime.now()
        with self._context.ledger.transaction() as tx:
            return keep_schema(tx, schema, now, named=ref is not None, unchanged_file=file)

    def schemas(self) -> list[Schema]:
        """Every version of every kept schema."""
        with self._context.ledger.snapshot() as tx:
            return tx.schemas.list_schemas()

    def schema(self, name: str) -> Schema:
        """A kept schema by its name, `name@version`, or the start of its fingerprint."""
        with self._context.ledger.snapshot() as tx:
            return find_kept_schema(tx, name)

    def schema_versions(self, ref: str) -> list[Schema]:
        """Every version of a name, first the one that the bare name means."""
        with self._context.ledger.snapshot() as tx:
            return tx.schemas.schema_versions(ref)

    def resolve_schema(self, source: SchemaSource) -> Schema:
        """A kept schema by name; a file, mapping or class is kept on the way."""
        if isinstance(source, Schema):
            return source
        if isinstance(source, str) and not Path(source).is_file():
            return self.schema(source)
        return self.add_schema(source)

    def inputs(self, recipe: Recipe, over: Over) -> Inputs:
        """A recipe's documents, and which of its inputs each belongs to; the usual, unless told.

        A tuple of documents keeps its order; else they come in the order they were ingested in.
        """
        with self._context.ledger.snapshot() as tx:
            known = tx.documents.document_names()
            usual = tx.documents.usual_documents()
        given = _name_only_input(recipe, _usual_input(recipe, usual) if over is None else over)
        names: Mapping[DocumentId, str] = {}
        if isinstance(given, Mapping):
            names = _name_inputs(recipe, {name: _ids(item) for name, item in given.items()})
        wanted = set(names) if isinstance(given, Mapping) else _ids(given)
        found = [item for item in known if item[0] in wanted]
        if missing := sorted(wanted - {document for document, _ in found}):
            raise NotFound(f"there is no document {missing[0]}; `quire documents` lists them")
        # A recipe may be about something else than documents, and may mind their order; a schema
        # cannot, and the same documents in another order are the same run of it.
        if recipe.is_single_schema and not found:
            raise UsageError("there is nothing to ask about: `quire ingest` documents first")
        if isinstance(over, tuple) and not recipe.is_single_schema:
            places = {document: place for place, document in enumerate(over)}
            found.sort(key=lambda item: places[item[0]])
        if recipe.unit == UNITS[EACH_PAGE]:
            self.find_unpaged([document for document, _ in found])
        return Inputs(tuple(found), names)


def _ingested_before(source: Source) -> IngestedSource:
    """A file that is as it was when it was read."""
    return IngestedSource(
        source.document_id,
        source.title,
        0,
        new=False,
        path=source.path,
        new_path=False,
        options=source.options,
    )


def _left_out_of(file: Source | ReadFile) -> Iterator[LeftOut]:
    if isinstance(file, ReadFile) and file.parsed:
        for item in file.parsed.left_out:
            yield item._replace(source=file.parsed.source_locator)


def _ids(over: Documents) -> set[DocumentId]:
    if isinstance(over, Ingestion):
        if not over.documents and over.refused:
            raise UsageError(f"nothing was ingested: {over.refused[0]}")
        return {document.document_id for document in over.documents}
    if isinstance(over, str | Path):
        raise UsageError(f"{over} is a name, not documents; give `ingest({os.fspath(over)!r})`")
    return set(over)


def _usual_input(recipe: Recipe, usual: set[DocumentId]) -> set[DocumentId]:
    """What a run is about that says nothing of it; nothing is attached by itself."""
    return set() if recipe.inputs == (recipe.attach,) else usual


def _name_only_input(
    recipe: Recipe, over: Documents | Mapping[str, Documents]
) -> Documents | Mapping[str, Documents]:
    """What is given without a name belongs to the one input there is; several need names."""
    if not recipe.inputs or isinstance(over, Mapping):
        return over
    names = [name for name in recipe.inputs if name != recipe.attach] or [recipe.attach]
    if len(names) > 1:
        options = " ".join(f"--input {name}=PATH" for name in names)
        raise UsageError(f"{recipe.name} has several inputs, each needs documents: {options}")
    return {names[0]: over}


def _name_inputs(recipe: Recipe, given: Mapping[str, set[DocumentId]]) -> dict[DocumentId, str]:
    """Which of the recipe's inputs each document belongs to."""
    unknown = sorted(set(given) - set(recipe.inputs))
    if unknown:
        names = ", ".join(recipe.inputs) or "it has one, without a name"
        raise UsageError(f"{recipe.name} has no input {unknown[0]!r}; inputs: {names}")
    needed = (name for name in recipe.inputs if name != recipe.attach)
    missing = [name for name in needed if not given.get(name)]
    if given and missing:
        raise UsageError(f"{recipe.name} needs documents for its input {missing[0]!r}")
    named: dict[DocumentId, str] = {}
    for name, documents in given.items():
        for document in documents:
            if named.setdefault(document, name) != name:
                raise UsageError(
                    f"document {document} is given as {named[document]} and as {name};"
                    " a document belongs to one input"
                )
    return named
