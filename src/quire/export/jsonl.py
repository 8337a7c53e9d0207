"""JSONL: one line a block or task, streamed, whole or not at all."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import orjson

from quire.domain.documents import Document
from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.recipes import Schema, Stage
from quire.export.result_rows import ExportedBlock, block_rows, task_rows
from quire.export.result_selection import (
    ALL,
    ResultSource,
    check_only,
    choose_stage,
    find_result_source,
    is_block_by_block,
)
from quire.ledger.ledger import Ledger, Transaction


def write_jsonl(
    ledger: Ledger, run: RunId, path: str, only: str = "all", stage: str | None = None
) -> int:
    """Write a run's results to a file (`-` is standard output); returns how many lines.

    A stage that owes a record about every block is written block by block, as
    `{immutable, user_defined}`; any other task by task. `stage` may be all: then task by task.
    """
    check_only(only)
    lines = 0
    with ledger.snapshot() as tx:
        source = find_result_source(tx, run)
        stream = (
            _all_task_lines(tx, source, only)
            if stage == ALL
            else _stage_lines(tx, source, only, stage)
        )
        with _open_target(path) as target:
            for line in stream:
                target.write(line)
                lines += 1
    return lines


def _stage_lines(
    tx: Transaction, source: ResultSource, only: str, name: str | None
) -> Iterator[bytes]:
    """The lines of one stage; who asks for what is not there is told at once."""
    stage = choose_stage(source.recipe, name)
    return (
        _block_lines(tx, source, stage, only)
        if is_block_by_block(stage)
        else _task_lines(tx, source, stage, only)
    )


def _all_task_lines(tx: Transaction, source: ResultSource, only: str) -> Iterator[bytes]:
    for stage in source.recipe.stages:
        yield from _task_lines(tx, source, stage, only)


def _task_lines(tx: Transaction, source: ResultSource, stage: Stage, only: str) -> Iterator[bytes]:
    for row in task_rows(tx, source, stage, only):
        yield orjson.dumps(row.as_json()) + b"\n"


def _block_lines(tx: Transaction, source: ResultSource, stage: Stage, only: str) -> Iterator[bytes]:
    judged = bool(source.recipe.critics_of(stage.name))
    heads: dict[int, bytes] = {}
    for row in block_rows(tx, source, stage, only):
        document = row.document
        if document.id not in heads:  # rows come document by document: keep one
            heads = {document.id: orjson.dumps(_document_head(document))}
        yield _block_line(row, heads[document.id], stage.record, judged=judged)


def _block_line(row: ExportedBlock, head: bytes, schema: Schema, *, judged: bool) -> bytes:
    block = row.row
    # The head is `{source_upload, conversion}`; its closing brace makes way for the block.
    body = {
        "block_uid": row.block_uid,
        "block_index": block.block_index,
        "block_type": block.block_type,
        "block_locator": orjson.Fragment(block.locator),
        "block_content": block.content,
    }
    immutable = head[:-1] + b',"block":' + orjson.dumps(body) + b"}"
    defined: dict[str, object] = {
        "schema_ref": schema.ref,
        "schema_uid": schema.uid,
        "data": None if row.data is None else orjson.Fragment(row.data),
        "status": row.status,
        "error": block.error if row.status == "failed" else None,
    }
    if judged:
        defined["critics"] = [critic.as_json() for critic in row.critics]
    return b'{"immutable":' + immutable + b',"user_defined":' + orjson.dumps(defined) + b"}\n"


def _document_head(document: Document) -> dict[str, object]:
    return {
        "source_upload": {
            "source_uid": document.source_uid,
            "source_type": document.source_type,
            "source_filesize": document.source_filesize,
            "source_total_characters": document.source_total_characters,
            "source_upload_timestamp": document.uploaded_at.isoformat(),
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


@contextmanager
def _open_target(path: str) -> Iterator[BinaryIO]:
    """A file that appears only when it is whole; a pipe or a device is written as it is."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    target = Path(path).resolve()  # a link is followed, not replaced
    plain = not target.exists() or target.is_file()
    written = target.with_name(f"{target.name}.partial-{os.getpid()}") if plain else target
    try:
        with written.open("wb") as file:
            yield file
        if plain:
            written.replace(target)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        if plain:
            written.unlink(missing_ok=True)
