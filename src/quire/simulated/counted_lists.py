"""Lists of the length that a task asks for in words, each element about another part of it.

Where blocks are tasks, and one says "exactly 4 sections", a list of that name in its record has 4
elements. Each is filled in from the material of the task, begun at another place."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quire.domain.data import Json, JsonObject, as_object
from quire.simulated.answer_sizes import within_reach
from quire.simulated.block_answers import AskedBlock
from quire.simulated.field_values import read_block_text
from quire.simulated.long_texts import WORD, marked_material
from quire.simulated.record_filler import compile_filler

MOST_ELEMENTS = 1000
_TASKS = "You are given tasks as JSON"
_EXACTLY = re.compile(r"\bexactly (\d{1,6}) (\w+)", re.IGNORECASE)


class _AskedList(NamedTuple):
    name: str
    items: Json  # the schema of an element
    length: int


def asks_tasks(system: str) -> bool:
    """Whether blocks are tasks, whose words are instructions too."""
    return _TASKS in system


def with_asked_counts(
    blocks: Sequence[AskedBlock], records: Sequence[JsonObject], output_schema: JsonObject
) -> list[JsonObject]:
    """The same records, their lists as long as their tasks ask for."""
    results = as_object(as_object(output_schema.get("properties")).get("results"))
    fields = as_object(as_object(results.get("items")).get("properties"))
    return [
        {**record, **{asked.name: _elements(block, asked) for asked in _asked_lists(block, fields)}}
        for block, record in zip(blocks, records, strict=True)
    ]


def _asked_lists(block: AskedBlock, fields: JsonObject) -> Iterator[_AskedList]:
    for count, name in _EXACTLY.findall(block.content):
        schema = as_object(fields.get(name))
        if schema.get("type") == "array" and int(count) <= MOST_ELEMENTS:
            yield _AskedList(name, schema.get("items"), int(count))


def _elements(block: AskedBlock, asked: _AskedList) -> list[Json]:
    fill = compile_filler(within_reach(asked.items), asked.name)
    words = WORD.findall(marked_material(block.content))
    starts = (len(words) * number // asked.length for number in range(asked.length))
    return [fill(read_block_text(" ".join([*words[at:], *words[:at]]))) for at in starts]
