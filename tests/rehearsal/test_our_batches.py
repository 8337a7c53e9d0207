"""Our own batches and the server understand each other, whatever the server does."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import pytest

from quire.domain.accounts import Account, Secret
from quire.domain.batches import (
    BatchEnd,
    BatchMatch,
    BatchQuery,
    BatchRow,
    BatchStatus,
    RowEnd,
    Submission,
    custom_id,
)
from quire.domain.errors import ProviderError, Remedy
from quire.domain.ids import AttemptId
from quire.domain.models import Params
from quire.domain.requests import Call
from quire.providers.anthropic_batches import AnthropicBatches
from quire.providers.catalog import CATALOG
from quire.providers.gemini import INLINE_CALLS, GeminiBatches
from quire.providers.protocol import BatchApi
from quire.providers.provider_registry import Providers
from quire.providers.transport import Transport
from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.rehearsal.clients import KEY, SCHEMA, counts, message

T = TypeVar("T")

NONCE = "qabcdefgh23"
SINCE = datetime(2026, 1, 1, tzinfo=UTC)  # before any server's clock
TWO_DAYS = 48 * 3_600.0 + 1


@dataclass(frozen=True)
class Way:
    """How calls travel."""

    batching: BatchApi
    model: str
    rows: int

    def __str__(self) -> str:
        """Whose, and how many."""
        return f"{self.batching.name} {self.rows}"


FEW = Way(GeminiBatches(), "gemini/gemini-3.8-flash", 8)
MANY = replace(FEW, rows=INLINE_CALLS + 8)
MESSAGES = Way(AnthropicBatches(), "anthropic/claude-sonnet-5-5", 8)
EACH = pytest.mark.parametrize("way", [MESSAGES, FEW, MANY], ids=str)


class BatchClient:
    """One who makes batches at a server."""

    def __init__(self, way: Way, server: RehearsalThread, path: Path, key: str = KEY) -> None:
        """Write the calls down."""
        self.way, self.server, self.http = way, server, Transport()
        self.account = Account(
            provider=way.batching.name, credential="test", key=Secret(key), base_url=server.url
        )
        call = _call(way.model)
        lines = [
            way.batching.line(
                replace(call, user=message("word " * (number % 7 + 1))),
                self.account,
                custom_id(NONCE, number),
            )
            for number in range(way.rows)
        ]
        path.write_bytes(way.batching.rules.separator.join(lines))
        self.order = Submission(nonce=NONCE, model=way.model, rows=way.rows, path=str(path))

    async def make(self) -> str:
        """Bring the calls there and make a batch of them."""
        brought = await self.way.batching.upload(self.http, self.account, self.order)
        return await self.way.batching.create(self.http, self.account, self.order, brought)

    async def find(self, *known: str) -> BatchMatch:
        """Look for the batch."""
        sought = BatchQuery(NONCE, self.way.rows, "", SINCE, frozenset(known))
        return await self.way.batching.find(self.http, self.account, sought)

    async def poll(self, ref: str) -> BatchStatus:
        """Ask how it stands."""
        return await self.way.batching.poll(self.http, self.account, ref)

    async def collect(self, ref: str) -> list[BatchRow]:
        """Read every row."""
        status = await self.poll(ref)
        found = self.way.batching.fetch(self.http, self.account, ref, status)
        return [row async for row in found]

    async def remedy_of(self, work: Awaitable[object]) -> Remedy | None:
        """What can be done about a failure."""
        try:
            await work
        except ProviderError as error:
            return error.remedy
        return None


def _call(model: str) -> Call:
    facts = CATALOG[model]
    return Call(
        attempt_id=AttemptId(1),
        model=model,
        system="Count words.",
        user="",
        output_schema=SCHEMA,
        params=Params(max_tokens=500),
        wire=facts.wire,
        caching=True,
        long_lived=True,
    )


@asynccontextmanager
async def _batch_client(way: Way, faults: str, latency: str) -> AsyncIterator[BatchClient]:
    with (
        tempfile.TemporaryDirectory() as folder,
        rehearsal_server(faults=faults, batch_latency=latency) as server,
    ):
        batch_client = BatchClient(way, server, Path(folder) / "calls")
        try:
            yield batch_client
        finally:
            await batch_client.http.close()


def with_batch_client(
    way: Way, work: Callable[[BatchClient], Awaitable[T]], faults: str = "", latency: str = "0"
) -> T:
    """Do some work with a client of its own."""

    async def inside() -> T:
        async with asyncio.timeout(30), _batch_client(way, faults, latency) as batch_client:
            return await work(batch_client)

    return asyncio.run(inside())


@EACH
def test_a_batch_is_made_found_watched_and_collected(way: Way) -> None:
    async def whole(
        batch_client: BatchClient,
    ) -> tuple[str, BatchMatch, BatchStatus, list[BatchRow]]:
        ref = await batch_client.make()
        return (
            ref,
            await batch_client.find(),
            await batch_client.poll(ref),
            await batch_client.collect(ref),
        )

    ref, found, status, rows = with_batch_client(way, whole)

    assert (found.ref, status.end) == (ref, BatchEnd.COMPLETED)
    assert [row.custom_id for row in rows] == [
        custom_id(NONCE, number) for number in range(way.rows)
    ]
    decode = Providers().get(way.batching.name).decode
    texts = [decode(row.raw).text for row in rows]
    assert [counts(text) for text in texts] == [[number % 7 + 1] for number in range(way.rows)]


@EACH
@pytest.mark.parametrize("fault", ["batch_drop@1", "batch_500@1"])
def test_an_order_whose_answer_is_lost_is_found_again(way: Way, fault: str) -> None:
    async def lose(batch_client: BatchClient) -> tuple[Remedy | None, BatchMatch, int]:
        remedy = await batch_client.remedy_of(batch_client.make())
        return remedy, await batch_client.find(), len(batch_client.server.batches())

    remedy, found, made = with_batch_client(way, lose, fault)

    assert (remedy, made) == (Remedy.LOST, 1)
    assert found.ref


@EACH
def test_what_was_never_made_is_not_found(way: Way) -> None:
    async def look(batch_client: BatchClient) -> BatchMatch:
        return await batch_client.find()

    assert with_batch_client(way, look) == BatchMatch()


def test_at_anthropic_a_batch_that_runs_tells_nobody_whose_it_is() -> None:
    async def look(batch_client: BatchClient) -> tuple[BatchMatch, BatchMatch, BatchMatch]:
        ref = await batch_client.make()
        running = await batch_client.find()
        known = await batch_client.find(ref)
        batch_client.server.advance(2_000)
        return running, known, await batch_client.find()

    running, known, ended = with_batch_client(MESSAGES, look, latency="1000s")

    assert "in progress" in running.unsure
    assert known == BatchMatch()
    assert ended.ref


@EACH
def test_a_full_queue_says_wait_and_makes_nothing(way: Way) -> None:
    async def refused(batch_client: BatchClient) -> tuple[Remedy | None, int]:
        return await batch_client.remedy_of(batch_client.make()), len(batch_client.server.batches())

    assert with_batch_client(way, refused, "batch_full@1") == (Remedy.WAIT, 0)


@EACH
def test_a_batch_of_another_key_is_not_proven_to_be_gone(way: Way, tmp_path: Path) -> None:
    async def other(batch_client: BatchClient) -> tuple[Remedy | None, Remedy | None, BatchMatch]:
        ref = await batch_client.make()
        stranger = BatchClient(way, batch_client.server, tmp_path / "calls", key=f"{KEY}-2")
        try:
            poll = await stranger.remedy_of(stranger.poll(ref))
            fetch = await stranger.remedy_of(stranger.collect(ref))
            return poll, fetch, await stranger.find()
        finally:
            await stranger.http.close()

    assert with_batch_client(way, other) == (Remedy.FIX_ACCOUNT, Remedy.FIX_ACCOUNT, BatchMatch())


@EACH
def test_a_cancelled_batch_gives_what_it_has_done(way: Way) -> None:
    async def cancel(batch_client: BatchClient) -> tuple[BatchStatus, list[BatchRow]]:
        ref = await batch_client.make()
        batch_client.server.advance(500)
        await way.batching.cancel(batch_client.http, batch_client.account, ref)
        batch_client.server.advance(200)
        status = await batch_client.poll(ref)
        await way.batching.cancel(batch_client.http, batch_client.account, ref)
        return status, await batch_client.collect(ref)

    status, rows = with_batch_client(way, cancel, latency="1000s")

    ends = [row.end for row in rows]
    assert status.end is BatchEnd.CANCELLED
    assert (len(rows), 0 < ends.count(RowEnd.ANSWERED) < way.rows) == (way.rows, True)


@EACH
def test_a_batch_that_expires_gives_what_its_vendor_keeps(way: Way) -> None:
    async def expire(batch_client: BatchClient) -> tuple[BatchStatus, list[BatchRow]]:
        ref = await batch_client.make()
        batch_client.server.advance(TWO_DAYS)
        return await batch_client.poll(ref), await batch_client.collect(ref)

    status, rows = with_batch_client(way, expire, "batch_expire=1")

    answered = [row for row in rows if row.end is RowEnd.ANSWERED]
    assert status.end is BatchEnd.EXPIRED
    assert len(answered) == (way.rows // 2 if way is MESSAGES else 0)


@pytest.mark.parametrize("way", [MESSAGES, MANY], ids=str)
def test_results_that_are_late_or_cut_off_raise_and_come_whole_the_next_time(way: Way) -> None:
    async def read(
        batch_client: BatchClient,
    ) -> tuple[Remedy | None, Remedy | None, list[BatchRow]]:
        ref = await batch_client.make()
        late = await batch_client.remedy_of(batch_client.collect(ref))
        cut = await batch_client.remedy_of(batch_client.collect(ref))
        return late, cut, await batch_client.collect(ref)

    late, cut, rows = with_batch_client(way, read, "batch_404@1,batch_truncate@1")

    assert (late, cut, len(rows)) == (Remedy.FIX_ACCOUNT, Remedy.RETRY, way.rows)


@EACH
def test_rows_shuffled_doubled_missing_and_broken_are_read_as_they_are(way: Way) -> None:
    async def read(batch_client: BatchClient) -> list[BatchRow]:
        return await batch_client.collect(await batch_client.make())

    mixed = with_batch_client(way, read, "batch_shuffle=1,batch_duplicate=1,batch_missing=1")
    broken = with_batch_client(way, read, "batch_errors=1")
    garbled = with_batch_client(way, read, "garbage=1")

    assert len({row.custom_id for row in mixed}) == way.rows - way.rows // 4
    assert len(mixed) > len({row.custom_id for row in mixed})
    assert {row.error and row.error.remedy for row in broken} == {Remedy.RETRY}
    assert {row.end for row in garbled} == {RowEnd.UNREADABLE}  # kept: it may be paid for
    assert len(broken) == len(garbled) == way.rows


@EACH
def test_calls_are_discarded_however_often(way: Way) -> None:
    async def discard(batch_client: BatchClient) -> Remedy | None:
        brought = await way.batching.upload(
            batch_client.http, batch_client.account, batch_client.order
        )
        await way.batching.discard(batch_client.http, batch_client.account, brought)
        await way.batching.discard(batch_client.http, batch_client.account, brought)
        order = way.batching.create(
            batch_client.http, batch_client.account, batch_client.order, brought
        )
        return await batch_client.remedy_of(order)

    remedy = with_batch_client(way, discard)

    assert remedy is (Remedy.FIX_ACCOUNT if way is MANY else None)
