"""JSON views of webhooks, without their secrets."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quire.ledger.tables.webhooks import Webhook


def webhook_json(webhook: "Webhook") -> dict[str, object]:
    shown = webhook._asdict()
    del shown["sealed"], shown["uid"]
    return shown
