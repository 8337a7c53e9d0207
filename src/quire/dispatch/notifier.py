"""The notifier: tells webhooks what waits for them in the outbox, and never holds up the work.

Whoever takes a delivery keeps others from that webhook for a minute; a worker that dies meanwhile
leaves it to the next, so that everything is told at least once, and to each webhook in order.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from quire.accounts.encryption import Box
from quire.dispatch.loop_context import LoopContext
from quire.dispatch.webhook_client import NotDelivered, WebhookClient
from quire.domain.errors import LedgerUnavailable
from quire.domain.notifications import DELIVERY, SIGNATURE, sign
from quire.pipeline.answers.deliveries import (
    SignedDelivery,
    claim_deliveries,
    is_due,
    record_failure,
    record_success,
)

LOOK_EVERY = timedelta(seconds=1)  # at the outbox
MOST_OUT = 20  # deliveries; whoever is slow keeps nobody else waiting
LAST_SECONDS = 5.0  # in which a worker that is through tells what is left


class Notifier:
    """Delivers for one worker."""

    def __init__(self, context: LoopContext) -> None:
        """Deliver nothing until it is known how secrets are opened."""
        _, _, _, self._runtime, self._thread = context
        self.open_box: Callable[[], Box] | None = None
        self.client = WebhookClient()
        self._looked_at = datetime.min.replace(tzinfo=UTC)  # at the outbox, in which nothing was
        self._out: set[asyncio.Task[None]] = set()

    async def step(self, group: asyncio.TaskGroup, now: datetime) -> int:
        """Begin what is to be told now; returns how many deliveries that is."""
        # the clock may have been set back
        if len(self._out) >= MOST_OUT or self._looked_at <= now < self._looked_at + LOOK_EVERY:
            return 0
        due = await self._claim(now)
        if not due:
            self._looked_at = now
        for delivery in due:
            task = group.create_task(self._deliver(delivery))
            self._out.add(task)
            task.add_done_callback(self._out.discard)
        return len(due)

    async def finish(self) -> None:
        """Tell what is left, as far as that takes no time."""
        try:
            async with asyncio.timeout(LAST_SECONDS):
                while self._out:
                    await asyncio.wait(self._out)
                while due := await self._claim(self._runtime.now()):
                    await asyncio.gather(*map(self._deliver, due))
        except (TimeoutError, LedgerUnavailable):
            self.abandon()

    def abandon(self) -> None:
        """Wait for nothing more; the next worker tells it."""
        for task in self._out:
            task.cancel()

    async def close(self) -> None:
        """Close the connections."""
        await self.client.close()

    async def _claim(self, now: datetime) -> list[SignedDelivery]:
        if self.open_box is None or not await self._thread.read(lambda tx: is_due(tx, now)):
            return []
        return await self._thread.transact(claim_deliveries, self.open_box, now)

    async def _deliver(self, signed: SignedDelivery) -> None:
        headers = {
            "Content-Type": "application/json",
            DELIVERY: signed.name,
            SIGNATURE: sign(signed.secret, signed.body, self._runtime.now()),
        }
        problem = ""
        try:
            await self.client.post(signed.delivery.url, headers, signed.body)
        except NotDelivered as error:
            problem = str(error)
        try:
            now = self._runtime.now()
            if problem:
                await self._thread.transact(record_failure, signed.delivery, problem, now)
            else:
                await self._thread.transact(record_success, signed.delivery, now)
        except Exception:  # noqa: BLE001 - whatever it is, it is told again when its lease is over
            return
