"""The bare minimum of collecting a batch: download, parse, validate, write in groups; no engine."""

import sqlite3
import zlib
from collections.abc import AsyncIterator, Iterable

import aiohttp
import jiter
import orjson

from benchmarks.corpus import SCHEMA
from quire.gates.shape import Shape
from quire.ledger.tables.attempts import COMPRESS_FROM
from quire.recipes.user_schemas import load_schema

GROUP = 256  # rows in one transaction
MOST_LINE = 1 << 24  # bytes

TABLES = """
CREATE TABLE asked (
    call INTEGER NOT NULL, name TEXT NOT NULL, task INTEGER NOT NULL, PRIMARY KEY (call, name)
) WITHOUT ROWID;
CREATE TABLE calls (
    id INTEGER PRIMARY KEY, raw BLOB NOT NULL, text TEXT NOT NULL,
    input INTEGER NOT NULL, output INTEGER NOT NULL
);
CREATE TABLE results (task INTEGER PRIMARY KEY, call INTEGER NOT NULL, data TEXT NOT NULL);
"""

Asked = tuple[int, str, int]  # a call, the name of a block in it, and the task


class BareCollector:
    """One loop: read lines, parse, look up who was asked for, validate, write."""

    def __init__(
        self, path: str, asked: Iterable[Asked], *, durable: bool, squeezing: bool = False
    ) -> None:
        """Open a database that knows what was asked; perhaps keep bodies as the ledger does."""
        self._squeezing = squeezing
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        self._database.executescript(TABLES)
        self._database.execute("BEGIN IMMEDIATE")
        self._database.executemany("INSERT INTO asked VALUES (?, ?, ?)", asked)
        self._database.execute("COMMIT")
        self._shape = Shape(load_schema(SCHEMA, name="bench").record_schema)

    async def run(self, url: str, key: str, batch: str) -> int:
        """Collect one batch; returns how many results were stored."""
        stored, group = 0, list[bytes]()
        async for line in _lines(url, key, batch):
            group.append(line)
            if len(group) == GROUP:
                stored += self._store(group)
                group = []
        stored += self._store(group)
        return stored

    def close(self) -> None:
        """Close the database, which copies its log: no part of the job, nor is it the engine's."""
        self._database.close()

    def _store(self, group: list[bytes]) -> int:
        rows = [orjson.loads(line) for line in group]
        ids = [int(row["custom_id"].rpartition("-")[2]) for row in rows]
        self._database.execute("BEGIN IMMEDIATE")
        tasks = self._tasks(ids)
        calls, results = [], []
        for call, row in zip(ids, rows, strict=True):
            body = row["response"]["body"]
            usage = body["usage"]
            raw, text = orjson.dumps(body), body["output"][0]["content"][0]["text"]
            kept = zlib.compress(raw, 1) if self._squeezing and len(raw) >= COMPRESS_FROM else raw
            calls.append((call, kept, text, usage["input_tokens"], usage["output_tokens"]))
            results += self._judge(call, text, tasks[call])
        self._database.executemany("INSERT INTO calls VALUES (?, ?, ?, ?, ?)", calls)
        self._database.executemany("INSERT INTO results VALUES (?, ?, ?)", results)
        self._database.execute("COMMIT")
        return len(results)

    def _tasks(self, calls: list[int]) -> dict[int, dict[str, int]]:
        marks = ",".join("?" * len(calls))
        select = f"SELECT call, name, task FROM asked WHERE call IN ({marks})"
        found: dict[int, dict[str, int]] = {call: {} for call in calls}
        for call, name, task in self._database.execute(select, calls):
            found[call][name] = task
        return found

    def _judge(self, call: int, text: str, tasks: dict[str, int]) -> list[tuple[int, int, bytes]]:
        records = jiter.from_json(text.encode())["results"]
        if len(records) != len(tasks):  # each once, and nobody else
            return []
        named = [(record.pop("block_uid"), record) for record in records]
        return [
            (tasks[name], call, orjson.dumps(record))
            for name, record in named
            if name in tasks and not self._shape.problems(record)
        ]


async def _lines(url: str, key: str, batch: str) -> AsyncIterator[bytes]:
    headers = {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(headers=headers, read_bufsize=MOST_LINE) as session:
        async with session.get(f"{url}/batches/{batch}") as answer:
            name = orjson.loads(await answer.read())["output_file_id"]
        async with session.get(f"{url}/files/{name}/content") as answer:
            async for line in answer.content:
                yield line
