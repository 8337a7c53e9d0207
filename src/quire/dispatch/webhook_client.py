"""Sends what webhooks are told: one POST, of whose answer only the status counts."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from quire.domain.errors import Error
from quire.domain.version import VERSION

if TYPE_CHECKING:
    import aiohttp

LONGEST_TRY = 10.0  # seconds, from the first look for the address to the status


class NotDelivered(Error):
    """The webhook did not take it."""


class WebhookClient:
    """The connections to webhooks, opened when the first one needs it.

    Nothing of an answer but its status is read, and no redirect is followed, so that a server can
    neither fill our memory, nor keep us waiting, nor send us elsewhere.
    """

    def __init__(self, seconds: float | None = None) -> None:
        """Open nothing yet."""
        self._seconds = LONGEST_TRY if seconds is None else seconds
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> int:
        """Send a body; returns the status if it is a good one, else raises NotDelivered."""
        import aiohttp  # not for who has no webhooks

        try:
            async with asyncio.timeout(self._seconds):
                async with self._open().post(
                    url, data=body, headers=headers, allow_redirects=False
                ) as response:
                    status = response.status
        except TimeoutError:
            raise NotDelivered(f"no answer in {self._seconds:g} seconds") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NotDelivered(_reason(error)) from None
        if 200 <= status < 300:
            return status
        said = "; redirects are not followed" if 300 <= status < 400 else ""
        raise NotDelivered(f"it answered {status}{said}")

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": f"quire/{VERSION}"},
                trust_env=True,
                auto_decompress=False,
            )
        return self._session


def _reason(error: Exception) -> str:
    """Why the network failed, in a line; never with the address, which may hold a secret."""
    cause = getattr(error, "os_error", None) or error
    number = getattr(cause, "errno", None)
    words = os.strerror(number) if isinstance(number, int) and number > 0 else type(error).__name__
    return f"the connection failed: {words}"
