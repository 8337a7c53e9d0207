"""Command ids: an Idempotency-Key counts for one caller, one route and one body.

The ledger carries each id out once. Were the key itself the id, a key that somebody used for
another command would swallow the new one; so the id is a digest of who asks what with which key,
and after it one of the body.
"""

import hashlib
import json
from typing import Annotated

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool

from quire.domain.errors import Conflict
from quire.engine import Engine
from quire.server.access import AskedEngine, Principal, find_principal
from quire.server.json_answers import IdempotencyKey

DIGITS = 32  # of each digest


async def read_command_id(
    request: Request,
    engine: AskedEngine,
    asker: Annotated[Principal, Depends(find_principal)],
    key: IdempotencyKey = None,
) -> str | None:
    """The id of what a request asks for; None where it came without a key."""
    if key is None:
        return None
    asked = _digest(json.dumps([asker.name, request.method, request.url.path, key]).encode())
    body = _digest(_plain_body(await request.body()))
    await run_in_threadpool(_check_body, engine, asked, body)
    return asked + body


CommandId = Annotated[str | None, Depends(read_command_id)]


def _check_body(engine: Engine, asked: str, body: str) -> None:
    with engine.ledger.snapshot() as tx:
        if tx.controls.has_command_of_other_body(asked, body):
            raise Conflict(
                "this Idempotency-Key was used for the same command with another body",
                "take a new key for what is new",
            )


def _plain_body(body: bytes) -> bytes:
    """The same bytes for the same JSON, however it is spaced."""
    try:
        return json.dumps(json.loads(body), sort_keys=True).encode()
    except (ValueError, RecursionError):
        return body


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:DIGITS]
