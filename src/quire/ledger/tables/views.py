"""Views for people: requests with their attempts, responses and verdicts."""

from datetime import datetime
from typing import NamedTuple

import orjson

from quire.domain.accounts import KeySource, label
from quire.domain.data import JsonObject
from quire.domain.ids import RequestId, RunId, StageId, TaskId, WorkspaceId
from quire.ledger.connection import Connection, Row
from quire.ledger.moments import from_micros, maybe_moment
from quire.ledger.tables.attempts import expand


class RequestLine(NamedTuple):
    """One request of a run, for a list."""

    id: RequestId
    kind: str
    tasks: int
    max_output: int
    state: str
    sent: int
    purged: bool
    accepted: int
    cost: int


class RequestView(NamedTuple):
    """One request, for a page of its own."""

    id: RequestId
    run_id: RunId
    stage_id: StageId
    kind: str
    tasks: int
    max_output: int
    state: str
    sent: int
    payload_hash: bytes
    body: str | None
    purged: bool


class AttemptView(NamedTuple):
    """One sending and what came back."""

    id: int
    no: int
    state: str
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
    reserved: int
    cost: int | None
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
    state: str
    verdict: str | None
    reasons: str | None


class Views:
    """The workspace's requests as people look at them."""

    def __init__(self, connection: Connection, workspace: WorkspaceId) -> None:
        """Work in one transaction, for one workspace."""
        self._connection = connection
        self._workspace = workspace

    def requests(self, run: RunId, after: int, limit: int) -> list[RequestLine]:
        """A page of a run's requests."""
        rows = self._run("list_requests", run=run, after=after, limit=limit)
        return [RequestLine._make((*row[:6], row[6] is not None, *row[7:])) for row in rows]

    def request(self, request: RequestId) -> RequestView | None:
        """One request."""
        rows = self._run("get_request", id=request)
        return RequestView._make((*rows[0][:10], rows[0][10] is not None)) if rows else None

    def attempts(self, request: RequestId) -> list[AttemptView]:
        """The sendings of a request, in order."""
        return [_attempt(row) for row in self._run("attempts_of_request", id=request)]

    def members(self, request: RequestId) -> list[MemberView]:
        """The tasks of a request, in order."""
        return [MemberView._make(row) for row in self._run("verdicts_of_request", id=request)]

    def _run(self, name: str, /, **values: object) -> list[Row]:
        return self._connection.run(name, workspace=self._workspace, **values)


def _attempt(row: Row) -> AttemptView:
    *head, source, name, tail, raw, decoded, reasoning, codec, stop, batch = row
    return AttemptView._make(
        (
            *head[:5],
            orjson.loads(head[5]),
            from_micros(head[6]),
            maybe_moment(head[7]),
            *head[8:],
            label(KeySource(source), name, tail) if source else None,
            _text(raw, codec),
            _text(decoded, codec),
            _text(reasoning, codec),
            stop,
            batch,
        )
    )


def _text(stored: bytes | None, codec: str) -> str | None:
    plain = expand(stored, codec)
    return None if plain is None else plain.decode("utf-8", "replace")
