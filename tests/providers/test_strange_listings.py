"""Lists of batches in a form that nobody expected: whatever they hide may be there all the same."""

from typing import Any

import pytest

from quire.domain.batches import BatchMatch
from quire.providers.anthropic_batches import AnthropicBatches
from quire.providers.gemini import GeminiBatches
from quire.providers.mistral_batches import MistralBatches
from quire.providers.openai_batches import OpenAIBatches
from quire.providers.protocol import BatchApi
from quire.providers.vertex import VertexBatches
from tests.providers.batch_servers import Answer, BatchServer, batch_query, json_lines, run
from tests.providers.exchanges.anthropic_batches import GOOD, REF, batch, row
from tests.providers.exchanges.gemini_batches import job
from tests.providers.sample_calls import account
from tests.providers.test_vertex_batches import batch_server as vertex_desk
from tests.providers.test_vertex_batches import job as vertex_job

BATCHES: dict[str, BatchApi] = {
    "openai": OpenAIBatches(),
    "groq": OpenAIBatches("groq"),
    "azure": OpenAIBatches("azure"),
    "mistral": MistralBatches(),
    "anthropic": AnthropicBatches(),
    "gemini": GeminiBatches(),
}


def looking(vendor: str, page: Any, results: bytes = b"") -> BatchMatch:
    """What looking for a batch shows, in a list of one page."""

    def answer(path: str) -> Answer:
        return Answer(results) if path.endswith("/results") else Answer(page)

    there = BatchServer(
        {}, lambda base: account(vendor, f"{base}/v1" if vendor in _UNDER_V1 else base)
    )
    there._answer = lambda asked: answer(asked.path)  # type: ignore[method-assign]
    return run(
        there, lambda on: BATCHES[vendor].find(on.http, on.account, batch_query(2, "known_1"))
    )


_UNDER_V1 = ("openai", "groq", "azure", "mistral")


def without(found: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name not in names}


def counts(**numbers: Any) -> dict[str, Any]:
    """A batch of others that has ended, with these numbers and no more."""
    return {**batch("in_progress", "other_1"), "request_counts": numbers}


ANTHROPIC_END = {"has_more": False, "first_id": None, "last_id": None}
FIVE = {"processing": 0, "succeeded": 2, "errored": 0, "canceled": 0, "expired": 0}


@pytest.mark.parametrize(
    "page",
    [
        {"data": [None], **ANTHROPIC_END},
        {"data": ["x", 1], **ANTHROPIC_END},
        {"data": [without(batch(), "id")], **ANTHROPIC_END},
        {"data": [{**batch(), "id": 7}], **ANTHROPIC_END},
        {"data": [{**batch("in_progress"), "created_at": 1_700_000_000}], **ANTHROPIC_END},
        {"data": [{**batch("in_progress"), "created_at": "15 Nov 2020"}], **ANTHROPIC_END},
        {"data": [], "has_more": "true", "last_id": "a"},
        {"data": [], "has_more": 1},
        {"data": []},
        {"data": [counts(**{**FIVE, "total": 2})], **ANTHROPIC_END},
        {"data": [counts(**{**FIVE, "succeeded": 0, "paused": 2})], **ANTHROPIC_END},
        {"data": [counts(**{**FIVE, "succeeded": "2"})], **ANTHROPIC_END},
        {"data": [counts(**{**FIVE, "processing": -1, "succeeded": 2})], **ANTHROPIC_END},
        {"data": [counts(done=3)], **ANTHROPIC_END},
        {"data": [counts()], **ANTHROPIC_END},
    ],
)
def test_anthropics_lists_prove_nothing_in_another_form(page: Any) -> None:
    found = looking("anthropic", page)

    assert not found.ref
    assert "anthropic's list of batches" in found.unsure


@pytest.mark.parametrize(
    "others",
    [
        [],
        [counts(**{**FIVE, "succeeded": 3})],
        [counts(**{**FIVE, "succeeded": 3, "total": 3})],
        [counts(**{**FIVE, "succeeded": 1, "note": "x"})],
        [without(batch("in_progress", counts={"processing": 9}), "id")],
        [{**batch("in_progress"), "id": "known_1"}],
    ],
)
def test_batches_of_another_size_are_no_reason_to_doubt(others: list[Any]) -> None:
    assert looking("anthropic", {"data": others, **ANTHROPIC_END}) == BatchMatch()


def test_a_batch_that_is_found_leaves_no_doubt_whatever_else_is_listed() -> None:
    page = {"data": [without(batch(), "id"), batch(), None], **ANTHROPIC_END}

    assert looking("anthropic", page, json_lines(row(1, GOOD))) == BatchMatch(REF)


OTHER = job(tag="another", name="batches/other")
OTHERS: dict[str, Any] = vertex_job(displayName="another", name="jobs/other")


@pytest.mark.parametrize(
    ("page", "sure"),
    [
        ({}, True),
        ({"operations": []}, True),
        ({"operations": [OTHER], "nextPageToken": ""}, True),
        ({"operations": [OTHER], "nextPageToken": None, "unreachable": []}, True),
        ({"operations": [{"name": "batches/other", "metadata": {"state": "X"}}]}, True),
        ({"operations": [None]}, False),
        ({"operations": [OTHER, 7]}, False),
        ({"operations": None}, False),
        ({"batches": [job()]}, False),
        ({"error": {"code": 500}}, False),
        ({"operations": [{"name": "batches/other"}]}, False),
        ({"operations": [{"name": "batches/other", "metadata": []}]}, False),
        ({"operations": [{"name": "batches/other", "metadata": {"displayName": 7}}]}, False),
        ({"operations": [without(OTHER, "name")]}, False),
        ({"operations": [], "nextPageToken": 7}, False),
        ({"operations": [OTHER], "unreachable": ["there"]}, False),
    ],
)
def test_geminis_lists_prove_nothing_in_another_form(page: Any, sure: bool) -> None:
    found = looking("gemini", page)

    assert not found.ref
    assert (not found.unsure) is sure


@pytest.mark.parametrize(
    ("page", "sure"),
    [
        ({}, True),
        ({"batchPredictionJobs": [OTHERS]}, True),
        ({"batchPredictionJobs": [None]}, False),
        ({"jobs": [OTHERS]}, False),
        ({"batchPredictionJobs": [without(OTHERS, "displayName")]}, False),
        ({"batchPredictionJobs": [without(OTHERS, "name")]}, False),
        ({"nextPageToken": 7}, False),
    ],
)
def test_vertexs_lists_prove_nothing_in_another_form(page: Any, sure: bool) -> None:
    there = vertex_desk({})
    there._answer = lambda asked: Answer(page)  # type: ignore[method-assign]

    found = run(there, lambda on: VertexBatches().find(on.http, on.account, batch_query()))

    assert not found.ref
    assert (not found.unsure) is sure


@pytest.mark.parametrize("vendor", ["openai", "groq", "azure"])
@pytest.mark.parametrize(
    ("more", "sure"),
    [
        ({}, True),
        ({"has_more": None}, True),
        ({"has_more": False}, True),
        ({"has_more": True}, False),
        ({"has_more": "true"}, False),
        ({"has_more": "false"}, False),
        ({"has_more": 0}, False),
        ({"has_more": {}}, False),
    ],
)
def test_an_empty_list_of_openais_kind_proves_nothing_if_more_may_come(
    vendor: str, more: Any, sure: bool
) -> None:
    found = looking(vendor, {"object": "list", "data": [], **more})

    assert not found.ref
    assert (not found.unsure) is sure


@pytest.mark.parametrize(
    ("total", "sure"),
    [({}, True), ({"total": 0}, True), ({"total": 1}, False), ({"total": "1"}, False)],
)
def test_an_empty_list_of_mistrals_proves_nothing_if_more_may_come(total: Any, sure: bool) -> None:
    found = looking("mistral", {"object": "list", "data": [], **total})

    assert (not found.unsure) is sure
