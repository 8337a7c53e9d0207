"""Rows: a run's results one block at a time, for files and frames."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from quire.domain.data import Json
from quire.domain.documents import Document
from quire.domain.errors import NotFound, UsageError
from quire.domain.ids import DocumentId, RunId, block_uid
from quire.domain.recipes import Schema
from quire.domain.runs import Run
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.tables.results import ExportRow
from quire.recipes.snapshots import recipe_from_json

ONLY = ("all", "accepted", "failed")
STATUS = {"done": "accepted", "failed": "failed", "cancelled": "cancelled"}  # others: pending


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRow:
    """One block with what became of it."""

    document: Document
    row: ExportRow
    status: str  # accepted, failed, cancelled, pending

    @property
    def block_uid(self) -> str:
        """The block's name outside the ledger."""
        return block_uid(self.document.conv_uid, self.row.block_index)

    @property
    def data(self) -> str | None:
        """The accepted data as JSON; rejected data is never exported."""
        return self.row.data if self.status == "accepted" else None


class Exported(NamedTuple):
    """What an export is of."""

    run: Run
    schema: Schema


def exported(tx: Transaction, run: RunId) -> Exported:
    """Find a run and the schema of its last stage."""
    found = tx.runs.get(run)
    if found is None:
        raise NotFound(f"there is no run {run}; `quire runs` lists them")
    return Exported(found, recipe_from_json(found.recipe).stages[-1].record)


def rows(tx: Transaction, run: RunId, only: str = "all") -> Iterator[ExportedRow]:
    """Every block of a run's inputs in order, streamed; `only` keeps one status."""
    if only not in ONLY:
        raise UsageError(f"--only takes {', '.join(ONLY)}, not {only!r}")
    documents: dict[DocumentId, Document] = {each.id: each for each in tx.documents.of_run(run)}
    stage = tx.runs.stages(run)[-1].id
    for row in tx.results.export(run, stage):
        status = STATUS.get(row.state or "", "pending")
        if row.review_state == "rejected":
            status = "pending"
        if only in ("all", status):
            yield ExportedRow(document=documents[row.document_id], row=row, status=status)


def flat_rows(ledger: Ledger, run: RunId, only: str = "all") -> list[dict[str, Json]]:
    """Rows as a data frame wants them: one flat mapping a block, the schema's fields as columns."""
    flat: list[dict[str, Json]] = []
    with ledger.snapshot() as tx:
        fields = exported(tx, run).schema.properties
        for each in rows(tx, run, only):
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
            flat.append(
                {f"quire_{name}" if name in fields else name: value for name, value in ours.items()}
                | {name: data.get(name) for name in fields}
            )
    return flat
