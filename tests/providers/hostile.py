"""Bodies that no honest server sends, and what must hold for each of them."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

from quire.domain.errors import ProviderError, Undecodable
from quire.domain.requests import Reply
from quire.providers.protocol import WireFormat
from tests.providers.sample_calls import error_response


def json_of(names: Sequence[str]) -> st.SearchStrategy[Any]:
    """Any JSON, with a taste for these names."""
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(names) | st.text(max_size=5), inner, max_size=6)
        ),
        max_leaves=30,
    )


def bodies_of(names: Sequence[str]) -> st.SearchStrategy[bytes]:
    """Any bytes, or any JSON with a taste for these names."""
    return st.binary(max_size=200) | json_of(names).map(lambda value: json.dumps(value).encode())


def read_or_undecodable(vendor: WireFormat, raw: bytes) -> None:
    """A body is read, or it is Undecodable."""
    with suppress(Undecodable):
        reply = vendor.decode(raw)
        assert isinstance(reply, Reply)
        reply.text.encode()  # no half characters: a database would refuse them


def named_in_one_line(vendor: WireFormat, status: int, body: bytes, **headers: str) -> None:
    """An error is named, in one line."""
    error = vendor.classify(error_response(status, body, **headers))
    assert isinstance(error, ProviderError)
    assert "\n" not in str(error)
