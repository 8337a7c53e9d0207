"""JSONL: one line a block, `{immutable, user_defined}`, streamed, whole or not at all."""

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
from quire.domain.recipes import Schema
from quire.export.rows import ExportedRow, exported, rows
from quire.ledger.ledger import Ledger


def write_jsonl(ledger: Ledger, run: RunId, path: str, only: str = "all") -> int:
    """Write a run's rows to a file (`-` is standard output); returns how many lines."""
    lines = 0
    with ledger.snapshot() as tx:
        schema = exported(tx, run).schema
        heads: dict[int, bytes] = {}
        with _target(path) as target:
            for row in rows(tx, run, only):
                document = row.document
                if document.id not in heads:  # rows come document by document: keep one
                    heads = {document.id: orjson.dumps(_head(document))}
                target.write(_line(row, heads[document.id], schema))
                lines += 1
    return lines


def _line(row: ExportedRow, head: bytes, schema: Schema) -> bytes:
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
    defined = {
        "schema_ref": schema.ref,
        "schema_uid": schema.uid,
        "data": None if row.data is None else orjson.Fragment(row.data),
        "status": row.status,
        "error": block.error if row.status == "failed" else None,
    }
    return b'{"immutable":' + immutable + b',"user_defined":' + orjson.dumps(defined) + b"}\n"


def _head(document: Document) -> dict[str, object]:
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
def _target(path: str) -> Iterator[BinaryIO]:
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
