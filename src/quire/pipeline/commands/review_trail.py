"""The trail of reviews: every decision is kept with what it found, whoever made it and however."""

import json
from datetime import datetime
from typing import NamedTuple

from quire.domain.errors import IllegalMove
from quire.domain.ids import TaskId
from quire.domain.states import ReviewMove, TaskState
from quire.ledger.ledger import Transaction
from quire.ledger.tables.reviews import NewDecision, StandingBefore, TaskStanding


class DecisionRequest(NamedTuple):
    """Who decides, when and why, and the caller's own name for it: the same twice acts once."""

    who: str
    now: datetime
    command: str | None = None
    note: str = ""
    seen: int | None = None  # the result that was looked at; None: nobody says
    bulk: str | None = None  # what all that is decided at once shares

    @property
    def reviewer(self) -> str:
        """Who decides, on one line."""
        return reviewer_name(self.who)


LONGEST_WHO = 100
LONGEST_NOTE = 2000  # characters of a note that a task remembers
NOBODY = "somebody"


def reviewer_name(who: str) -> str:
    """A reviewer's name, on one line."""
    return " ".join(who.split())[:LONGEST_WHO] or NOBODY


def read_standing(tx: Transaction, task: TaskId) -> StandingBefore:
    """How a task and its result stand before a decision."""
    found = tx.reviews.standing_of_task(task)
    assert found is not None  # it was read in this transaction
    return found


def keep_decision(
    tx: Transaction,
    task: TaskId,
    move: ReviewMove,
    request: DecisionRequest,
    before: StandingBefore,
    undoes: int | None = None,
) -> int:
    """Write a decision down, with what it found and what it left; returns its number."""
    after = tx.reviews.current_result(task)
    decision = NewDecision(
        task_id=task,
        move=move,
        who=request.reviewer,
        note=request.note.strip()[:LONGEST_NOTE],
        after_result=after and after[0],
        after_data=after and after[1],
        undoes=undoes,
        command=request.command,
        bulk=request.bulk,
    )
    stood = json.dumps(before.task._asdict(), ensure_ascii=False)
    number = tx.reviews.add_review(decision, before, stood, request.now)
    tx.reviews.end_lease(task)
    return number


def standing_from_json(text: str | None) -> TaskStanding:
    """How a task stood before a decision; one that nobody wrote down was done."""
    if text is None:
        return TaskStanding(TaskState.DONE)
    fields = json.loads(text)
    return TaskStanding(**{**fields, "state": TaskState(fields["state"])})


def check_not_held(tx: Transaction, task: TaskId, request: DecisionRequest) -> None:
    """Refuse to decide about what another reviewer is at."""
    lease = tx.reviews.leases_of_tasks([task], request.now).get(task)
    if lease is not None and lease.who != request.reviewer:
        raise IllegalMove(
            f"{lease.who} is at task {task}, until {lease.until:%H:%M:%S} UTC at most;"
            " take another, or decide as whoever holds it"
        )
