"""Notifications: what happens to a run as other programs are told it, and how that is signed."""

import hmac
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple

from quire.domain.data import Json, canonical_json
from quire.domain.ids import RunId, fingerprint
from quire.domain.reasons import EventKind, Fields, HoldCause, HoldKind

SIGNATURE, DELIVERY = "Quire-Signature", "Quire-Delivery"  # headers


class Notification(StrEnum):
    """What other programs are told of a run."""

    STARTED = "started"
    PROGRESS = "progress"  # in steps
    COMPLETED = "completed"  # every task that was asked has its result
    FAILED = "failed"  # it ended, and some of its tasks failed
    CANCELLED = "cancelled"
    PAUSED = "paused"  # it does not go on until somebody acts
    RESUMED = "resumed"


_TYPES = {
    EventKind.RUN_STARTED: Notification.STARTED,
    EventKind.PROGRESS: Notification.PROGRESS,
    EventKind.RUN_FINISHED: Notification.COMPLETED,
    EventKind.RUN_CANCELLED: Notification.CANCELLED,
    EventKind.HELD: Notification.PAUSED,
    EventKind.PAUSED: Notification.PAUSED,
    EventKind.RESUMED: Notification.RESUMED,
}
# Only these fields leave, and none of them can quote a document: numbers, kinds, and names that
# people gave to recipes and models.
_PUBLIC = ("recipe", "model", "ended", "tasks", "done", "failed", "cause")


def notification_of(kind: EventKind, fields: Fields) -> Notification | None:
    """What an event is for other programs; None where it is for people only."""
    if kind is EventKind.RUN_FINISHED and fields.get("failed"):
        return Notification.FAILED
    return _TYPES.get(kind)


class OutboxEvent(NamedTuple):
    """An event that waits in the outbox."""

    id: int
    at: datetime
    kind: EventKind
    fields: Fields
    run_id: RunId | None


def notification_body(delivery: str, event: OutboxEvent) -> bytes:
    """What is sent: the same bytes each time that the same event is."""
    data: dict[str, Json] = {name: event.fields[name] for name in _PUBLIC if name in event.fields}
    kind = notification_of(event.kind, event.fields)
    if kind is Notification.PAUSED:
        data["hold"] = _hold_kind(event)
    body: Mapping[str, Json] = {
        "id": delivery,
        "type": kind,
        "event": event.id,
        "at": event.at.isoformat(),
        "run": event.run_id,
        "data": data,
    }
    return canonical_json(body).encode()


def _hold_kind(event: OutboxEvent) -> str:
    if event.kind is EventKind.PAUSED:
        return HoldKind.USER
    cause = str(event.fields.get("cause", ""))
    return HoldCause(cause).kind if cause in set(HoldCause) else ""  # "": of an older version


def delivery_id(webhook: str, event: int) -> str:
    """Name a delivery: the same for every try, so that whoever hears it twice can tell."""
    return fingerprint(webhook, event).hex()


def sign(secret: str, body: bytes, now: datetime) -> str:
    """The header by which a receiver knows who sent a body, and when."""
    moment = int(now.timestamp())
    digest = hmac.new(secret.encode(), f"{moment}.".encode() + body, sha256).hexdigest()
    return f"t={moment},v1={digest}"
