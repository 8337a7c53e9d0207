"""Engine: opened on a ledger, it ingests, plans, runs, steers, answers questions and exports."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Self, TypeVar, overload

from quire.domain.workbench import NAMES_IN_RUN, as_run_number, refuse_misnamed
from quire.engine.context import EngineContext, open_context, own_models
from quire.engine.page_parts import PageParts
from quire.engine.queries import Queries
from quire.pipeline.answers.progress import is_at_rest

if TYPE_CHECKING:
    from quire.dispatch.runtime import Runtime
    from quire.dispatch.worker import Worker
    from quire.domain.data import Json
    from quire.domain.ids import RunId
    from quire.domain.models import ModelFacts
    from quire.domain.runs import Progress
    from quire.engine.accuracy_reports import AccuracyReports
    from quire.engine.batches import BatchAdmin
    from quire.engine.commands import RunCommands
    from quire.engine.doctor.checkup import Doctor
    from quire.engine.extraction.row_extractor import RowExtractor
    from quire.engine.forecasts import Forecasts, Plan
    from quire.engine.kept_schemas import SchemaSource
    from quire.engine.keys import Keys
    from quire.engine.library import Library, Over
    from quire.engine.limits import LimitAdmin
    from quire.engine.lineage import Lineages
    from quire.engine.orders import Orders, RecipeSource
    from quire.engine.review import ReviewAdmin
    from quire.engine.run_handle import RunHandle
    from quire.engine.spend import SpendViews
    from quire.engine.wallets import Dollars, WalletAdmin
    from quire.engine.webhooks import WebhookAdmin
    from quire.pipeline.commands.start import Order

_log = logging.getLogger("quire")  # what a script's or a notebook's user should hear at once


_Method = TypeVar("_Method")


class _Shortcut(Generic[_Method]):
    """What a part of the engine does, asked of the engine itself."""

    def __init__(self, find: Callable[[Engine], _Method]) -> None:
        """Ask `find` each time, so that the part is made when it is first used."""
        self._find = find

    @overload
    def __get__(self, engine: None, owner: type[Engine]) -> Self: ...
    @overload
    def __get__(self, engine: Engine, owner: type[Engine]) -> _Method: ...
    def __get__(self, engine: Engine | None, owner: type[Engine]) -> Self | _Method:
        """The part's own method."""
        return self if engine is None else self._find(engine)


class Engine(PageParts):
    """One ledger and all that can be done with it: the parts, wired together, and the work.

    A part is imported and made when it is first asked for: who lists runs does not wait for the
    modules that send calls, read Markdown, seal keys or look an installation over.
    """

    def __init__(self, context: EngineContext) -> None:
        """Work with a context; `open_engine` is the usual way here."""
        self.context = context
        self.queries = Queries(context)
        self._workers: set[Worker] = set()
        self._stops = 0  # how often it was told to stop

    @cached_property
    def library(self) -> Library:
        """Documents and schemas."""
        from quire.engine.library import Library

        return Library(self.context)

    @cached_property
    def orders(self) -> Orders:
        """What is asked for becomes runs."""
        from quire.engine.orders import Orders

        return Orders(self.context, self.library)

    @cached_property
    def extractor(self) -> RowExtractor:
        """Rows in, typed rows out."""
        from quire.engine.extraction.row_extractor import ExtractionParts, RowExtractor

        parts = ExtractionParts(self.context, self.library, self.run, self.plan, self.stop)
        return RowExtractor(parts)

    @cached_property
    def forecasts(self) -> Forecasts:
        """What runs will take."""
        from quire.engine.forecasts import Forecasts

        return Forecasts(self.context)

    @cached_property
    def commands(self) -> RunCommands:
        """What changes runs."""
        from quire.engine.commands import RunCommands

        return RunCommands(self.context)

    @cached_property
    def batches(self) -> BatchAdmin:
        """Batches, looked at and steered."""
        from quire.engine.batches import BatchAdmin

        return BatchAdmin(self.context)

    @cached_property
    def keys(self) -> Keys:
        """As whom calls go out."""
        from quire.engine.keys import Keys

        return Keys(self.context)

    @cached_property
    def limits(self) -> LimitAdmin:
        """What models allow."""
        from quire.engine.limits import LimitAdmin

        return LimitAdmin(self.context)

    @cached_property
    def webhooks(self) -> WebhookAdmin:
        """Who is told what happens to runs."""
        from quire.engine.webhooks import WebhookAdmin

        return WebhookAdmin(self.context, self.keys)

    @cached_property
    def spend(self) -> SpendViews:
        """What was spent, and what for."""
        from quire.engine.spend import SpendViews

        return SpendViews(self.context)

    @cached_property
    def wallets(self) -> WalletAdmin:
        """Money that runs may spend."""
        from quire.engine.wallets import WalletAdmin

        return WalletAdmin(self.context)

    @cached_property
    def lineages(self) -> Lineages:
        """What results were made from."""
        from quire.engine.lineage import Lineages

        return Lineages(self.context)

    @cached_property
    def accuracy_reports(self) -> AccuracyReports:
        """How right runs are."""
        from quire.engine.accuracy_reports import AccuracyReports

        return AccuracyReports(self.context)

    @cached_property
    def review(self) -> ReviewAdmin:
        """What persons look at and decide."""
        from quire.engine.review import ReviewAdmin

        return ReviewAdmin(self.context)

    @cached_property
    def doctor(self) -> Doctor:
        """Checks of this installation."""
        from quire.engine.doctor.checkup import Doctor

        return Doctor(self.context)

    # Scripts may ask the engine itself for what its parts do.
    ingest = _Shortcut(lambda engine: engine.library.ingest)
    add_parsed = _Shortcut(lambda engine: engine.library.add_parsed)
    documents = _Shortcut(lambda engine: engine.library.documents)
    purge = _Shortcut(lambda engine: engine.library.purge)
    add_schema = _Shortcut(lambda engine: engine.library.add_schema)
    schemas = _Shortcut(lambda engine: engine.library.schemas)
    extract = _Shortcut(lambda engine: engine.extractor.extract)
    stream = _Shortcut(lambda engine: engine.extractor.stream)
    plan_extract = _Shortcut(lambda engine: engine.extractor.plan)
    plan_documents = _Shortcut(lambda engine: engine.forecasts.plan_documents)
    runs = _Shortcut(lambda engine: engine.listed_runs.newest)
    progress = _Shortcut(lambda engine: engine.queries.progress)
    workers = _Shortcut(lambda engine: engine.queries.workers)
    stall_reasons = _Shortcut(lambda engine: engine.queries.stall_reasons)
    rows = _Shortcut(lambda engine: engine.queries.rows)
    score = _Shortcut(lambda engine: engine.accuracy_reports.score)
    lineage = _Shortcut(lambda engine: engine.lineages.trace)
    stage_policies = _Shortcut(lambda engine: engine.queries.stage_policies)
    editable_data = _Shortcut(lambda engine: engine.queries.editable_data)
    pause = _Shortcut(lambda engine: engine.commands.pause)
    resume = _Shortcut(lambda engine: engine.commands.resume)
    cancel = _Shortcut(lambda engine: engine.commands.cancel)
    stop_after = _Shortcut(lambda engine: engine.commands.stop_after)
    export = _Shortcut(lambda engine: engine.commands.export)
    retry = _Shortcut(lambda engine: engine.commands.retry)
    rerun = _Shortcut(lambda engine: engine.commands.rerun)
    regate = _Shortcut(lambda engine: engine.commands.regate)
    approve = _Shortcut(lambda engine: engine.commands.approve)
    edit = _Shortcut(lambda engine: engine.commands.edit)
    reject = _Shortcut(lambda engine: engine.commands.reject)
    undo = _Shortcut(lambda engine: engine.review.undo)
    waive = _Shortcut(lambda engine: engine.commands.waive)
    batch = _Shortcut(lambda engine: engine.batches.get)
    batch_lines = _Shortcut(lambda engine: engine.batches.lines)
    cancel_batch = _Shortcut(lambda engine: engine.batches.cancel)
    adopt_batch = _Shortcut(lambda engine: engine.batches.adopt)
    batch_absent = _Shortcut(lambda engine: engine.batches.mark_absent)

    def run(  # noqa: PLR0913 - all that a person may say of a run
        self,
        *,
        schema: SchemaSource | None = None,
        recipe: RecipeSource | None = None,
        model: str | None = None,
        models: Sequence[str] | None = None,
        over: Over = None,
        parameters: Mapping[str, Json] | None = None,
        limit: int | None = None,
        stop_after: str | None = None,
        reuse: tuple[int, str] | bool | None = None,
        new: bool = False,
        max_cost_usd: float | None = None,
        wallet: str | None = None,
        budget_usd: Dollars | None = None,
        per: str | None = None,
        block_types: Sequence[str] = (),
        **policy: Json,
    ) -> RunHandle:
        """Start a run of a schema or of a recipe, or go on with that of the same order.

        `wait` does the work. A schema's record is `per` block, document, section, section:2, page;
        of `block_types` only; `parameters`, `stop_after` and `models`, the run's own first, are for
        recipes. `reuse`: a run, and the stage before which its results are kept; False: ask all.
        """
        order = self.orders.resolve(
            schema=schema,
            recipe=recipe,
            model=model,
            models=models,
            over=over,
            parameters=parameters,
            stop_after=stop_after,
            reuse=reuse,
            per=per,
            policy=refuse_misnamed(policy, NAMES_IN_RUN),
        )
        order = self.orders.with_blocks(replace(order, task_limit=limit, new=new), block_types)
        return self.start(self.orders.with_funds(order, wallet, budget_usd), max_cost_usd)

    def start(self, order: Order, max_cost_usd: float | None = None) -> RunHandle:
        """The same of an order that is resolved; what it is forecast to take is kept with it."""
        order = self.orders.with_own_reuse(order)
        order = replace(order, policy=order.policy.with_route(self.forecasts.route(order)))
        forecast = None
        if max_cost_usd is not None or not self.orders.is_begun(order):
            forecast = self.forecasts.plan_start(order, refusable=max_cost_usd is not None)
        if forecast is not None and max_cost_usd is not None:
            forecast.refuse_above(max_cost_usd)
        rows = [stage.to_ask.row for stage in forecast.stages] if forecast else []
        started = self.orders.start(order, rows)
        return self._handle(started.run_id, goes_on=started.goes_on)

    def plan(  # noqa: PLR0913 - all that a person may say of a plan
        self,
        *,
        schema: SchemaSource | None = None,
        recipe: RecipeSource | None = None,
        model: str | None = None,
        models: Sequence[str] | None = None,
        over: Over = None,
        parameters: Mapping[str, Json] | None = None,
        reuse: tuple[int, str] | bool | None = None,
        per: str | None = None,
        block_types: Sequence[str] = (),
        **policy: Json,
    ) -> Plan:
        """Forecast requests, tokens and dollars, from answers where some came; spends nothing."""
        order = self.orders.resolve(
            schema=schema,
            recipe=recipe,
            model=model,
            models=models,
            over=over,
            parameters=parameters,
            reuse=reuse,
            per=per,
            policy=policy,
        )
        return self.forecasts.plan(self.orders.with_blocks(order, block_types))

    def get(self, run: int) -> RunHandle:
        """A run by its number."""
        return self._handle(self.queries.must_get(as_run_number(run)).id, goes_on=True)

    def _handle(self, run: RunId, *, goes_on: bool) -> RunHandle:
        from quire.engine.run_handle import EngineParts, RunHandle

        parts = EngineParts(
            self.drive,
            self.queries,
            self.commands,
            lambda run, stage: self.library.result_documents(run, stage).documents,
            lambda *runs, **how: self.score(*runs, **how),
            lambda: self.review,
        )
        return RunHandle(parts, run, goes_on=goes_on)

    def find_model(self, name: str) -> ModelFacts:
        """The model of a name or an alias, as quire.toml and the catalog know it."""
        from quire.providers.catalog import find_model

        return find_model(name, own_models(self.settings.models), self.settings.aliases)

    def drive(
        self,
        run: RunId,
        watch: Callable[[Progress], None] | None = None,
        *,
        signals: bool = False,
        tell: Callable[[str], None] = _log.warning,
        batches: bool = False,
    ) -> Progress:
        """Work in this process until a run is at rest, and with `batches` until none is out."""
        from quire.engine.event_loop import can_handle_signals

        def is_done() -> bool:
            now = self.queries.progress(run)
            if watch:
                watch(now)
            return is_at_rest(now) and not (batches and now.batches and not now.holds)

        try:
            signals = signals or can_handle_signals()
            interrupted = self.work(is_done, signals=signals, tell=tell, only=run)
        except KeyboardInterrupt:  # in a notebook
            interrupted = True
        if interrupted:  # as Python's own would be, but with every answer stored
            raise KeyboardInterrupt(f"run {run} stopped, all answers are kept: wait() goes on")
        return self.queries.progress(run)

    def work(
        self,
        done: Callable[[], bool] = lambda: False,
        *,
        signals: bool = False,
        tell: Callable[[str], None] = lambda message: None,
        only: RunId | None = None,
        last_act: Callable[[], None] = lambda: None,
    ) -> bool:
        """Be a worker for every run of the workspace, or for one; true if it was interrupted.

        `last_act` comes before a process ends in the midst of it, at a third Ctrl-C for example.
        """
        stops = self._stops
        from quire.engine.event_loop import run_loop

        if only is not None:
            self.queries.must_get(only)  # says so at once if there is none
        worker = self._make_worker(tell)
        worker.serve_only(only)
        worker.last_act = last_act

        async def work() -> bool:
            try:
                await worker.run(done, signals=signals)
            finally:
                await self.providers.close()
            return worker.interrupted

        self._workers.add(worker)
        if stops != self._stops:  # told while it was made
            worker.stop()
        try:
            return run_loop(work, worker.interrupt)
        finally:
            self._workers.discard(worker)

    def _make_worker(self, tell: Callable[[str], None]) -> Worker:
        from quire.dispatch.loop_context import ProviderLookup
        from quire.dispatch.worker import Worker, WorkerSettings

        context, config, providers = self.context, self.settings, self.providers
        providers.check_faults()
        worker = Worker(
            context.ledger,
            ProviderLookup(providers.get, providers.batch_api, providers.http_client),
            self.keys.worker_accounts(),
            context.runtime,
            WorkerSettings(lease=config.lease, grace=config.grace, poll=config.poll),
            tell,
        )
        worker.contexts.registry = context.registry
        worker.notifier.open_box = self.keys.box_opener()
        worker.compressor.choose_ranker = context.choose_ranker
        return worker

    def stop(self) -> None:
        """Let the workers of this engine finish what is out and return; from any thread.

        That holds for whoever has begun to work, not for who begins later.
        """
        self._stops += 1
        for worker in tuple(self._workers):
            worker.stop()


def open_engine(
    url: str | Path | None = None,
    *,
    workspace: str | None = None,
    faults: str | None = None,
    must_exist: bool = False,
    runtime: Runtime | None = None,
    environment: Mapping[str, str] | None = None,
) -> Engine:
    """Open a ledger: a file or `postgresql://…`, by default the one that quire.toml names."""
    return Engine(
        open_context(
            url if url is None else str(url),
            workspace=workspace,
            faults=faults,
            must_exist=must_exist,
            runtime=runtime,
            environment=environment,
        )
    )
