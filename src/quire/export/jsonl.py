"""JSONL: one line a block or task, streamed."""

from collections.abc import Iterator

import orjson

from quire.domain.documents import Document
from quire.domain.recipes import Schema, Stage
from quire.export.result_rows import ExportedBlock, SourcePath, block_rows, locator_key, task_rows
from quire.export.result_selection import ResultSource, RowFilter, is_block_by_block
from quire.ledger.ledger import Transaction

KEPT_HEADS = 20  # of the paths that rows came from last


def lines(
    tx: Transaction, source: ResultSource, stage: Stage | None, chosen: RowFilter
) -> Iterator[bytes]:
    """One line each: of a stage that owes a record about every block, block by block.

    Those are `{immutable, user_defined}`; any other stage, and all of them, go task by task.
    """
    if stage is not None and is_block_by_block(stage):
        yield from _block_lines(tx, source, stage, chosen)
    else:
        for item in source.recipe.stages if stage is None else (stage,):
            for row in task_rows(tx, source, item, chosen):
                for copy in row.at_paths():
                    yield orjson.dumps(copy.as_json()) + b"\n"


def _block_lines(
    tx: Transaction, source: ResultSource, stage: Stage, chosen: RowFilter
) -> Iterator[bytes]:
    judged = bool(source.recipe.critics_of(stage.name))
    heads: dict[tuple[int, SourcePath], bytes] = {}
    for row in block_rows(tx, source, stage, chosen):
        name = (row.document.id, row.path)
        if name not in heads:  # rows come document by document: keep a few
            heads = dict([*heads.items()][-KEPT_HEADS:])
            heads[name] = orjson.dumps(_document_head(row.document, row.path))
        yield _block_line(row, heads[name], source, stage.record, judged=judged)


def _block_line(
    row: ExportedBlock, head: bytes, source: ResultSource, schema: Schema, *, judged: bool
) -> bytes:
    block = row.row
    # The head is `{source_upload, conversion}`; its closing brace makes way for the block.
    body = {
        "block_uid": row.block_uid,
        "block_index": block.block_index,
        "block_type": block.block_type,
        "block_locator": orjson.Fragment(block.locator),
        "block_content": block.content,
        "key": locator_key(block.locator),
    }
    immutable = head[:-1] + b',"block":' + orjson.dumps(body) + b"}"
    defined: dict[str, object] = {
        "schema_ref": schema.ref,
        "schema_version": schema.version,
        "schema_uid": schema.uid,
        "task_id": block.task_id,
        "data": None if row.data is None else orjson.Fragment(row.data),
        "status": row.status,
        "error": row.error,
        "run": source.run.id,
        "model": row.model,
        **row.facts.as_json(),
    }
    if row.notes:
        defined["notes"] = orjson.Fragment(row.notes)
    if schema.quoted_fields:
        defined["quotes"] = row.quotes
    if block.reused_from is not None:
        defined["reused_from"] = block.reused_from
    if judged:
        defined["critics"] = [critic.as_json() for critic in row.critics]
    return b'{"immutable":' + immutable + b',"user_defined":' + orjson.dumps(defined) + b"}\n"


def _document_head(document: Document, path: SourcePath) -> dict[str, object]:
    return {
        "source_upload": {
            "source_uid": document.source_uid,
            "source_type": document.source_type,
            "source_filesize": document.source_filesize,
            "source_total_characters": document.source_total_characters,
            "source_upload_timestamp": document.uploaded_at.isoformat(),
            "source": path.source,
            "title": path.title,
        },
        "conversion": {
            "conv_status": "success",
            "conv_uid": document.conv_uid,
            "conv_parsing_tool": document.conv_parsing_tool,
            "conv_representation_type": document.conv_representation_type,
            "conv_total_blocks": document.conv_total_blocks,
            "conv_block_type_freq": document.conv_block_type_freq,
            "conv_total_characters": document.conv_total_characters,
        },
    }
