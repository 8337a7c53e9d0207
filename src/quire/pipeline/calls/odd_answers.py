"""Odd answers: bodies in no vendor's form are asked for again, once; too many hold the run."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from quire.domain.ids import RequestId, RunId
from quire.domain.reasons import EventKind, HoldCause, TaskError, TaskErrorKind
from quire.domain.requests import Answer, AttemptRow
from quire.domain.states import AttemptMove, AttemptState, RequestMove, RequestState
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.record import drop_requests, hold_run, split_or_give_up
from quire.planning.retrying import (
    ODD_ANSWER_WINDOW,
    ODD_ANSWERS_TO_HOLD,
    count_disjoint,
    delay_after_odd_answer,
)


def remedy_odd_answers(tx: Transaction, answers: Sequence[Answer], now: datetime) -> None:
    """Ask again where what came is no answer; safe to run again after an uncertain commit.

    The bodies are stored by now, and no decoder will find anything in them: nobody waits for that.
    """
    odd = {answer.attempt_id: answer for answer in answers}
    news = tx.attempts.move_attempts(AttemptMove.SETTLE, list(odd), [AttemptState.ANSWERED])
    for row in tx.attempts.attempts_by_id(list(news)) if news else ():
        problem = odd[row.id].problem
        if row.request_state == RequestState.OUT:
            _ask_again(tx, row, problem, now)
        recent = _note_odd_answer(tx, row, problem, now)
        if _count_sources(tx, recent) >= ODD_ANSWERS_TO_HOLD:
            run, odd_answers, last = row.run_id, len(recent), ODD_ANSWER_WINDOW
            hold_run(
                tx, run, HoldCause.ANSWERS_ODD, now, odd=odd_answers, last=last, problem=problem
            )


def _ask_again(tx: Transaction, row: AttemptRow, problem: str, now: datetime) -> None:
    times = tx.attempts.count_unread_answers(row.request_id)
    delay = delay_after_odd_answer(times)
    if delay is not None:
        tx.requests.move_requests(RequestMove.REQUEUE, [row.request_id])
        tx.requests.delay_requests([(row.request_id, now + timedelta(seconds=delay))])
        return
    drop_requests(tx, [row.request_id], [RequestState.OUT])
    error = TaskError(TaskErrorKind.ODD_ANSWER, problem, times=times)
    split_or_give_up(tx, tx.requests.take_members([row.request_id]), row.tasks, error)


def _note_odd_answer(
    tx: Transaction, row: AttemptRow, problem: str, now: datetime
) -> list[RequestId]:
    """Tell of it; returns whose were odd among the last answers, since a person looked."""
    calls = tx.tallies.tallies_of_run(row.run_id).get("calls", 0)
    recent = _recent_requests(tx, row.run_id, calls - ODD_ANSWER_WINDOW)
    run, request = row.run_id, row.request_id
    tx.events.add_event(
        run, EventKind.ANSWER_ODD, now, request=request, problem=problem, calls=calls
    )
    return [*recent, request]


def _recent_requests(tx: Transaction, run: RunId, after: int) -> list[RequestId]:
    requests = []
    for event in reversed(tx.events.events_of_run(run)):
        if event.kind == EventKind.RESUMED:
            break
        if event.kind == EventKind.ANSWER_ODD and int(event.fields["calls"]) > after:
            requests.append(RequestId(int(event.fields["request"])))
    return requests


def _count_sources(tx: Transaction, requests: Sequence[RequestId]) -> int:
    """How many different things these calls were about."""
    if len(requests) < ODD_ANSWERS_TO_HOLD:
        return len(requests)
    return count_disjoint(
        frozenset(member.task_id for member in tx.requests.take_members([request]))
        for request in set(requests)
    )
