"""What Anthropic sends of batches, checked against its published types."""

import json
from typing import Any

from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse

from tests.providers.batch_servers import NONCE
from tests.providers.exchanges.anthropic import ANSWER, block, message

REF = "msgbatch_1"
GOOD = {"type": "succeeded", "message": message(block(ANSWER))}
CANCELLED = {"cancel_initiated_at": "2026-11-15T12:30:00Z"}


def batch(status: str = "ended", name: str = REF, **changes: Any) -> dict[str, Any]:
    """A batch as the vendor shows it."""
    counts = {"processing": 0, "succeeded": 2, "errored": 0, "canceled": 0, "expired": 0}
    if status != "ended":
        counts |= {"processing": 2, "succeeded": 0}
    body = {
        "id": name,
        "type": "message_batch",
        "processing_status": status,
        "request_counts": {**counts, **changes.pop("counts", {})},
        "created_at": "2026-11-15T12:00:30Z",
        "expires_at": "2026-11-16T12:00:30Z",
        "ended_at": "2026-11-15T13:00:00Z" if status == "ended" else None,
        "cancel_initiated_at": None,
        "archived_at": None,
        "results_url": None,
        **changes,
    }
    MessageBatch.model_validate_json(json.dumps(body))
    return body


def row(number: int, result: dict[str, Any], nonce: str = NONCE) -> dict[str, Any]:
    """A row of results as the vendor writes it."""
    made = {"custom_id": f"{nonce}-{number}", "result": result}
    MessageBatchIndividualResponse.model_validate_json(json.dumps(made))
    return made


def listing(*batches: dict[str, Any], more: bool = False) -> dict[str, Any]:
    """A page of the list."""
    last = batches[-1]["id"] if batches else None
    return {"data": list(batches), "has_more": more, "first_id": None, "last_id": last}
