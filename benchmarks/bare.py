"""The bare minimum: the same provider, grouped durable writes, parse, validate; no engine."""

import asyncio
import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import jiter
import orjson

from benchmarks.corpus import SCHEMA, blocks
from quire.domain.ids import AttemptId
from quire.domain.models import Params
from quire.domain.requests import Call
from quire.gates.shape import Shape
from quire.planning.rendering import BlockItem, render_prefix, user_text, wire_id
from quire.providers.simulated import SimulatedProvider
from quire.recipes.user_schemas import extraction_recipe, load_schema

GROUP = 64  # calls in flight, and in one transaction, unless told otherwise

TABLES = """
CREATE TABLE blocks (id INTEGER PRIMARY KEY, type TEXT NOT NULL, content TEXT NOT NULL);
CREATE TABLE intents (block INTEGER PRIMARY KEY, call INTEGER NOT NULL);
CREATE TABLE calls (id INTEGER PRIMARY KEY, raw BLOB NOT NULL);
CREATE TABLE results (block INTEGER PRIMARY KEY, data TEXT NOT NULL);
"""


BlockRow = tuple[int, str, str]  # its place, its type and its text


class Work(NamedTuple):
    """One call to make."""

    id: int
    items: list[BlockItem]


def made_rows(count: int) -> Iterable[BlockRow]:
    """The blocks of the corpus as they are written."""
    return ((block.index, block.type.value, block.content) for block in blocks(count))


class Bare:
    """One loop: read blocks, write the intents, send, parse, validate, write the results."""

    def __init__(self, path: str, rows: Iterable[BlockRow], group: int = GROUP) -> None:
        """Open a durable database that holds the blocks."""
        self._group_size = group
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.executescript(TABLES)
        self._write("INSERT INTO blocks VALUES (?, ?, ?)", list(rows))
        schema = load_schema(SCHEMA, name="bench")
        self._stage = extraction_recipe(schema, Params()).stages[0]
        self._prefix = render_prefix(self._stage)
        self._shape = Shape(schema.record_schema)
        self._provider = SimulatedProvider()

    async def run(self, per_call: int) -> int:
        """Carry out the job; returns how many results were stored."""
        calls = stored = 0
        while items := self._unsent(self._group_size * per_call):
            starts = range(0, len(items), per_call)
            group = [Work(calls + no, items[at : at + per_call]) for no, at in enumerate(starts, 1)]
            stored += await self._group(group)
            calls += len(group)
        return stored

    def close(self) -> None:
        """Close the database, which copies its log: no part of the job, nor is it the engine's."""
        self._database.close()

    def _unsent(self, limit: int) -> list[BlockItem]:
        after = "SELECT coalesce(max(block), -1) FROM intents"  # blocks are taken in order
        select = f"SELECT id, type, content FROM blocks WHERE id > ({after}) ORDER BY id LIMIT ?"
        return [BlockItem(*row) for row in self._database.execute(select, (limit,))]

    async def _group(self, group: Sequence[Work]) -> int:
        intents = [(item.block_index, work.id) for work in group for item in work.items]
        self._write("INSERT INTO intents VALUES (?, ?)", intents)
        sent = await asyncio.gather(*(self._provider.send(self._call(work)) for work in group))
        raws = [response.raw for response in sent]
        answered = [(work.id, raw) for work, raw in zip(group, raws, strict=True)]
        results = [
            row for work, raw in zip(group, raws, strict=True) for row in self._judge(work, raw)
        ]
        self._database.execute("BEGIN IMMEDIATE")
        self._database.executemany("INSERT INTO calls VALUES (?, ?)", answered)
        self._database.executemany("INSERT INTO results VALUES (?, ?)", results)
        self._database.execute("COMMIT")
        return len(results)

    def _call(self, work: Work) -> Call:
        return Call(
            attempt_id=AttemptId(work.id),
            model="simulated/small",
            system=self._prefix.system,
            user=user_text(self._stage.prompt, work.id, work.items),
            output_schema=self._prefix.output_schema,
            params=Params(max_tokens=8192),
        )

    def _judge(self, work: Work, raw: bytes) -> list[tuple[int, bytes]]:
        answer = jiter.from_json(self._provider.decode(raw).text.encode())
        records = {record.pop("block_uid"): record for record in answer["results"]}
        if len(answer["results"]) != len(work.items):  # each once, and nobody else
            return []
        expected = {wire_id(work.id, no): item for no, item in enumerate(work.items, 1)}
        return [
            (expected[uid].block_index, orjson.dumps(record))
            for uid, record in records.items()
            if uid in expected and not self._shape.problems(record)
        ]

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        self._database.execute("BEGIN IMMEDIATE")
        self._database.executemany(statement, rows)
        self._database.execute("COMMIT")
