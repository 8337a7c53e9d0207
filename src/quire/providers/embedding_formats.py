"""Embeddings on the wire: OpenAI's form, which most servers speak, and Google's.

The bodies of answers are told apart from others by their shape, so that a stored one can be read
again without knowing what was asked.
"""

from array import array
from base64 import b64decode
from collections.abc import Sequence
from math import isfinite
from sys import byteorder

import orjson

from quire.domain.data import Json, JsonObject
from quire.domain.embeddings import EmbeddingRules
from quire.domain.errors import Undecodable
from quire.domain.models import Usage
from quire.domain.requests import Call, Reply, Stop
from quire.providers import wire

EMBEDDINGS_PATH = "/embeddings"
Vector = Sequence[float]


def encode_passages(call: Call, rules: EmbeddingRules | None) -> bytes:
    """Write the body of a call for embeddings, in OpenAI's form."""
    body: dict[str, object] = {"model": wire.model_id(call), "input": call.passages}
    if call.dimensions:
        body["dimensions"] = call.dimensions
    if rules and rules.compact:
        body["encoding_format"] = "base64"
    return orjson.dumps(body)


def encode_google_passages(call: Call) -> bytes:
    """Write the body of a call for embeddings, in Google's form."""
    model = f"models/{wire.model_id(call)}"
    size = {"outputDimensionality": call.dimensions} if call.dimensions else {}
    requests = [
        {"model": model, "content": {"parts": [{"text": passage}]}, **size}
        for passage in call.passages
    ]
    return orjson.dumps({"requests": requests})


def read_embeddings(body: JsonObject) -> Reply | None:
    """What a body with embeddings says besides them; None where there are none in it."""
    if not ("data" in body or "embeddings" in body) or not _entries(body):
        return None
    stated = wire.mapping(body.get("usage"))
    name = "prompt_tokens"
    if "embeddings" in body:
        stated, name = wire.mapping(body.get("usageMetadata")), "promptTokenCount"
    counts = wire.TokenCounts(stated)
    taken = counts.require(name) or counts.read("total_tokens")
    return Reply("", Stop.END, Usage(input=taken, exact=counts.exact))


def read_vectors(raw: bytes) -> list[Vector]:
    """The vectors in a stored body, in the order of the passages; or raise Undecodable."""
    body = wire.load(raw)
    entries = _entries(body)
    found = {
        entry.get("index", no): _vector(entry.get("embedding", entry.get("values")))
        for no, entry in enumerate(entries)
    }
    vectors = [found[no] for no in range(len(entries)) if no in found]
    if len(vectors) != len(entries):
        raise Undecodable("the embeddings are not numbered one by one")
    if not vectors or len({len(vector) for vector in vectors}) > 1:
        raise Undecodable("the embeddings are none, or of several lengths")
    return vectors


def _entries(body: JsonObject) -> Sequence[JsonObject]:
    data = wire.items(body.get("data") if "data" in body else body.get("embeddings"))
    return [item for item in data if "embedding" in item or "values" in item]


def _vector(value: Json) -> Vector:
    """Numbers of four bytes each: as objects, those of a long text would take a gigabyte."""
    try:
        if isinstance(value, str):
            vector = array("f", b64decode(value, validate=True))
            if byteorder == "big":
                vector.byteswap()
        else:
            vector = array("f", value)  # type: ignore[arg-type]  # refused just below
    except (ValueError, TypeError, OverflowError):
        raise Undecodable("an embedding is no list of numbers") from None
    if not vector or not isfinite(sum(vector)):  # four bytes each cannot add up to infinity
        raise Undecodable("an embedding has no numbers, or some without end")
    return vector
