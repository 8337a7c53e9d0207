"""Embeddings as OpenAI's server and Google's make them: of hashed words, billed as any input is."""

import struct
from base64 import b64encode
from dataclasses import replace
from typing import Any

from quire.domain.data import Json, JsonObject
from quire.domain.models import Usage
from quire.rehearsal.vendor_apis.body_forms import (
    TEXT,
    WORD,
    BodyForm,
    Form,
    any_of,
    choice,
    list_of,
    number_between,
    record,
)
from quire.rehearsal.vendor_apis.gemini import GeminiEndpoint
from quire.rehearsal.vendor_apis.gemini import body_problem as google_problem
from quire.rehearsal.vendor_apis.openai import OpenAIEndpoint, body_problem
from quire.rehearsal.vendor_protocol import (
    CallPart,
    IncomingRequest,
    KnownModel,
    ModelAnswer,
    ParsedCall,
    invalid,
)
from quire.simulated.embeddings import embed_text

MOST_INPUTS, MOST_TOKENS = 2_048, 300_000  # of one call to OpenAI
MOST_GOOGLE_INPUTS = 100
USUAL_DIMENSIONS = 256

_DIMENSIONS = number_between(1, 3_072, whole=True)
_OPENAI: Form = record(
    "model input",
    model=TEXT,
    input=any_of(WORD, list_of(WORD, 1)),
    dimensions=_DIMENSIONS,
    encoding_format=choice("float", "base64"),
    user=TEXT,
)
_GOOGLE_REQUEST: Form = record(
    "model content",
    model=TEXT,
    content=record("parts", parts=list_of(record("text", text=WORD), 1), role=TEXT),
    taskType=TEXT,
    title=TEXT,
    outputDimensionality=_DIMENSIONS,
)
_OPENAI_BODY = BodyForm(_OPENAI)
_GOOGLE_BODY = BodyForm(record("requests", requests=list_of(_GOOGLE_REQUEST, 1)))


class EmbeddingsEndpoint(OpenAIEndpoint):
    """POST /embeddings."""

    endpoint_name = "embeddings"

    def read(self, body: Json, incoming: IncomingRequest) -> ParsedCall:
        """Understand a call."""
        call = _OPENAI_BODY.check(body, body_problem)
        texts = [call["input"]] if isinstance(call["input"], str) else call["input"]
        if len(texts) > MOST_INPUTS:
            raise invalid(f"'$.input' is invalid: at most {MOST_INPUTS} inputs", place="input")
        if sum(len(text.encode()) // 4 for text in texts) > MOST_TOKENS:
            message = f"Requested more than the {MOST_TOKENS} tokens that a request may have."
            raise invalid(message, place="input")
        return _parse_texts(call["model"], texts, call)

    def check(self, call: ParsedCall, model: KnownModel) -> ParsedCall:
        """Keep nothing in the cache."""
        return replace(call, caching=False)

    def write(self, answer: ModelAnswer) -> tuple[JsonObject, Usage]:
        """Write the vectors."""
        body, tokens = answer.call.body, answer.usage.input_total
        vectors = _vectors(answer, body.get("dimensions"))
        packed = body.get("encoding_format") == "base64"
        data: list[Json] = [
            {
                "object": "embedding",
                "index": no,
                "embedding": _pack_vector(vector) if packed else [*vector],
            }
            for no, vector in enumerate(vectors)
        ]
        written: JsonObject = {
            "object": "list",
            "data": data,
            "model": answer.call.model,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }
        return written, Usage(input=tokens)


class GoogleEmbeddingsEndpoint(GeminiEndpoint):
    """POST …/models/{model}:batchEmbedContents."""

    endpoint_name = "embeddings"

    def read(self, body: Json, incoming: IncomingRequest) -> ParsedCall:
        """Understand a call."""
        call = _GOOGLE_BODY.check(body, google_problem)
        requests = call["requests"]
        if len(requests) > MOST_GOOGLE_INPUTS:
            raise invalid(f"at most {MOST_GOOGLE_INPUTS} requests can be in one batch")
        texts = ["".join(part["text"] for part in it["content"]["parts"]) for it in requests]
        return _parse_texts(incoming.path_params["model"], texts, call)

    def check(self, call: ParsedCall, model: KnownModel) -> ParsedCall:
        """Keep nothing in the cache."""
        return replace(call, caching=False)

    def write(self, answer: ModelAnswer) -> tuple[JsonObject, Usage]:
        """Write the vectors."""
        requests: Any = answer.call.body["requests"]
        vectors = _vectors(answer, requests[0].get("outputDimensionality"))
        tokens = answer.usage.input_total
        found: list[Json] = [{"values": [*vector]} for vector in vectors]
        return {"embeddings": found, "usageMetadata": {"promptTokenCount": tokens}}, Usage(
            input=tokens
        )


def _parse_texts(model: str, texts: list[str], body: JsonObject) -> ParsedCall:
    parts = tuple(CallPart(text, system=False) for text in texts)
    return ParsedCall(model=model, parts=parts, body=body, prewarm=True, apart=True)


def _vectors(answer: ModelAnswer, dimensions: Json) -> list[list[float]]:
    size = dimensions if isinstance(dimensions, int) else USUAL_DIMENSIONS
    return [embed_text(part.text, size) for part in answer.call.parts]


def _pack_vector(vector: list[float]) -> str:
    return b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
