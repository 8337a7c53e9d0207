"""Commands: what a person may tell a run, each in one transaction."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.domain.ids import RunId, TaskId
from quire.domain.pricing import from_usd
from quire.domain.regating import RegateReport
from quire.engine.context import EngineContext
from quire.engine.message_rows import message_rows
from quire.engine.queries import Queries
from quire.engine.wallets import Dollars
from quire.export.bundle import BundleOrder, choose_tables
from quire.export.formats import ExportReport, is_bundle, write_bundle_export, write_export
from quire.export.result_selection import ACCEPTED_ROWS, ALL, EVERY_ROW, RowFilter
from quire.export.result_tree import ResultTree, write_result_tree
from quire.ledger.ledger import Transaction
from quire.pipeline.commands import control
from quire.pipeline.commands.decide import (
    DecisionOutcome,
    approve,
    edit,
    reject,
    run_of,
    waive,
)
from quire.pipeline.commands.regate import RegateRequest, regate
from quire.pipeline.commands.retry import rerun, retry, retry_chosen, retry_stale
from quire.pipeline.commands.review_trail import DecisionRequest
from quire.pipeline.commands.wallets import fund_run
from quire.pipeline.contexts import Contexts
from quire.pipeline.run_spec import RunSpec, read_run_spec

Outcome = TypeVar("Outcome")


class RunCommands:
    """The controls of an engine."""

    def __init__(self, context: EngineContext) -> None:
        """Steer the runs of the context's ledger."""
        self._context = context

    def pause(self, run: RunId, command: str | None = None) -> bool:
        """Send nothing more for a run."""
        return self._in_transaction(lambda tx, now: control.pause(tx, run, now, command))

    def resume(
        self,
        run: RunId,
        command: str | None = None,
        *,
        budget_usd: Dollars | None = None,
        no_limit: bool = False,
    ) -> bool:
        """Let a run go on, with another budget if one is given, beyond its limit if it has one."""
        budget = None if budget_usd is None else from_usd(budget_usd)

        def resume(tx: Transaction, now: datetime) -> bool:
            tx.runs.must_get_run(run)
            held = bool(tx.holds.holds_of_run(run))
            fund_run(tx, run, None, budget, now)
            lifted = no_limit and control.lift_task_limit(tx, run)
            resumed = control.resume(tx, run, now, command)
            return lifted or resumed or (held and budget is not None)

        return self._in_transaction(resume)

    def cancel(self, run: RunId, command: str | None = None) -> bool:
        """Ask for a run's end."""
        return self._in_transaction(lambda tx, now: control.cancel(tx, run, now, command))

    def stop_after(self, run: RunId, stage: str | None, command: str | None = None) -> bool:
        """Begin no stage after this one; None takes that back."""
        return self._in_transaction(
            lambda tx, now: control.stop_after(tx, self._spec_of_run(tx, run), stage, now, command)
        )

    def retry(
        self,
        run: RunId,
        command: str | None = None,
        *,
        stage: str | None = None,
        stale: bool = False,
        like: int | None = None,
    ) -> int:
        """Owe a run's failed tasks again, those that failed as one did, or its stale ones.

        Returns how many.
        """
        if like is not None:
            return self._retry_like(run, like, command, other=stale or stage is not None)
        again = retry_stale if stale else retry
        return self._in_transaction(
            lambda tx, now: again(tx, self._spec_of_run(tx, run), now, command, stage=stage)
        )

    def _retry_like(self, run: RunId, like: int, command: str | None, *, other: bool) -> int:
        """Owe again what failed in the stage and for the reason that a task failed for."""
        if other:
            raise UsageError("a task says already what is asked again: no stage, nothing stale")
        tasks = Queries(self._context).failed_alike(run, TaskId(like))
        return self._in_transaction(
            lambda tx, now: retry_chosen(tx, self._spec_of_run(tx, run), now, command, tasks=tasks)
        )

    def waive(self, tasks: Sequence[TaskId], command: str | None = None) -> int:
        """Go on without failed tasks of an exact run; returns how many are new to that."""
        return self._in_transaction(lambda tx, now: waive(tx, tasks, now, command))

    def approve(
        self, task: TaskId, who: str = "", command: str | None = None, *, run: RunId | None = None
    ) -> DecisionOutcome:
        """Confirm a task's result, of a certain run if one is named: no machine replaces it."""
        act = DecisionRequest(who, self._context.runtime.now(), command)
        return self._in_transaction(
            lambda tx, _: approve(tx, self._spec_of_task(tx, task, run), task, act)
        )

    def edit(
        self,
        task: TaskId,
        data: Json,
        who: str = "",
        command: str | None = None,
        *,
        run: RunId | None = None,
    ) -> DecisionOutcome:
        """Put a person's own data in the place of a task's result."""
        act = DecisionRequest(who, self._context.runtime.now(), command)
        return self._in_transaction(
            lambda tx, _: edit(tx, self._spec_of_task(tx, task, run), task, data, act)
        )

    def reject(
        self,
        task: TaskId,
        note: str,
        who: str = "",
        command: str | None = None,
        *,
        run: RunId | None = None,
    ) -> DecisionOutcome:
        """Refuse a task's result; it is asked again with the note."""
        act = DecisionRequest(who, self._context.runtime.now(), command)
        return self._in_transaction(
            lambda tx, _: reject(tx, self._spec_of_task(tx, task, run), task, note, act)
        )

    def rerun(self, run: RunId, from_stage: str, command: str | None = None) -> int:
        """Ask a stage and all after it again; returns how many tasks that is."""
        return self._in_transaction(
            lambda tx, now: rerun(tx, self._spec_of_run(tx, run), from_stage, now, command)
        )

    def regate(
        self,
        run: RunId,
        stage: str | None = None,
        *,
        apply: bool = False,
        command: str | None = None,
    ) -> list[RegateReport]:
        """Judge stored answers with the gates as they are now; `apply` carries out what changes."""
        request = RegateRequest(run, stage, apply=apply, command=command)
        context = self._context
        return regate(context.ledger, Contexts(context.registry), request, context.runtime.now)

    def forget_fallbacks(self, model: str) -> int:
        """Ask a model again as it is stated, wherever it is; returns what was forgotten."""
        return self._in_transaction(lambda tx, _: tx.fallbacks.forget_fallbacks(model))

    def export(
        self,
        run: RunId,
        path: str,
        chosen: RowFilter = EVERY_ROW,
        stage: str | None = None,
        form: str | None = None,
        tables: str | None = None,
    ) -> ExportReport:
        """Write the results of a run's last stage, or of another, to a file or a store.

        A bundle is a folder of tables, `tables` says which: all, or names parted by commas.
        """
        if is_bundle(form, path):
            return self._export_bundle(run, path, chosen, stage, choose_tables(tables or ALL))
        if tables is not None:
            raise UsageError("--tables says what a bundle holds", "add --format bundle")
        return write_export(self._context.ledger, run, path, form, chosen=chosen, stage=stage)

    def _export_bundle(
        self, run: RunId, folder: str, chosen: RowFilter, stage: str | None, tables: tuple[str, ...]
    ) -> ExportReport:
        contexts = self._context.contexts

        def read_messages(tx: Transaction, run: RunId) -> Iterator[tuple[Json, ...]]:
            return message_rows(tx, contexts, run)

        order = BundleOrder(
            folder, chosen, stage, tables, read_messages, self._context.runtime.now()
        )
        return write_bundle_export(self._context.ledger, run, order)

    def write_results(
        self,
        run: RunId,
        folder: str | Path,
        stage: str | None = None,
        watch: Callable[[str], None] | None = None,
        chosen: RowFilter = ACCEPTED_ROWS,
    ) -> ResultTree:
        """Write the results of all stages, or of one, as readable files with an index."""
        return write_result_tree(self._context.ledger, run, folder, stage, watch, chosen)

    def _in_transaction(self, act: Callable[[Transaction, datetime], Outcome]) -> Outcome:
        now = self._context.runtime.now()
        return control.transact_with_retry(self._context.ledger, lambda tx: act(tx, now))

    def _spec_of_task(self, tx: Transaction, task: TaskId, meant: RunId | None) -> RunSpec:
        run = run_of(tx, task)
        if meant is not None and run != meant:
            raise UsageError(
                f"task {task} is of run {run}, not of run {meant}",
                "`task_id` in the rows of a run is what its tasks are called",
            )
        return self._spec_of_run(tx, run)

    def _spec_of_run(self, tx: Transaction, run: RunId) -> RunSpec:
        return read_run_spec(tx, run, self._context.registry)
