"""The bare minimum over HTTP: aiohttp posts and reads, orjson writes and parses, nothing else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from benchmarks.bare import Bare, BlockRow
from quire.domain.models import Usage
from quire.domain.requests import Call, Reply, Stop
from quire.providers.portable_schemas import SchemaDialect, portable_schema
from quire.providers.protocol import RawResponse

KEY = "sk-bench-0123456789"


class PlainOpenAI:
    """OpenAI's Responses, by hand."""

    def __init__(self, url: str) -> None:
        """Open nothing yet."""
        self._url = f"{url}/v1/responses"
        self._headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        self._session: aiohttp.ClientSession | None = None
        self._forms: dict[int, Any] = {}

    async def send(self, call: Call) -> RawResponse:
        """Post one call and read its answer."""
        return RawResponse(await self._post(orjson.dumps(self.body(call))))

    def body(self, call: Call) -> dict[str, Any]:
        """A call in OpenAI's words."""
        return {
            "model": call.model.partition("/")[2],
            "input": [
                {"role": "developer", "content": call.system},
                {"role": "user", "content": call.user},
            ],
            "max_output_tokens": call.params.max_tokens,
            "store": False,
            "text": {
                "format": {
                    "type": "json_schema",
                    "name": "answer",
                    "schema": self.form(call, SchemaDialect.OPENAI),
                    "strict": True,
                }
            },
        }

    def form(self, call: Call, dialect: SchemaDialect) -> Any:
        """The schema as this vendor takes it, made once."""
        assert call.output_schema is not None
        key = id(call.output_schema)
        if key not in self._forms:
            self._forms[key] = portable_schema(call.output_schema, dialect)
        return self._forms[key]

    def decode(self, raw: bytes) -> Reply:
        """Take the text and the usage out of an answer."""
        body = orjson.loads(raw)
        usage = body["usage"]
        return Reply(
            text=body["output"][0]["content"][0]["text"],
            stop=Stop.END,
            usage=Usage(input=usage["input_tokens"], output=usage["output_tokens"]),
        )

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _post(self, body: bytes) -> bytes:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=1_000)
            self._session = aiohttp.ClientSession(connector=connector)
        async with self._session.post(self._url, data=body, headers=self._headers) as response:
            assert response.status == 200, response.status
            return await response.read()


class PlainAnthropic(PlainOpenAI):
    """Anthropic's Messages, by hand."""

    def __init__(self, url: str) -> None:
        """Open nothing yet."""
        super().__init__(url)
        self._url = f"{url}/v1/messages"
        self._headers |= {"anthropic-version": "2026-10-21"}

    def body(self, call: Call) -> dict[str, Any]:
        """A call in Anthropic's words."""
        form = self.form(call, SchemaDialect.ANTHROPIC)
        return {
            "model": call.model.partition("/")[2],
            "max_tokens": call.params.max_tokens,
            "system": call.system,
            "messages": [{"role": "user", "content": call.user}],
            "output_config": {"format": {"type": "json_schema", "schema": form}},
        }

    def decode(self, raw: bytes) -> Reply:
        """Take the text and the usage out of an answer."""
        body = orjson.loads(raw)
        usage = body["usage"]
        return Reply(
            text=body["content"][0]["text"],
            stop=Stop.END,
            usage=Usage(input=usage["input_tokens"], output=usage["output_tokens"]),
        )


def read_rows(source: Path) -> Iterator[BlockRow]:
    """The blocks in a file of JSON lines."""
    with source.open("rb") as lines:
        for index, line in enumerate(lines):
            yield index, "other", orjson.loads(line)["text"]


class BareHttp(Bare):
    """The bare loop, with the provider behind HTTP."""

    def __init__(self, path: str, source: Path, url: str) -> None:
        """Open a durable database, and read the blocks from a file of JSON lines into it."""
        super().__init__(path, read_rows(source))
        self._provider = PlainOpenAI(url)  # type: ignore[assignment]  # as far as it is used

    async def run(self, per_call: int) -> int:
        """Carry out the job; returns how many results were stored."""
        try:
            return await super().run(per_call)
        finally:
            await self._provider.close()

    def rows(self) -> list[dict[str, Any]]:
        """A mapping for each block, in order."""
        select = "SELECT id, type, data FROM blocks JOIN results ON block = id ORDER BY id"
        return [
            {"block": block, "type": kind, **orjson.loads(data)}
            for block, kind, data in self._database.execute(select)
        ]
