"""What Gemini sends of batches: operations and rows."""

from typing import Any

from tests.providers.batch_servers import NONCE
from tests.providers.exchanges.google import ANSWER, generation

REF = "batches/abc123"
GOOD = {"response": generation({"text": ANSWER})}


def job(state: str = "BATCH_STATE_SUCCEEDED", **changes: Any) -> dict[str, Any]:
    """A job as the vendor shows it; `output` and `stats` go where they belong."""
    output, stats = changes.pop("output", None), changes.pop("stats", {})
    about = {
        "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
        "name": changes.get("name", REF),
        "model": "models/gemini-3.8-flash",
        "displayName": changes.pop("tag", NONCE),
        "createTime": "2026-11-15T12:00:30.123456Z",
        "updateTime": "2026-11-15T12:10:30.123456Z",
        "batchStats": {"requestCount": "2", **stats},
        "state": state,
        **({"output": output} if output is not None else {}),
    }
    return {"name": REF, "metadata": about, **changes}


def inline_output(*rows: dict[str, Any]) -> dict[str, Any]:
    """The output of a job whose calls travelled with the order."""
    return {"inlinedResponses": {"inlinedResponses": list(rows)}}


def inside(number: int, row: dict[str, Any]) -> dict[str, Any]:
    """A row inside a job."""
    return {**row, "metadata": {"key": f"{NONCE}-{number}"}}


def lying(number: int, row: dict[str, Any]) -> dict[str, Any]:
    """A row of a file."""
    return {"key": f"{NONCE}-{number}", **row}
