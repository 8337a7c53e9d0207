"""Review answers: what a server says of an inbox and of decisions, as the same nouns as here."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from quire.domain.ids import ResultId, RunId, TaskId
from quire.domain.reviews import DecisionResult, InboxLine, ReviewDecision, ReviewReason
from quire.domain.states import ReviewMove, ReviewState, TaskState


def inbox_line(item: Mapping[str, Any]) -> InboxLine:
    """One result that a person may decide about."""
    return InboxLine(
        task_id=TaskId(item["task_id"]),
        result_id=ResultId(item["result_id"]),
        stage=item["stage"],
        title=item["title"],
        block_index=item["block_index"],
        reasons=tuple(ReviewReason(reason) for reason in item["reasons"]),
        score=item["score"],
        state=TaskState(item["state"]),
        review_state=ReviewState(item["review_state"]),
        reviewer=item["reviewer"],
        reviewed_at=_moment(item["reviewed_at"]),
        excerpt=item["excerpt"],
        data=item["data"],
        held_by=item["held_by"],
        held_until=_moment(item["held_until"]),
    )


def decision(item: Mapping[str, Any]) -> ReviewDecision:
    """One decision of a person."""
    return ReviewDecision(
        id=item["id"],
        run_id=RunId(item["run_id"]),
        stage=item["stage"],
        task_id=TaskId(item["task_id"]),
        move=ReviewMove(item["move"]),
        who=item["who"],
        at=datetime.fromisoformat(item["at"]),
        note=item["note"],
        before_result=item["before_result"],
        after_result=item["after_result"],
        before=item["before"],
        after=item["after"],
        undoes=item["undoes"],
        undone_by=item["undone_by"],
        command=None,  # a server keeps to itself under which key it was sent
        bulk=item.get("bulk"),  # an older server does not say
    )


def decision_result(item: Mapping[str, Any]) -> DecisionResult:
    """What became of a decision."""
    return DecisionResult(
        run_id=RunId(item["run_id"]),
        stage=item["stage"],
        task_id=TaskId(item["task_id"]),
        changed=item["changed"],
        stale=item["stale"],
        decision=item["decision"],
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
