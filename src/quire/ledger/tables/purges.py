"""Purging: a document's text leaves the ledger; money, counts and neighbours' results stay."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.ids import DocumentId, RequestId, TaskId, hash_number
from quire.domain.states import RequestState, TaskState
from quire.ledger.stored_values import to_micros
from quire.ledger.tables.table import Table


class PurgeScope(NamedTuple):
    """Tasks about a document or what comes from it, and every request that carried one."""

    tasks: list[tuple[TaskId, TaskState]]
    requests: list[tuple[RequestId, RequestState]]
    documents: list[DocumentId]  # itself, and those made of results that come from it


class _Descent(NamedTuple):
    """What comes from a document, through results that are documents themselves."""

    tasks: list[TaskId]
    documents: list[DocumentId]


class Purges(Table):
    """Erasure, statement by statement."""

    def take_scope(self, document: DocumentId) -> PurgeScope:
        """All that is about the document or comes from it, taken for this transaction."""
        # requests before tasks, as everywhere
        self._take_requests_of_tasks(self._descent(document).tasks)
        seen = self._descent(document)  # others may have been made while we waited for those
        tasks = self.take_tasks(seen.tasks)  # nobody packs them from here on
        while (now := self._descent(document)).documents != seen.documents:
            seen, tasks = now, self.take_tasks(now.tasks)  # made of results while we waited
        requests = self._take_requests_of_tasks([task for task, _ in tasks])
        return PurgeScope(tasks, requests, seen.documents)

    def take_tasks(self, tasks: Sequence[TaskId]) -> list[tuple[TaskId, TaskState]]:
        """Some tasks with their states, taken for this transaction."""
        return [(row[0], row[1]) for row in self._run("take_tasks", tasks=list(tasks))]

    def has_unsettled_answers(self, requests: Sequence[RequestId]) -> bool:
        """Whether an answer is here that nobody has judged: a neighbour's may be in it."""
        rows = self._connection.run("has_unsettled_answers", requests=requests)
        return bool(rows)

    def erase_exchanges(self, requests: Sequence[RequestId], now: datetime) -> None:
        """Erase what was sent and what came back."""
        self._connection.change("purge_responses", requests=requests)
        self._connection.change("purge_attempt_errors", requests=requests)
        self._connection.change("purge_batch_lines", requests=requests)
        self._connection.change("purge_requests", requests=requests, now=to_micros(now))
        self._connection.change("purge_reasons", requests=requests)
        self._change("purge_embeddings", requests=requests)

    def erase_documents(self, scope: PurgeScope, now: datetime) -> None:
        """Erase results, blocks and names of the documents, and what came from them."""
        tasks, documents = [task for task, _ in scope.tasks], scope.documents
        self._connection.change("purge_results", tasks=tasks)
        self._change("purge_reviews", tasks=tasks)
        self._connection.change("purge_pieces", tasks=tasks)
        if self._connection.change("purge_compressions", tasks=tasks):
            self._change("purge_extracts")
        self._change("purge_task_subjects", tasks=tasks)
        self._connection.change("purge_task_documents", tasks=tasks, documents=documents)
        firsts = {block: hash_number(name) for block, name in self._named_contents(documents)}
        numbers, blocks = list(firsts.values()), list(firsts)
        self._connection.change("purge_contents", numbers=numbers, blocks=blocks)
        self._change("purge_blocks", documents=documents)
        self._change("purge_sources", documents=documents)
        self._change("purge_documents", documents=documents, now=to_micros(now))

    def _named_contents(self, documents: Sequence[DocumentId]) -> list[tuple[int, bytes]]:
        """Blocks that were the first to say something, with its fingerprint."""
        return self._run("named_contents", documents=documents)

    def _descent(self, document: DocumentId) -> _Descent:
        """Follow results into the documents made of them, until nothing new is found."""
        documents = [document]
        while True:
            tasks = self._column("tasks_from_documents", documents=documents)
            known = set(documents)
            made = self._column("documents_of_tasks", tasks=tasks)
            if known.issuperset(made):
                return _Descent(tasks, documents)
            documents += [number for number in made if number not in known]

    def _take_requests_of_tasks(
        self, tasks: Sequence[TaskId]
    ) -> list[tuple[RequestId, RequestState]]:
        return self._run("take_requests_of_tasks", tasks=list(tasks))
