"""Names of things: integer keys inside the ledger, fingerprints of content outside it."""

import re
import struct
from collections.abc import Sequence
from hashlib import sha256
from typing import NewType

from quire.domain.data import Json, canonical_json

WorkspaceId = NewType("WorkspaceId", str)
DocumentId = NewType("DocumentId", int)
BlockId = NewType("BlockId", int)
SchemaId = NewType("SchemaId", int)
RunId = NewType("RunId", int)
StageId = NewType("StageId", int)
LaneId = NewType("LaneId", int)
TaskId = NewType("TaskId", int)
RequestId = NewType("RequestId", int)
AttemptId = NewType("AttemptId", int)
WorkerId = NewType("WorkerId", int)
BatchId = NewType("BatchId", int)
ResultId = NewType("ResultId", int)
WalletId = NewType("WalletId", int)
SliceId = NewType("SliceId", int)
SourceId = NewType("SourceId", int)

LOCAL = WorkspaceId("local")

SCHEMA_REF = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def source_uid(source_type: str, raw: bytes) -> str:
    """Name a source by its type and its bytes."""
    return sha256(source_type.encode() + b"\n" + raw).hexdigest()


def conv_uid(parsing_tool: str, representation_type: str, representation: bytes) -> str:
    """Name a conversion by who parsed it, into what, and the bytes that came out."""
    return sha256(f"{parsing_tool}\n{representation_type}\n".encode() + representation).hexdigest()


def block_uid(conv_uid: str, block_index: int) -> str:
    """Name a block by its document and its place there."""
    return f"{conv_uid}:{block_index}"


def schema_uid(body: Json) -> str:
    """Name a schema by its canonical JSON, so that key order does not matter."""
    return sha256(canonical_json(body).encode()).hexdigest()


def fingerprint(*parts: str | bytes | int) -> bytes:
    """Digest parts to 16 bytes; lengths are included, so no two lists collide by joining."""
    pieces: list[bytes] = []
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        data = data if isinstance(data, bytes) else str(data).encode()
        pieces += (len(data).to_bytes(8, "big"), data)
    return sha256(b"".join(pieces)).digest()[:16]


def hash_number(digest: bytes) -> int:
    """The beginning of a digest as a number that every database holds: it may collide."""
    return int.from_bytes(digest[:8], "big") >> 1


def hash_numbers(digests: Sequence[bytes]) -> list[int]:
    """The same of many at once."""
    heads = struct.unpack(f">{len(digests)}Q", b"".join([digest[:8] for digest in digests]))
    return [head >> 1 for head in heads]


def slug(text: str) -> str:
    """Turn a title into a schema ref; empty where nothing usable is left."""
    joined = re.sub(r"_+", "_", re.sub(r"[^a-z0-9_-]+", "_", text.lower())).strip("_")
    return joined.lstrip("-_")[:64]
