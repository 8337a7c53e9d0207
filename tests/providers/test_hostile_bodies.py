"""Whatever a server sends: it is read, or it is undecodable, or it is an error with a remedy."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.errors import ProviderError, Undecodable
from quire.domain.requests import Reply
from quire.providers.azure import Azure
from quire.providers.compatible import Compatible
from quire.providers.openai import OpenAI
from tests.providers.sample_calls import error_response

VENDORS = (OpenAI(), Azure(), Compatible("openrouter"), Compatible("vllm"))
NAMES = (
    "id object status output choices message content type text refusal usage error code raw"
    " input_tokens output_tokens prompt_tokens completion_tokens finish_reason phase detail"
    " incomplete_details reason input_tokens_details cached_tokens summary arguments thinking"
    " tool_calls function role metadata"
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(NAMES.split()) | st.text(max_size=5), inner, max_size=6)
    ),
    max_leaves=30,
)
BODIES = st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode())


@given(BODIES)
def test_any_body_is_read_or_undecodable(raw: bytes) -> None:
    read_or_undecodable(raw)


@given(st.sampled_from(["output", "choices"]), JSON, JSON)
def test_a_body_of_about_the_right_form_is_read_or_undecodable(
    name: str, inside: Any, usage: Any
) -> None:
    counts = {"input_tokens": 1, "output_tokens": 1, "prompt_tokens": 1, "completion_tokens": 1}
    merged = {**counts, **usage} if isinstance(usage, dict) else counts
    read_or_undecodable(json.dumps({name: [inside], "usage": merged}).encode())


def read_or_undecodable(raw: bytes) -> None:
    for vendor in VENDORS:
        with suppress(Undecodable):
            reply = vendor.decode(raw)
            assert isinstance(reply, Reply)
            reply.text.encode()  # no half characters: a database would refuse them


@given(st.integers(100, 999), BODIES)
def test_any_error_gets_a_remedy_and_one_line(status: int, body: bytes) -> None:
    for vendor in VENDORS:
        error = vendor.classify(error_response(status, body))
        assert isinstance(error, ProviderError)
        assert "\n" not in str(error)


@given(BODIES)
def test_any_success_is_kept_or_is_an_error_with_a_status(raw: bytes) -> None:
    for vendor in VENDORS:
        failed = vendor.error_in_success(raw)
        assert failed is None or 400 <= failed.status <= 599


@pytest.mark.parametrize("depth", [900, 5_000, 200_000])
def test_deep_nesting_is_no_way_to_break_a_worker(depth: int) -> None:
    for opening, closing in ((b"[", b"]"), (b'{"message":', b"}"), (b'{"error":', b"}")):
        body = opening * depth + b'""' + closing * depth
        read_or_undecodable(body)
        for vendor in VENDORS:
            assert isinstance(vendor.classify(error_response(400, body)), ProviderError)
            vendor.error_in_success(body)
