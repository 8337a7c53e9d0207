"""Inbox: results in the order in which they want a person, and what is shown of one of them."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.ids import BlockId, DocumentId, ResultId, RunId, StageId, TaskId
from quire.domain.states import ReviewState, TaskState
from quire.ledger.stored_values import to_micros
from quire.ledger.tables.results import AcceptedAnswer, notes_json
from quire.ledger.tables.table import Table


class InboxEntry(NamedTuple):
    """A result, by its place in an inbox."""

    rank: int
    result_id: ResultId
    task_id: TaskId
    reasons: int  # as bits
    score: int | None  # of critics, in thousandths


class InboxDetail(NamedTuple):
    """What a list shows of a result."""

    result_id: ResultId
    task_id: TaskId
    stage: str
    document_id: DocumentId | None
    title: str | None
    block_index: int | None
    state: TaskState
    review_state: ReviewState
    reviewer: str | None
    reviewed_at: int | None  # in microseconds
    excerpt: str | None
    data: str | None  # JSON


class LastCall(NamedTuple):
    """The call that was answered last about a task."""

    task_id: TaskId
    model_no: int
    pack_cap: int  # of the task; 0: none
    route: str
    tasks: int  # that shared the call
    content_bytes: int  # of all of them
    block_bytes: int  # of the task's block, where it is about one
    input_tokens: int  # all of them
    cached_tokens: int
    output_tokens: int
    pieces_cost: int  # picodollars, of answers that this one went on with


class AnswerToSame(NamedTuple):
    """A current answer about what another task is about."""

    asked: TaskId
    task_id: TaskId
    model_no: int
    sample: int
    part: str
    result_id: ResultId
    data: str  # JSON


class ReviewRow(NamedTuple):
    """One task, as a person who decides about it sees it."""

    run_id: RunId
    stage_id: StageId
    state: TaskState
    model_no: int
    part: str | None  # JSON
    stale_since: int | None  # in microseconds
    block_id: BlockId | None
    document_id: DocumentId | None
    result_id: ResultId | None
    data: str | None  # JSON
    notes: str | None  # JSON
    review_state: ReviewState | None
    reviewer: str | None
    reviewed_at: int | None  # in microseconds
    reasons: int | None  # as bits
    score: int | None  # in thousandths


class BlockRow(NamedTuple):
    """A block with its document."""

    document_id: DocumentId
    title: str
    block_index: int
    block_type: str
    headings: str  # JSON
    content: str
    source_type: str  # of the document


class VersionRow(NamedTuple):
    """A result that a task has or had."""

    result_id: ResultId
    version: int
    origin: str
    data: str | None  # JSON
    review_state: ReviewState
    reviewer: str | None
    reviewed_at: int | None  # in microseconds, as the next two
    created_at: int
    superseded_at: int | None


class Inbox(Table):
    """The workspace's results, as those see them who decide about them."""

    def inbox_entries(
        self, stage: StageId, review: ReviewState, after: tuple[int, int], limit: int
    ) -> list[InboxEntry]:
        """The next results of a stage in one state of review, after a rank and a result."""
        rank, result = after
        asked = {"stage": stage, "review": str(review), "rank": rank}
        rows = self._connection.run("ranked_inbox_entries", **asked, after=result, limit=limit)
        if len(rows) < limit:
            left = limit - len(rows)
            rows += self._connection.run("later_inbox_entries", **asked, limit=left)
        return [InboxEntry._make(row) for row in rows]

    def newer_inbox_entries(
        self, stage: StageId, review: ReviewState, rank: int, before: int, limit: int
    ) -> list[InboxEntry]:
        """The next results of one rank before one, the newest first."""
        asked = {"stage": stage, "review": str(review), "rank": rank}
        rows = self._connection.run("newer_inbox_entries", **asked, before=before, limit=limit)
        return [InboxEntry._make(row) for row in rows]

    def ranked_inbox_entries(
        self, stage: StageId, review: ReviewState, rank: int, after: int, limit: int
    ) -> list[InboxEntry]:
        """The next results of one rank alone, the oldest first."""
        asked = {"stage": stage, "review": str(review), "rank": rank}
        rows = self._connection.run("ranked_inbox_entries", **asked, after=after, limit=limit)
        return [InboxEntry._make(row) for row in rows]

    def scored_inbox_entries(
        self, stage: StageId, review: ReviewState, after: tuple[int, int], limit: int
    ) -> list[InboxEntry]:
        """The next results by a critic's score, the lowest first; those that have one."""
        score, result = after
        asked = {"stage": stage, "review": str(review), "score": score}
        rows = self._connection.run("scored_inbox_entries", **asked, after=result, limit=limit)
        if len(rows) < limit:
            left = limit - len(rows)
            rows += self._connection.run("later_scored_inbox_entries", **asked, limit=left)
        return [InboxEntry._make(row) for row in rows]

    def inbox_place_of_task(self, task: TaskId) -> tuple[StageId, bytes] | None:
        """Where a task stands among those of its stage."""
        return self._one(lambda row: (row[0], bytes(row[1])), "inbox_place_of_task", id=task)

    def inbox_entries_by_subject(
        self, stage: StageId, reviews: Sequence[ReviewState], after: bytes, limit: int
    ) -> list[InboxEntry]:
        """The next tasks of a stage as they stand in the documents; without a result: rank -1."""
        asked = {"stage": stage, "reviews": [str(review) for review in reviews]}
        rows = self._run("inbox_entries_by_subject", **asked, after=after, limit=limit)
        return [InboxEntry._make(row) for row in rows]

    def count_inbox(self, stage: StageId, review: ReviewState, rank: int, most: int) -> int:
        """How many results have one rank, counted up to a bound."""
        rows = self._connection.run(
            "count_inbox", stage=stage, review=str(review), rank=rank, most=most
        )
        return int(rows[0][0])

    def count_decided(self, stage: StageId, review: ReviewState, most: int) -> int:
        """How many results stand in one state of review, counted up to a bound."""
        rows = self._connection.run("count_decided", stage=stage, review=str(review), most=most)
        return int(rows[0][0])

    def inbox_details(self, results: Sequence[ResultId]) -> dict[ResultId, InboxDetail]:
        """What a list shows of some results; those that made way are left out."""
        found = self._list(InboxDetail, "inbox_details", ids=list(results)) if results else []
        return {detail.result_id: detail for detail in found}

    def inbox_texts(self, results: Sequence[ResultId]) -> dict[ResultId, str]:
        """The texts of the blocks that some results are about."""
        return dict(self._run("inbox_texts", ids=list(results))) if results else {}

    def rank_criticised(self, rows: Sequence[tuple[TaskId, int, int | None]]) -> None:
        """Note what critics said of current results: reasons as bits, the score in thousandths."""
        if rows:
            self._connection.run_many("rank_criticised", rows)

    def flag_disagreement(self, results: Sequence[ResultId], bit: int) -> None:
        """Mark results that others contradict, or take the mark away with 0."""
        self._connection.change("flag_disagreement", ids=list(results), bit=bit)

    def flag_asked_again(self, tasks: Sequence[TaskId]) -> None:
        """Mark the new results of tasks whose earlier one a person rejected."""
        if tasks:
            self._connection.change("flag_asked_again", ids=list(tasks))

    def subject_keys(self, tasks: Sequence[TaskId]) -> list[tuple[TaskId, int, int, int, str]]:
        """What tells apart what some tasks are about: block, group, document and part."""
        return self._run("subject_keys", ids=list(tasks))

    def answers_about_same(self, tasks: Sequence[TaskId]) -> list[AnswerToSame]:
        """Current answers about what some tasks are about, those of one of them together."""
        found: list[AnswerToSame] = []
        for name in (
            "answers_about_same_block",
            "answers_about_same_group",
            "answers_about_same_document",
        ):
            found += self._list(AnswerToSame, name, ids=list(tasks)) if tasks else []
        return found

    def add_late_result(self, answer: AcceptedAnswer, now: datetime) -> None:
        """Keep an answer to what a person no longer wants asked: a version that is not current."""
        task, version, attempt, gate_version, data, notes, _, reasons, rank = answer
        self._change(
            "add_late_result",
            task=task,
            version=version,
            attempt=attempt,
            gate_version=gate_version,
            data=data,
            notes=notes_json(notes),
            reasons=reasons,
            rank=rank,
            now=to_micros(now),
        )

    def review_row(self, task: TaskId) -> ReviewRow | None:
        """One task with its current result, if it has one."""
        return self._one(ReviewRow._make, "review_row", id=task)

    def rejected_tasks(self, tasks: Sequence[TaskId]) -> set[TaskId]:
        """Those of some tasks of which a person rejected a result."""
        rows = self._run("rejected_tasks", ids=list(tasks)) if tasks else []
        return {row[0] for row in rows}

    def source_of_block(self, block: BlockId) -> BlockRow | None:
        """A block with its document."""
        return self._one(BlockRow._make, "source_of_block", block=block)

    def neighbour_blocks(
        self, document: DocumentId, first: int, last: int
    ) -> list[tuple[int, str, str]]:
        """Blocks of a document that follow each other: index, type, and the text's beginning."""
        return self._run("neighbour_blocks", document=document, first=first, last=last)

    def versions_of_task(self, task: TaskId, limit: int) -> list[VersionRow]:
        """The results that a task has or had, the newest first."""
        return self._list(VersionRow, "versions_of_task", task=task, limit=limit)

    def last_calls_of_tasks(self, tasks: Sequence[TaskId]) -> list[LastCall]:
        """The call that was answered last about each of some tasks."""
        return self._list(LastCall, "last_calls_of_tasks", ids=list(tasks)) if tasks else []

    def critics_of_tasks(self, critic: StageId, tasks: Sequence[TaskId]) -> list[TaskId]:
        """The tasks of a critic that judged results of some tasks."""
        if not tasks:
            return []
        return [row[0] for row in self._run("critics_of_tasks", ids=list(tasks), critic=critic)]
