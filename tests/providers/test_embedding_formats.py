"""Embeddings are read in every form that servers send them in, and in no other."""

import struct
from base64 import b64encode

import orjson
import pytest

from quire.domain.data import JsonObject
from quire.domain.errors import Undecodable
from quire.providers.embedding_formats import read_embeddings, read_vectors

PACKED = b64encode(struct.pack("<2f", 0.5, -1.0)).decode()
GOOD: dict[str, JsonObject] = {
    "digits": {"data": [{"index": 0, "embedding": [0.5, -1]}]},
    "bytes": {"data": [{"index": 0, "embedding": PACKED}]},
    "google's": {"embeddings": [{"values": [0.5, -1.0]}]},
}
BAD = {
    "no list": {"data": [{"index": 0, "embedding": "?"}]},
    "no numbers": {"data": [{"index": 0, "embedding": ["a"]}]},
    "empty": {"data": []},
    "two lengths": {"data": [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}]},
    "one number twice": {"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]},
    "a chat": {"choices": [{"message": {"content": "no"}}]},
}


@pytest.mark.parametrize("form", GOOD)
def test_vectors_are_read_in_every_form(form: str) -> None:
    assert [list(it) for it in read_vectors(orjson.dumps(GOOD[form]))] == [[0.5, -1.0]]


def test_vectors_come_in_the_order_of_their_numbers() -> None:
    data = [{"index": 1, "embedding": [1.0]}, {"index": 0, "embedding": [0.0]}]

    assert [list(it) for it in read_vectors(orjson.dumps({"data": data}))] == [[0.0], [1.0]]


@pytest.mark.parametrize("form", BAD)
def test_what_is_no_embedding_is_refused(form: str) -> None:
    with pytest.raises(Undecodable):
        read_vectors(orjson.dumps(BAD[form]))


def test_usage_that_is_not_said_is_not_taken_for_nothing() -> None:
    reply = read_embeddings(GOOD["google's"])

    assert reply is not None
    assert not reply.usage.exact
