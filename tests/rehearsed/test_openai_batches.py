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
    BatchEnd,
    BatchMatch,
    BatchQuery,
    BatchRow,
    RowEnd,
    Submission,
    custom_id,
)
from quire.domain.errors import ProviderError, Remedy
from quire.providers.openai_batches import OpenAIBatches
from quire.providers.protocol import BatchApi
from quire.providers.provider_registry import Providers
from quire.providers.transport import Transport
from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.providers.sample_calls import account, make_call
from tests.simulated.calls import message, wire_schema

NONCE = "q2345abcdef"
CALLS = 12
FIELDS: dict[str, Any] = {"word_count": {"type": "integer", "minimum": 0, "maximum": 500}}
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)

T = TypeVar("T")


@dataclass(frozen=True)
class BatchBench:
    """A server, and a vendor's batches there."""

    server: RehearsalThread
    batches: BatchApi
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
                make_call(
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

    async def make(self, http: Transport) -> str:
        """Upload and create."""
        made = self.submission
        input_ref = await self.batches.upload(http, self.by, made)
        return await self.batches.create(http, self.by, made, input_ref)

    async def collect(self, http: Transport, ref: str) -> tuple[BatchEnd | None, list[BatchRow]]:
        """How a batch ended, and its rows."""
        status = await self.batches.poll(http, self.by, ref)
        found = self.batches.fetch(http, self.by, ref, status)
        return status.end, [row async for row in found]

    def whole(self) -> tuple[BatchEnd | None, list[BatchRow]]:
        """Make a batch, let its time pass, and collect it."""

        async def work(http: Transport) -> tuple[BatchEnd | None, list[BatchRow]]:
            ref = await self.make(http)
            await asyncio.to_thread(self.server.advance, 25 * 3600.0)
            await asyncio.to_thread(self.server.settle)
            return await self.collect(http, ref)

        return self.during(work)


VENDORS: list[Any] = [
    pytest.param(OpenAIBatches(), "openai/gpt-6-luna", "/v1", {}, id="openai"),
    pytest.param(OpenAIBatches(), "openai/gpt-6-luna", "/v1", {"api": "chat"}, id="chat"),
    pytest.param(OpenAIBatches("azure"), "azure/gpt-6-luna", "/openai/v1", {}, id="azure"),
    pytest.param(OpenAIBatches("groq"), "groq/openai/gpt-oss-120b", "/openai/v1", {}, id="groq"),
]
EACH = pytest.mark.parametrize(("batches", "model", "path", "options"), VENDORS)


def bench(server: RehearsalThread, folder: Path, *vendor: Any) -> BatchBench:
    batches, model, path, options = vendor or VENDORS[0].values
    by = account(batches.name, server.url + path, **options)
    return BatchBench(server, batches, model, by, folder / "calls.jsonl")


def numbers(rows: list[BatchRow]) -> list[int]:
    return sorted(int(row.custom_id.rpartition("-")[2]) for row in rows)


@EACH
def test_every_call_of_a_batch_is_answered(
    batches: BatchApi, model: str, path: str, options: dict[str, str], tmp_path: Path
) -> None:
    with rehearsal_server(batch_latency="0") as server:
        end, rows = bench(server, tmp_path, batches, model, path, options).whole()
        made = server.batches()

    assert end is BatchEnd.COMPLETED
    assert numbers(rows) == list(range(CALLS))
    assert {row.end for row in rows} == {RowEnd.ANSWERED}
    vendor = Providers().get(batches.name)
    replies = [vendor.decode(row.raw) for row in rows]
    assert all("word_count" in reply.text for reply in replies)
    assert all(reply.usage.input > 0 for reply in replies)
    assert [record["tag"] for record in made] == [NONCE]


@pytest.mark.parametrize(
    ("fault", "end", "ends"),
    [
        ("batch_expire@1", BatchEnd.EXPIRED, {RowEnd.ANSWERED, RowEnd.EXPIRED}),
        ("batch_cancel@1", BatchEnd.CANCELLED, {RowEnd.ANSWERED, RowEnd.CANCELLED}),
        ("batch_errors@1", BatchEnd.COMPLETED, {RowEnd.ERRORED}),
        ("batch_shuffle@1", BatchEnd.COMPLETED, {RowEnd.ANSWERED}),
        ("batch_stuck@1", BatchEnd.EXPIRED, {RowEnd.EXPIRED}),
    ],
)
def test_whatever_the_end_every_row_is_told(
    fault: str, end: BatchEnd, ends: set[RowEnd], tmp_path: Path
) -> None:
    with rehearsal_server(batch_latency="0", faults=fault) as server:
        found, rows = bench(server, tmp_path).whole()

    assert found is end
    assert numbers(rows) == list(range(CALLS))
    assert {row.end for row in rows} == ends
    assert all((row.error is not None) is (row.end is RowEnd.ERRORED) for row in rows)


def test_a_full_queue_is_no_failure(tmp_path: Path) -> None:
    with rehearsal_server(batch_latency="0", faults="batch_full@1") as server:
        end, rows = bench(server, tmp_path).whole()

    assert (end, rows) == (BatchEnd.QUEUE_FULL, [])


@pytest.mark.parametrize("fault", ["batch_drop@1", "batch_500@1"])
def test_a_batch_that_nobody_confirmed_is_found_again(fault: str, tmp_path: Path) -> None:
    with rehearsal_server(batch_latency="0", faults=fault) as server:
        here = bench(server, tmp_path)
        sought = BatchQuery(nonce=NONCE, rows=CALLS, input_ref="", since=LONG_AGO)

        async def work(http: Transport) -> tuple[ProviderError, BatchMatch, BatchMatch]:
            with pytest.raises(ProviderError) as caught:
                await here.make(http)
            found = await here.batches.find(http, here.by, sought)
            other = await here.batches.find(http, here.by, sought._replace(nonce="q7777777777"))
            return caught.value, found, other

        error, found, other = here.during(work)
        end, rows = here.during(lambda http: here.collect(http, found.ref))
        made = server.batches()

    assert error.remedy is Remedy.LOST
    assert str(error).startswith("nobody knows whether the batch was made: ")
    assert other == BatchMatch()
    assert len(made) == 1
    assert (end, len(rows)) == (BatchEnd.COMPLETED, CALLS)


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [("batch_truncate@1", Remedy.RETRY), ("batch_404@1", Remedy.FIX_ACCOUNT)],
)
def test_a_result_that_fails_at_first_is_whole_the_second_time(
    fault: str, remedy: Remedy, tmp_path: Path
) -> None:
    with rehearsal_server(batch_latency="0", faults=fault) as server:
        here = bench(server, tmp_path)

        async def work(http: Transport) -> tuple[ProviderError, list[BatchRow]]:
            ref = await here.make(http)
            with pytest.raises(ProviderError) as caught:
                await here.collect(http, ref)
            return caught.value, (await here.collect(http, ref))[1]

        error, rows = here.during(work)

    assert error.remedy is remedy
    assert numbers(rows) == list(range(CALLS))


def test_another_key_does_not_see_a_batch_and_that_is_no_proof(tmp_path: Path) -> None:
    with rehearsal_server(batch_latency="0") as server:
        here = bench(server, tmp_path)
        other = replace(here.by, key=Secret("sk-somebody-elses-key-000000"))

        async def work(http: Transport) -> ProviderError:
            ref = await here.make(http)
            with pytest.raises(ProviderError) as caught:
                await here.batches.poll(http, other, ref)
            return caught.value

        error = here.during(work)

    assert error.remedy is Remedy.FIX_ACCOUNT
    assert "does not prove that it is gone" in str(error)


def test_a_batch_is_cancelled_and_one_that_ended_stays_as_it_is(tmp_path: Path) -> None:
    with rehearsal_server(batch_latency="3600s") as server:
        here = bench(server, tmp_path)

        async def work(http: Transport) -> BatchEnd | None:
            ref = await here.make(http)
            assert (await here.batches.poll(http, here.by, ref)).end is None
            await here.batches.cancel(http, here.by, ref)
            await asyncio.to_thread(server.advance, 1200.0)
            status = await here.batches.poll(http, here.by, ref)
            await here.batches.cancel(http, here.by, ref)
            return status.end

        assert here.during(work) is BatchEnd.CANCELLED


def test_of_a_file_that_was_discarded_no_batch_is_made(tmp_path: Path) -> None:
    with rehearsal_server(batch_latency="0") as server:
        here = bench(server, tmp_path)

        async def work(http: Transport) -> ProviderError:
            made = here.submission
            input_ref = await here.batches.upload(http, here.by, made)
            for _ in range(2):
                await here.batches.discard(http, here.by, input_ref)
            with pytest.raises(ProviderError) as caught:
                await here.batches.create(http, here.by, made, input_ref)
            return caught.value

        error = here.during(work)
        made = server.batches()

    assert error.remedy is Remedy.FIX_REQUEST
    assert made == []
