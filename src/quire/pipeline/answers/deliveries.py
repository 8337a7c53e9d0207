"""Deliveries: what webhooks are told, taken from the outbox, and what becomes of each try."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.accounts.encryption import Box
from quire.accounts.webhook_secrets import open_secret
from quire.domain.errors import UsageError
from quire.domain.notifications import delivery_id, notification_body
from quire.ledger.ledger import Transaction
from quire.ledger.tables.webhooks import Delivery

LEASE = timedelta(seconds=60)  # longer than a try takes
MOST_TRIES = 8
OLDEST = timedelta(days=3)  # what could not be told in so long is given up
FIRST_WAIT, GROWTH, LONGEST_WAIT = timedelta(seconds=5), 3, timedelta(hours=1)


class SignedDelivery(NamedTuple):
    """A delivery with all that sending it needs."""

    delivery: Delivery
    name: str  # the same for every try
    body: bytes
    secret: str


def is_due(tx: Transaction, now: datetime) -> bool:
    """Whether a webhook is to be told something now; asked often."""
    return tx.webhooks.is_delivery_due(now)


def claim_deliveries(
    tx: Transaction, open_box: Callable[[], Box], now: datetime
) -> list[SignedDelivery]:
    """Take what is to be told now, one thing for each webhook; others leave those alone.

    A secret that cannot be opened here is a failed try, with the reason.
    """
    leased = tx.webhooks.lease_webhooks(now, now + LEASE)
    due = tx.webhooks.due_deliveries(leased)
    idle = set(leased) - {delivery.webhook_id for delivery in due}
    tx.webhooks.release_webhooks(sorted(idle))  # another worker was quicker
    signed: list[SignedDelivery] = []
    for delivery in due:
        try:
            secret = open_secret(tx, open_box(), delivery.uid, delivery.sealed).reveal()
        except UsageError as error:
            record_failure(tx, delivery, error.message, now)
            continue
        name = delivery_id(delivery.uid, delivery.event.id)
        body = notification_body(name, delivery.event)
        signed.append(SignedDelivery(delivery, name, body, secret))
    return signed


def record_success(tx: Transaction, delivery: Delivery, now: datetime) -> None:
    """The webhook has heard it."""
    tx.webhooks.note_delivery(delivery, now)


def record_failure(tx: Transaction, delivery: Delivery, problem: str, now: datetime) -> None:
    """Try again after a while that grows with every failure; after many, go on with the next."""
    failures = tx.webhooks.failures_of_webhook(delivery.webhook_id)
    last = delivery.tries + 1 >= MOST_TRIES or now - delivery.event.at >= OLDEST
    tx.webhooks.note_failed_delivery(
        delivery, problem, now + retry_wait(failures), now if last else None
    )


def retry_wait(failures: int) -> timedelta:
    """How long a webhook is left alone that failed so often before."""
    growth: int = GROWTH ** min(failures, MOST_TRIES)
    return min(FIRST_WAIT * growth, LONGEST_WAIT)
