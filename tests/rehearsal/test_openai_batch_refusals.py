"""Batches and files that OpenAI would not take, and how its own client hears of it."""

from typing import Any

import openai
import pytest

from tests.rehearsal.batch_requests import (
    CHAT,
    body,
    lines,
    order,
    retrieve,
    row,
    server_and_client,
    upload,
)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"input_file_id": "file-nowhere"}, "input_file_id"),
        ({"endpoint": "/v1/moderations"}, "endpoint"),
        ({"completion_window": "48h"}, "completion_window"),
        ({"metadata": {"quire": 1}}, "metadata.quire"),
    ],
)
def test_a_batch_that_cannot_be_made_is_refused(change: dict[str, Any], place: str) -> None:
    with server_and_client() as (server, client):
        order_body = {"input_file_id": upload(client, b"{}"), "endpoint": "/v1/responses"}
        asked: dict[str, Any] = {**order_body, "completion_window": "24h", **change}
        with pytest.raises(openai.BadRequestError) as refused:
            client.batches.create(**asked)
        assert server.stats()["batches"]["created"] == 0

    assert refused.value.param == place


@pytest.mark.parametrize(
    ("told", "code", "line"),
    [
        (b'{"half', "invalid_json_line", 1),
        (lines([row("q-1"), row("q-1")]), "duplicate_custom_id", 2),
        (lines([row("q-1"), row("q-2", body(model="gpt-4.1"))]), "mismatched_model", 2),
        (lines([row("q-1", url=CHAT)]), "invalid_url", 1),
        (lines([{"custom_id": "q-1", "method": "POST"}]), "missing_required_parameter", 1),
        (lines([row("q-1", {"input": "hello"})]), "missing_required_parameter", 1),
        (lines([row("q-1", body(stream=True))]), "streaming_unsupported", 1),
        (lines([row("q-1", body(model="gpt-none"))]), "model_not_found", 1),
        (lines([row("q-1", method="GET")]), "invalid_request", 1),
        (b"\n", "empty_file", None),
    ],
)
def test_a_batch_with_a_bad_line_fails_and_nothing_runs(
    told: bytes, code: str, line: int | None
) -> None:
    with server_and_client(strict=True) as (server, client):
        done = retrieve(client, order(client, told).id)
        stats = server.stats()

    assert (done.status, done.errors.data[0].code, done.errors.data[0].line) == (
        "failed",
        code,
        line,
    )
    assert (done.output_file_id, done.error_file_id, done.usage) == (None, None, None)
    assert done.failed_at is not None
    assert (stats["answered"], stats["batches"]["ends"]) == (0, {"failed": 1})


def test_an_upload_must_be_a_file_with_a_purpose() -> None:
    with server_and_client() as (_, client):
        with pytest.raises(openai.BadRequestError, match="purpose"):
            client.files.create(file=("a.jsonl", b"{}"), purpose="nonsense")  # type: ignore[arg-type]
        with pytest.raises(openai.BadRequestError, match="file"):
            client.post("/files", cast_to=object, body={"purpose": "batch"})
