"""Which blocks stand for all: drawn by a seed, spread over all documents, the same every time."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from typing import NamedTuple, TypeVar

from quire.domain.ids import fingerprint
from quire.domain.models import ModelFacts
from quire.domain.policy import Policy
from quire.domain.recipes import Stage
from quire.plan.rendering import item_bytes, prefix, prefix_bytes
from quire.plan.sizing import (
    bound_tokens,
    budget,
    output_estimate,
    output_shape,
    reserved_output,
)

Block = TypeVar("Block", bound=tuple[int, ...])  # its index first


class Countable(NamedTuple):
    """A document, and how many of its blocks may be drawn."""

    uid: str
    blocks: int


def shares(documents: Sequence[Countable], wanted: int, seed: int) -> dict[str, int]:
    """Say how many blocks of each document are drawn: as many as its length deserves.

    All blocks stand in a row, document by document in an order drawn by the seed, and a pick falls
    in the middle of each of `wanted` equal parts of the row. So a document gets its exact share,
    rounded up or down, and of documents that are too short for one pick every seed has others.
    """
    total = sum(each.blocks for each in documents)
    if total <= wanted:
        return {each.uid: each.blocks for each in documents}

    def picks(length: int) -> int:
        """Count the picks in the first blocks of the row: at (2i + 1) total / 2 wanted, i = 0…"""
        return -((total - 2 * wanted * length) // (2 * total))

    found: dict[str, int] = {}
    passed = 0
    for each in sorted(documents, key=lambda each: fingerprint(seed, each.uid)):
        found[each.uid] = picks(passed + each.blocks) - picks(passed)
        passed += each.blocks
    return found


def draw(uid: str, blocks: Iterable[Block], share: int, seed: int) -> list[Block]:
    """Draw so many blocks of one document, in order; every block has the same chance."""
    drawn = nsmallest(share, blocks, key=lambda block: fingerprint(seed, uid, block[0]))
    return sorted(drawn, key=lambda block: block[0])


def largest_content(stage: Stage, facts: ModelFacts, policy: Policy) -> int:
    """Say how large a block's content may be, as JSON, to fit a call at all; -1: nothing fits."""
    head, prompt = prefix_bytes(prefix(stage)), len(stage.prompt.encode())
    room = budget(facts, head, prompt, reserved_output(facts), 1)
    shape = output_shape(stage.schema, policy.estimated_output_per_task)

    def overflows(content: int) -> bool:
        answer = output_estimate(shape, content, None, facts.max_output)
        return bound_tokens(item_bytes(content)) > room.input or answer > room.output

    sizes = range(4 * facts.window)
    return bisect_right(sizes, False, key=overflows) - 1
