"""Streams end when their token does."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from fastapi import Request

from quire.domain.access import AccessRole
from quire.server.site import Site
from quire.server.stream_access import while_let_in
from tests.server.review_sites import sign_in
from tests.server.sites import open_site


def test_a_stream_ends_when_its_token_is_revoked(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        sign_in(client, "Ann", AccessRole.VIEWER)
        site: Site = client.app.state.site  # type: ignore[attr-defined]
        tokens = site.engine("local").access_tokens
        header = (b"authorization", client.headers["Authorization"].encode())
        request = Request({"type": "http", "app": client.app, "headers": [header]})

        async def tell() -> AsyncGenerator[bytes, None]:
            yield b"one"
            await asyncio.to_thread(tokens.revoke, tokens.list()[0].id)
            yield b"two"

        async def follow() -> list[bytes]:
            return [data async for data in while_let_in(request, tell(), check_every=0)]

        assert asyncio.run(follow()) == [b"one"]
