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
    BatchRow,
    BatchStatus,
    End,
    Found,
    RowEnd,
    Sought,
    Submission,
    custom_id,
)
from quire.domain.errors import ProviderError, Remedy
from quire.domain.ids import AttemptId
from quire.domain.models import Params
from quire.domain.requests import Call
from quire.providers.anthropic_batches import AnthropicBatches
from quire.providers.catalog import CATALOG
from quire.providers.gemini_batches import INLINE_CALLS, GeminiBatches
from quire.providers.protocol import Batching
from quire.providers.registry import Providers
from quire.providers.transport import Transport
from quire.rehearsal.thread import Rehearsing, rehearsing
from tests.rehearsal.asking import KEY, SCHEMA, counts, message

T = TypeVar("T")

NONCE = "qabcdefgh23"
SINCE = datetime(2026, 1, 1, tzinfo=UTC)  # before any server's clock
TWO_DAYS = 48 * 3_600.0 + 1


@dataclass(frozen=True)
class Way:
    """How calls travel."""

    batching: Batching
    model: str
    rows: int

    def __str__(self) -> str:
        """Whose, and how many."""
        return f"{self.batching.name} {self.rows}"


FEW = Way(GeminiBatches(), "gemini/gemini-3.8-flash", 8)
MANY = replace(FEW, rows=INLINE_CALLS + 8)
MESSAGES = Way(AnthropicBatches(), "anthropic/claude-sonnet-5-5", 8)
EACH = pytest.mark.parametrize("way", [MESSAGES, FEW, MANY], ids=str)


class Desk:
    """One who makes batches at a server."""

    def __init__(self, way: Way, server: Rehearsing, path: Path, key: str = KEY) -> None:
        """Write the calls down."""
        self.way, self.server, self.door = way, server, Transport()
        self.account = Account(
            provider=way.batching.name, credential="test", key=Secret(key), base_url=server.url
        )
        call = _call(way.model)
        lines = [
            way.batching.line(
                replace(call, user=message("word " * (each % 7 + 1))),
                self.account,
                custom_id(NONCE, each),
            )
            for each in range(way.rows)
        ]
        path.write_bytes(way.batching.rules.separator.join(lines))
        self.order = Submission(nonce=NONCE, model=way.model, rows=way.rows, path=str(path))

    async def make(self) -> str:
        """Bring the calls there and make a batch of them."""
        brought = await self.way.batching.upload(self.door, self.account, self.order)
        return await self.way.batching.create(self.door, self.account, self.order, brought)

    async def find(self, *known: str) -> Found:
        """Look for the batch."""
        sought = Sought(NONCE, self.way.rows, "", SINCE, frozenset(known))
        return await self.way.batching.find(self.door, self.account, sought)

    async def poll(self, ref: str) -> BatchStatus:
        """Ask how it stands."""
        return await self.way.batching.poll(self.door, self.account, ref)

    async def collect(self, ref: str) -> list[BatchRow]:
        """Read every row."""
        status = await self.poll(ref)
        found = self.way.batching.fetch(self.door, self.account, ref, status)
        return [row async for row in found]

    async def failing(self, work: Awaitable[object]) -> Remedy | None:
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
async def _desk(way: Way, faults: str, latency: str) -> AsyncIterator[Desk]:
    with (
        tempfile.TemporaryDirectory() as folder,
        rehearsing(faults=faults, batch_latency=latency) as server,
    ):
        desk = Desk(way, server, Path(folder) / "calls")
        try:
            yield desk
        finally:
            await desk.door.close()


def at_a_desk(
    way: Way, work: Callable[[Desk], Awaitable[T]], faults: str = "", latency: str = "0"
) -> T:
    """Do some work at a desk of one's own."""

    async def inside() -> T:
        async with asyncio.timeout(30), _desk(way, faults, latency) as desk:
            return await work(desk)

    return asyncio.run(inside())


@EACH
def test_a_batch_is_made_found_watched_and_collected(way: Way) -> None:
    async def whole(desk: Desk) -> tuple[str, Found, BatchStatus, list[BatchRow]]:
        ref = await desk.make()
        return ref, await desk.find(), await desk.poll(ref), await desk.collect(ref)

    ref, found, status, rows = at_a_desk(way, whole)

    assert (found.ref, status.end) == (ref, End.COMPLETED)
    assert [row.custom_id for row in rows] == [custom_id(NONCE, each) for each in range(way.rows)]
    decode = Providers().get(way.batching.name).decode
    texts = [decode(row.raw).text for row in rows]
    assert [counts(text) for text in texts] == [[each % 7 + 1] for each in range(way.rows)]


@EACH
@pytest.mark.parametrize("fault", ["batch_drop@1", "batch_500@1"])
def test_an_order_whose_answer_is_lost_is_found_again(way: Way, fault: str) -> None:
    async def lose(desk: Desk) -> tuple[Remedy | None, Found, int]:
        remedy = await desk.failing(desk.make())
        return remedy, await desk.find(), len(desk.server.batches())

    remedy, found, made = at_a_desk(way, lose, fault)

    assert (remedy, made) == (Remedy.LOST, 1)
    assert found.ref


@EACH
def test_what_was_never_made_is_not_found(way: Way) -> None:
    async def look(desk: Desk) -> Found:
        return await desk.find()

    assert at_a_desk(way, look) == Found()


def test_at_anthropic_a_batch_that_runs_tells_nobody_whose_it_is() -> None:
    async def look(desk: Desk) -> tuple[Found, Found, Found]:
        ref = await desk.make()
        running = await desk.find()
        known = await desk.find(ref)
        desk.server.advance(2_000)
        return running, known, await desk.find()

    running, known, ended = at_a_desk(MESSAGES, look, latency="1000s")

    assert "in progress" in running.unsure
    assert known == Found()
    assert ended.ref


@EACH
def test_a_full_queue_says_wait_and_makes_nothing(way: Way) -> None:
    async def refused(desk: Desk) -> tuple[Remedy | None, int]:
        return await desk.failing(desk.make()), len(desk.server.batches())

    assert at_a_desk(way, refused, "batch_full@1") == (Remedy.WAIT, 0)


@EACH
def test_a_batch_of_another_key_is_not_proven_to_be_gone(way: Way, tmp_path: Path) -> None:
    async def other(desk: Desk) -> tuple[Remedy | None, Remedy | None, Found]:
        ref = await desk.make()
        stranger = Desk(way, desk.server, tmp_path / "calls", key=f"{KEY}-2")
        try:
            poll = await stranger.failing(stranger.poll(ref))
            fetch = await stranger.failing(stranger.collect(ref))
            return poll, fetch, await stranger.find()
        finally:
            await stranger.door.close()

    assert at_a_desk(way, other) == (Remedy.FIX_ACCOUNT, Remedy.FIX_ACCOUNT, Found())


@EACH
def test_a_cancelled_batch_gives_what_it_has_done(way: Way) -> None:
    async def cancel(desk: Desk) -> tuple[BatchStatus, list[BatchRow]]:
        ref = await desk.make()
        desk.server.advance(500)
        await way.batching.cancel(desk.door, desk.account, ref)
        desk.server.advance(200)
        status = await desk.poll(ref)
        await way.batching.cancel(desk.door, desk.account, ref)
        return status, await desk.collect(ref)

    status, rows = at_a_desk(way, cancel, latency="1000s")

    ends = [row.end for row in rows]
    assert status.end is End.CANCELLED
    assert (len(rows), 0 < ends.count(RowEnd.ANSWERED) < way.rows) == (way.rows, True)


@EACH
def test_a_batch_that_expires_gives_what_its_vendor_keeps(way: Way) -> None:
    async def expire(desk: Desk) -> tuple[BatchStatus, list[BatchRow]]:
        ref = await desk.make()
        desk.server.advance(TWO_DAYS)
        return await desk.poll(ref), await desk.collect(ref)

    status, rows = at_a_desk(way, expire, "batch_expire=1")

    answered = [row for row in rows if row.end is RowEnd.ANSWERED]
    assert status.end is End.EXPIRED
    assert len(answered) == (way.rows // 2 if way is MESSAGES else 0)


@pytest.mark.parametrize("way", [MESSAGES, MANY], ids=str)
def test_results_that_are_late_or_cut_off_raise_and_come_whole_the_next_time(way: Way) -> None:
    async def read(desk: Desk) -> tuple[Remedy | None, Remedy | None, list[BatchRow]]:
        ref = await desk.make()
        late = await desk.failing(desk.collect(ref))
        cut = await desk.failing(desk.collect(ref))
        return late, cut, await desk.collect(ref)

    late, cut, rows = at_a_desk(way, read, "batch_404@1,batch_truncate@1")

    assert (late, cut, len(rows)) == (Remedy.FIX_ACCOUNT, Remedy.RETRY, way.rows)


@EACH
def test_rows_shuffled_doubled_missing_and_broken_are_read_as_they_are(way: Way) -> None:
    async def read(desk: Desk) -> list[BatchRow]:
        return await desk.collect(await desk.make())

    mixed = at_a_desk(way, read, "batch_shuffle=1,batch_duplicate=1,batch_missing=1")
    broken = at_a_desk(way, read, "batch_errors=1")
    garbled = at_a_desk(way, read, "garbage=1")

    assert len({row.custom_id for row in mixed}) == way.rows - way.rows // 4
    assert len(mixed) > len({row.custom_id for row in mixed})
    assert {row.error and row.error.remedy for row in broken} == {Remedy.RETRY}
    assert {row.end for row in garbled} == {RowEnd.UNREADABLE}  # kept: it may be paid for
    assert len(broken) == len(garbled) == way.rows


@EACH
def test_calls_are_discarded_however_often(way: Way) -> None:
    async def discard(desk: Desk) -> Remedy | None:
        brought = await way.batching.upload(desk.door, desk.account, desk.order)
        await way.batching.discard(desk.door, desk.account, brought)
        await way.batching.discard(desk.door, desk.account, brought)
        order = way.batching.create(desk.door, desk.account, desk.order, brought)
        return await desk.failing(order)

    remedy = at_a_desk(way, discard)

    assert remedy is (Remedy.FIX_ACCOUNT if way is MANY else None)
