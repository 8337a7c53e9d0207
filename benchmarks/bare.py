"""The bare minimum: the same provider, grouped durable writes, parse, validate; no engine."""

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import jiter
import orjson

from benchmarks.corpus import SCHEMA, blocks
from quire.domain.ids import AttemptId
from quire.domain.models import Params
from quire.domain.requests import Call
from quire.gates.shape import Shape
from quire.plan.rendering import Item, prefix, user_text, wire_id
from quire.providers.simulated import SimulatedProvider
from quire.recipes.extracting import extract
from quire.recipes.schemas import load_schema

GROUP = 64  # calls in flight, and rows of one transaction


class Work(NamedTuple):
    """One call to make."""

    id: int
    items: list[Item]


class Bare:
    """One loop: write the intent, send, parse, validate, write the result."""

    def __init__(self, path: str) -> None:
        """Open a durable database of two tables."""
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.execute("CREATE TABLE calls (id INTEGER PRIMARY KEY, raw BLOB)")
        self._database.execute("CREATE TABLE results (block INTEGER PRIMARY KEY, data TEXT)")
        self._stage = extract(load_schema(SCHEMA, name="bench"), Params()).stages[0]
        self._prefix = prefix(self._stage)
        self._shape = Shape(self._stage.schema.record_schema)
        self._provider = SimulatedProvider()

    async def run(self, count: int, per_call: int) -> int:
        """Carry out the job; returns how many results were stored."""
        items = [Item(each.index, each.type.value, each.content) for each in blocks(count)]
        starts = range(0, count, per_call)
        work = [Work(no, items[at : at + per_call]) for no, at in enumerate(starts, 1)]
        stored = 0
        for at in range(0, len(work), GROUP):
            stored += await self._group(work[at : at + GROUP])
        self._database.close()
        return stored

    async def _group(self, group: Sequence[Work]) -> int:
        self._write([("INSERT INTO calls (id) VALUES (?)", [(each.id,) for each in group])])
        raws = await asyncio.gather(*(self._provider.send(self._call(each)) for each in group))
        pairs = list(zip(group, raws, strict=True))
        results = [row for each, raw in pairs for row in self._judged(each, raw)]
        self._write(
            [
                ("UPDATE calls SET raw = ? WHERE id = ?", [(raw, each.id) for each, raw in pairs]),
                ("INSERT INTO results VALUES (?, ?)", results),
            ]
        )
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

    def _judged(self, work: Work, raw: bytes) -> Iterator[tuple[int, bytes]]:
        answer = jiter.from_json(self._provider.decode(raw).text.encode())
        records = {record.pop("block_uid"): record for record in answer["results"]}
        for ordinal, item in enumerate(work.items, 1):
            record = records[wire_id(work.id, ordinal)]
            if not self._shape.problems(record):
                yield item.block_index, orjson.dumps(record)

    def _write(self, statements: list[tuple[str, Sequence[tuple[object, ...]]]]) -> None:
        self._database.execute("BEGIN IMMEDIATE")
        for statement, rows in statements:
            self._database.executemany(statement, rows)
        self._database.execute("COMMIT")
