"""Webhooks: who is told what happens to runs, and the outbox of what they are still to be told."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.ids import RunId
from quire.domain.notifications import Notification, OutboxEvent
from quire.domain.reasons import EventKind
from quire.ledger.connection import Row
from quire.ledger.stored_values import from_micros, from_micros_or_none, storable_text, to_micros
from quire.ledger.tables.table import Table

SEPARATOR = ","


class NewWebhook(NamedTuple):
    """A webhook on its way into the ledger."""

    uid: str
    url: str
    notifications: tuple[Notification, ...]  # () = all
    run_id: RunId | None
    sealed: bytes


class Webhook(NamedTuple):
    """An address that is told what happens, and how that goes."""

    id: int
    uid: str
    url: str
    notifications: tuple[Notification, ...]  # () = all
    run_id: RunId | None  # None: of every run
    sealed: bytes
    created_at: datetime
    delivered: int
    delivered_at: datetime | None
    failures: int  # since the last delivery
    problem: str  # of the last failure
    next_at: datetime
    waiting: int  # deliveries
    given_up: int


class Delivery(NamedTuple):
    """What a webhook is to be told now."""

    webhook_id: int
    uid: str
    url: str
    sealed: bytes
    tries: int  # that failed
    event: OutboxEvent


class Webhooks(Table):
    """The workspace's webhooks and their outbox."""

    def add_webhook(self, new: NewWebhook, now: datetime) -> int:
        """Tell an address from now on."""
        rows = self._run(
            "add_webhook",
            uid=new.uid,
            url=new.url,
            notifications=_join(new.notifications),
            run=new.run_id,
            sealed=new.sealed,
            now=to_micros(now),
        )
        number: int = rows[0][0]
        return number

    def list_webhooks(self) -> list[Webhook]:
        """Every webhook, the oldest first."""
        return [_to_webhook(row) for row in self._run("list_webhooks")]

    def remove_webhook(self, webhook: int) -> bool:
        """Forget an address, and what it was still to be told."""
        self._change("empty_outbox", id=webhook)
        return self._change("remove_webhook", id=webhook) > 0

    def is_delivery_due(self, now: datetime) -> bool:
        """Whether a webhook is to be told something now."""
        return bool(self._run("is_delivery_due", now=to_micros(now)))

    def lease_webhooks(self, now: datetime, until: datetime) -> list[int]:
        """Keep others from those that are to be told something now; returns which nobody had."""
        return self._column("lease_webhooks", now=to_micros(now), until=to_micros(until))

    def release_webhooks(self, webhooks: Sequence[int]) -> None:
        """Let others have them."""
        if webhooks:
            self._change("release_webhooks", ids=list(webhooks))

    def due_deliveries(self, webhooks: Sequence[int]) -> list[Delivery]:
        """The oldest thing that each of some webhooks is to be told."""
        rows = self._run("due_deliveries", ids=list(webhooks)) if webhooks else []
        return [_to_delivery(row) for row in rows]

    def note_delivery(self, delivery: Delivery, now: datetime) -> None:
        """It was told: the next may go."""
        self._connection.change(
            "remove_delivery", webhook=delivery.webhook_id, event=delivery.event.id
        )
        self._change("note_delivery", id=delivery.webhook_id, now=to_micros(now))

    def failures_of_webhook(self, webhook: int) -> int:
        """How often it failed since the last delivery."""
        return next(iter(self._column("failures_of_webhook", id=webhook)), 0)

    def note_failed_delivery(
        self, delivery: Delivery, problem: str, next_at: datetime, given_up_at: datetime | None
    ) -> None:
        """It was not told: try again later, or with the next."""
        given_up = None if given_up_at is None else to_micros(given_up_at)
        self._connection.change(
            "count_failed_try",
            webhook=delivery.webhook_id,
            event=delivery.event.id,
            given_up_at=given_up,
        )
        values = {"problem": storable_text(problem), "next_at": to_micros(next_at)}
        self._change("note_failed_delivery", id=delivery.webhook_id, **values)


def _join(names: Sequence[str]) -> str:
    return SEPARATOR + SEPARATOR.join(names) + SEPARATOR if names else ""


def _to_webhook(row: Row) -> Webhook:
    names = tuple(Notification(name) for name in row[3].split(SEPARATOR) if name)
    return Webhook._make(
        (
            *row[:3],
            names,
            row[4],
            bytes(row[5]),
            from_micros(row[6]),
            row[7],
            from_micros_or_none(row[8]),
            row[9],
            row[10] or "",
            from_micros(row[11]),
            *row[12:],
        )
    )


def _to_delivery(row: Row) -> Delivery:
    webhook, uid, url, sealed, event, tries, at, kind, fields, run = row
    waiting = OutboxEvent(event, from_micros(at), EventKind(kind), json.loads(fields), run)
    return Delivery(webhook, uid, url, bytes(sealed), tries, waiting)
