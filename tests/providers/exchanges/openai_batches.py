"""Batches and rows of OpenAI, Azure and Groq, as their documentation and recordings show them."""

from typing import Any

NONCE = "q2345abcdef"

BATCH: dict[str, Any] = {
    "id": "batch_1",
    "object": "batch",
    "endpoint": "/v1/responses",
    "input_file_id": "file-in",
    "completion_window": "24h",
    "status": "in_progress",
    "output_file_id": None,
    "error_file_id": None,
    "errors": None,
    "created_at": 1_800_000_000,
    "in_progress_at": 1_800_000_010,
    "expires_at": 1_800_086_400,
    "request_counts": {"total": 3, "completed": 1, "failed": 0},
    "metadata": {"quire": NONCE},
}
FULL = {
    "code": "token_limit_exceeded",
    "message": "Enqueued token limit reached for gpt-6-luna in organization org-1."
    " Limit: 2,000,000 enqueued tokens.",
    "param": None,
    "line": None,
}
MISMATCH = {"code": "mismatched_model", "message": "One model a file.", "param": None, "line": 7}


def batch(status: str = "in_progress", **changes: Any) -> dict[str, Any]:
    """A batch."""
    return {**BATCH, "status": status, **changes}


def failed_batch(*errors: dict[str, Any]) -> dict[str, Any]:
    """A batch that was not taken."""
    return batch("failed", errors={"object": "list", "data": list(errors)})


def output_row(name: str, body: Any, status: int = 200) -> dict[str, Any]:
    """A row of the output file, or one of the error file with another status."""
    response = {"status_code": status, "request_id": "req_1", "body": body}
    return {"id": "batch_req_1", "custom_id": name, "response": response, "error": None}


def unsent_row(name: str, code: str) -> dict[str, Any]:
    """A row of the error file for a call that was not carried out."""
    error = {"code": code, "message": "This request could not be executed."}
    return {"id": "batch_req_1", "custom_id": name, "response": None, "error": error}
