"""A run's handle: wait for it, query it, steer it, take its rows."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from quire.domain.data import Json
from quire.domain.ids import DocumentId, RunId, TaskId
from quire.domain.regating import RegateReport
from quire.domain.runs import Event, HeldError, Progress
from quire.domain.states import RunState
from quire.engine.commands import RunCommands
from quire.engine.foreign_values import ForeignFrame
from quire.engine.html_tables import html_line
from quire.engine.queries import Queries
from quire.engine.result_queries import Since
from quire.engine.run_lines import choose_notebook_line, progress_line
from quire.engine.wallets import Dollars
from quire.export.data_frames import make_frame
from quire.export.result_selection import RowFilter, row_filter
from quire.export.result_tree import ResultTree
from quire.pipeline.commands.decide import DecisionOutcome

if TYPE_CHECKING:
    from quire.domain.audits import AuditHead
    from quire.domain.reviews import DecisionResult, InboxLine, ReviewDecision
    from quire.engine.accuracy_reports import AccuracyReport  # loads what reads files
    from quire.engine.gold_rows import GoldSource
    from quire.engine.review import ReviewAdmin

Drive = Callable[[RunId, Callable[[Progress], None] | None], Progress]  # until it is at rest


class EngineParts(NamedTuple):
    """What a handle asks of its engine."""

    drive: Drive
    queries: Queries
    commands: RunCommands
    make_documents: Callable[[RunId, str | None], tuple[DocumentId, ...]]
    score: Callable[..., "AccuracyReport"]  # as `AccuracyReports.score`
    review: Callable[[], "ReviewAdmin"]  # made when it is first asked for


class RunHandle:
    """One run of an engine's ledger."""

    def __init__(self, parts: EngineParts, run: RunId, *, goes_on: bool) -> None:
        """Refer to a run by its key."""
        self._drive, self._queries, self._commands, self._make_documents = parts[:4]
        self._score, self._review = parts.score, parts.review
        self.id = run
        self.goes_on = goes_on  # the same order was given before

    @property
    def is_over_already(self) -> bool:
        """Whether the same order was carried out before: it asks nothing more."""
        return self.goes_on and self.progress().state == RunState.FINISHED

    def __repr__(self) -> str:
        """Say which run, and how it stands."""
        return repr(self.progress())

    def _repr_html_(self) -> str:
        now = self.progress()
        share = (now.done + now.failed) / now.total if now.total else 1.0
        return html_line(repr(self), min(1.0, share))

    def wait(self, watch: Callable[[Progress], None] | None = None) -> Progress:
        """Work on it in this process until there is nothing more to do; safe to interrupt.

        Raises `HeldError`, which says what to do, if the run cannot go on until somebody acts; a
        pause or a stop after a stage that was asked for is no error. In a notebook a line shows how
        far it is, unless `watch` is told.
        """
        now = self._drive(self.id, watch) if watch else self._drive_shown()
        if now.held and now.unasked_holds:
            raise HeldError(now)
        return now

    def _drive_shown(self) -> Progress:
        line = choose_notebook_line()
        if line is None:  # nothing is read that nobody sees
            return self._drive(self.id, None)
        with progress_line(line, self.progress, self.progress().noun) as watch:
            return self._drive(self.id, watch)

    def progress(self) -> Progress:
        """How far it is."""
        return self._queries.progress(self.id)

    def events(self, after: int = 0, limit: int = 200) -> list[Event]:
        """What happened to it, the oldest first; `after` is the number of the last one known."""
        return self._queries.events_after(self.id, after, limit)

    def rows(
        self, only: str = "all", stage: str | None = None, since: Since = None
    ) -> list[dict[str, Json]]:
        """One flat mapping a block or task, in order, with the answer's fields as columns.

        Of a recipe they are the results of its last stage, or of the one that `stage` names.
        """
        return self._queries.rows(self.id, only, stage, since)

    def to_pandas(
        self,
        only: str = "all",
        stage: str | None = None,
        since: Since = None,
        *,
        categories: bool = False,
    ) -> ForeignFrame:
        """The rows as a pandas frame with typed columns; choices as categories if told so."""
        return self._frame("pandas", row_filter(only, since), stage, categories=categories)

    def to_polars(
        self,
        only: str = "all",
        stage: str | None = None,
        since: Since = None,
        *,
        categories: bool = False,
    ) -> ForeignFrame:
        """The rows as a polars frame."""
        return self._frame("polars", row_filter(only, since), stage, categories=categories)

    def to_arrow(
        self,
        only: str = "all",
        stage: str | None = None,
        since: Since = None,
        *,
        categories: bool = False,
    ) -> ForeignFrame:
        """The rows as an Arrow table."""
        return self._frame("arrow", row_filter(only, since), stage, categories=categories)

    def to_hf(
        self,
        only: str = "all",
        stage: str | None = None,
        since: Since = None,
        *,
        categories: bool = False,
    ) -> ForeignFrame:
        """The rows as a data set of Hugging Face."""
        return self._frame("hf", row_filter(only, since), stage, categories=categories)

    def _frame(
        self, kind: str, chosen: RowFilter, stage: str | None, *, categories: bool
    ) -> ForeignFrame:
        with self._queries.table(self.id, chosen, stage) as table:
            return make_frame(kind, table.columns, table.read_rows(), categories=categories)

    def export(
        self,
        path: str | Path,
        only: str = "all",
        stage: str | None = None,
        form: str | None = None,
        since: Since = None,
    ) -> int:
        """Write the rows in the format of the path's ending, or in another; returns how many.

        The path may be an address of a store, such as `s3://bucket/out.parquet`; one that ends
        with a slash becomes a folder with a file a table, the ledger's tables among them.
        """
        chosen = row_filter(only, since)
        return self._commands.export(self.id, str(path), chosen, stage, form).rows

    def write_results(
        self,
        folder: str | Path,
        stage: str | None = None,
        watch: Callable[[str], None] | None = None,
    ) -> ResultTree:
        """Write the results of all stages, or of one, as readable files with an index of links.

        Only what changed is written; files that others made or changed are left, and told.
        """
        return self._commands.write_results(self.id, folder, stage, watch)

    def documents(self, stage: str | None = None) -> tuple[DocumentId, ...]:
        """The results of a stage, by default the last one, as documents that other runs read.

        `engine.run(…, over=run.documents("thesis"))`; the same result is always the same document.
        """
        return self._make_documents(self.id, stage)

    def score(
        self,
        gold: "GoldSource | None" = None,
        *,
        key: str | None = None,
        match: Mapping[str, str] | None = None,
        stage: str | None = None,
    ) -> "AccuracyReport":
        """How right it is: accuracy, precision and recall of each field, held against gold.

        `gold` is a file of rows, or rows; without it, what people approved or edited is gold.
        `key` is the column that names rows; `match` says how fields are compared, such as
        `{"amount": "numeric:0.01"}`.
        """
        return self._score([self.id], gold, key=key, match=match, stage=stage)

    def pause(self) -> bool:
        """Send nothing more until `resume`."""
        return self._commands.pause(self.id)

    def resume(self, *, budget_usd: Dollars | None = None, no_limit: bool = False) -> bool:
        """Go on, with another budget if one is given, beyond its limit if that is said."""
        return self._commands.resume(self.id, budget_usd=budget_usd, no_limit=no_limit)

    def cancel(self) -> bool:
        """Ask for the end."""
        return self._commands.cancel(self.id)

    def stop_after(self, stage: str | None) -> bool:
        """Begin no stage after this one; None takes that back."""
        return self._commands.stop_after(self.id, stage)

    def retry(
        self, *, stage: str | None = None, stale: bool = False, like: int | None = None
    ) -> int:
        """Owe failed tasks again, or stale ones, of all stages or of one; returns how many."""
        return self._commands.retry(self.id, stage=stage, stale=stale, like=like)

    def waive(self, *tasks: int) -> int:
        """Go on without failed tasks, in an exact run; returns how many are new to that."""
        return self._commands.waive([TaskId(task) for task in tasks])

    def approve(self, task: int, *, who: str = "") -> DecisionOutcome:
        """Confirm one result: no machine replaces it any more."""
        return self._commands.approve(TaskId(task), who, run=self.id)

    def edit(self, task: int, data: Json, *, who: str = "") -> DecisionOutcome:
        """Put your own data, all of it, in the place of a result; its stage's gates judge it."""
        return self._commands.edit(TaskId(task), data, who, run=self.id)

    def reject(self, task: int, note: str, *, who: str = "") -> DecisionOutcome:
        """Refuse one result; it is asked again with the note, at a price."""
        return self._commands.reject(TaskId(task), note, who, run=self.id)

    def inbox(self, words: str = "", limit: int = 50) -> "tuple[InboxLine, ...]":
        """Results that want a person, the most pressing first; `words` are a filter's.

        `run.inbox("reason=repaired score<=0.5")`; `engine.review` has pages, leases and more.
        """
        from quire.domain.reviews import InboxFilter

        return self._review().inbox(self.id, InboxFilter.parse(words), limit=limit).lines

    def undo(self, task: int, *, who: str = "", decision: int | None = None) -> "DecisionResult":
        """Take back the last decision about a result: what stood before stands again."""
        return self._review().undo(task, who, decision=decision)

    def decisions(self, task: int | None = None, limit: int = 50) -> "list[ReviewDecision]":
        """Who decided what and when, the newest first; about one task if it is named."""
        return self._review().list_decisions(self.id, task=task, limit=limit)

    def audit(
        self,
        size: int = 200,
        *,
        tolerance: float = 0.02,
        stage: str | None = None,
        seed: int = 0,
        who: str = "",
    ) -> "AuditHead":
        """Draw a random sample of a stage's results to be marked blind, or go on with it.

        `engine.review.next_audit_item`, `mark` and `audit_report` take its `id`.
        """
        return self._review().start_audit(
            self.id, size=size, tolerance=tolerance, stage=stage, seed=seed, who=who
        )

    def rerun(self, from_stage: str) -> int:
        """Ask a stage and all after it again, at a price; returns how many tasks that is."""
        return self._commands.rerun(self.id, from_stage)

    def regate(self, stage: str | None = None, *, apply: bool = False) -> list[RegateReport]:
        """Judge stored answers with the gates as they are now, for nothing, a report a stage."""
        return self._commands.regate(self.id, stage, apply=apply)
