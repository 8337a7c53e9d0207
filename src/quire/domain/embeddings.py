"""Embeddings: who ranks passages, passages that are embedded together, and what came of it."""

from enum import StrEnum
from typing import NamedTuple

from quire.domain.ids import LaneId, RequestId

AUTO, LOCAL, WORDS = "auto", "local", "words"  # who ranks, besides models of embeddings
RANKERS = (AUTO, LOCAL, WORDS)


class PassageGroup(NamedTuple):
    """Passages that are embedded together, and are known by what they say."""

    key: str  # fingerprint of them, and of who embeds them
    passages: tuple[str, ...]


class GroupState(StrEnum):
    """How the embedding of some passages stands."""

    WANTED = "wanted"  # nobody asked for it, or what came is gone
    UNDERWAY = "underway"
    FAILED = "failed"  # it was asked for here, in vain
    THERE = "there"


class StoredGroup(NamedTuple):
    """What the ledger knows of passages that somebody wanted embedded."""

    key: str
    request_id: RequestId
    first: int  # place of the first of them in that call
    lane_id: LaneId
    state: GroupState


class EmbeddingLane(NamedTuple):
    """The queue of a stage's calls to a model of embeddings."""

    id: LaneId
    given_up: bool  # nothing more is asked there


class EmbeddingRules(NamedTuple):
    """What one call for embeddings may hold at a vendor's."""

    passages: int
    size: int  # bytes of all of them
    compact: bool = False  # vectors may come as bytes in base64, a fifth of the size of digits
