"""Collect: a batch's rows are stored as they come; what no row came for is known at its end."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.domain.batches import Batch, BatchStatus, End
from quire.domain.errors import ProviderError, Remedy
from quire.domain.ids import AttemptId
from quire.domain.requests import Answer, AttemptRow, CallFailure
from quire.domain.runs import HoldKind
from quire.domain.tasks import Member
from quire.ledger.ledger import Transaction
from quire.ledger.tables.tasks import Note
from quire.pipeline.contexts import Contexts
from quire.pipeline.drop import drop, give_back
from quire.pipeline.record import hold, let_go_again, lose_for_good, record_answers, record_failures
from quire.plan.batching import wait_after
from quire.plan.packing import halved

CHUNK = 1000
FOREIGN = timedelta(hours=1)  # until somebody may have named the right batch
NOTHING_RAN = (End.FAILED, End.QUEUE_FULL)
UNHEARD, HEARD = ("unknown", "written_off"), ("answered", "settled")  # how attempts may stand


class Rows(NamedTuple):
    """Some rows of a batch, read."""

    answers: Sequence[Answer] = ()
    failures: Sequence[CallFailure] = ()
    unsent: Sequence[AttemptId] = ()  # expired or cancelled: not carried out, and free


class Kept(NamedTuple):
    """A line that was kept because it named no call, and what can be read in it by now."""

    line: bytes
    answer: Answer


class Strays(NamedTuple):
    """Rows that are no answers."""

    duplicates: int = 0
    strangers: int = 0
    unread: int = 0  # lines that nobody can read
    nameless: int = 0  # of them, those that may be about any call


def note_status(
    tx: Transaction, batch: Batch, status: BatchStatus, next_at: datetime, now: datetime
) -> bool:
    """Write down how a batch stands; true where it has ended."""
    tx.batches.note(batch.id, status, next_at)
    if status.end is None or not tx.batches.move("end", batch.id):
        return False
    tx.batches.end(batch.id, status.end, now)
    told = f": {status.problem}" if status.problem else ""
    tx.events.add(batch.run_id, "batch_ended", f"batch {batch.id} {status.end.value}{told}", now)
    return True


def own(tx: Transaction, batch: Batch, attempts: Sequence[AttemptId]) -> set[AttemptId]:
    """Which of these attempts travelled in this batch."""
    return set(tx.batches.standing(batch.id, attempts))


def presumed(tx: Transaction, answers: Sequence[Answer]) -> list[Answer]:
    """Answers, those that nobody can read at what was reserved for them."""
    unread = [each.attempt_id for each in answers if each.reply is None]
    if not unread:
        return list(answers)
    reserved = {row.id: row.reserved for row in tx.attempts.by_id(unread)}
    return [each._replace(cost=reserved.get(each.attempt_id, each.cost)) for each in answers]


def collect(tx: Transaction, contexts: Contexts, batch: Batch, rows: Rows, now: datetime) -> None:
    """Store some rows; those that were stored before change nothing."""
    record_answers(tx, rows.answers, now)
    failed = _open_rows(tx, batch, rows.failures)
    record_failures(tx, contexts, rows.failures, now)
    if failed:
        drop(tx, tx.batches.late_of([row.request_id for row, _ in failed]))  # overtaken: in others
        _bound(tx, batch, contexts.of_batch(tx, batch).policy.max_tries, failed)
    if rows.unsent:
        let_go_again(tx, tx.attempts.by_id(rows.unsent), "the batch ended before its turn", now)


def collect_kept(
    tx: Transaction, contexts: Contexts, batch: Batch, found: Sequence[Kept], now: datetime
) -> bool:
    """Store answers of lines that were kept; true where nothing is left to be found in others.

    An answer takes the place of what was presumed of its call; where there is one already, it is a
    copy. Of a call that is said to have been free it may not be: that line stays with the batch.
    """
    standing = tx.batches.standing(batch.id, [each.answer.attempt_id for each in found])
    known = [each for each in found if standing.get(each.answer.attempt_id) in (*UNHEARD, *HEARD)]
    read = [each for each in known if tx.batches.drop_line(batch.id, each.line)]
    answers = [each.answer for each in read if standing[each.answer.attempt_id] in UNHEARD]
    news = {each.attempt_id: each for each in answers}
    collect(tx, contexts, batch, Rows(list(news.values())), now)
    copies = len(read) - len(news)
    tx.batches.count_rows(batch.id, duplicates=copies, missing=-len(news), unread=-len(read))
    view = tx.batch_views.all(batch=batch.id)[0]
    return not view.missing and not view.kept


def _open_rows(
    tx: Transaction, batch: Batch, failures: Sequence[CallFailure]
) -> list[tuple[AttemptRow, ProviderError]]:
    """Calls of a batch whose failure is news, each with what went wrong."""
    errors = {each.attempt_id: each.error for each in failures}
    standing = tx.batches.standing(batch.id, list(errors)) if errors else {}
    news = [attempt for attempt, state in standing.items() if state == "open"]
    return [(row, errors[row.id]) for row in tx.attempts.by_id(news)] if news else []


def _bound(
    tx: Transaction, batch: Batch, most: int, failed: Sequence[tuple[AttemptRow, ProviderError]]
) -> None:
    """Calls that the provider breaks down at in batch after batch are halved, then given up.

    That costs no tries: it may be nobody's fault. But a batch takes hours, and somebody must know.
    """
    broken = {row.request_id: each for row, each in failed if each.remedy is Remedy.RETRY}
    counted = tx.batches.count_failures(list(broken)) if broken else {}
    often = [request for request, count in counted.items() if count >= most]
    dropped = tx.requests.move("drop", often, ["queued"]) if often else ()
    for request in dropped:
        members = tx.requests.members([request])
        give_back(tx, members, [request])
        times = "once" if counted[request] == 1 else f"{counted[request]} times"
        error = f"{broken[request]} (sent {times}, in batches, without an answer)"
        _halve(tx, [each for each in members if each.current], error)
        if len(members) > 1:
            tx.tallies.add(batch.stage_id, {"splits": 1})


def _halve(tx: Transaction, members: Sequence[Member], error: str) -> None:
    """Tasks of a call that is not sent again go in smaller company; one that was alone fails."""
    most = halved(len(members))
    for each in members:
        cap = min(each.pack_cap or most, most)
        tx.tasks.note([Note(each.task_id, tries=each.tries, pack_cap=cap, error=error)])
    if len(members) == 1:
        tx.tasks.move("give_up", [members[0].task_id], ["ready"])


def settle_missing(tx: Transaction, batch: Batch, strays: Strays, now: datetime) -> int:
    """Some calls without a row: free where nothing ran, else presumed; returns how many.

    Where lines came that nobody can read, the answers may be in them: a person looks first.
    """
    rows = tx.batches.open_of(batch.id, CHUNK)
    if not rows:
        return 0
    if batch.end_reason in NOTHING_RAN:
        full = batch.end_reason is End.QUEUE_FULL
        wait = wait_after(max(row.no for row in rows), None) if full else 0.0
        return let_go_again(tx, rows, f"the batch {batch.end_reason.value}", now, wait)
    lose_for_good(tx, rows, "the batch ended without a row for this call", now)
    tx.batches.count_rows(batch.id, missing=len(rows))
    if strays.nameless:
        _hold_unread(tx, batch, strays.nameless, now)
    return len(rows)


def _hold_unread(tx: Transaction, batch: Batch, lines: int, now: datetime) -> None:
    run = tx.runs.get(batch.run_id)
    if run is None or run.state != "running":  # nothing is asked again
        return
    noun = "line" if lines == 1 else "lines"
    detail = (
        f"batch {batch.id} has calls without a row, and {lines} {noun} that nobody can read;"
        f" `quire batches show {batch.id} --lines` prints what is kept of them;"
        f" `quire retry {batch.run_id}` asks, and pays, again"
    )
    hold(tx, batch.run_id, HoldKind.UNDECODABLE, detail, now)


def finish(tx: Transaction, batch: Batch, strays: Strays, now: datetime) -> bool:
    """Everything the batch answered is here."""
    if not tx.batches.move("collect", batch.id):
        return False
    tx.batches.count_rows(
        batch.id,
        duplicates=strays.duplicates,
        strangers=strays.strangers,
        unread=strays.unread,
    )
    tx.batches.finish(batch.id, now)
    tx.events.add(batch.run_id, "batch_collected", f"batch {batch.id}: {batch.calls} calls", now)
    tx.notify()
    return True


def hold_failed(tx: Transaction, batch: Batch, problem: str, now: datetime) -> None:
    """A batch of which the provider took nothing: the same again would fail again."""
    said = problem or "it did not say why"
    detail = (
        f"the provider refused batch {batch.id}: {said}; mend that, then"
        f" `quire resume {batch.run_id}`, or `quire run` the same with --route direct"
    )
    hold(tx, batch.run_id, HoldKind.REFUSED, detail, now)


def hold_unknown(tx: Transaction, batch: Batch, now: datetime) -> None:
    """Nobody but a person can find out whether a batch was made."""
    detail = (
        f"nobody knows whether batch {batch.id} was made, and its provider has no way to look;"
        f" look there, then `quire batches adopt {batch.id} --ref REF`,"
        f" or `quire batches adopt {batch.id} --absent`"
    )
    hold(tx, batch.run_id, HoldKind.UNKNOWN_SUBMIT, detail, now)


def hold_foreign(tx: Transaction, batch: Batch, rows: int, now: datetime) -> None:
    """What was taken for a batch is somebody else's: nothing is asked again before all is known."""
    detail = (
        f"what was found as batch {batch.id} is another's: none of its {rows} rows is ours;"
        f" `quire batches adopt {batch.id} --ref REF` names the right one,"
        f" `quire batches adopt {batch.id} --absent` says that there is none"
    )
    hold(tx, batch.run_id, HoldKind.UNKNOWN_SUBMIT, detail, now)
    tx.batches.delay(batch.id, now + FOREIGN, "a person must look", failed=False)


def put_off(tx: Transaction, batch: Batch, problem: str, told: float | None, now: datetime) -> None:
    """The provider did not say how a batch stands: it is asked again later."""
    until = now + timedelta(seconds=wait_after(batch.failures, told))
    tx.batches.delay(batch.id, until, problem, failed=True)
