"""Pieces: answers that are not whole, and the chains of calls that go on with them."""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from quire.domain.continuation import AnswerPiece, Gap, Trigger
from quire.domain.ids import AttemptId, LaneId, RequestId, RunId, TaskId
from quire.domain.requests import OutputSample, QueuedRequest
from quire.domain.states import AttemptState
from quire.ledger.connection import Row
from quire.ledger.tables.attempts import decompress
from quire.ledger.tables.table import Table


class ChainCall(NamedTuple):
    """One call of a chain, for people."""

    request_id: RequestId
    sending: int  # of the request
    piece: int | None  # 0 is the first answer; None: it brought no piece that is gone on with
    gap: Gap | None  # why another call followed
    state: AttemptState
    input_tokens: int
    output_tokens: int
    cost_pico: int


class Pieces(Table):
    """The workspace's answers that came in pieces."""

    def add_piece(self, piece: AnswerPiece) -> bool:
        """Keep one more piece of a chain; false where another has its place already."""
        missing = json.dumps(piece.gap.keys, ensure_ascii=False) if piece.gap.keys else None
        added = self._connection.change(
            "add_piece",
            task=piece.task_id,
            version=piece.version,
            no=piece.no,
            attempt=piece.attempt_id,
            reason=piece.gap.trigger.value,
            missing=missing,
        )
        return added > 0

    def pieces_before(self, attempts: Sequence[AttemptId]) -> dict[AttemptId, list[AnswerPiece]]:
        """All pieces of the chains that these attempts are a piece of, up to each of them."""
        found: dict[AttemptId, list[AnswerPiece]] = defaultdict(list)
        if attempts:
            for row in self._connection.run("pieces_before", attempts=list(attempts)):
                found[row[0]].append(_to_piece(row[1:]))
        return found

    def chains_before(self, attempts: Sequence[AttemptId]) -> dict[AttemptId, list[AnswerPiece]]:
        """The pieces that each of these answers went on with; most went on with none."""
        found: dict[AttemptId, list[AnswerPiece]] = defaultdict(list)
        if attempts:
            for row in self._connection.run("chains_before", attempts=list(attempts)):
                found[row[0]].append(_to_piece(row[1:]))
        return found

    def continued_attempts(self, run: RunId) -> set[AttemptId]:
        """Answers of a run that went on with others."""
        return set(self._column("continued_attempts", run=run))

    def request_as_queued(self, request: RequestId) -> QueuedRequest | None:
        """A request as a claim takes it."""
        return self._one(QueuedRequest._make, "request_as_queued", id=request)

    def calls_of_chain(self, request: RequestId) -> list[ChainCall]:
        """Every call of the chain that a request belongs to, if it does to one."""
        return [_to_chain_call(row) for row in self._run("calls_of_chain", id=request)]

    def last_pieces(self, tasks: Sequence[TaskId]) -> dict[TaskId, AttemptId]:
        """The newest piece of each of these tasks, at its current version."""
        return dict(self._run("last_pieces", tasks=list(tasks))) if tasks else {}

    def requests_of_attempts(self, attempts: Sequence[AttemptId]) -> dict[AttemptId, QueuedRequest]:
        """The requests that some attempts were sent for."""
        rows = self._run("requests_of_attempts", attempts=list(attempts)) if attempts else []
        return {row[0]: QueuedRequest._make(row[1:]) for row in rows}

    def assembled_samples(self, lane: LaneId, limit: int) -> list[OutputSample]:
        """Sizes of a lane's last answers that came in pieces."""
        rows = self._connection.run("assembled_samples", lane=lane, limit=limit)
        return [OutputSample(*row) for row in rows]

    def ask_for_continuation(self, tasks: Sequence[TaskId]) -> None:
        """Let the next calls about some tasks go on with what is there."""
        if tasks:
            self._change("ask_for_continuation", ids=list(tasks))

    def end_chains(self, tasks: Sequence[TaskId]) -> None:
        """Ask some tasks from the beginning: what is there of their answers does not count."""
        if tasks:
            self._change("end_chains", ids=list(tasks))

    def forget_continuations(self, tasks: Sequence[TaskId]) -> None:
        """Note that the chains of some tasks have ended."""
        if tasks:
            self._change("forget_continuations", ids=list(tasks))


def _to_piece(row: Row) -> AnswerPiece:
    task, version, no, attempt, reason, missing, decoded, codec = row
    keys = tuple(json.loads(missing)) if missing else ()
    text = (decompress(decoded, codec) or b"").decode()
    return AnswerPiece(task, version, no, attempt, Gap(Trigger(reason), keys), text)


def _to_chain_call(row: Row) -> ChainCall:
    request, sending, piece, reason, missing, *rest = row
    keys = tuple(json.loads(missing)) if missing else ()
    gap = None if reason is None else Gap(Trigger(reason), keys)
    return ChainCall(request, sending, piece, gap, *rest)
