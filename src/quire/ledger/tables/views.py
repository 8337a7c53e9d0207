"""Views for people: requests with their attempts, responses and verdicts, and batches."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import orjson

from quire.domain.accounts import KeySource, label_credential
from quire.domain.batches import BatchView
from quire.domain.data import JsonObject
from quire.domain.gates import NO_STRAYS, StrayIds
from quire.domain.ids import BatchId, RequestId, RunId, StageId, TaskId
from quire.domain.states import AttemptState, BatchState, RequestState, TaskState
from quire.ledger.connection import Row
from quire.ledger.stored_values import from_micros, from_micros_or_none
from quire.ledger.tables.attempts import decompress
from quire.ledger.tables.table import Table


class RequestLine(NamedTuple):
    """One request of a run, for a list."""

    id: RequestId
    kind: str
    tasks: int
    max_output: int
    state: RequestState
    sent: int
    purged: bool
    accepted: int
    cost_pico: int  # at most, where some of it is presumed
    presumed: int  # sendings of which nobody knows what they cost
    sent_at: datetime | None  # the last time
    document: str | None  # the first that it is about, by its title
    documents: int
    stray_ids: StrayIds  # in its answers: not what was asked for
    stage: str
    model: str


class RequestView(NamedTuple):
    """One request, for a page of its own."""

    id: RequestId
    run_id: RunId
    stage_id: StageId
    kind: str
    tasks: int
    max_output: int
    state: RequestState
    sent: int
    payload_hash: bytes
    body: str | None
    purged: bool
    stray_ids: StrayIds = NO_STRAYS  # in its answers: not what was asked for


class AttemptView(NamedTuple):
    """One sending and what came back."""

    id: int
    no: int
    state: AttemptState
    provider: str
    model: str
    params: JsonObject
    sent_at: datetime
    ended_at: datetime | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    written_tokens: int | None
    reasoning_tokens: int | None
    reserved_pico: int
    cost_pico: int | None
    cost_basis: str | None
    error: str | None
    credential: str | None  # which key it went out with, by its name
    raw: str | None
    decoded: str | None
    reasoning: str | None
    stop: str | None
    batch_id: int | None  # in which it travelled; None: by itself


class MemberView(NamedTuple):
    """One task of a request and what was said of its answer."""

    ordinal: int
    wire_id: str
    task_id: TaskId
    version: int
    state: TaskState
    verdict: str | None
    reasons: str | None
    gate_version: str | None  # what refused its answer


ANSWERED = (AttemptState.ANSWERED, AttemptState.SETTLED)
POLLED = (BatchState.DRAFT, BatchState.UNKNOWN, BatchState.OPEN)  # something is to come of them
MAX_BATCHES = 1000  # batches in one list


class _AttemptCount(NamedTuple):
    """Attempts of a batch that stand alike."""

    state: AttemptState
    attempts: int
    tasks: int
    cost: int


class Views(Table):
    """The workspace's requests and batches as people look at them."""

    def list_requests(self, run: RunId, after: int, limit: int) -> list[RequestLine]:
        """A page of a run's requests: the next ones of each lane, and of these the first."""
        next_ones = sorted(
            number
            for lane in self._run("lanes_of_run", run=run)
            for (number,) in self._connection.run(
                "calls_after", lane=lane[0], after=after, limit=limit
            )
        )[:limit]
        rows = self._run("request_lines", ids=next_ones) if next_ones else []
        return [_to_request_line(row) for row in rows]

    def get_request(self, request: RequestId) -> RequestView | None:
        """One request."""
        rows = self._run("get_request", id=request)
        if not rows:
            return None
        *head, purged_at, strays = rows[0]
        return RequestView._make((*head, purged_at is not None, _parse_stray_ids(strays)))

    def attempts_of_request(self, request: RequestId) -> list[AttemptView]:
        """The sendings of a request, in order."""
        return [_to_attempt_view(row) for row in self._run("attempts_of_request", id=request)]

    def verdicts_of_request(self, request: RequestId) -> list[MemberView]:
        """The tasks of a request, in order."""
        return self._list(MemberView, "verdicts_of_request", id=request)

    def requests_behind_run(self, run: RunId) -> list[RequestId]:
        """The calls of a run, and those of others that answers of its tasks were taken from."""
        return self._column("requests_behind_run", run=run)

    def runs_behind_run(self, run: RunId) -> list[RunId]:
        """The other runs that answers of a run's tasks were taken from."""
        return self._column("runs_behind_run", run=run)

    def gate_versions_of_request(self, request: RequestId) -> dict[int, str]:
        """What accepted the answers of a request, by attempt."""
        rows = self._connection.run("gate_versions_of_request", id=request)
        return {attempt: version for attempt, version, _ in rows}

    def list_batches(
        self, run: RunId | None = None, batch: BatchId | None = None
    ) -> list[BatchView]:
        """Batches as people look at them, the newest first."""
        rows = self._run("list_batches", run=run or 0, batch=batch or 0, limit=MAX_BATCHES)
        counts = self._counts_of_batches([row[0] for row in rows])
        unreadable = self._count_unreadable_lines([row[0] for row in rows if row[22]])
        return [_to_batch_view(row, counts[row[0]], unreadable.get(row[0], 0)) for row in rows]

    def count_uncollected_of_ended_runs(self) -> int:
        """How many batches of runs that have ended are still to be collected."""
        rows = self._run("count_uncollected_of_ended_runs")
        count: int = rows[0][0]
        return count

    def unreadable_lines(self, batch: BatchId) -> list[bytes]:
        """The lines of a batch's results that nobody could read, and that name no call of ours."""
        return [bytes(line) for line in self._column("unreadable_lines", batch=batch)]

    def batches_with_unreadable_lines(self) -> list[BatchId]:
        """Batches that are over, and keep such lines."""
        return self._column("batches_with_unreadable_lines")

    def has_unreadable_lines(self, run: RunId) -> bool:
        """Whether a batch of a run had such lines: then calls may be paid for and not known."""
        return bool(self._run("has_unreadable_lines", run=run))

    def _counts_of_batches(
        self, batches: Sequence[BatchId]
    ) -> Mapping[BatchId, list[_AttemptCount]]:
        found: dict[BatchId, list[_AttemptCount]] = defaultdict(list)
        for batch, *counted in self._connection.run("counts_of_batches", ids=batches):
            found[batch].append(_AttemptCount._make(counted))
        return found

    def _count_unreadable_lines(self, batches: Sequence[BatchId]) -> Mapping[BatchId, int]:
        rows = self._connection.run("count_unreadable_lines", ids=batches) if batches else []
        return dict(rows)


def _to_request_line(row: Row) -> RequestLine:
    *head, sent_at, title, documents, strays, stage, model = row
    line = (*head[:6], head[6] is not None, *head[7:], from_micros_or_none(sent_at))
    return RequestLine._make((*line, title, documents, _parse_stray_ids(strays), stage, model))


def _to_attempt_view(row: Row) -> AttemptView:
    *head, source, name, tail, raw, decoded, reasoning, codec, stop, batch = row
    return AttemptView._make(
        (
            *head[:5],
            orjson.loads(head[5]),
            from_micros(head[6]),
            from_micros_or_none(head[7]),
            *head[8:],
            label_credential(KeySource(source), name, tail) if source else None,
            _decode_text(raw, codec),
            _decode_text(decoded, codec),
            _decode_text(reasoning, codec),
            stop,
            batch,
        )
    )


def _decode_text(stored: bytes | None, codec: str) -> str | None:
    plain = decompress(stored, codec)
    return None if plain is None else plain.decode("utf-8", "replace")


def _to_batch_view(row: Row, counts: Sequence[_AttemptCount], unreadable: int) -> BatchView:
    attempts: dict[str, int] = {count.state: count.attempts for count in counts}
    next_at = from_micros(row[17]) if row[17] and row[3] in POLLED else None
    return BatchView(
        id=row[0],
        run_id=row[1],
        model=row[2],
        state=BatchState(row[3]),
        end_reason=row[4],
        ref=row[5],
        credential=label_credential(KeySource(row[6]), row[7], row[8]) if row[6] else "",
        rows=row[9],
        tasks=sum(count.tasks for count in counts),
        tokens=row[10],
        counts=_parse_counts(row[11]),
        attempts=attempts,
        answered=sum(attempts.get(state, 0) for state in ANSWERED),
        cost_pico=sum(count.cost for count in counts),
        duplicates=row[12],
        strangers=row[13],
        missing=row[14],
        unread=row[22],
        kept=unreadable,
        created_at=from_micros(row[15]),
        submitted_at=from_micros_or_none(row[16]),
        next_at=next_at,
        ended_at=from_micros_or_none(row[18]),
        problem=row[19],
        cancelling=bool(row[20]),
        tag=row[21],
    )


def _parse_stray_ids(text: str | None) -> StrayIds:
    if text is None:
        return NO_STRAYS
    kept = json.loads(text)
    return StrayIds(tuple(kept["unknown"]), tuple(kept["duplicates"]), kept["unknown_count"])


def _parse_counts(text: str) -> Mapping[str, int]:
    counts: dict[str, int] = json.loads(text)
    return counts
