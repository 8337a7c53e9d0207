"""The corpus of the benchmarks: blocks of about 1,300 characters, made without chance."""

from collections.abc import Iterator
from datetime import UTC, datetime

from quire.domain.data import Json
from quire.domain.documents import Block, BlockType, ParsedDocument
from quire.domain.ids import conv_uid, source_uid
from quire.ledger.ledger import Ledger
from quire.pipeline.commands.corpus import ingest

START = datetime(2026, 1, 1, tzinfo=UTC)

WORDS = (
    "The supplier shall deliver the goods to Berlin before noon on the agreed day. "
    "Does the buyer accept part of a delivery? Each party bears its own costs. "
)

SCHEMA: dict[str, Json] = {
    "title": "bench",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "word_count": {"type": "integer", "minimum": 0},
        "has_question": {"type": "boolean"},
    },
    "required": ["word_count", "has_question"],
    "prompt_config": {"system_instructions": "Read each block with care. " * 300},
}


def blocks(count: int, characters: int = 1300) -> Iterator[Block]:
    """Blocks that differ in length and text, the same on every machine."""
    text = WORDS * (characters // len(WORDS) + 2)
    for index in range(count):
        length = characters // 2 + (index * 7919) % characters
        content = f"Clause {index}. {text[:length]}"
        yield Block(index=index, type=BlockType.PARAGRAPH, content=content, locator={"type": "row"})


def fill(ledger: Ledger, count: int, characters: int = 1300) -> None:
    """Put one document of that many blocks into a ledger."""
    name = f"bench:{count}:{characters}".encode()
    parsed = ParsedDocument(
        source_uid=source_uid("txt", name),
        source_type="txt",
        source_filesize=len(name),
        source_total_characters=None,
        source_locator="bench",
        title=f"bench {count}",
        conv_uid=conv_uid("bench", "none", name),
        parsing_tool="bench",
        representation_type="none",
        blocks=blocks(count, characters),
    )
    with ledger.transaction() as tx:
        ingest(tx, parsed, START)
