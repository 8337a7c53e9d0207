"""Webhooks of an installation: addresses that are told what happens to runs."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from quire.accounts.webhook_secrets import (
    is_anything_sealed,
    make_secret,
    make_uid,
    open_secret,
    seal_secret,
)
from quire.dispatch.webhook_client import NotDelivered, WebhookClient
from quire.domain.data import canonical_json
from quire.domain.errors import NotFound, UsageError
from quire.domain.ids import RunId
from quire.domain.notifications import DELIVERY, SIGNATURE, Notification, delivery_id, sign
from quire.engine.context import EngineContext
from quire.engine.keys import Keys
from quire.ledger.tables.webhooks import NewWebhook, Webhook

LONGEST_URL = 2000  # characters
TEST = "test"  # the type of what `quire webhooks test` sends


class AddedWebhook(NamedTuple):
    """A new webhook, with the secret that is shown this once."""

    id: int
    secret: str
    made_key: Path | None  # the file that guards secrets, where it is new


class WebhookAdmin:
    """Adds webhooks, lists them, tries them and removes them."""

    def __init__(self, context: EngineContext, keys: Keys) -> None:
        """Keep them in the context's ledger, sealed with what keys are sealed with."""
        self._context, self._keys = context, keys

    def add(self, url: str, events: Iterable[str] = (), run: int | None = None) -> AddedWebhook:
        """Tell an address what happens to every run, or to one: of all events, or of some."""
        _check_url(url)
        wanted = tuple(_check_event(name) for name in dict.fromkeys(events))
        with self._context.ledger.snapshot() as tx:
            if run is not None:
                tx.runs.must_get_run(RunId(run))
            is_first = not is_anything_sealed(tx)
        made = self._keys.make_secret_key() if is_first else None
        box, uid, secret = self._keys.box(), make_uid(), make_secret()
        with self._context.ledger.transaction() as tx:
            sealed = seal_secret(tx, box, uid, secret)
            only = None if run is None else RunId(run)
            number = tx.webhooks.add_webhook(
                NewWebhook(uid, url, wanted, only, sealed), self._now()
            )
        return AddedWebhook(number, secret.reveal(), made)

    def list(self) -> list[Webhook]:
        """Every webhook, the oldest first."""
        with self._context.ledger.snapshot() as tx:
            return tx.webhooks.list_webhooks()

    def remove(self, webhook: int) -> Webhook:
        """Tell an address nothing more; what waits for it is dropped."""
        found = self._get(webhook)
        with self._context.ledger.transaction() as tx:
            tx.webhooks.remove_webhook(webhook)
        return found

    def test(self, webhook: int) -> int:
        """Send a notification that says it is a test, now; returns the status, or says why not."""
        found = self._get(webhook)
        with self._context.ledger.snapshot() as tx:
            secret = open_secret(tx, self._keys.box(), found.uid, found.sealed).reveal()
        now = self._now()
        name = delivery_id(found.uid, -int(now.timestamp()))
        body = canonical_json({"id": name, "type": TEST, "at": now.isoformat()}).encode()
        headers = {
            "Content-Type": "application/json",
            DELIVERY: name,
            SIGNATURE: sign(secret, body, now),
        }
        return asyncio.run(_post_once(found.url, headers, body))

    def _get(self, webhook: int) -> Webhook:
        found = next((item for item in self.list() if item.id == webhook), None)
        if found is None:
            raise NotFound(f"there is no webhook {webhook}; `quire webhooks list` shows them")
        return found

    def _now(self) -> datetime:
        return self._context.runtime.now()


async def _post_once(url: str, headers: dict[str, str], body: bytes) -> int:
    client = WebhookClient()
    try:
        return await client.post(url, headers, body)
    except NotDelivered as error:
        raise NotDelivered(f"the webhook did not take it: {error}") from None
    finally:
        await client.close()


def _check_url(url: str) -> None:
    """Refuse what is no address, and an address with a password: lists would show it."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        known = False
    if not known or len(url) > LONGEST_URL or not url.isprintable() or " " in url:
        raise UsageError(f"{url[:100]!r} is no address of a webhook: it begins with https://")
    if parts.username or parts.password:
        raise UsageError(
            "an address with a password in it is kept where others see it; leave it out"
        )


def _check_event(name: str) -> Notification:
    if name not in set(Notification):
        raise UsageError(f"there is no event {name!r}; events: {', '.join(Notification)}")
    return Notification(name)
