"""Review: the inbox of a run, who is at which item, and what people decide."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from quire.domain.errors import IllegalMove, NotFound, UsageError
from quire.domain.reviews import InboxFilter
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.command_ids import CommandId
from quire.server.json_answers import LARGEST, Cursor, Limit, Number
from quire.server.reviewers import Reviewer, Viewer, reviewer_name
from quire.server.routes.review_bodies import (
    ApproveBody,
    BulkBody,
    BulkPreviewBody,
    BulkResultBody,
    CountsBody,
    DecisionBody,
    DecisionPageBody,
    DecisionResultBody,
    EditBody,
    FilterText,
    InboxLineBody,
    InboxPageBody,
    ItemBody,
    LeaseBody,
    NextBody,
    RejectBody,
    TasksBody,
    UndoBody,
    UndoBulkBody,
    WhoBody,
)

router = APIRouter(tags=["review"])


class LinesBody(BaseModel):
    """Items of an inbox."""

    items: list[InboxLineBody]


class LeasesBody(BaseModel):
    """Leases that live."""

    items: list[LeaseBody]


class RefusedLeaseBody(BaseModel):
    """An item that the reviewer does not get, and why."""

    task_id: int
    message: str


class HeldTasksBody(BaseModel):
    """Which of the items the reviewer holds now, and which not."""

    tasks: list[int]
    refused: list[RefusedLeaseBody]


class ReleasedBody(BaseModel):
    """How many leases were given back."""

    released: int


@router.get("/v1/runs/{run}/inbox")
def get_inbox(
    run: Number,
    principal: Viewer,
    engine: AskedEngine,
    filter: FilterText = "",
    cursor: Cursor = None,
    limit: Limit = 50,
) -> InboxPageBody:
    """List results, those first that most need a person; without a filter, all undecided ones."""
    page = engine.review.inbox(run, InboxFilter.parse(filter), after=cursor, limit=limit)
    lines = [InboxLineBody.model_validate(line) for line in page.lines]
    return InboxPageBody(items=lines, next=page.next, looked_at=page.looked_at)


@router.get("/v1/runs/{run}/inbox/counts")
def get_counts(
    run: Number,
    principal: Viewer,
    engine: AskedEngine,
    stage: Annotated[str | None, Query(max_length=200)] = None,
) -> CountsBody:
    """Count what is left, by its first reason, and what is decided."""
    return CountsBody.model_validate(engine.review.counts(run, stage))


@router.post("/v1/runs/{run}/inbox/next")
def take_next(run: Number, body: NextBody, principal: Reviewer, engine: AskedEngine) -> LinesBody:
    """Lease the next items that nobody holds; what the reviewer holds already comes first."""
    who, chosen = reviewer_name(principal, body.who), InboxFilter.parse(body.filter)
    lines = engine.review.take(run, who, chosen, count=body.count, after=body.cursor)
    return LinesBody(items=[InboxLineBody.model_validate(line) for line in lines])


@router.get("/v1/runs/{run}/leases")
def get_leases(run: Number, principal: Viewer, engine: AskedEngine) -> LeasesBody:
    """Say who is at which items."""
    leases = engine.review.leases(engine.queries.must_get(run).id)
    return LeasesBody(items=[LeaseBody.model_validate(lease) for lease in leases])


@router.post("/v1/runs/{run}/leases")
def hold_items(
    run: Number, body: TasksBody, principal: Reviewer, engine: AskedEngine
) -> HeldTasksBody:
    """Lease these items, or keep them for longer; what somebody else holds is told apart."""
    who, known = reviewer_name(principal, body.who), engine.queries.must_get(run)
    answer = HeldTasksBody(tasks=[], refused=[])
    for task in dict.fromkeys(body.tasks):
        try:
            engine.review.hold(task, who, run=known.id)
            answer.tasks.append(task)
        except (IllegalMove, NotFound) as error:
            answer.refused.append(RefusedLeaseBody(task_id=task, message=str(error)))
    return answer


@router.post("/v1/runs/{run}/leases/release")
def release_leases(
    run: Number, body: TasksBody, principal: Reviewer, engine: AskedEngine
) -> ReleasedBody:
    """Give items back, so that others are given them."""
    engine.queries.must_get(run)
    released = engine.review.give_back(reviewer_name(principal, body.who), body.tasks)
    return ReleasedBody(released=released)


@router.get("/v1/tasks/{task}")
def get_item(task: Number, principal: Viewer, engine: AskedEngine) -> ItemBody:
    """Show a result with its source, its critics, its versions and all decisions about it."""
    return ItemBody.model_validate(engine.review.item(task))


@router.post("/v1/tasks/{task}/lease")
def hold_item(task: Number, body: WhoBody, principal: Reviewer, engine: AskedEngine) -> LeaseBody:
    """Lease one item; refused where somebody else holds it."""
    return LeaseBody.model_validate(engine.review.hold(task, reviewer_name(principal, body.who)))


@router.post("/v1/tasks/{task}/release")
def release_item(
    task: Number, body: WhoBody, principal: Reviewer, engine: AskedEngine
) -> ReleasedBody:
    """Give one item back."""
    released = engine.review.give_back(reviewer_name(principal, body.who), [task])
    return ReleasedBody(released=released)


@router.delete("/v1/tasks/{task}/lease", dependencies=[requires(AccessRole.ADMIN)])
def break_lease(task: Number, engine: AskedEngine) -> ReleasedBody:
    """Take an item from whoever holds it, so that others are given it."""
    return ReleasedBody(released=engine.review.break_lease(task))


@router.post("/v1/tasks/{task}/approve")
def approve_item(
    task: Number,
    body: ApproveBody,
    principal: Reviewer,
    engine: AskedEngine,
    command: CommandId = None,
) -> DecisionResultBody:
    """Confirm a result: no machine replaces it any more."""
    who = reviewer_name(principal, body.who)
    decided = engine.review.approve(task, who, note=body.note, command=command, seen=body.result)
    return DecisionResultBody.model_validate(decided)


@router.post("/v1/tasks/{task}/edit")
def edit_item(
    task: Number,
    body: EditBody,
    principal: Reviewer,
    engine: AskedEngine,
    command: CommandId = None,
) -> DecisionResultBody:
    """Put data in the place of a result; the gates of its stage must take it."""
    who, data, seen = reviewer_name(principal, body.who), body.data, body.result
    if body.changes is not None:
        if data is not None:
            raise UsageError("send the whole data, or the changes; not both")
        item = engine.review.item(task)
        data = {**(item.data if isinstance(item.data, Mapping) else {}), **body.changes}
        seen = item.result_id if seen is None else seen  # the rest of it is of that answer
    decided = engine.review.edit(task, data, who, note=body.note, command=command, seen=seen)
    return DecisionResultBody.model_validate(decided)


@router.post("/v1/tasks/{task}/reject")
def reject_item(
    task: Number,
    body: RejectBody,
    principal: Reviewer,
    engine: AskedEngine,
    command: CommandId = None,
) -> DecisionResultBody:
    """Refuse a result: it is asked again, with the note."""
    who = reviewer_name(principal, body.who)
    decided = engine.review.reject(task, body.note, who, command=command, seen=body.result)
    return DecisionResultBody.model_validate(decided)


@router.post("/v1/tasks/{task}/undo")
def undo_decision(
    task: Number,
    body: UndoBody,
    principal: Reviewer,
    engine: AskedEngine,
    command: CommandId = None,
) -> DecisionResultBody:
    """Take a decision back: the earlier result stands again."""
    who = reviewer_name(principal, body.who)
    undone = engine.review.undo(task, who, decision=body.decision, command=command)
    return DecisionResultBody.model_validate(undone)


@router.get("/v1/runs/{run}/bulk")
def preview_bulk(
    run: Number,
    principal: Viewer,
    engine: AskedEngine,
    filter: FilterText = "",
    seed: Annotated[int, Query(ge=0, le=LARGEST)] = 0,
) -> BulkPreviewBody:
    """Count what a filter takes, and show five of it, drawn by the seed."""
    preview = engine.review.preview_bulk(run, InboxFilter.parse(filter), seed=seed)
    return BulkPreviewBody.model_validate(preview)


@router.post("/v1/runs/{run}/bulk")
def decide_bulk(
    run: Number,
    body: BulkBody,
    principal: Reviewer,
    engine: AskedEngine,
    command: CommandId = None,
) -> BulkResultBody:
    """Approve or reject all that a filter takes; what others hold is left to them."""
    decided = engine.review.decide_bulk(
        run,
        body.move,
        InboxFilter.parse(body.filter),
        reviewer_name(principal, body.who),
        note=body.note,
        command=command,
    )
    return BulkResultBody.model_validate(decided)


@router.post("/v1/runs/{run}/bulk/undo")
def undo_bulk(
    run: Number,
    body: UndoBulkBody,
    principal: Reviewer,
    engine: AskedEngine,
    command: CommandId = None,
) -> BulkResultBody:
    """Take back all that was decided at once with a decision; what was overtaken stays."""
    who = reviewer_name(principal, body.who)
    undone = engine.review.undo_bulk(body.decision, who, run=run, command=command)
    return BulkResultBody.model_validate(undone)


@router.get("/v1/runs/{run}/decisions")
def get_decisions(
    run: Number,
    principal: Viewer,
    engine: AskedEngine,
    task: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> DecisionPageBody:
    """List what people decided, the newest first: who, when, before and after."""
    page = engine.review.decisions(run, task=task, after=cursor, limit=limit)
    found = [DecisionBody.model_validate(decision) for decision in page.decisions]
    return DecisionPageBody(items=found, next=page.next)
