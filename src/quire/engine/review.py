"""Review: the inbox, decisions, leases and audits of an engine's runs."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import uuid4

from quire.domain.audits import AuditHead, AuditItem, AuditMark, AuditReport
from quire.domain.data import Json
from quire.domain.errors import NotFound, UsageError
from quire.domain.ids import RunId, TaskId
from quire.domain.reviews import (
    EVERYTHING,
    BulkPreview,
    BulkResult,
    DecisionPage,
    DecisionResult,
    InboxCounts,
    InboxFilter,
    InboxLine,
    InboxPage,
    RejectCost,
    ReviewDecision,
    ReviewItem,
    ReviewLease,
)
from quire.domain.states import ReviewMove
from quire.engine.context import EngineContext
from quire.ledger.ledger import Transaction
from quire.pipeline.commands.again_costs import reject_cost
from quire.pipeline.commands.control import transact_with_retry
from quire.pipeline.commands.decide import DecisionOutcome, approve, edit, reject
from quire.pipeline.commands.review_trail import DecisionRequest
from quire.pipeline.commands.undo import undo
from quire.pipeline.run_spec import RunSpec, read_run_spec
from quire.review.audit import (
    asked_audit,
    audit_head,
    audit_item,
    audit_report,
    find_audit,
    mark_item,
    must_get_audit,
    start_audit,
)
from quire.review.bulk import BulkOrder, decide_bulk, preview_bulk
from quire.review.bulk_undo import BulkUndoOrder, undo_bulk
from quire.review.inbox import count_inbox, inbox_page
from quire.review.item_view import NEWEST, must_get_row, review_item
from quire.review.leases import Reviewer, give_back_items, hold_item, renew_items, take_items

Outcome = TypeVar("Outcome")
MOST_DECISIONS = 1_000  # of a page


class ReviewAdmin:
    """What persons look at and decide, in the runs of an engine's ledger."""

    def __init__(self, context: EngineContext) -> None:
        """Review the runs of the context's ledger."""
        self._context = context

    def inbox(
        self,
        run: int,
        chosen: InboxFilter = EVERYTHING,
        *,
        after: str | None = None,
        limit: int = 50,
    ) -> InboxPage:
        """A page of results that a person may decide about, the most pressing first."""
        now = self._now()
        with self._context.ledger.snapshot() as tx:
            return inbox_page(tx, self._spec(tx, run), chosen, after, limit, now)

    def counts(self, run: int, stage: str | None = None) -> InboxCounts:
        """How many results want a person, by their first reason."""
        with self._context.ledger.snapshot() as tx:
            return count_inbox(tx, self._spec(tx, run), stage)

    def item(self, task: int) -> ReviewItem:
        """All that a person is shown of one result."""
        with self._context.ledger.snapshot() as tx:
            row = must_get_row(tx, TaskId(task))
            return review_item(tx, self._spec(tx, row.run_id), TaskId(task), self._now())

    def reject_cost(self, task: int) -> RejectCost:
        """What asking a task again would cost, as far as one can tell."""
        with self._context.ledger.snapshot() as tx:
            row = must_get_row(tx, TaskId(task))
            spec = self._spec(tx, row.run_id)
            return reject_cost(tx, spec, spec.stages[row.stage_id].name, [TaskId(task)])

    def take(
        self,
        run: int,
        who: str,
        chosen: InboxFilter = EVERYTHING,
        *,
        count: int = 1,
        after: str | None = None,
    ) -> tuple[InboxLine, ...]:
        """The next items that nobody else has; they are held by `who` from now on."""
        reviewer = self._reviewer(who)
        return self._transact(
            lambda tx: take_items(tx, self._spec(tx, run), reviewer, chosen, count, after)
        )

    def hold(self, task: int, who: str, *, run: int | None = None) -> ReviewLease:
        """Hold one certain item, of a run if that is named."""
        reviewer = self._reviewer(who)

        def hold(tx: Transaction) -> ReviewLease:
            if must_get_row(tx, TaskId(task)).run_id != run and run is not None:
                raise NotFound(f"run {run} has no task {task}")
            return hold_item(tx, TaskId(task), reviewer)

        return self._transact(hold)

    def renew(self, who: str, tasks: Sequence[int]) -> tuple[int, ...]:
        """Keep items for longer; returns those that are still held."""
        reviewer, ids = self._reviewer(who), [TaskId(task) for task in tasks]
        return self._transact(lambda tx: renew_items(tx, ids, reviewer))

    def give_back(self, who: str, tasks: Sequence[int] | None = None) -> int:
        """Let others have some items, or all; returns how many."""
        ids = None if tasks is None else [TaskId(task) for task in tasks]
        return self._transact(lambda tx: give_back_items(tx, who, ids))

    def break_lease(self, task: int) -> int:
        """Let others have an item, whoever holds it; returns how many did."""

        def end(tx: Transaction) -> int:
            must_get_row(tx, TaskId(task))
            return tx.reviews.end_lease(TaskId(task))

        return self._transact(end)

    def leases(self, run: int) -> tuple[ReviewLease, ...]:
        """Who is at which items of a run."""
        with self._context.ledger.snapshot() as tx:
            return tuple(tx.reviews.leases_of_run(RunId(run), self._now()))

    def approve(
        self,
        task: int,
        who: str,
        *,
        note: str = "",
        command: str | None = None,
        seen: int | None = None,
    ) -> DecisionResult:
        """Confirm a result, that which was seen if it is named: no machine replaces it."""
        act = DecisionRequest(who, self._now(), command, note, seen)
        return self._decide(task, lambda tx, spec: approve(tx, spec, TaskId(task), act))

    def edit(
        self,
        task: int,
        data: Json,
        who: str,
        *,
        note: str = "",
        command: str | None = None,
        seen: int | None = None,
    ) -> DecisionResult:
        """Put a person's own data in the place of a result; its stage's gates judge it."""
        act = DecisionRequest(who, self._now(), command, note, seen)
        return self._decide(task, lambda tx, spec: edit(tx, spec, TaskId(task), data, act))

    def reject(
        self,
        task: int,
        note: str,
        who: str,
        *,
        command: str | None = None,
        seen: int | None = None,
    ) -> DecisionResult:
        """Refuse a result; it is asked again with the note."""
        act = DecisionRequest(who, self._now(), command, seen=seen)
        return self._decide(task, lambda tx, spec: reject(tx, spec, TaskId(task), note, act))

    def undo(
        self, task: int, who: str, *, decision: int | None = None, command: str | None = None
    ) -> DecisionResult:
        """Take back the last decision about a result, or the one that is named if it is that."""
        act = DecisionRequest(who, self._now(), command)
        return self._decide(task, lambda tx, spec: undo(tx, spec, TaskId(task), act, decision))

    def decisions(
        self, run: int, *, task: int | None = None, after: str | None = None, limit: int = 50
    ) -> DecisionPage:
        """Decisions about a run's results, or about one, the newest first."""
        if not 1 <= limit <= MOST_DECISIONS:
            raise UsageError(f"a page has 1 to {MOST_DECISIONS:,} decisions, not {limit}")
        if after and not (after.isdecimal() and int(after) <= NEWEST):
            raise UsageError(f"{after!r} is no decision", "take `next` of the page before")
        before = int(after) if after else NEWEST
        with self._context.ledger.snapshot() as tx:
            tx.runs.must_get_run(RunId(run))
            if task is None:
                found = tx.reviews.decisions_of_run(RunId(run), before, limit)
            else:
                found = tx.reviews.decisions_of_task(RunId(run), TaskId(task), before, limit)
        more = str(found[-1].id) if len(found) == limit else None
        return DecisionPage(decisions=tuple(found), next=more)

    def undoable(self, decisions: Sequence[ReviewDecision]) -> set[int]:
        """Those of some decisions that are the last about their task, and can be taken back."""
        tasks = {decision.task_id for decision in decisions}
        with self._context.ledger.snapshot() as tx:
            last = tx.reviews.last_decisions(sorted(tasks))
        return {decision.id for decision in decisions} & last

    def list_decisions(
        self, run: int, *, task: int | None = None, limit: int
    ) -> list[ReviewDecision]:
        """So many of the same, however many pages they take."""
        found: list[ReviewDecision] = []
        after: str | None = None
        while len(found) < limit:
            most = min(MOST_DECISIONS, limit - len(found))
            page = self.decisions(run, task=task, after=after, limit=most)
            found += page.decisions
            after = page.next
            if after is None:
                break
        return found

    def preview_bulk(self, run: int, chosen: InboxFilter, *, seed: int = 0) -> BulkPreview:
        """How many results a filter takes, five of them at random, and what rejecting all costs."""
        with self._context.ledger.snapshot() as tx:
            return preview_bulk(tx, self._spec(tx, run), chosen, seed, self._now())

    def decide_bulk(
        self,
        run: int,
        move: ReviewMove | str,
        chosen: InboxFilter,
        who: str,
        *,
        note: str = "",
        command: str | None = None,
    ) -> BulkResult:
        """Approve or reject all that a filter takes; the same command twice acts once."""
        mark = command or uuid4().hex
        order = BulkOrder(ReviewMove(move), chosen, who, note, command, mark)
        context = self._context
        return decide_bulk(
            context.ledger, lambda tx: self._spec(tx, run), order, context.runtime.now
        )

    def undo_bulk(
        self, decision: int, who: str, *, run: int | None = None, command: str | None = None
    ) -> BulkResult:
        """Take back all that was decided at once with one decision, as far as it stands."""
        order = BulkUndoOrder(decision, who, command, run)
        context = self._context
        return undo_bulk(context.ledger, self._spec, order, context.runtime.now)

    def start_audit(
        self,
        run: int,
        *,
        size: int = 200,
        tolerance: float = 0.02,
        stage: str | None = None,
        seed: int = 0,
        who: str = "",
    ) -> AuditHead:
        """Draw a random sample of a stage's accepted results, or go on with the same one."""

        def start(tx: Transaction) -> AuditHead:
            spec = self._spec(tx, run)
            asked = asked_audit(spec, stage, size, tolerance, seed)
            return start_audit(tx, spec, asked, who, self._now())

        return self._transact(start)

    def find_audit(
        self, run: int, *, size: int, tolerance: float, stage: str | None, seed: int
    ) -> AuditHead | None:
        """The audit that was begun with the same words; None: nobody has begun it."""
        with self._context.ledger.snapshot() as tx:
            return find_audit(tx, asked_audit(self._spec(tx, run), stage, size, tolerance, seed))

    def audits(self, run: int) -> tuple[AuditHead, ...]:
        """The audits of a run, the oldest first."""
        with self._context.ledger.snapshot() as tx:
            tx.runs.must_get_run(RunId(run))
            return tuple(audit_head(tx, number) for number in tx.audits.audits_of_run(RunId(run)))

    def audit_item(self, audit: int, no: int) -> AuditItem:
        """One item of an audit, with nothing about who made it."""
        with self._context.ledger.snapshot() as tx:
            return audit_item(tx, self._spec_of_audit(tx, audit), audit, no)

    def next_audit_item(self, audit: int) -> AuditItem | None:
        """The first item that is not marked; None: all are."""
        with self._context.ledger.snapshot() as tx:
            spec = self._spec_of_audit(tx, audit)
            no = tx.audits.next_audit_item(audit)
            return None if no is None else audit_item(tx, spec, audit, no)

    def mark(
        self, audit: int, no: int, marks: Mapping[str, AuditMark | str], who: str
    ) -> AuditReport:
        """Say of every field of an item whether it is right; it changes no result."""
        return self._transact(
            lambda tx: mark_item(
                tx, self._spec_of_audit(tx, audit), (audit, no), marks, (who, self._now())
            )
        )

    def audit_report(self, audit: int) -> AuditReport:
        """How often each field is wrong, as far as was marked."""
        with self._context.ledger.snapshot() as tx:
            return audit_report(tx, self._spec_of_audit(tx, audit), audit)

    def _spec_of_audit(self, tx: Transaction, audit: int) -> RunSpec:
        return self._spec(tx, must_get_audit(tx, audit).run_id)

    def _decide(
        self, task: int, act: Callable[[Transaction, RunSpec], DecisionOutcome]
    ) -> DecisionResult:
        def decide(tx: Transaction) -> DecisionResult:
            row = must_get_row(tx, TaskId(task))
            outcome = act(tx, read_run_spec(tx, row.run_id, self._context.registry))
            about = (row.run_id, TaskId(task))
            (last,) = tx.reviews.decisions_of_task(*about, NEWEST, 1) or (None,)
            return DecisionResult(
                run_id=outcome.run_id,
                stage=outcome.stage,
                task_id=TaskId(task),
                changed=outcome.changed,
                stale=outcome.stale,
                decision=last.id if last else None,
            )

        return self._transact(decide)

    def _reviewer(self, who: str) -> Reviewer:
        length = timedelta(minutes=self._context.settings.review_lease)
        return Reviewer(who, self._now(), length)

    def _spec(self, tx: Transaction, run: int) -> RunSpec:
        tx.runs.must_get_run(RunId(run))
        return self._context.contexts.spec_of(tx, RunId(run))

    def _now(self) -> datetime:
        return self._context.runtime.now()

    def _transact(self, act: Callable[[Transaction], Outcome]) -> Outcome:
        return transact_with_retry(self._context.ledger, act)
