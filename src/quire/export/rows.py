"""Rows: a stage's results one block at a time, for files and frames."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import orjson

from quire.domain.data import Json
from quire.domain.documents import Document
from quire.domain.ids import DocumentId, RunId, block_uid
from quire.domain.recipes import Stage
from quire.export.choosing import Source, check_only, chosen, source_of
from quire.export.verdicts import Verdict, critic_columns, verdicts
from quire.ledger.ledger import Transaction
from quire.ledger.tables.results import ExportRow

STATUS = {"done": "accepted", "failed": "failed", "cancelled": "cancelled"}  # others: pending
CHUNK = 500  # rows whose critics are read at once


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRow:
    """One block with what became of it."""

    document: Document
    row: ExportRow
    status: str  # accepted, failed, cancelled, pending
    critics: tuple[Verdict, ...] = ()

    @property
    def block_uid(self) -> str:
        """The block's name outside the ledger."""
        return block_uid(self.document.conv_uid, self.row.block_index)

    @property
    def data(self) -> str | None:
        """The accepted data as JSON; rejected data is never exported."""
        return self.row.data if self.status == "accepted" else None


def rows(tx: Transaction, run: RunId, only: str = "all") -> Iterator[ExportedRow]:
    """Every block of a run's inputs in order, streamed; `only` keeps one status."""
    source = source_of(tx, run)
    return block_rows(tx, source, chosen(source.recipe, None), only)


def block_rows(tx: Transaction, source: Source, stage: Stage, only: str) -> Iterator[ExportedRow]:
    """The same of one stage, with what its critics said."""
    check_only(only)
    run = source.run.id
    documents: dict[DocumentId, Document] = {each.id: each for each in tx.documents.of_run(run)}
    judged = bool(source.recipe.critics_of(stage.name))
    found = tx.results.export(run, source.stage_ids[stage.name])
    while chunk := list(islice(found, CHUNK)):
        tasks = [row.task_id for row in chunk if row.task_id is not None] if judged else []
        words = tx.exports.words(tasks)
        for row in chunk:
            status = STATUS.get(row.state or "", "pending")
            if row.review_state == "rejected":
                status = "pending"
            if only in ("all", status):
                said = verdicts(source, words.get(row.task_id, [])) if row.task_id else ()
                yield ExportedRow(
                    document=documents[row.document_id], row=row, status=status, critics=said
                )


def flat_blocks(
    tx: Transaction, source: Source, stage: Stage, only: str
) -> Iterator[dict[str, Json]]:
    """Rows as a data frame wants them: one flat mapping a block, the schema's fields as columns."""
    fields = stage.record.properties
    for each in block_rows(tx, source, stage, only):
        ours: dict[str, Json] = {
            "block_uid": each.block_uid,
            "source": each.document.source_locator,
            "title": each.document.title,
            "key": orjson.loads(each.row.locator).get("key"),
            "block_index": each.row.block_index,
            "block_type": each.row.block_type,
            "status": each.status,
            "error": each.row.error if each.status == "failed" else None,
        }
        data = json.loads(each.data) if each.data else {}  # exact beyond 64 bits
        yield (
            {f"quire_{name}" if name in fields else name: value for name, value in ours.items()}
            | {name: data.get(name) for name in fields}
            | critic_columns(each.critics)
        )
