"""Ingest: one parsed source becomes a document and its blocks, or is found to be here already."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import NamedTuple

import orjson

from quire.domain.data import canonical_json
from quire.domain.documents import Block, Parsed
from quire.domain.errors import SourceUnreadable
from quire.domain.ids import DocumentId, fingerprint
from quire.ledger.ledger import Transaction
from quire.ledger.tables.documents import NewBlock

CHUNK = 2000  # blocks held in memory at once


class Ingested(NamedTuple):
    """What became of one source."""

    document_id: DocumentId
    title: str
    blocks: int
    new: bool  # False: the same content was here already


def ingest(tx: Transaction, parsed: Parsed, now: datetime) -> Ingested:
    """Add a source's document and blocks; ingesting the same content again changes nothing."""
    known = tx.documents.find(parsed.conv_uid)
    if known is not None:
        return Ingested(known, parsed.title, 0, new=False)
    document = tx.documents.add(parsed, now)
    types: Counter[str] = Counter()
    characters = 0
    for chunk in _chunks(parsed.blocks):
        types.update(block.type.value for block in chunk)
        characters += sum(len(block.content) for block in chunk)
        tx.documents.add_blocks(document, [_row(block) for block in chunk])
    if not types:
        raise SourceUnreadable(f"{parsed.source_locator}: there is nothing in it to ask about")
    tx.documents.set_counts(document, dict(types), characters)
    return Ingested(document, parsed.title, types.total(), new=True)


def _row(block: Block) -> NewBlock:
    return NewBlock(
        block.index,
        block.type.value,
        canonical_json(block.locator),
        orjson.dumps(block.headings).decode(),
        block.content,
        fingerprint(block.type.value, block.content),
        len(orjson.dumps(block.content)),
    )


def _chunks(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    remaining = iter(blocks)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk
