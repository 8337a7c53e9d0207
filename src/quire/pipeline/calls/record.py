"""Record: answers are stored unjudged; failed and lost calls get their remedy, backoff or hold.

An answer is stored raw before anything judges it, because it is paid. For everything else that can
become of a call the vendor's `classify` names a remedy, the retry policy in `planning/retrying.py`
makes a step of it, and the step is taken here: not carried out, so it goes again after a backoff
that doubles and is spread by chance; too large or refused, so its tasks go in packs of half the
size, and only a lone one is charged a try; refused for its form, so it goes in a weaker one at
once; or a person must act, so the key is marked or the run held. Then there is the call of which
nobody knows how it ended: a timeout, a dropped connection, a worker that died
(`pipeline/calls/rescue.py`). It is lost: its cost is presumed at the reservation, and the request
goes again. Nothing is lost for want of an answer: one that comes late takes the place of what was
presumed, even after the call was written off.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import assert_never

from quire.accounts.credentials import mark
from quire.accounts.key_search import variables_of
from quire.domain.accounts import Account
from quire.domain.errors import ProviderError
from quire.domain.ids import AttemptId, RequestId, RunId, StageId
from quire.domain.reasons import EventKind, HoldCause, TaskError, TaskErrorKind
from quire.domain.requests import Answer, AttemptRow, CallFailure, Reply
from quire.domain.states import (
    AttemptMove,
    AttemptState,
    CredentialState,
    RequestMove,
    RequestState,
    TaskMove,
    TaskState,
)
from quire.domain.tasks import Member
from quire.ledger.ledger import Transaction
from quire.ledger.tables.attempts import AttemptEnd, UndecodedResponse
from quire.ledger.tables.tasks import TaskNote
from quire.pipeline.calls.fall_back import choose_fallback, take_fallback
from quire.pipeline.calls.funds import Change, settle_answers, settle_changes, settle_moved
from quire.pipeline.calls.refusals import blame_request, doubt_refusal
from quire.pipeline.calls.unsent_packs import take_back_packs
from quire.pipeline.contexts import Contexts
from quire.planning.packing import half_of
from quire.planning.retrying import (
    AskAgain,
    GiveUp,
    HoldRun,
    Lose,
    Refuse,
    Resend,
    Split,
    StepDown,
    TaskTries,
    after_error,
    after_refusal,
)

BEHIND_OTHERS = 0.2  # seconds that a call is sent later than others, after a wait for all of them


def drop_requests(
    tx: Transaction,
    requests: Sequence[RequestId],
    sources: Sequence[RequestState] = (RequestState.QUEUED,),
) -> int:
    """Drop requests and give their tasks back; returns how many were dropped."""
    if not requests:
        return 0
    dropped = tx.requests.move_requests(RequestMove.DROP, requests, sources)
    take_back_packs(tx, dropped)
    return_tasks(tx, tx.requests.take_members(dropped), dropped)
    return len(dropped)


def return_tasks(tx: Transaction, members: Sequence[Member], requests: Sequence[RequestId]) -> None:
    """Packed tasks are ready again, unless another live request carries the same version."""
    packed = [
        member.task_id for member in members if member.state == TaskState.PACKED and member.current
    ]
    if packed:
        elsewhere = tx.requests.tasks_carried_elsewhere(packed, requests)
        tx.tasks.move_tasks(TaskMove.RETURN, [task for task in packed if task not in elsewhere])


# attempts whose cost was counted, although nobody knew it
PRESUMED_STATES = (AttemptState.UNKNOWN, AttemptState.WRITTEN_OFF)


def record_answers(tx: Transaction, answers: Sequence[Answer], now: datetime) -> None:
    """Store paid answers, raw; safe to run again after an uncertain commit."""
    if not answers:
        return
    stored: Sequence[Answer] = answers
    late: list[AttemptId] = []
    answered = tx.attempts.answer_open_attempts(answers, now)
    if answered is None:
        moved = tx.attempts.move_attempts(
            AttemptMove.ANSWER, [answer.attempt_id for answer in answers]
        )
        stored = [answer for answer in answers if answer.attempt_id in moved]
        stored = _without_purged(tx, stored)
        late = [attempt for attempt, was in moved.items() if was.source in PRESUMED_STATES]
        tx.attempts.store_answers(stored, now)
        settle_moved(tx, moved, {answer.attempt_id: answer.cost for answer in answers}, now)
    elif answered.in_slices:
        settle_answers(tx, answers, answered, now)
    tallies: dict[StageId, Counter[str]] = defaultdict(Counter)
    for stage, counted in groupby(stored, lambda answer: answer.stage_id):
        _tally_answers(tx, list(counted), tallies[stage], now)
    for row in tx.attempts.attempts_by_id(late) if late else []:
        tallies[row.stage_id]["presumed"] -= row.reserved  # it was counted when it was lost
    for stage, deltas in tallies.items():
        tx.tallies.add_tallies(stage, deltas)


def _without_purged(tx: Transaction, answers: Sequence[Answer]) -> list[Answer]:
    """Keep the usage but not the words of answers about a document that was purged meanwhile."""
    purged = tx.attempts.purged_attempts([answer.attempt_id for answer in answers])
    return [
        answer._replace(
            raw=b"", reply=answer.reply and answer.reply._replace(text="", reasoning="")
        )
        if answer.attempt_id in purged
        else answer
        for answer in answers
    ]


def _tally_answers(
    tx: Transaction, answers: Sequence[Answer], tally: "Counter[str]", now: datetime
) -> None:
    """Count some answers of one stage; those that a mended decoder may read hold their run."""
    unread = [item for item in answers if item.reply is None]
    for answer in unread:
        tally["presumed"] += answer.cost
        if answer.odd is None:
            hold_run(tx, answer.run_id, HoldCause.ANSWER_UNREADABLE, now, problem=answer.problem)
    usages = [item.reply.usage for item in answers if item.reply is not None]
    tally["calls"] += len(answers)
    tally["input_tokens"] += sum([usage.input_total for usage in usages])
    tally["cached_tokens"] += sum([usage.cached for usage in usages])
    tally["output_tokens"] += sum([usage.output for usage in usages])
    known = [item for item in answers if item.reply is not None]
    estimated = sum([item.cost for item in known if item.reply and not item.reply.usage.exact])
    tally["cost"] += sum([item.cost for item in known]) - estimated
    tally["presumed"] += estimated


def record_redecoded_answer(
    tx: Transaction,
    unread: UndecodedResponse,
    reply: Reply,
    version: int,
    price: int,
    now: datetime,
) -> None:
    """A mended decoder read a kept response: its known cost takes the place of the presumed one."""
    tx.attempts.replace_decoded(unread.attempt_id, reply, version, price)
    if unread.slice_id is not None:
        settle_changes(tx, [Change(unread.slice_id, price - unread.cost)], now)
    tx.tallies.add_tallies(
        unread.stage_id,
        {
            "input_tokens": reply.usage.input_total,
            "cached_tokens": reply.usage.cached,
            "output_tokens": reply.usage.output,
            "cost": price if reply.usage.exact else 0,
            "presumed": (0 if reply.usage.exact else price) - unread.cost,
        },
    )


def record_failures(
    tx: Transaction, contexts: Contexts, failures: Sequence[CallFailure], now: datetime
) -> None:
    """Apply the remedy of every call that brought no answer."""
    if not failures:
        return
    found = tx.attempts.attempts_by_id([failure.attempt_id for failure in failures])
    rows = {row.id: row for row in found}
    for failure in failures:
        if (row := rows.get(failure.attempt_id)) is not None:
            _remedy_failure(tx, contexts, row, failure, now)


def _remedy_failure(
    tx: Transaction, contexts: Contexts, row: AttemptRow, failure: CallFailure, now: datetime
) -> None:
    failure = blame_request(tx, contexts, row, failure)
    weaker = choose_fallback(tx, contexts, row, failure)
    doubted = doubt_refusal(tx, contexts, row, failure)
    step = doubted or after_error(failure.error, row.tasks, row.no, failure.jitter, weaker)
    if isinstance(step, Lose):
        if lose_attempts(tx, [row], str(failure.error), now):
            tx.requests.delay_requests([(row.request_id, now + timedelta(seconds=step.delay))])
    elif _refuse_attempt(tx, row, str(failure.error), now):
        _apply_step(tx, contexts, row, failure, step, now)


def requeue_uncharged(
    tx: Transaction, rows: Sequence[AttemptRow], why: str, now: datetime, delay: float = 0
) -> int:
    """Calls that were definitely not carried out, many at once: free, and queued again."""
    gone = refuse_uncharged(tx, rows, why, now)
    tx.requests.move_requests(RequestMove.REQUEUE, [row.request_id for row in gone])
    _drop_late(tx, gone)
    if delay:
        until = now + timedelta(seconds=delay)
        tx.requests.delay_requests([(row.request_id, until) for row in gone])
    return len(gone)


def refuse_uncharged(
    tx: Transaction, rows: Sequence[AttemptRow], why: str, now: datetime
) -> list[AttemptRow]:
    """Calls that were definitely not carried out, many at once: free; returns which they were."""
    moved = tx.attempts.move_attempts(
        AttemptMove.REFUSE, [row.id for row in rows], [AttemptState.OPEN]
    )
    gone = [row for row in rows if row.id in moved]
    tx.attempts.end_attempts([AttemptEnd(row.id, why, 0, "free") for row in gone], now)
    settle_moved(tx, moved, {}, now)
    return gone


def _drop_late(tx: Transaction, rows: Sequence[AttemptRow]) -> None:
    """What was overtaken at the deadline does not go again: its tasks travel in other calls."""
    late = tx.batches.late_requests([row.request_id for row in rows]) if rows else []
    drop_requests(tx, late)


def write_off_attempts(
    tx: Transaction, rows: Sequence[AttemptRow], why: str, now: datetime
) -> None:
    """Calls that may have been carried out, and whose answers will not come: presumed and over."""
    lose_attempts(tx, rows, why, now)
    _drop_late(tx, rows)
    write_off_reserved(tx, {row.id: row.reserved for row in rows}, why, now)


def write_off_reserved(
    tx: Transaction, reserved: Mapping[AttemptId, int], why: str, now: datetime
) -> Collection[AttemptId]:
    """End lost calls at what was reserved for each; returns which they were."""
    gone = tx.attempts.move_attempts(AttemptMove.WRITE_OFF, list(reserved))
    ends = [AttemptEnd(attempt, why, reserved[attempt], "presumed") for attempt in gone]
    tx.attempts.end_attempts(ends, now)
    return gone


def _refuse_attempt(tx: Transaction, row: AttemptRow, error: str, now: datetime) -> bool:
    """End an attempt that was definitely not carried out; false if it was given up before."""
    moved = tx.attempts.move_attempts(AttemptMove.REFUSE, [row.id])
    if not moved:
        return False
    tx.attempts.end_attempts([AttemptEnd(row.id, error, 0, "free")], now)
    settle_moved(tx, moved, {}, now)
    if moved[row.id].source == AttemptState.OPEN:
        return True
    # it was counted when it was lost
    tx.tallies.add_tallies(row.stage_id, {"presumed": -row.reserved})
    return False


def _apply_step(
    tx: Transaction,
    contexts: Contexts,
    row: AttemptRow,
    failure: CallFailure,
    step: Resend | Split | Refuse | StepDown | HoldRun,
    now: datetime,
) -> None:
    match step:
        case Resend(delay=delay):
            if failure.error.retry_after is None:
                _requeue(tx, row, delay, now)
            else:  # the others first, or one that is always pushed back would go before them
                _requeue(tx, row, delay + BEHIND_OTHERS, now)
                tx.requests.delay_lane(row.lane_id, now + timedelta(seconds=delay))
        case Split() | Refuse() if tx.batches.late_requests([row.request_id]):
            # overtaken: its tasks are others' by now
            tx.requests.move_requests(RequestMove.CLOSE, [row.request_id])
        case Split():
            _split_pack(tx, row, step, str(failure.error))
        case Refuse(error=reason):
            _retry_or_give_up(tx, contexts, row, reason)
        case StepDown(fallback=fallback):
            _requeue(tx, row, 0, now)
            take_fallback(tx, contexts, row, failure, fallback, now)
        case HoldRun(cause=cause):
            _requeue(tx, row, 0, now)
            mark_key_or_hold(tx, row.run_id, failure.error, failure.account, now, cause)
        case never:
            assert_never(never)


def mark_key_or_hold(
    tx: Transaction,
    run: RunId,
    error: ProviderError,
    account: Account,
    now: datetime,
    cause: HoldCause,
) -> None:
    """Only a person can mend this: the key is set aside for the next one, or the run waits.

    Whoever claims next holds the run if there is no other key.
    """
    if account.id is None or not (error.bad_key or error.spent):
        _hold_refused(tx, run, error, account, now, cause)
    elif mark(
        tx,
        account,
        CredentialState.INVALID if error.bad_key else CredentialState.SPENT,
        str(error),
        now,
    ):
        tx.events.add_event(
            run, EventKind.KEY_REFUSED, now, credential=account.credential, problem=str(error)
        )


def _hold_refused(
    tx: Transaction,
    run: RunId,
    error: ProviderError,
    account: Account,
    now: datetime,
    cause: HoldCause,
) -> None:
    says_itself = cause is HoldCause.NOT_LISTENING  # what is to be done
    problem = error.message if says_itself else str(error)
    fields: dict[str, str | int] = {"problem": problem, "provider": account.provider}
    if error.url_in_name:
        fields["url_in_name"] = 1
    if error.bad_key and not account.key:
        cause = HoldCause.KEY_NOT_SENT
        usual = " or ".join(variables_of(account.provider))
        fields |= {"variables": usual}
    hold_run(tx, run, cause, now, **fields)


def hold_run(
    tx: Transaction, run: RunId, cause: HoldCause, now: datetime, /, **fields: str | int
) -> None:
    """Let a run wait for a person, and say what for."""
    if tx.holds.add_hold(run, cause, now, **fields):
        tx.events.add_event(run, EventKind.HELD, now, cause=cause, run=run, **fields)


def lose_attempts(
    tx: Transaction, rows: Sequence[AttemptRow], error: str, now: datetime
) -> list[AttemptRow]:
    """Nobody knows what became of these calls: presume their cost, let the requests go again.

    Returns those that were lost by that.
    """
    lost = tx.attempts.move_attempts(AttemptMove.LOSE, [row.id for row in rows])
    gone = [row for row in rows if row.id in lost]
    tx.attempts.end_attempts([AttemptEnd(row.id, error, None, None) for row in gone], now)
    tx.requests.move_requests(RequestMove.REQUEUE, [row.request_id for row in gone])
    tx.requests.count_losses([row.request_id for row in gone])
    for row in gone:
        tx.tallies.add_tallies(row.stage_id, {"presumed": row.reserved})
    return gone


def _requeue(tx: Transaction, row: AttemptRow, delay: float, now: datetime) -> None:
    tx.requests.move_requests(RequestMove.REQUEUE, [row.request_id])
    tx.requests.delay_requests([(row.request_id, now + timedelta(seconds=delay))])


def _split_pack(tx: Transaction, row: AttemptRow, split: Split, error: str) -> None:
    tx.requests.move_requests(RequestMove.CLOSE, [row.request_id])
    members = tx.requests.take_members([row.request_id])
    refused = TaskError(TaskErrorKind.REFUSED, error)
    owed = [member for member in members if member.current]
    caps = [min(member.pack_cap or split.pack_cap, split.pack_cap) for member in owed]
    caps[: split.one_alone] = [1] * split.one_alone
    tx.tasks.note_tasks(
        [
            TaskNote(member.task_id, member.tries, cap, error=refused)
            for member, cap in zip(owed, caps, strict=False)
        ]
    )
    return_tasks(tx, members, [row.request_id])
    tx.tallies.add_tallies(row.stage_id, {"splits": 1})


def split_or_give_up(
    tx: Transaction, members: Sequence[Member], size: int, error: TaskError
) -> None:
    """Tasks of a call of this size that is not sent again go in smaller company; a lone one fails.

    That costs no tries. They are ready by now; about those that are not current another is asked.
    """
    owed, cap = [member for member in members if member.current], half_of(size)
    tx.tasks.note_tasks(
        [
            TaskNote(member.task_id, member.tries, min(member.pack_cap or cap, cap), error=error)
            for member in owed
        ]
    )
    if size == 1:
        lone = [member.task_id for member in owed]
        tx.tasks.move_tasks(TaskMove.GIVE_UP, lone, [TaskState.READY])


def _retry_or_give_up(tx: Transaction, contexts: Contexts, row: AttemptRow, reason: str) -> None:
    tx.requests.move_requests(RequestMove.CLOSE, [row.request_id])
    policy = contexts.any_of_stage(tx, row.run_id, row.stage_id).policy
    members = [member for member in tx.requests.take_members([row.request_id]) if member.current]
    for member in members:
        owed = TaskTries(tries=member.tries, calls=member.calls, pack_cap=member.pack_cap)
        step = after_refusal(owed, reason, policy)
        cap = 1 if isinstance(step, AskAgain) else member.pack_cap
        error = TaskError(TaskErrorKind.REFUSED, step.error)
        tx.tasks.note_tasks([TaskNote(member.task_id, step.tries, cap, error=error)])
        match step:
            case AskAgain():
                return_tasks(tx, [member], [row.request_id])
            case GiveUp():
                tx.tasks.move_tasks(TaskMove.GIVE_UP, [member.task_id], [TaskState.PACKED])
            case never:
                assert_never(never)
