"""Questions: who asks what, whose answer others may take, and who waits for it."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from quire.domain.ids import AttemptId, DocumentId, ResultId, StageId, TaskId
from quire.domain.states import ReviewState, TaskState
from quire.ledger.stored_values import to_micros
from quire.ledger.tables.table import Table


class Asker(NamedTuple):
    """A task that asks a question, with the answer that others may take, if it has one."""

    task_id: TaskId
    stage_id: StageId
    state: TaskState
    question_hash: bytes
    result_id: ResultId | None
    root_id: ResultId | None  # the result that was made of the call itself
    root_task_id: TaskId  # the task that the call was about
    attempt_id: AttemptId | None
    notes: str | None  # JSON
    review_state: ReviewState | None
    reviewer: str | None
    reviewed_at: int | None
    approved_data: str | None  # JSON; None where nobody approved it

    @property
    def is_approved(self) -> bool:
        """Whether a person confirmed the answer."""
        return self.review_state == ReviewState.APPROVED


class ReviewMark(NamedTuple):
    """What a person said of a result, who, and when."""

    state: str = ReviewState.UNREVIEWED.value
    reviewer: str | None = None
    at: int | None = None  # microseconds


NOT_REVIEWED = ReviewMark()


class EditedResult(NamedTuple):
    """What a person wrote in the place of an answer, and about what."""

    root_id: ResultId  # where it was written
    question_hash: bytes
    source_type: str
    source_uid: str
    source_locator: str
    locator: str  # JSON; "" of a whole document
    data: str  # JSON
    review_state: str
    reviewer: str | None
    reviewed_at: int | None

    @property
    def review(self) -> ReviewMark:
        """Who wrote it, and when."""
        return ReviewMark(self.review_state, self.reviewer, self.reviewed_at)


class AskedSubject(NamedTuple):
    """What a task asks, and about what."""

    task_id: TaskId
    question_hash: bytes
    source_type: str
    source_uid: str
    source_locator: str
    locator: str  # JSON; "" of a whole document


# task, its version, attempt, gates, data and notes as JSON, root, who made it, the review, its
# stage, why it wants a person, and its rank among what does
ReusedRow: TypeAlias = tuple[
    TaskId,
    int,
    AttemptId | None,
    str,
    str,
    str | None,
    ResultId,
    str,
    str,
    str | None,
    int | None,
    StageId,
    int,
    int | None,
]


class AskedQuestion(NamedTuple):
    """What a task asks, and whether it waits for somebody else's answer, or did."""

    task_id: TaskId
    question_hash: bytes
    follows: TaskId | None  # 0: it did, and looks after itself


class StageTaskCount(NamedTuple):
    """Tasks of a stage that are asked of one model about one document, or about none."""

    stage_id: StageId
    model_no: int
    document_id: DocumentId | None
    tasks: int
    ended: int
    answered: int  # whose answers others may take


# number of the stage's question, number of the content, stage, who asks
QuestionRow = tuple[int, int, StageId, TaskId]


class Questions(Table):
    """The workspace's questions."""

    def find_askers(
        self, question: int, contents: Sequence[int]
    ) -> dict[int, list[tuple[StageId, TaskId]]]:
        """Who asks some questions, in any stage, by the number of the content."""
        found: dict[int, list[tuple[StageId, TaskId]]] = defaultdict(list)
        asked = {"question": question, "contents": contents}
        for content, stage, task in self._connection.run("find_askers", **asked):
            found[content].append((stage, task))
        return found

    def add_questions(self, rows: Sequence[QuestionRow]) -> int:
        """Say who asks new questions; returns how many: another worker may have been quicker."""
        return sum(
            self._connection.run_many(
                "add_questions",
                [(content, task) for _, content, _, task in asked],
                question=question,
                stage=stage,
            )
            for (question, stage), asked in groupby(rows, itemgetter(0, 2))
        )

    def take_over_questions(self, rows: Sequence[QuestionRow]) -> None:
        """Say who asks questions of a stage now."""
        self._connection.run_many("take_over_questions", rows)

    def note_questions(self, asked: Sequence[tuple[TaskId, bytes]]) -> None:
        """Write down what tasks ask."""
        self._connection.run_many("note_questions", asked)

    def askers_by_id(self, tasks: Sequence[TaskId]) -> dict[TaskId, Asker]:
        """Tasks of this workspace that ask questions."""
        found = self._list(Asker, "askers_by_id", ids=list(tasks))
        return {asker.task_id: asker for asker in found}

    def asked_questions(self, tasks: Sequence[TaskId]) -> dict[TaskId, AskedQuestion]:
        """What some tasks ask."""
        found = self._list(AskedQuestion, "asked_questions", ids=list(tasks))
        return {asked.task_id: asked for asked in found}

    def critics_of_renewed_answers(self, critics: Sequence[TaskId]) -> set[TaskId]:
        """Which critics judge an answer that was asked for once more."""
        return set(self._column("critics_of_renewed_answers", ids=list(critics)))

    def costs_of_attempts(self, attempts: Sequence[AttemptId]) -> dict[AttemptId, int]:
        """What calls cost, in picodollars, for each task that they carried."""
        return dict(self._connection.run("costs_of_attempts", ids=list(attempts)))

    def add_reused_results(self, rows: Sequence[ReusedRow], now: datetime) -> None:
        """Keep answers that were given to others, each with the result it is taken from."""
        self._connection.run_many("add_reused_results", rows, created_at=to_micros(now))

    def edited_results(self) -> list[EditedResult]:
        """What persons wrote in the place of answers, the oldest first."""
        found = self._list(EditedResult, "edited_results")
        return sorted(found, key=lambda edit: edit.reviewed_at or 0)

    def sources_of_tasks(self, tasks: Sequence[TaskId]) -> list[AskedSubject]:
        """What some tasks ask, and of what: the source, and the place in it."""
        return self._list(AskedSubject, "sources_of_tasks", ids=list(tasks))

    def follow_tasks(self, pairs: Sequence[tuple[TaskId, TaskId]]) -> None:
        """Let tasks wait for the answer of another, which asks the same."""
        self._connection.run_many("follow_tasks", pairs)

    def has_followers(self, stage: StageId) -> bool:
        """Whether a task of a stage waits for the answer of another of it."""
        return bool(self._run("has_followers", stage=stage))

    def followers_of_tasks(self, leaders: Sequence[TaskId]) -> list[TaskId]:
        """Who waits, or waited, for the answers of some tasks."""
        return self._column("followers_of_tasks", leaders=list(leaders))

    def followers_in_stage(self, stage: StageId, limit: int) -> list[TaskId]:
        """Who waits for the answer of anybody in a stage."""
        return self._column("followers_in_stage", stage=stage, limit=limit)

    def stop_following(self, tasks: Sequence[TaskId]) -> None:
        """Let tasks look after themselves."""
        self._change("stop_following", ids=list(tasks))

    def questions_of_tasks(self, tasks: Sequence[TaskId]) -> list[tuple[TaskId, bytes, int | None]]:
        """What some tasks ask, and the number of their block's content."""
        return self._run("questions_of_tasks", ids=list(tasks))

    def forget_questions(
        self, question: int, contents: Sequence[int], tasks: Sequence[TaskId]
    ) -> None:
        """Forget that some tasks ask some questions."""
        numbers = {"contents": list(contents), "tasks": list(tasks)}
        self._connection.change("forget_questions", question=question, **numbers)

    def is_asked(self, question: int) -> bool:
        """Whether a stage's question was asked about anything yet."""
        return bool(self._connection.run("is_asked", question=question))

    def has_repeats(self, documents: Sequence[DocumentId]) -> bool:
        """Whether blocks of documents say what an earlier block says, wherever that is."""
        return bool(self._run("has_repeats", documents=list(documents)))

    def count_contents(self, documents: Sequence[DocumentId]) -> tuple[int, int]:
        """How many blocks documents have, and how many of those say something of their own."""
        blocks, contents = self._run("count_contents", documents=list(documents))[0]
        return blocks, contents

    def count_answered(
        self, question: int, documents: Sequence[DocumentId]
    ) -> tuple[int, int, int]:
        """How many blocks of documents are answered, of how many contents, and at what cost."""
        about = {"question": question, "documents": list(documents)}
        blocks, contents, cost = self._run("count_answered", **about)[0]
        return blocks, contents, int(cost)

    def unanswered_sizes(self, question: int, documents: Sequence[DocumentId]) -> list[int]:
        """The size of every content of documents that a question is not answered about yet."""
        return self._column("unanswered_sizes", question=question, documents=list(documents))

    def count_stage_tasks(self, stages: Sequence[StageId]) -> list[StageTaskCount]:
        """Tasks of some stages, by model and document."""
        return self._list(StageTaskCount, "count_stage_tasks", stages=list(stages))

    def count_blocks_answered_in_stage(
        self, stage: StageId, model: int, documents: Sequence[DocumentId]
    ) -> int:
        """How many blocks of documents say what a stage has answers of a model about."""
        about = {"stage": stage, "model": model, "documents": list(documents)}
        return self._count("count_blocks_answered_in_stage", **about)
