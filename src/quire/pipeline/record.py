"""Record: what came back is stored before anything judges it; what went wrong finds its remedy."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import assert_never

from quire.accounts.credentials import mark
from quire.accounts.vendors import variables_of
from quire.domain.accounts import Account
from quire.domain.errors import ProviderError
from quire.domain.ids import AttemptId, RunId, StageId
from quire.domain.requests import Answer, AttemptRow, CallFailure, Reply
from quire.domain.runs import HoldKind
from quire.ledger.ledger import Transaction
from quire.ledger.tables.attempts import Ending, Undecoded
from quire.ledger.tables.tasks import Note
from quire.pipeline.contexts import Contexts
from quire.pipeline.drop import drop, give_back
from quire.plan.retrying import (
    Again,
    GiveUp,
    Hold,
    Lose,
    Owed,
    Refuse,
    Release,
    Split,
    after_error,
    after_refused,
)

PRESUMED = ("unknown", "written_off")  # attempts whose cost was counted, although nobody knew it


def record_answers(tx: Transaction, answers: Sequence[Answer], now: datetime) -> None:
    """Store paid answers, raw; safe to run again after an uncertain commit."""
    if not answers:
        return
    stored: Sequence[Answer] = answers
    late: list[AttemptId] = []
    if not tx.attempts.answer_open(answers, now):
        moved = tx.attempts.move("answer", [each.attempt_id for each in answers])
        stored = [each for each in answers if each.attempt_id in moved]
        stored = _without_purged(tx, stored)
        late = [attempt for attempt, source in moved.items() if source in PRESUMED]
        tx.attempts.store(stored, now)
    tallies: dict[StageId, Counter[str]] = defaultdict(Counter)
    for stage, counted in groupby(stored, lambda each: each.stage_id):
        _count(tx, list(counted), tallies[stage], now)
    for row in tx.attempts.by_id(late) if late else []:
        tallies[row.stage_id]["presumed"] -= row.reserved  # it was counted when it was lost
    for stage, deltas in tallies.items():
        tx.tallies.add(stage, deltas)


def _without_purged(tx: Transaction, answers: Sequence[Answer]) -> list[Answer]:
    """Keep the usage but not the words of answers about a document that was purged meanwhile."""
    purged = tx.attempts.purged([each.attempt_id for each in answers])
    return [
        each._replace(raw=b"", reply=each.reply and each.reply._replace(text="", reasoning=""))
        if each.attempt_id in purged
        else each
        for each in answers
    ]


def _count(
    tx: Transaction, answers: Sequence[Answer], tally: "Counter[str]", now: datetime
) -> None:
    """Count some answers of one stage; those that nobody can read hold their run."""
    unread = [each for each in answers if each.reply is None]
    for answer in unread:
        tally["presumed"] += answer.cost
        detail = (
            f"{answer.problem}; the response is kept, and a newer Quire reads it when it starts;"
            f" `quire retry {answer.run_id}` asks, and pays, again"
        )
        hold(tx, answer.run_id, HoldKind.UNDECODABLE, detail, now)
    usages = [each.reply.usage for each in answers if each.reply is not None]
    tally["calls"] += len(answers)
    tally["input_tokens"] += sum([each.input_total for each in usages])
    tally["cached_tokens"] += sum([each.cached for each in usages])
    tally["output_tokens"] += sum([each.output for each in usages])
    tally["cost"] += sum([each.cost for each in answers if each.reply is not None])


def record_reading(
    tx: Transaction, unread: Undecoded, reply: Reply, version: int, price: int
) -> None:
    """A mended decoder read a kept response: its known cost takes the place of the presumed one."""
    tx.attempts.redecode(unread.attempt_id, reply, version, price)
    tx.tallies.add(
        unread.stage_id,
        {
            "input_tokens": reply.usage.input_total,
            "cached_tokens": reply.usage.cached,
            "output_tokens": reply.usage.output,
            "cost": price,
            "presumed": -unread.cost,
        },
    )


def record_failures(
    tx: Transaction, contexts: Contexts, failures: Sequence[CallFailure], now: datetime
) -> None:
    """Apply the remedy of every call that brought no answer."""
    if not failures:
        return
    rows = {row.id: row for row in tx.attempts.by_id([each.attempt_id for each in failures])}
    for failure in failures:
        row = rows.get(failure.attempt_id)
        if row is not None:
            _remedy(tx, contexts, row, failure, now)


def _remedy(
    tx: Transaction, contexts: Contexts, row: AttemptRow, failure: CallFailure, now: datetime
) -> None:
    remedied = after_error(failure.error, row.tasks, row.no, failure.jitter)
    if isinstance(remedied, Lose):
        if lose(tx, [row], str(failure.error), now):
            tx.requests.delay([(row.request_id, now + timedelta(seconds=remedied.delay))])
    elif _refuse(tx, row, str(failure.error), now):
        _apply(tx, contexts, row, failure, remedied, now)


def take_back(tx: Transaction, rows: Sequence[AttemptRow], now: datetime) -> None:
    """Calls claimed and never sent: a commit of unknown outcome had gone through after all."""
    for row in rows:
        if _refuse(tx, row, "claimed, but never sent", now):
            _send_again(tx, row, 0, now)


def let_go_again(
    tx: Transaction, rows: Sequence[AttemptRow], why: str, now: datetime, delay: float = 0
) -> int:
    """Calls that were definitely not carried out, many at once: free, and queued again."""
    gone = refuse_unsent(tx, rows, why, now)
    tx.requests.move("release", [row.request_id for row in gone])
    _drop_late(tx, gone)
    if delay:
        until = now + timedelta(seconds=delay)
        tx.requests.delay([(row.request_id, until) for row in gone])
    return len(gone)


def refuse_unsent(
    tx: Transaction, rows: Sequence[AttemptRow], why: str, now: datetime
) -> list[AttemptRow]:
    """Calls that were definitely not carried out, many at once: free; returns which they were."""
    moved = tx.attempts.move("refuse", [row.id for row in rows], ["open"])
    gone = [row for row in rows if row.id in moved]
    tx.attempts.end([Ending(row.id, why, 0, "free") for row in gone], now)
    return gone


def _drop_late(tx: Transaction, rows: Sequence[AttemptRow]) -> None:
    """What was overtaken at the deadline does not go again: its tasks travel in other calls."""
    late = tx.batches.late_of([row.request_id for row in rows]) if rows else []
    drop(tx, late)


def lose_for_good(tx: Transaction, rows: Sequence[AttemptRow], why: str, now: datetime) -> None:
    """Calls that may have been carried out, and whose answers will not come: presumed and over."""
    lose(tx, rows, why, now)
    _drop_late(tx, rows)
    gone = tx.attempts.move("write_off", [row.id for row in rows])
    reserved = {row.id: row.reserved for row in rows}
    tx.attempts.end([Ending(each, why, reserved[each], "presumed") for each in gone], now)


def _refuse(tx: Transaction, row: AttemptRow, error: str, now: datetime) -> bool:
    """End an attempt that was definitely not carried out; false if it was given up before."""
    moved = tx.attempts.move("refuse", [row.id])
    if not moved:
        return False
    tx.attempts.end([Ending(row.id, error, 0, "free")], now)
    if moved[row.id] == "open":
        return True
    tx.tallies.add(row.stage_id, {"presumed": -row.reserved})  # it was counted when it was lost
    return False


def _apply(
    tx: Transaction,
    contexts: Contexts,
    row: AttemptRow,
    failure: CallFailure,
    remedied: Release | Split | Refuse | Hold,
    now: datetime,
) -> None:
    match remedied:
        case Release(delay=delay):
            _send_again(tx, row, delay, now)
            if failure.error.retry_after is not None:
                tx.requests.delay_lane(row.lane_id, now + timedelta(seconds=delay))
        case Split() | Refuse() if tx.batches.late_of([row.request_id]):
            tx.requests.move("close", [row.request_id])  # overtaken: its tasks are others' by now
        case Split(pack_cap=cap):
            _split(tx, row, cap, str(failure.error))
        case Refuse(error=reason):
            _refused(tx, contexts, row, reason)
        case Hold(kind=kind):
            _send_again(tx, row, 0, now)
            blame(tx, row.run_id, failure.error, failure.account, now, HoldKind(kind))
        case never:
            assert_never(never)


def blame(
    tx: Transaction,
    run: RunId,
    error: ProviderError,
    account: Account,
    now: datetime,
    kind: HoldKind = HoldKind.CREDENTIAL,
) -> None:
    """Only a person can mend this: the key is set aside for the next one, or the run waits.

    Whoever claims next holds the run if there is no other key.
    """
    if account.id is None or not (error.bad_key or error.spent):
        detail = f"{_what_to_do(error, account)}; then `quire resume {run}`"
        hold(tx, run, kind, detail, now)
    elif mark(tx, account, "invalid" if error.bad_key else "spent", str(error), now):
        tx.events.add(run, "key_refused", f"{account.credential}: {error}", now)


def _what_to_do(error: ProviderError, account: Account) -> str:
    """Say what to do about an error that holds a run."""
    if error.bad_key and not account.key:
        usual = " or ".join(variables_of(account.provider))
        return f"{error}; no key was sent: `quire keys add {account.provider}`, or set {usual}"
    return f"{error}; mend that"


def hold(tx: Transaction, run: RunId, kind: HoldKind, detail: str, now: datetime) -> None:
    """Let a run wait for a person, and say what for."""
    if tx.holds.add(run, kind, detail, now):
        tx.events.add(run, "held", detail, now)


def lose(tx: Transaction, rows: Sequence[AttemptRow], error: str, now: datetime) -> int:
    """Nobody knows what became of these calls: presume their cost, let the requests go again."""
    lost = tx.attempts.move("lose", [row.id for row in rows])
    gone = [row for row in rows if row.id in lost]
    tx.attempts.end([Ending(row.id, error, None, None) for row in gone], now)
    tx.requests.move("release", [row.request_id for row in gone])
    tx.requests.count_losses([row.request_id for row in gone])
    for row in gone:
        tx.tallies.add(row.stage_id, {"presumed": row.reserved})
    return len(gone)


def _send_again(tx: Transaction, row: AttemptRow, delay: float, now: datetime) -> None:
    tx.requests.move("release", [row.request_id])
    tx.requests.delay([(row.request_id, now + timedelta(seconds=delay))])


def _split(tx: Transaction, row: AttemptRow, cap: int, error: str) -> None:
    tx.requests.move("close", [row.request_id])
    members = tx.requests.members([row.request_id])
    tx.tasks.note(
        [
            Note(each.task_id, each.tries, min(each.pack_cap or cap, cap), error=error)
            for each in members
            if each.current
        ]
    )
    give_back(tx, members, [row.request_id])
    tx.tallies.add(row.stage_id, {"splits": 1})


def _refused(tx: Transaction, contexts: Contexts, row: AttemptRow, reason: str) -> None:
    tx.requests.move("close", [row.request_id])
    policy = contexts.any_of_stage(tx, row.run_id, row.stage_id).policy
    members = [each for each in tx.requests.members([row.request_id]) if each.current]
    for each in members:
        owed = Owed(tries=each.tries, calls=each.calls, pack_cap=each.pack_cap)
        match after_refused(owed, reason, policy):
            case Again(tries=tries, error=error):
                tx.tasks.note([Note(each.task_id, tries, pack_cap=1, error=error)])
                give_back(tx, [each], [row.request_id])
            case GiveUp(tries=tries, error=error):
                tx.tasks.note([Note(each.task_id, tries, each.pack_cap, error=error)])
                tx.tasks.move("give_up", [each.task_id], ["packed"])
            case never:
                assert_never(never)
