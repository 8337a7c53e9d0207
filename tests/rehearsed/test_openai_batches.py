"""Batches of OpenAI, Azure and Groq against the server that OpenAI's own client understands."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest

from quire.domain.accounts import Account, Secret
from quire.domain.batches import (
    BatchRow,
    End,
    Found,
    RowEnd,
    Sought,
    Submission,
    custom_id,
)
from quire.domain.errors import ProviderError, Remedy
from quire.providers.azure_batches import AzureBatches
from quire.providers.openai_batches import OpenAIBatches, groq_batches
from quire.providers.protocol import Batching
from quire.providers.registry import Providers
from quire.providers.transport import Transport
from quire.rehearsal.thread import Rehearsing, rehearsing
from tests.providers.asking import account, asked
from tests.simulated.asking import message, wire_schema

NONCE = "q2345abcdef"
CALLS = 12
FIELDS: dict[str, Any] = {"word_count": {"type": "integer", "minimum": 0, "maximum": 500}}
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)

T = TypeVar("T")


@dataclass(frozen=True)
class Scene:
    """A server, and a vendor's batches there."""

    server: Rehearsing
    batches: Batching
    model: str
    by: Account
    path: Path

    def during(self, work: Callable[[Transport], Awaitable[T]]) -> T:
        """What some work brings back."""

        async def run() -> T:
            transport = Transport(silent=10)
            try:
                async with asyncio.timeout(30):
                    return await work(transport)
            finally:
                await transport.close()

        return asyncio.run(run())

    @property
    def submission(self) -> Submission:
        """A batch of a few calls."""
        lines = [
            self.batches.line(
                asked(
                    self.model,
                    user=message(["word " * (number + 1)]),
                    output_schema={**wire_schema(FIELDS), "additionalProperties": False},
                ),
                self.by,
                custom_id(NONCE, number),
            )
            for number in range(CALLS)
        ]
        self.path.write_bytes(self.batches.rules.separator.join(lines))
        return Submission(nonce=NONCE, model=self.model, rows=CALLS, path=str(self.path))

    async def make(self, door: Transport) -> str:
        """Upload and create."""
        made = self.submission
        input_ref = await self.batches.upload(door, self.by, made)
        return await self.batches.create(door, self.by, made, input_ref)

    async def collect(self, door: Transport, ref: str) -> tuple[End | None, list[BatchRow]]:
        """How a batch ended, and its rows."""
        status = await self.batches.poll(door, self.by, ref)
        found = self.batches.fetch(door, self.by, ref, status)
        return status.end, [row async for row in found]

    def whole(self) -> tuple[End | None, list[BatchRow]]:
        """Make a batch, let its time pass, and collect it."""

        async def work(door: Transport) -> tuple[End | None, list[BatchRow]]:
            ref = await self.make(door)
            await asyncio.to_thread(self.server.advance, 25 * 3600.0)
            await asyncio.to_thread(self.server.settle)
            return await self.collect(door, ref)

        return self.during(work)


VENDORS: list[Any] = [
    pytest.param(OpenAIBatches(), "openai/gpt-6-luna", "/v1", {}, id="openai"),
    pytest.param(OpenAIBatches(), "openai/gpt-6-luna", "/v1", {"api": "chat"}, id="chat"),
    pytest.param(AzureBatches(), "azure/gpt-6-luna", "/openai/v1", {}, id="azure"),
    pytest.param(groq_batches(), "groq/openai/gpt-oss-120b", "/openai/v1", {}, id="groq"),
]
EACH = pytest.mark.parametrize(("batches", "model", "path", "options"), VENDORS)


def scene(server: Rehearsing, folder: Path, *vendor: Any) -> Scene:
    batches, model, path, options = vendor or VENDORS[0].values
    by = account(batches.name, server.url + path, **options)
    return Scene(server, batches, model, by, folder / "calls.jsonl")


def numbers(rows: list[BatchRow]) -> list[int]:
    return sorted(int(row.custom_id.rpartition("-")[2]) for row in rows)


@EACH
def test_every_call_of_a_batch_is_answered(
    batches: Batching, model: str, path: str, options: dict[str, str], tmp_path: Path
) -> None:
    with rehearsing(batch_latency="0") as server:
        end, rows = scene(server, tmp_path, batches, model, path, options).whole()
        made = server.batches()

    assert end is End.COMPLETED
    assert numbers(rows) == list(range(CALLS))
    assert {row.end for row in rows} == {RowEnd.ANSWERED}
    vendor = Providers().get(batches.name)
    replies = [vendor.decode(row.raw) for row in rows]
    assert all("word_count" in reply.text for reply in replies)
    assert all(reply.usage.input > 0 for reply in replies)
    assert [each["tag"] for each in made] == [NONCE]


@pytest.mark.parametrize(
    ("fault", "end", "ends"),
    [
        ("batch_expire@1", End.EXPIRED, {RowEnd.ANSWERED, RowEnd.EXPIRED}),
        ("batch_cancel@1", End.CANCELLED, {RowEnd.ANSWERED, RowEnd.CANCELLED}),
        ("batch_errors@1", End.COMPLETED, {RowEnd.ERRORED}),
        ("batch_shuffle@1", End.COMPLETED, {RowEnd.ANSWERED}),
        ("batch_stuck@1", End.EXPIRED, {RowEnd.EXPIRED}),
    ],
)
def test_whatever_the_end_every_row_is_told(
    fault: str, end: End, ends: set[RowEnd], tmp_path: Path
) -> None:
    with rehearsing(batch_latency="0", faults=fault) as server:
        found, rows = scene(server, tmp_path).whole()

    assert found is end
    assert numbers(rows) == list(range(CALLS))
    assert {row.end for row in rows} == ends
    assert all((row.error is not None) is (row.end is RowEnd.ERRORED) for row in rows)


def test_a_full_queue_is_no_failure(tmp_path: Path) -> None:
    with rehearsing(batch_latency="0", faults="batch_full@1") as server:
        end, rows = scene(server, tmp_path).whole()

    assert (end, rows) == (End.QUEUE_FULL, [])


@pytest.mark.parametrize("fault", ["batch_drop@1", "batch_500@1"])
def test_a_batch_that_nobody_confirmed_is_found_again(fault: str, tmp_path: Path) -> None:
    with rehearsing(batch_latency="0", faults=fault) as server:
        here = scene(server, tmp_path)
        sought = Sought(nonce=NONCE, rows=CALLS, input_ref="", since=LONG_AGO)

        async def work(door: Transport) -> tuple[ProviderError, Found, Found]:
            with pytest.raises(ProviderError) as caught:
                await here.make(door)
            found = await here.batches.find(door, here.by, sought)
            other = await here.batches.find(door, here.by, sought._replace(nonce="q7777777777"))
            return caught.value, found, other

        error, found, other = here.during(work)
        end, rows = here.during(lambda door: here.collect(door, found.ref))
        made = server.batches()

    assert error.remedy is Remedy.LOST
    assert str(error).startswith("nobody knows whether the batch was made: ")
    assert other == Found()
    assert len(made) == 1
    assert (end, len(rows)) == (End.COMPLETED, CALLS)


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [("batch_truncate@1", Remedy.RETRY), ("batch_404@1", Remedy.FIX_ACCOUNT)],
)
def test_a_result_that_fails_at_first_is_whole_the_second_time(
    fault: str, remedy: Remedy, tmp_path: Path
) -> None:
    with rehearsing(batch_latency="0", faults=fault) as server:
        here = scene(server, tmp_path)

        async def work(door: Transport) -> tuple[ProviderError, list[BatchRow]]:
            ref = await here.make(door)
            with pytest.raises(ProviderError) as caught:
                await here.collect(door, ref)
            return caught.value, (await here.collect(door, ref))[1]

        error, rows = here.during(work)

    assert error.remedy is remedy
    assert numbers(rows) == list(range(CALLS))


def test_another_key_does_not_see_a_batch_and_that_is_no_proof(tmp_path: Path) -> None:
    with rehearsing(batch_latency="0") as server:
        here = scene(server, tmp_path)
        other = replace(here.by, key=Secret("sk-somebody-elses-key-000000"))

        async def work(door: Transport) -> ProviderError:
            ref = await here.make(door)
            with pytest.raises(ProviderError) as caught:
                await here.batches.poll(door, other, ref)
            return caught.value

        error = here.during(work)

    assert error.remedy is Remedy.FIX_ACCOUNT
    assert "does not prove that it is gone" in str(error)


def test_a_batch_is_cancelled_and_one_that_ended_stays_as_it_is(tmp_path: Path) -> None:
    with rehearsing(batch_latency="3600s") as server:
        here = scene(server, tmp_path)

        async def work(door: Transport) -> End | None:
            ref = await here.make(door)
            assert (await here.batches.poll(door, here.by, ref)).end is None
            await here.batches.cancel(door, here.by, ref)
            await asyncio.to_thread(server.advance, 1200.0)
            status = await here.batches.poll(door, here.by, ref)
            await here.batches.cancel(door, here.by, ref)
            return status.end

        assert here.during(work) is End.CANCELLED


def test_of_a_file_that_was_discarded_no_batch_is_made(tmp_path: Path) -> None:
    with rehearsing(batch_latency="0") as server:
        here = scene(server, tmp_path)

        async def work(door: Transport) -> ProviderError:
            made = here.submission
            input_ref = await here.batches.upload(door, here.by, made)
            for _ in range(2):
                await here.batches.discard(door, here.by, input_ref)
            with pytest.raises(ProviderError) as caught:
                await here.batches.create(door, here.by, made, input_ref)
            return caught.value

        error = here.during(work)
        made = server.batches()

    assert error.remedy is Remedy.FIX_REQUEST
    assert made == []
