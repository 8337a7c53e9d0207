"""Engine: opened on a ledger, it ingests, plans, runs, steers, answers questions and exports."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import fields as fields_of
from dataclasses import replace
from pathlib import Path
from typing import Any

from quire.dispatch.loop_context import Vendors
from quire.dispatch.runtime import Runtime
from quire.dispatch.worker import Worker, WorkerSettings
from quire.domain.data import Json
from quire.domain.ids import RunId, WorkspaceId
from quire.domain.models import ModelFacts
from quire.domain.policy import Policy
from quire.domain.runs import Progress, Run
from quire.engine.batches import BatchAdmin
from quire.engine.commands import RunCommands
from quire.engine.keys import worker_accounts
from quire.engine.orders import check_stop_after, read_recipe, resolve_order
from quire.engine.queries import Queries, RunStatus
from quire.engine.run_forecasts import Forecasts, check_one_given
from quire.engine.run_handle import RunHandle
from quire.engine.settings_checks import find_mistakes, own_models
from quire.export.formats import write_export
from quire.export.result_rows import flat_rows
from quire.ledger.ledger import Ledger, open_ledger
from quire.pipeline.answers.progress import is_at_rest, progress
from quire.pipeline.commands.start import RunOrder, start
from quire.providers.catalog import find_model
from quire.providers.provider_registry import Providers
from quire.recipes.plugin_registry import with_entry_points
from quire.recipes.setting_rules import POLICY_ALIASES
from quire.settings import Settings, read_settings


def run_loop(work: Callable[[], Coroutine[Any, Any, bool]]) -> bool:
    """Run a coroutine to its end; in a notebook, whose loop is busy with us, on another thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run_coroutine(work())
    outcome: list[bool | BaseException] = []

    def target() -> None:
        try:
            outcome.append(_run_coroutine(work()))
        except BaseException as error:  # noqa: BLE001 - carried to the caller's thread
            outcome.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def _run_coroutine(work: Coroutine[Any, Any, bool]) -> bool:
    """Use uvloop where it is installed: the same loop, for about a quarter less CPU a call."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(work)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # not on every system, and not needed on any
    except ImportError:
        return None
    made: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return made


def is_main_thread() -> bool:
    """Whether signals can be taken here: in the main thread, and not inside another loop."""
    if threading.current_thread() is not threading.main_thread():
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return True
    return False


class Engine(Forecasts, RunCommands, RunStatus, BatchAdmin):
    """One ledger and all that can be done with it; the composition root."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        runtime: Runtime | None = None,
        environment: Mapping[str, str] | None = None,  # a default would show keys in help()
    ) -> None:
        """Wire the parts together; keys and places of providers are looked for in `environment`."""
        self.settings = settings
        self.environment = os.environ if environment is None else environment
        self.ledger = ledger
        self.registry = with_entry_points()
        self.queries = Queries(ledger, self.registry)
        self.runtime = runtime or Runtime()
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

    def run(  # noqa: PLR0913 - all that a person may say of a run
        self,
        *,
        schema: Any = None,
        recipe: Any = None,
        model: str | None = None,
        over: Any = None,
        parameters: Any = None,
        limit: int | None = None,
        stop_after: Any = None,
        new: bool = False,
        **policy: Json,
    ) -> RunHandle:
        """Start a run of a schema or of a recipe, or go on with that of the same order.

        `wait` does the work. `parameters` and `stop_after` are for recipes.
        """
        if recipe is not None:
            check_one_given(schema, recipe)
            chosen: Any = {"parameters": parameters, "stop_after": stop_after}
            options: Any = {"model": model, "over": over, "limit": limit, "new": new, **policy}
            return self.run_recipe(recipe, **chosen, **options)
        check_one_given(schema, recipe, parameters=parameters, stop_after=stop_after)
        order = self._schema_order(schema, model, policy)
        return self._start(
            RunOrder(
                recipe=order.recipe,
                facts=order.facts,
                policy=order.policy.with_route(self._schema_route(order, over)),
                inputs=self._inputs(over),
                task_limit=limit,
                new=new,
            )
        )

    def run_recipe(  # noqa: PLR0913 - all that a person may say of a recipe's run
        self,
        recipe: Any,
        *,
        model: str | None = None,
        over: Any = None,
        parameters: Mapping[str, Json] | None = None,
        limit: int | None = None,
        stop_after: str | None = None,
        new: bool = False,
        **policy: Json,
    ) -> RunHandle:
        """Start a run of a recipe (a name, a file or a Recipe), or go on with that of the same.

        `over` may name the recipe's inputs: `{"evidence": engine.ingest("articles/")}`.
        """
        read = read_recipe(recipe, self.registry, parameters or {})
        order = resolve_order(self.settings, read, model, policy)
        check_stop_after(order.recipe, stop_after)
        inputs, names = self._named_inputs(order.recipe, self._name_only_input(order.recipe, over))
        return self._start(
            RunOrder(
                recipe=order.recipe,
                facts=order.facts,
                models=order.models,
                policy=order.policy.with_route(self._order_route(order)),
                inputs=inputs,
                input_names=names,
                task_limit=limit,
                stop_after=stop_after,
                new=new,
            )
        )

    def _start(self, order: RunOrder) -> RunHandle:
        with self.ledger.transaction() as tx:
            started = start(tx, order, self.runtime.now())
        return RunHandle(self, started.run_id, goes_on=started.goes_on)

    def get(self, run: int) -> RunHandle:
        """A run by its number."""
        with self.ledger.snapshot() as tx:
            found = tx.runs.must_get_run(RunId(run))
        return RunHandle(self, found.id, goes_on=True)

    def find_model(self, name: str) -> ModelFacts:
        """The model of a name or an alias, as quire.toml and the catalog know it."""
        return find_model(name, own_models(self.settings.models), self.settings.aliases)

    def runs(self, limit: int = 20) -> list[Run]:
        """The newest runs first."""
        with self.ledger.snapshot() as tx:
            return tx.runs.list_runs(limit)

    def progress(self, run: RunId) -> Progress:
        """How far a run is."""
        with self.ledger.snapshot() as tx:
            return progress(tx, run, self.queries.contexts)

    def drive(
        self,
        run: RunId,
        watch: Callable[[Progress], None] | None = None,
        *,
        signals: bool = False,
        tell: Callable[[str], None] = lambda message: None,
        batches: bool = False,
    ) -> Progress:
        """Work in this process until a run is at rest, and with `batches` until none is out."""

        def is_done() -> bool:
            now = self.progress(run)
            if watch:
                watch(now)
            return is_at_rest(now) and not (batches and now.batches and not now.holds)

        if self.work(is_done, signals=signals or is_main_thread(), tell=tell, only=run):
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
        if only is not None:
            self.get(only)  # says so at once if there is none
        config = self.settings
        settings = WorkerSettings(lease=config.lease, grace=config.grace, poll=config.poll)

        async def work() -> bool:
            accounts = worker_accounts(self.settings, self.environment)
            vendors = Vendors(
                self.providers.get, self.providers.batch_api, self.providers.http_client
            )
            worker = Worker(self.ledger, vendors, accounts, self.runtime, settings, tell)
            worker.contexts.registry = self.registry
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

    def rows(
        self, run: RunId, only: str = "all", stage: str | None = None
    ) -> list[dict[str, Json]]:
        """The results of a run's last stage, or of another, as flat rows."""
        return flat_rows(self.ledger, run, only, stage)

    def export(
        self,
        run: RunId,
        path: str,
        only: str = "all",
        stage: str | None = None,
        form: str = "jsonl",
    ) -> int:
        """Write the results of a run's last stage, or of another, to a file; returns how many."""
        return write_export(self.ledger, run, path, form, only=only, stage=stage)


POLICY_NAMES = (*(field.name for field in fields_of(Policy)), *POLICY_ALIASES)


def open_engine(
    url: str | None = None,
    *,
    workspace: str | None = None,
    faults: str | None = None,
    must_exist: bool = False,
    runtime: Runtime | None = None,
    environment: Mapping[str, str] | None = None,
) -> Engine:
    """Open a ledger: a file or `postgresql://…`, by default the one that quire.toml names."""
    environment = os.environ if environment is None else environment
    settings = read_settings(Path.cwd(), environment, POLICY_NAMES, find_mistakes)
    settings = replace(
        settings,
        ledger=url or settings.ledger,
        workspace=workspace or settings.workspace,
        faults=settings.faults if faults is None else faults,
    )
    ledger = open_ledger(
        settings.ledger,
        workspace=WorkspaceId(settings.workspace),
        durable=settings.durable,
        must_exist=must_exist,
    )
    return Engine(settings, ledger, runtime, environment)
