"""Engine: ingest, plan, run, steer, look and export, over one ledger."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from quire.dispatch.means import Vendors
from quire.dispatch.outside import Outside
from quire.dispatch.worker import Worker, WorkerSettings
from quire.domain.data import Json
from quire.domain.ids import RunId
from quire.domain.runs import Progress, Run
from quire.engine.accounting import worker_accounts
from quire.engine.batches import Batching
from quire.engine.cooking import check_stop_after, prepare_dish, read_dish
from quire.engine.forecasting import Forecasting, one_of_two
from quire.engine.looking import Looking
from quire.engine.loop import in_main_thread, run_loop
from quire.engine.run import RunHandle
from quire.engine.standing import Standing
from quire.engine.steering import Steering
from quire.export.frames import flat_rows
from quire.export.jsonl import write_jsonl
from quire.ledger.ledger import Ledger
from quire.pipeline.progress import at_rest, progress
from quire.pipeline.start import Order, start
from quire.providers.registry import Providers
from quire.recipes.registry import with_entry_points
from quire.settings import Settings


class Engine(Forecasting, Steering, Standing, Batching):
    """One ledger and all that can be done with it; the composition root."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        outside: Outside | None = None,
        environment: Mapping[str, str] | None = None,  # a default would show keys in help()
    ) -> None:
        """Wire the parts together; keys and places of providers are looked for in `environment`."""
        self.settings = settings
        self.environment = os.environ if environment is None else environment
        self.ledger = ledger
        self.registry = with_entry_points()
        self.look = Looking(ledger, self.registry)
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
            one_of_two(schema, recipe)
            chosen: Any = {"parameters": parameters, "stop_after": stop_after}
            told: Any = {"model": model, "over": over, "limit": limit, "new": new, **policy}
            return self.cook(recipe, **chosen, **told)
        one_of_two(schema, recipe, parameters=parameters, stop_after=stop_after)
        asked = self._ask(schema, model, policy)
        return self._start(
            Order(
                recipe=asked.recipe,
                facts=asked.facts,
                policy=asked.policy.with_route(self._route(asked, over)),
                inputs=self._inputs(over),
                task_limit=limit,
                new=new,
            )
        )

    def cook(  # noqa: PLR0913 - all that a person may say of a recipe's run
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
        read = read_dish(recipe, self.registry, parameters or {})
        dish = prepare_dish(self.settings, read, model, policy)
        check_stop_after(dish.recipe, stop_after)
        inputs, names = self._named_inputs(dish.recipe, self._served(dish.recipe, over))
        return self._start(
            Order(
                recipe=dish.recipe,
                facts=dish.facts,
                models=dish.models,
                policy=dish.policy.with_route(self._dish_route(dish)),
                inputs=inputs,
                input_names=names,
                task_limit=limit,
                stop_after=stop_after,
                new=new,
            )
        )

    def _start(self, order: Order) -> RunHandle:
        with self.ledger.transaction() as tx:
            started = start(tx, order, self._outside.now())
        return RunHandle(self, started.run_id, goes_on=started.goes_on)

    def get(self, run: int) -> RunHandle:
        """A run by its number."""
        with self.ledger.snapshot() as tx:
            found = tx.runs.must_get(RunId(run))
        return RunHandle(self, found.id, goes_on=True)

    def runs(self, limit: int = 20) -> list[Run]:
        """The newest runs first."""
        with self.ledger.snapshot() as tx:
            return tx.runs.newest(limit)

    def progress(self, run: RunId) -> Progress:
        """How far a run is."""
        with self.ledger.snapshot() as tx:
            return progress(tx, run, self.look.contexts)

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

        def done() -> bool:
            now = self.progress(run)
            if watch:
                watch(now)
            return at_rest(now) and not (batches and now.batches and not now.holds)

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
        if only is not None:
            self.get(only)  # says so at once if there is none
        told = self.settings
        settings = WorkerSettings(lease=told.lease, grace=told.grace, poll=told.poll)

        async def work() -> bool:
            accounts = worker_accounts(self.settings, self.environment)
            vendors = Vendors(self.providers.get, self.providers.batching, self.providers.door)
            worker = Worker(self.ledger, vendors, accounts, self._outside, settings, tell)
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

    def export(self, run: RunId, path: str, only: str = "all", stage: str | None = None) -> int:
        """Write the results of a run's last stage, or of another, as JSON lines."""
        return write_jsonl(self.ledger, run, path, only, stage)
