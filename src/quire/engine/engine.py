"""Engine: ingest, plan, run, steer, look and export, over one ledger."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quire.dispatch.outside import Outside
from quire.dispatch.worker import Worker, WorkerSettings
from quire.domain.data import Json
from quire.domain.documents import Document
from quire.domain.errors import NotFound, SourceUnreadable, UsageError
from quire.domain.ids import DocumentId, RunId
from quire.domain.recipes import Schema
from quire.domain.runs import Progress, Run
from quire.engine.accounting import worker_accounts
from quire.engine.counting import exactly
from quire.engine.looking import Looking, one_document
from quire.engine.loop import in_main_thread, run_loop
from quire.engine.ordering import (
    Ask,
    answered_like,
    ask,
    find_schema,
    keep_schema,
    read_schema_source,
)
from quire.engine.probed import with_probed_size
from quire.engine.run import RunHandle
from quire.engine.standing import Standing
from quire.engine.steering import Steering
from quire.export.jsonl import write_jsonl
from quire.export.rows import flat_rows
from quire.ledger.ledger import Ledger
from quire.pipeline.ingest import Ingested, ingest
from quire.pipeline.progress import at_rest, progress
from quire.pipeline.purge import Purged, purge
from quire.pipeline.start import Order, start
from quire.plan.forecasting import Forecast, forecast
from quire.providers.registry import Providers
from quire.settings import Settings
from quire.sources.finding import find_sources
from quire.sources.reading import read_source


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestion:
    """What became of the sources of one call."""

    documents: tuple[Ingested, ...]
    refused: tuple[str, ...] = ()  # one line each: the file and the reason
    skipped: int = 0  # files in folders that are of no type we read


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a run would take, before anything is spent."""

    ask: Ask
    forecast: Forecast


class Engine(Steering, Standing):
    """One ledger and all that can be done with it; the composition root."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        outside: Outside | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Wire the parts together; keys and places of providers are looked for in `environment`."""
        self.settings = settings
        self.environment = environment
        self.ledger = ledger
        self.look = Looking(ledger)
        self._outside = outside or Outside()
        self.providers = Providers(settings.faults)
        self.exact_tokens = False  # count with the model's tokenizer, if installed, when planning
        self._workers: set[Worker] = set()

    def __enter__(self) -> "Engine":
        """Use as a context, closed at its end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Let go of the ledger."""
        self.ledger.close()

    def ingest(
        self,
        *paths: str | Path,
        text_column: str | None = None,
        key_column: str | None = None,
        watch: Callable[[Path], None] | None = None,
    ) -> Ingestion:
        """Read files, folders and globs; a bad one is refused with a line, the rest go in."""
        found = find_sources([os.fspath(path) for path in paths])
        documents: list[Ingested] = []
        refused = list(found.problems)
        for path in found.paths:
            if watch:
                watch(path)
            try:
                parsed = read_source(path, text_column=text_column, key_column=key_column)
                with self.ledger.transaction() as tx:
                    documents.append(ingest(tx, parsed, self._outside.now()))
            except SourceUnreadable as error:
                refused.append(" ".join(str(error).splitlines()))
        return Ingestion(documents=tuple(documents), refused=tuple(refused), skipped=found.skipped)

    def documents(self) -> list[Document]:
        """Every document in the ledger."""
        with self.ledger.snapshot() as tx:
            return tx.documents.all()

    def add_schema(self, source: Any, ref: str | None = None) -> Schema:
        """Keep a schema under its name; the same one again is a no-op."""
        schema = read_schema_source(source, ref)
        with self.ledger.transaction() as tx:
            kept = keep_schema(tx, schema)
            if kept is None:
                tx.schemas.add(schema, self._outside.now())
        return kept or schema

    def schemas(self) -> list[Schema]:
        """Every kept schema."""
        with self.ledger.snapshot() as tx:
            return tx.schemas.all()

    def plan(
        self, *, schema: Any, model: str | None = None, over: Any = None, **policy: Json
    ) -> Planned:
        """Forecast requests, tokens and dollars, from answers where some came; spends nothing."""
        asked = self._ask(schema, model, policy)
        with self.ledger.snapshot() as tx:
            inputs = [document for document, _ in self._inputs(over)]
            facts = exactly(tx, asked.facts, inputs) if self.exact_tokens else asked.facts
            told = forecast(
                tx.documents.sizes(inputs),
                asked.recipe.stages[0],
                facts,
                asked.policy.policy,
                answered_like(tx, asked),
            )
        return Planned(ask=asked, forecast=told)

    def run(
        self,
        *,
        schema: Any,
        model: str | None = None,
        over: Any = None,
        limit: int | None = None,
        new: bool = False,
        **policy: Json,
    ) -> RunHandle:
        """Start a run, or go on with that of the same order; `wait` does the work."""
        asked = self._ask(schema, model, policy)
        order = Order(
            recipe=asked.recipe,
            facts=asked.facts,
            policy=asked.policy,
            inputs=self._inputs(over),
            task_limit=limit,
            new=new,
        )
        with self.ledger.transaction() as tx:
            started = start(tx, order, self._outside.now())
        return RunHandle(self, started.run_id, goes_on=started.goes_on)

    def get(self, run: int) -> RunHandle:
        """A run by its number."""
        with self.ledger.snapshot() as tx:
            if tx.runs.get(RunId(run)) is None:
                raise NotFound(f"there is no run {run}; `quire runs` lists them")
        return RunHandle(self, RunId(run), goes_on=True)

    def runs(self, limit: int = 20) -> list[Run]:
        """The newest runs first."""
        with self.ledger.snapshot() as tx:
            return tx.runs.newest(limit)

    def progress(self, run: RunId) -> Progress:
        """How far a run is."""
        with self.ledger.snapshot() as tx:
            return progress(tx, run)

    def drive(
        self,
        run: RunId,
        watch: Callable[[Progress], None] | None = None,
        *,
        signals: bool = False,
        tell: Callable[[str], None] = lambda message: None,
    ) -> Progress:
        """Work in this process until a run is at rest."""

        def done() -> bool:
            now = self.progress(run)
            if watch:
                watch(now)
            return at_rest(now)

        if self.work(done, signals=signals or in_main_thread(), tell=tell, only=run):
            raise KeyboardInterrupt  # as Python's own would, but with every answer stored
        return self.progress(run)

    def work(
        self,
        done: Callable[[], bool] = lambda: False,
        *,
        signals: bool = False,
        tell: Callable[[str], None] = lambda message: None,
        only: RunId | None = None,
    ) -> bool:
        """Be a worker for every run of the workspace, or for one; true if it was interrupted."""
        settings = WorkerSettings(lease=self.settings.lease, grace=self.settings.grace)

        async def work() -> bool:
            accounts = worker_accounts(self.settings, self.environment)
            get = self.providers.get
            worker = Worker(self.ledger, get, accounts, self._outside, settings, tell)
            worker.serve_only(only)
            self._workers.add(worker)
            try:
                await worker.run(done, signals=signals)
            finally:
                self._workers.discard(worker)
                await self.providers.close()
            return worker.interrupted

        return run_loop(work)

    def stop(self) -> None:
        """Let the workers of this engine finish what is out and return; from any thread."""
        for worker in tuple(self._workers):
            worker.stop()

    def rows(self, run: RunId, only: str = "all") -> list[dict[str, Json]]:
        """A run's results as flat rows."""
        return flat_rows(self.ledger, run, only)

    def export(self, run: RunId, path: str, only: str = "all") -> int:
        """Write a run's results as JSON lines."""
        return write_jsonl(self.ledger, run, path, only)

    def purge(self, name: str) -> tuple[Document, Purged]:
        """Erase a document with its prompts, responses and results."""
        with self.ledger.transaction() as tx:
            found = one_document(name, tx.documents.match(name))
            purged = purge(tx, found.id, self._outside.now())
        self.ledger.scrub()
        return found, purged

    def _ask(self, schema: Any, model: str | None, policy: dict[str, Json]) -> Ask:
        asked = ask(self.settings, self._schema(schema), model, policy)
        return with_probed_size(self.ledger, asked)

    def _schema(self, source: Any) -> Schema:
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
            names = tx.documents.names()
        if over is not None:
            wanted = _document_ids(over)
            names = [each for each in names if each[0] in wanted]
        if not names:
            raise UsageError("there is nothing to ask about: `quire ingest` documents first")
        return names


def _document_ids(over: "Ingestion | Iterable[DocumentId]") -> set[DocumentId]:
    if isinstance(over, Ingestion):
        if not over.documents and over.refused:
            raise UsageError(f"nothing was ingested: {over.refused[0]}")
        return {each.document_id for each in over.documents}
    return set(over)
