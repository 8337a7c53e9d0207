"""Embeddings: which passages were embedded by which calls, and whose prompts wait for that."""

from collections.abc import Sequence
from datetime import datetime

from quire.domain.embeddings import EmbeddingLane, GroupState, StoredGroup
from quire.domain.ids import LaneId, RequestId, RunId, StageId, TaskId, WorkerId
from quire.ledger.stored_values import to_micros
from quire.ledger.tables.attempts import decompress
from quire.ledger.tables.table import Table


class EmbeddingTable(Table):
    """What the workspace's passages were embedded by."""

    def embedding_lane(self, run: RunId, stage: StageId, model: str) -> EmbeddingLane | None:
        """The queue of a stage's calls to a model of embeddings."""
        rows = self._run("embedding_lane", run=run, stage=stage, model=model)
        return EmbeddingLane(rows[0][0], bool(rows[0][1])) if rows else None

    def give_up_lane(self, lane: LaneId, now: datetime) -> None:
        """Ask nothing more there."""
        self._change("give_up_lane", lane=lane, now=to_micros(now))

    def queued_embeddings(self, lane: LaneId) -> list[RequestId]:
        """Calls of such a queue that have not gone out."""
        return [row[0] for row in self._connection.run("queued_embeddings", lane=lane)]

    def known_embeddings(self, keys: Sequence[str]) -> dict[str, StoredGroup]:
        """How the embedding of some passages stands; those nobody ever asked for are not there."""
        rows = self._run("known_embeddings", keys=list(keys)) if keys else []
        found = [StoredGroup(row[0], row[1], row[2], row[3], GroupState(row[4])) for row in rows]
        return {group.key: group for group in found}

    def embedded_responses(self, requests: Sequence[RequestId]) -> dict[RequestId, bytes]:
        """What came back for some calls for embeddings, as it came."""
        if not requests:
            return {}
        rows = self._connection.run("embedded_responses", requests=list(requests))
        return {request: decompress(raw, codec) or b"" for request, raw, codec in rows}

    def add_embedding(self, passages: str, request: RequestId, first: int) -> None:
        """Some passages are embedded by a call, where they come first at this place."""
        self._change("add_embedding", passages=passages, request=request, first=first)

    def add_embedding_task(self, request: RequestId, task: TaskId) -> None:
        """A task's prompt waits for a call."""
        self._connection.change("add_embedding_task", request=request, task=task)

    def await_embeddings(self, tasks: Sequence[TaskId], worker: WorkerId) -> list[TaskId]:
        """Leave tasks until their calls are over; returns those that the worker still had."""
        return self._column("await_embeddings", tasks=list(tasks), worker=worker)

    def end_embedding_waits(self) -> None:
        """Let tasks whose calls for embeddings are over be compressed."""
        self._change("end_embedding_waits")

    def awaited_embeddings(self, requests: Sequence[RequestId]) -> set[RequestId]:
        """Which of these calls somebody still waits for."""
        return set(self._column("awaited_embeddings", ids=list(requests)))

    def tasks_of_embedding(self, request: RequestId) -> list[TaskId]:
        """Whose prompts waited for a call."""
        return self._column("tasks_of_embedding", request=request)
