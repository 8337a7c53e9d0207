"""Access of streams: who is let in no more is told no more, though the stream began before."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from quire.domain.errors import LedgerUnavailable
from quire.server.access import Unauthorized, find_principal

CHECK_EVERY = 5.0  # seconds for which a token that let somebody in is taken to do so still


async def while_let_in(
    request: Request, messages: AsyncGenerator[bytes, None], check_every: float = CHECK_EVERY
) -> AsyncGenerator[bytes, None]:
    """The messages of a stream, until the token that it was asked with lets nobody in."""
    checked = time.monotonic()
    async with aclosing(messages):
        async for data in messages:
            if time.monotonic() - checked >= check_every:
                with suppress(LedgerUnavailable):  # what it cannot say now, it says later
                    try:
                        await run_in_threadpool(find_principal, request)
                    except Unauthorized:
                        return
                    checked = time.monotonic()
            yield data
