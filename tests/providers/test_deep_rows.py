"""Rows as deep as a model likes, and readers with bugs: every line is read, or kept as it came."""

from typing import Any

import pytest

from quire.domain.batches import RowEnd
from quire.providers import anthropic_batches, batch_files, google
from quire.providers.anthropic_batches import AnthropicBatches
from quire.providers.gemini import GeminiBatches
from quire.providers.mistral_batches import MistralBatches
from quire.providers.openai_batches import OpenAIBatches
from quire.providers.protocol import BatchApi
from quire.providers.vertex import VertexBatches
from tests.providers.batch_servers import Answer, BatchServer, rows, run
from tests.providers.exchanges.gemini_batches import REF, inline_output, job
from tests.providers.sample_calls import account

GEMINI = b'"response":{"candidates":[{"content":{"parts":[{"functionCall":{"args":%s}}]}}]}'
ANSWERED: dict[str, tuple[BatchApi, bytes]] = {
    "anthropic": (
        AnthropicBatches(),
        b'{"custom_id":"n-1","result":{"type":"succeeded","message":{"content":'
        b'[{"type":"tool_use","input":{"x":%s}}]}}}',
    ),
    "gemini": (GeminiBatches(), b'{"key":"n-1",' + GEMINI + b"}"),
    "vertex": (VertexBatches(), b'{"custom_id":"n-1","status":"",' + GEMINI + b"}"),
    "openai": (
        OpenAIBatches(),
        b'{"custom_id":"n-1","response":{"status_code":200,"body":{"usage":{"a":1},"x":%s}}}',
    ),
    "mistral": (
        MistralBatches(),
        b'{"custom_id":"n-1","response":{"status_code":200,"body":{"usage":{"a":1},"x":%s}}}',
    ),
}
FAILED: dict[str, tuple[BatchApi, bytes]] = {
    "anthropic": (
        AnthropicBatches(),
        b'{"custom_id":"n-1","result":{"type":"errored","error":{"error":'
        b'{"type":"invalid_request_error","message":"so","x":%s}}}}',
    ),
    "gemini": (GeminiBatches(), b'{"key":"n-1","error":{"code":3,"message":"so","x":%s}}'),
    "vertex": (
        VertexBatches(),
        b'{"custom_id":"n-1","status":"Bad Request: '
        b'{\\"error\\":{\\"message\\":\\"so\\",\\"x\\":%s}}"}',
    ),
}


def deep(levels: int) -> bytes:
    return b"[" * levels + b"1" + b"]" * levels


@pytest.mark.parametrize("vendor", ANSWERED)
@pytest.mark.parametrize("levels", [100, 240, 260, 300, 600])
def test_an_answer_that_is_read_is_written_however_deep(vendor: str, levels: int) -> None:
    batching, line = ANSWERED[vendor]

    row = batching.row(line % deep(levels), account(vendor, ""))

    assert (row.custom_id, row.end) == ("n-1", RowEnd.ANSWERED)
    assert deep(levels) in row.raw


@pytest.mark.parametrize("vendor", ANSWERED)
@pytest.mark.parametrize("levels", [990, 1005, 1010, 1015, 1030, 100_000])
def test_what_nothing_can_write_is_kept_as_the_line_that_it_was(vendor: str, levels: int) -> None:
    batching, form = ANSWERED[vendor]
    line = form % deep(levels)

    row = batching.row(line, account(vendor, ""))

    assert row.end in (RowEnd.ANSWERED, RowEnd.UNREADABLE)
    assert row.custom_id == "n-1" or levels > 1000
    assert deep(levels) in row.raw
    assert row.end is RowEnd.ANSWERED or row.raw == line


@pytest.mark.parametrize("vendor", FAILED)
def test_an_error_is_told_however_deep(vendor: str) -> None:
    batching, line = FAILED[vendor]

    row = batching.row(line % deep(300), account(vendor, ""))

    assert (row.custom_id, row.end) == ("n-1", RowEnd.ERRORED)
    assert str(row.error) == f"{vendor} 400: so"


@pytest.mark.parametrize("vendor", FAILED)
def test_an_error_that_nothing_can_write_is_kept_with_its_name(
    vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batching, form = FAILED[vendor]
    for module in (anthropic_batches, google):
        monkeypatch.setattr(module, "dump_json", lambda value: b"")

    row = batching.row(form % b"1", account(vendor, ""))

    assert (row.custom_id, row.end, row.raw) == ("n-1", RowEnd.UNREADABLE, form % b"1")


@pytest.mark.parametrize("vendor", ANSWERED)
def test_a_reader_with_a_bug_keeps_the_line_and_its_name(
    vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batching, form = ANSWERED[vendor]

    def bug(value: Any) -> bytes:
        raise AttributeError("a bug")

    for module in (anthropic_batches, google, batch_files):
        monkeypatch.setattr(module, "dump_json", bug)

    row = batching.row(form % b"1", account(vendor, ""))

    assert (row.custom_id, row.end, row.raw) == ("n-1", RowEnd.UNREADABLE, form % b"1")


def test_a_row_inside_a_job_is_named_also_where_nothing_can_write_it() -> None:
    row: Any = 1
    for _ in range(240):
        row = [row]
    answer = {"metadata": {"key": "n-1"}, "response": {"x": row}}
    body = b'{"name":"a","metadata":{"output":{"inlinedResponses":{"inlinedResponses":[%s]}}}}'
    line = b'{"metadata":{"key":"n-1"},"response":{"x":%s}}' % deep(1005)
    whole = BatchServer(
        {f"GET /v1beta/{REF}": Answer(job(output=inline_output(answer)))},
        lambda base: account("gemini", base),
    )
    deeper = BatchServer(
        {f"GET /v1beta/{REF}": Answer(body % line)}, lambda base: account("gemini", base)
    )

    (read,) = run(whole, lambda on: rows(GeminiBatches(), on, REF))
    (kept,) = run(deeper, lambda on: rows(GeminiBatches(), on, REF))

    assert (read.custom_id, read.end) == ("n-1", RowEnd.ANSWERED)
    assert (kept.custom_id, kept.end) == ("n-1", RowEnd.UNREADABLE)
    assert kept.raw
