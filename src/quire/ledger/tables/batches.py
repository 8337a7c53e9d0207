"""Batches: what providers have of ours, what becomes of it, and who looks after it now."""

import json
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from quire.domain.accounts import CredentialId
from quire.domain.batches import Batch, BatchEnd, BatchStatus, DraftedCall, NewBatchAttempt
from quire.domain.ids import AttemptId, BatchId, LaneId, RequestId, RunId, TaskId, WorkerId
from quire.domain.reasons import BatchTrouble
from quire.domain.requests import AttemptRow, QueuedRequest
from quire.domain.states import ATTEMPT, BATCH, AttemptState, BatchMove, BatchState
from quire.ledger.stored_values import from_micros_or_none, row_reader, storable_text, to_micros
from quire.ledger.tables.table import Table

MAX_PROBLEM_LENGTH = 500  # characters that are kept

_to_batch = row_reader(Batch)


class BatchLoad(NamedTuple):
    """What a provider has to work off for one model and key."""

    model: str
    credential: CredentialId | None
    jobs: int
    tokens: int


class Batches(Table):
    """The workspace's batches."""

    def add_batch(self, lane: LaneId, now: datetime) -> BatchId:
        """Begin a draft."""
        rows = self._run("add_batch", lane=lane, state=str(BATCH.start), now=to_micros(now))
        return BatchId(rows[0][0])

    def get_batch(self, batch: BatchId) -> Batch | None:
        """One batch."""
        return self._one(_to_batch, "get_batch", id=batch)

    def draft_of_lane(self, lane: LaneId) -> Batch | None:
        """The draft that a lane fills, if there is one."""
        return self._one(_to_batch, "draft_of_lane", lane=lane)

    def drafts_of_run(self, run: RunId) -> list[BatchId]:
        """A run's drafts."""
        return self._column("drafts_of_run", run=run)

    def due_batches(self, now: datetime, limit: int) -> list[Batch]:
        """What something is to be done about now, taken for this transaction."""
        rows = self._run("due_batches", now=to_micros(now), limit=limit)
        return [_to_batch(row) for row in rows]

    def lease_batch(self, batch: BatchId, worker: WorkerId, until: datetime, now: datetime) -> bool:
        """Be the one who looks after a batch; false where another is."""
        moments = {"until": to_micros(until), "now": to_micros(now)}
        return self._change("lease_batch", id=batch, worker=worker, **moments) > 0

    def end_batch_lease(self, batch: BatchId, worker: WorkerId) -> None:
        """Let others look after it."""
        self._change("end_batch_lease", id=batch, worker=worker)

    def end_leases_of_workers(self, workers: Sequence[WorkerId]) -> None:
        """Let others look after what workers that are gone had in hand, in every workspace."""
        self._connection.change("end_leases_of_workers", workers=workers)

    def move_batch(
        self, name: BatchMove, batch: BatchId, sources: Sequence[BatchState] | None = None
    ) -> bool:
        """Make a move, if the batch is where it starts."""
        moved = self._move("move_batch", BATCH, name, sources, ids=[batch])
        return any(rows for _, rows in moved)

    def add_calls(
        self, batch: BatchId, attempts: Sequence[NewBatchAttempt], size: int, tokens: int
    ) -> None:
        """Take calls into a draft."""
        self._connection.run_many(
            "add_batch_attempts", [(*attempt, str(ATTEMPT.start)) for attempt in attempts]
        )
        self._change("grow_batch", id=batch, calls=len(attempts), tokens=tokens, size=size)

    def mark_batch_absent(self, batch: BatchId, now: datetime) -> None:
        """Remember that it was taken for never made."""
        self._change("mark_batch_absent", id=batch, now=to_micros(now))

    def mark_duplicate_found(self, batch: BatchId, now: datetime) -> None:
        """Remember that it was found to have been made more than once."""
        self._change("mark_duplicate_found", id=batch, now=to_micros(now))

    def note_submission(
        self, batch: BatchId, nonce: str, credential: CredentialId | None, now: datetime
    ) -> None:
        """Write down under which name, and as whom, it is about to be submitted."""
        at = to_micros(now)
        self._change("note_submission", id=batch, nonce=nonce, credential=credential)
        self._connection.change("add_nonce", nonce=nonce, id=batch, now=at)
        self._connection.change("sign_attempts", credential=credential, batch=batch, now=at)

    def mark_batch_creating(
        self, batch: Batch, input_ref: str, calls: int, size: int, now: datetime
    ) -> bool:
        """Write down that the provider is asked to make it now; false if others took over."""
        return (
            self._change(
                "mark_batch_creating",
                id=batch.id,
                nonce=batch.nonce,
                input_ref=input_ref,
                calls=calls,
                size=size,
                now=to_micros(now),
            )
            > 0
        )

    def set_provider_ref(self, batch: BatchId, ref: str, next_at: datetime, now: datetime) -> None:
        """The provider has it, by this name."""
        at = to_micros(now)
        self._change("set_provider_ref", id=batch, ref=ref, next=to_micros(next_at), now=at)

    def delay_batch(
        self,
        batch: BatchId,
        until: datetime,
        trouble: BatchTrouble,
        problem: str = "",
        *,
        failed: bool = False,
    ) -> None:
        """Do nothing about it until then, and say why."""
        self._change(
            "delay_batch",
            id=batch,
            next=to_micros(until),
            trouble=trouble.value,
            problem=storable_text(problem[:MAX_PROBLEM_LENGTH]),
            failed=int(failed),
        )

    def note_batch_status(self, batch: BatchId, status: BatchStatus, next_at: datetime) -> None:
        """Write down what the provider said."""
        self._change(
            "note_batch_status",
            id=batch,
            counts=json.dumps(
                {storable_text(str(key)): value for key, value in status.counts.items()}
            ),
            problem=storable_text(status.problem[:MAX_PROBLEM_LENGTH]),
            trouble=BatchTrouble.PROVIDER_SAID if status.problem else BatchTrouble.NONE,
            next=to_micros(next_at),
        )

    def end_batch(self, batch: BatchId, reason: BatchEnd, now: datetime) -> None:
        """Write down how it ended; what it answered is to be collected."""
        self._change("end_batch", id=batch, reason=reason.value, now=to_micros(now))

    def count_batch_rows(
        self,
        batch: BatchId,
        *,
        duplicates: int = 0,
        strangers: int = 0,
        missing: int = 0,
        unread: int = 0,
    ) -> None:
        """Count rows that are no answers."""
        counts = {"duplicates": duplicates, "strangers": strangers}
        self._change("count_batch_rows", id=batch, missing=missing, unread=unread, **counts)

    def keep_line(self, batch: BatchId, line: bytes, now: datetime) -> None:
        """Keep a line that nobody can read and that names no call, once."""
        digest = sha256(line).digest()
        self._connection.change(
            "keep_line", batch=batch, digest=digest, line=line, now=to_micros(now)
        )

    def drop_line(self, batch: BatchId, line: bytes) -> bool:
        """Keep a line no longer, because it was read; false where another was quicker."""
        digest = sha256(line).digest()
        return self._connection.change("drop_line", batch=batch, digest=digest) > 0

    def finish_batch(self, batch: BatchId, now: datetime) -> None:
        """Everything it answered is here."""
        self._change("finish_batch", id=batch, now=to_micros(now))

    def ask_cancel_batch(self, batch: BatchId, now: datetime) -> bool:
        """Wish for its end; false where there is nothing to end."""
        return self._change("ask_cancel_batch", id=batch, now=to_micros(now)) > 0

    def ask_cancel_batches_of_run(self, run: RunId, now: datetime) -> int:
        """Wish for the end of all that a run has at providers; returns how many batches that is."""
        return self._change("ask_cancel_batches_of_run", run=run, now=to_micros(now))

    def note_cancel_sent(self, batch: BatchId, now: datetime) -> None:
        """The provider was told to end it."""
        self._change("note_cancel_sent", id=batch, now=to_micros(now))

    def poll_batches_now(self, run: RunId) -> None:
        """Look at a run's batches at once."""
        self._change("poll_batches_now", run=run)

    def count_batch_jobs(self, model: str, credential: CredentialId | None) -> int:
        """Batches of a model and key that the provider has, or is about to have."""
        return self._count("count_batch_jobs", model=model, credential=credential or 0)

    def list_batch_loads(self) -> list[BatchLoad]:
        """What providers have to work off, for each model and key."""
        return self._list(BatchLoad, "list_batch_loads")

    def queued_tokens(self, model: str, credential: CredentialId | None) -> int:
        """Tokens that a provider still has to work off for one model and key."""
        return self._count("queued_tokens", model=model, credential=credential or 0)

    def count_unacknowledged_batches(self, credential: CredentialId | None) -> int:
        """Batches of a key of which nobody knows yet whether the provider has them."""
        return self._count("count_unacknowledged_batches", credential=credential or 0)

    def open_batches_of_lane(self, lane: LaneId) -> list[BatchId]:
        """Batches of a lane that the provider has, or may have."""
        return self._column("open_batches_of_lane", lane=lane)

    def refs_of_credential(self, credential: CredentialId | None) -> frozenset[str]:
        """The names of all batches made with one key, as far as they are known."""
        return frozenset(self._column("refs_of_credential", credential=credential or 0))

    def nonces_of_batch(self, batch: BatchId) -> frozenset[str]:
        """Every name that a batch was ever submitted under."""
        return frozenset(self._column("nonces_of_batch", id=batch))

    def drafted_calls(self, batch: BatchId, after: AttemptId, limit: int) -> list[DraftedCall]:
        """What a batch carries, in order, a part at a time."""
        rows = self._connection.run("drafted_calls", batch=batch, after=after, limit=limit)
        return [DraftedCall(row[0], QueuedRequest._make(row[1:])) for row in rows]

    def open_attempts_of_batch(self, batch: BatchId, limit: int) -> list[AttemptRow]:
        """Calls of a batch that nothing has come back for."""
        return self._list(AttemptRow, "open_attempts_of_batch", batch=batch, limit=limit)

    def attempt_states_of_batch(
        self, batch: BatchId, attempts: Sequence[AttemptId]
    ) -> dict[AttemptId, AttemptState]:
        """How those of these attempts stand that travelled in a batch."""
        return dict(self._run("attempt_states_of_batch", batch=batch, ids=attempts))

    def is_batch_answered(self, batch: BatchId) -> bool:
        """Whether any call of a batch was answered."""
        return bool(self._run("is_batch_answered", batch=batch))

    def most_sendings(self, batch: BatchId) -> int:
        """How often that call of a batch was sent that was sent most often, with the batch."""
        return self._count("most_sendings", batch=batch)

    def redirect_requests(self, lane: LaneId, target: LaneId) -> int:
        """Let what is queued in one lane travel in another; returns how many requests that is."""
        return self._connection.change("redirect_requests", lane=lane, target=target)

    def serve_lane(self, lane: LaneId) -> None:
        """Let new packs of a stage go to this lane only."""
        self._change("serve_lane", lane=lane)

    def mark_requests_late(self, batch: BatchId) -> int:
        """The deadline came: what a batch has out may go out elsewhere too."""
        return self._connection.change("mark_requests_late", batch=batch)

    def late_requests(self, requests: Sequence[RequestId]) -> list[RequestId]:
        """Which of these requests were overtaken at the deadline."""
        return self._column("late_requests", ids=requests)

    def count_failures(self, requests: Sequence[RequestId]) -> dict[RequestId, int]:
        """Count one more sending that came to nothing; returns how many those are now."""
        return dict(self._run("count_failures", ids=requests))

    def take_lane(self, lane: LaneId) -> bool:
        """Be the only one who fills a lane's draft in this transaction; false where another is."""
        return bool(self._run("take_lane", id=lane))

    def tasks_in_late_requests(self, batch: BatchId, limit: int) -> list[TaskId]:
        """Tasks that wait for nothing but a batch that is late."""
        return self._column("tasks_in_late_requests", batch=batch, limit=limit)

    def uncollected_batches(self, run: RunId) -> tuple[int, datetime | None]:
        """How many batches of a run are not collected yet, and when the next is looked at."""
        count, next_at = self._run("uncollected_batches", run=run)[0]
        return count, from_micros_or_none(next_at)
