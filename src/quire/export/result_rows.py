"""Result rows: a stage's results block by block or task by task, also flat for data frames."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeAlias

import orjson

from quire.domain.data import Json, as_object, stored_json, strict_json
from quire.domain.documents import Document
from quire.domain.errors import LedgerError
from quire.domain.ids import DocumentId, RunId, TaskId, block_uid
from quire.domain.recipes import Stage
from quire.domain.states import ReviewState, TaskState
from quire.export.result_selection import (
    ALL,
    ResultSource,
    check_only,
    choose_stage,
    find_result_source,
    is_block_by_block,
)
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.tables.results import CritiqueRow, ExportRow, StageOutcome

BLOCK_STATUSES = {  # others: pending
    TaskState.DONE: "accepted",
    TaskState.FAILED: "failed",
    TaskState.CANCELLED: "cancelled",
}
TASK_STATUSES = {  # of a task; what is not here is pending
    **BLOCK_STATUSES,
    TaskState.BLOCKED: "blocked",
    TaskState.PROPOSED: "proposed",
}
BLOCK_COLUMNS = (  # of a flat row, before those of the data
    *(
        "block_uid",
        "source",
        "title",
        "key",
        "block_index",
        "block_type",
        "task_id",
        "status",
        "error",
    ),
)
CHUNK_ROWS = 500  # rows whose critics are read at once
REJECTED = ReviewState.REJECTED.value


class ExportedVerdict(NamedTuple):
    """What one critic said of a result, if it has spoken."""

    stage: str
    status: str
    model: str
    data: str | None  # JSON

    def as_json(self) -> dict[str, object]:
        """As it stands in a line; JSON that is kept goes out as it is."""
        return {**self._asdict(), "data": json_fragment(self.data)}


def json_fragment(text: str | None) -> orjson.Fragment | None:
    """JSON from the ledger, to be written as it is."""
    return None if text is None else orjson.Fragment(text)


def read_stored(task: TaskId | None, text: str | None) -> Json:
    """Read a result; refuse to go on where the ledger holds no JSON."""
    if text is None:
        return None
    try:
        value: Json = strict_json(text.encode())
    except ValueError:
        raise LedgerError(
            f"task {task}: its result in the ledger is damaged: it is not JSON",
            "restore a copy of the ledger",
        ) from None
    return value


def check_stored(task: TaskId | None, *texts: str | None) -> None:
    """Refuse to go on where the ledger holds no JSON: it would be written as it is."""
    for text in texts:
        read_stored(task, text)


def critic_verdicts(
    source: ResultSource, words: Iterable[CritiqueRow]
) -> tuple[ExportedVerdict, ...]:
    """The words of critics with the names of who spoke."""
    words = list(words)
    for word in words:
        check_stored(word.task_id, word.data)
    return tuple(
        ExportedVerdict(
            word.stage,
            TASK_STATUSES.get(word.state, "pending"),
            source.models[word.model_no],
            word.data if word.state == TaskState.DONE else None,
        )
        for word in words
    )


def critic_columns(critics: Iterable[ExportedVerdict]) -> dict[str, Json]:
    """What critics said as columns of a flat row: `check.score`; a second one's `check.2.score`."""
    columns: dict[str, Json] = {}
    seen: Counter[str] = Counter()
    for critic in critics:
        seen[critic.stage] += 1
        prefix = critic.stage if seen[critic.stage] == 1 else f"{critic.stage}.{seen[critic.stage]}"
        columns[f"{prefix}.status"] = critic.status
        data = data_columns(stored_json(critic.data))
        columns |= {f"{prefix}.{name}": value for name, value in data.items()}
    return columns


def data_columns(data: Json) -> Mapping[str, Json]:
    """Data as columns: what is no record is one column."""
    if data is None:
        return {}
    return data if isinstance(data, Mapping) else {"value": data}


class ExportedBlock(NamedTuple):
    """One block with what became of it."""

    document: Document
    row: ExportRow
    status: str  # accepted, failed, cancelled, pending
    critics: tuple[ExportedVerdict, ...] = ()

    @property
    def block_uid(self) -> str:
        """The block's name outside the ledger."""
        return block_uid(self.document.conv_uid, self.row.block_index)

    @property
    def data(self) -> str | None:
        """The accepted data as JSON; rejected data is never exported."""
        return self.row.data if self.status == "accepted" else None

    @property
    def notes(self) -> str | None:
        """What of it was read in another form than it was written in, as JSON."""
        return self.row.notes if self.status == "accepted" else None


def run_block_rows(tx: Transaction, run: RunId, only: str = "all") -> Iterator[ExportedBlock]:
    """Every block of a run's inputs in order, streamed; `only` keeps one status."""
    source = find_result_source(tx, run)
    return block_rows(tx, source, choose_stage(source.recipe, None), only)


def block_rows(
    tx: Transaction, source: ResultSource, stage: Stage, only: str
) -> Iterator[ExportedBlock]:
    """The same of one stage, with what its critics said."""
    documents = _documents_by_id(tx, source)
    for row, status, critics in _judged_rows(tx, source, stage, only, contents=True):
        check_stored(row.task_id, row.data, row.notes)
        yield ExportedBlock(documents[row.document_id], row, status, critics)


def _documents_by_id(tx: Transaction, source: ResultSource) -> dict[DocumentId, Document]:
    return {document.id: document for document in tx.documents.documents_of_run(source.run.id)}


_JudgedRow: TypeAlias = tuple[ExportRow, str, tuple[ExportedVerdict, ...]]  # with its status


def _judged_rows(
    tx: Transaction, source: ResultSource, stage: Stage, only: str, *, contents: bool
) -> Iterator[_JudgedRow]:
    """Each row of one stage as it stands, with what its critics said."""
    check_only(only)
    judged = bool(source.recipe.critics_of(stage.name))
    stage_id = source.stage_ids[stage.name]
    found = tx.results.export_rows(source.run.id, stage_id, contents=contents)
    while chunk := list(islice(found, CHUNK_ROWS)):
        tasks = [row.task_id for row in chunk if row.task_id is not None] if judged else []
        words = tx.results.critiques_of_tasks(tasks)
        for row in chunk:
            status = BLOCK_STATUSES.get(row.state, "pending") if row.state else "pending"
            if row.review_state == REJECTED:
                status = "pending"
            if only in ("all", status):
                spoken = words.get(row.task_id) if words and row.task_id else None
                yield row, status, critic_verdicts(source, spoken) if spoken else ()


def flat_blocks(
    tx: Transaction, source: ResultSource, stage: Stage, only: str
) -> Iterator[dict[str, Json]]:
    """Rows as a data frame wants them: one flat mapping a block, the schema's fields as columns."""
    fields = stage.record.properties
    names = [*(_own_column(name, fields) for name in BLOCK_COLUMNS), *fields]
    documents = _documents_by_id(tx, source)
    for row, status, critics in _judged_rows(tx, source, stage, only, contents=False):
        document, accepted = documents[row.document_id], status == "accepted"
        data = as_object(read_stored(row.task_id, row.data)) if accepted else {}
        values = (
            block_uid(document.conv_uid, row.block_index),
            document.source_locator,
            document.title,
            orjson.loads(row.locator).get("key") if '"key"' in row.locator else None,
            row.block_index,
            row.block_type,
            row.task_id,
            status,
            row.error if status == "failed" else None,
            *map(data.get, fields),
        )
        flat: dict[str, Json] = dict(zip(names, values, strict=True))
        if row.notes and accepted:
            flat[_own_column("notes", fields)] = read_stored(row.task_id, row.notes)
        if row.reused_from is not None:
            flat[_own_column("reused_from", fields)] = row.reused_from
        yield flat | critic_columns(critics) if critics else flat


STATUSES_WITH_ERROR = ("failed", "blocked")  # statuses whose error is told


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTask:
    """One task of a stage with what became of it."""

    stage: str
    outcome: StageOutcome
    model: str
    inputs: tuple[TaskId, ...]
    attempts: int
    critics: tuple[ExportedVerdict, ...]

    @property
    def status(self) -> str:
        """Accepted, failed, blocked, cancelled, proposed or pending."""
        if self.outcome.review_state == ReviewState.REJECTED:
            return "pending"
        return TASK_STATUSES.get(self.outcome.state, "pending")

    @property
    def data(self) -> Json:
        """The accepted data; what was not accepted is never exported."""
        found: Json = stored_json(self.text)
        return found

    @property
    def fields(self) -> Mapping[str, Json]:
        """The same as columns."""
        return data_columns(self.data)

    @property
    def text(self) -> str | None:
        """The same as JSON."""
        return self.outcome.data if self.status == "accepted" else None

    @property
    def notes(self) -> str | None:
        """What of it was read in another form than it was written in, as JSON."""
        return self.outcome.notes if self.status == "accepted" else None

    @property
    def error(self) -> str | None:
        """Why there is no data, where that is known."""
        return self.outcome.error if self.status in STATUSES_WITH_ERROR else None

    @property
    def block_uid(self) -> str | None:
        """The name of the block it is about, or comes from."""
        uid, index = self.outcome.conv_uid, self.outcome.block_index
        return None if uid is None or index is None else block_uid(uid, index)

    @property
    def part(self) -> Json:
        """What its grouping said of it."""
        found: Json = stored_json(self.outcome.part)
        return found

    def as_json(self) -> dict[str, object]:
        """As one line of a file; JSON that is kept goes out as it is."""
        outcome = self.outcome
        return {
            "stage": self.stage,
            "task_id": outcome.task_id,
            "subject": {
                "title": outcome.title,
                "conv_uid": outcome.conv_uid,
                "block_uid": self.block_uid,
                "model": self.model,
                "sample": outcome.sample,
                "part": json_fragment(outcome.part),
                "inputs": list(self.inputs),
            },
            "status": self.status,
            "error": self.error,
            "attempt_count": self.attempts,
            "version": outcome.version,
            "stale": outcome.stale_since is not None,
            "data": json_fragment(self.text),
            "critics": [critic.as_json() for critic in self.critics],
            **({"notes": json_fragment(self.notes)} if self.notes else {}),
            **({"reused_from": outcome.reused_from} if outcome.reused_from else {}),
        }


def task_rows(
    tx: Transaction, source: ResultSource, stage: Stage, only: str
) -> Iterator[ExportedTask]:
    """Every task of a stage in subject order, some read at a time; `only` keeps one status.

    Of a critic's stage, those about current answers: what was said of others counts no more.
    """
    check_only(only)
    for chunk in tx.results.outcomes_after(source.stage_ids[stage.name]):
        further = tx.results.task_history([outcome.task_id for outcome in chunk])
        for outcome in chunk:
            row = ExportedTask(
                stage=stage.name,
                outcome=outcome,
                model=source.models[outcome.model_no],
                inputs=tuple(further.inputs.get(outcome.task_id, ())),
                attempts=further.attempts.get(outcome.task_id, 0),
                critics=critic_verdicts(source, further.critiques.get(outcome.task_id, [])),
            )
            if only in ("all", row.status):
                check_stored(outcome.task_id, row.text, row.notes)
                yield row


def flat_tasks(
    tx: Transaction, source: ResultSource, stage: Stage, only: str
) -> Iterator[dict[str, Json]]:
    """Rows as a data frame wants them: one flat mapping a task, its data and critics as columns."""
    known = stage.schema.properties if stage.schema else ()
    for row in task_rows(tx, source, stage, only):
        outcome = row.outcome
        ours: dict[str, Json] = {
            "stage": row.stage,
            "task_id": outcome.task_id,
            "title": outcome.title,
            "conv_uid": outcome.conv_uid,
            "block_uid": row.block_uid,
            "model": row.model,
            "sample": outcome.sample,
            "part": row.part,
            "status": row.status,
            "error": row.error,
            "attempt_count": row.attempts,
            "version": outcome.version,
            "stale": outcome.stale_since is not None,
        }
        if row.notes:
            ours["notes"] = stored_json(row.notes)
        if outcome.reused_from is not None:
            ours["reused_from"] = outcome.reused_from
        yield _flat_row(ours, dict.fromkeys(known, None) | dict(row.fields), row.critics)


def _own_column(name: str, data: Container[str]) -> str:
    """The name of a column of ours, which gives way to one of the data."""
    return f"quire_{name}" if name in data else name


def _flat_row(
    ours: Mapping[str, Json], data: dict[str, Json], critics: Iterable[ExportedVerdict]
) -> dict[str, Json]:
    """Our columns, those of the data, and those of its critics; ours give way to the data's."""
    named = {_own_column(name, data): value for name, value in ours.items()}
    return named | data | critic_columns(critics)


def flat_rows(
    ledger: Ledger, run: RunId, only: str = "all", stage: str | None = None
) -> list[dict[str, Json]]:
    """One flat mapping a block, or a task where a stage is not about blocks; `stage` may be all."""
    check_only(only)
    with ledger.snapshot() as tx:
        source = find_result_source(tx, run)
        if stage == ALL:
            every = (flat_tasks(tx, source, item, only) for item in source.recipe.stages)
            return _align_columns([row for rows in every for row in rows])
        wanted = choose_stage(source.recipe, stage)
        if not is_block_by_block(wanted):
            return _align_columns(list(flat_tasks(tx, source, wanted, only)))
        rows = list(flat_blocks(tx, source, wanted, only))
        # only critics, of whom some may not have spoken, make columns differ
        return _align_columns(rows) if source.recipe.critics_of(wanted.name) else rows


def _align_columns(rows: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """The rows with all columns that any of them has; None where one has no value."""
    if not rows or all(row.keys() == rows[0].keys() for row in rows):
        return rows
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in columns} for row in rows]
