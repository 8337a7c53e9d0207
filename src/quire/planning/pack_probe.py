"""The probe of pack sizes: blocks drawn, answers compared, and how many may share a call."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from heapq import nsmallest
from typing import NamedTuple, TypeAlias, TypeVar

from quire.domain.data import Json
from quire.domain.ids import fingerprint
from quire.domain.models import ModelFacts
from quire.domain.policy import Policy
from quire.domain.recipes import Stage
from quire.planning.rendering import item_bytes, prefix_bytes, render_prefix
from quire.planning.share_estimates import (
    Excess,
    PairCounts,
    ShareEstimate,
    estimate_excess,
    estimate_share,
    least_sample,
)
from quire.planning.sizing import (
    bound_tokens,
    call_budget,
    output_estimate,
    output_shape,
    reserved_output,
)

Block = TypeVar("Block", bound=tuple[int, ...])  # its index first


class DocumentBlocks(NamedTuple):
    """A document, and how many of its blocks may be drawn."""

    uid: str
    blocks: int


def blocks_to_draw(documents: Sequence[DocumentBlocks], wanted: int, seed: int) -> dict[str, int]:
    """Say how many blocks of each document are drawn: as many as its length deserves.

    All blocks stand in a row, document by document in an order drawn by the seed, and a pick falls
    in the middle of each of `wanted` equal parts of the row. So a document gets its exact share,
    rounded up or down, and of documents that are too short for one pick every seed has others.
    """
    total = sum(document.blocks for document in documents)
    if total <= wanted:
        return {document.uid: document.blocks for document in documents}

    def picks(length: int) -> int:
        """Count the picks in the first blocks of the row: at (2i + 1) total / 2 wanted, i = 0…"""
        return -((total - 2 * wanted * length) // (2 * total))

    found: dict[str, int] = {}
    passed = 0
    for document in sorted(documents, key=lambda blocks: fingerprint(seed, blocks.uid)):
        found[document.uid] = picks(passed + document.blocks) - picks(passed)
        passed += document.blocks
    return found


def draw_blocks(uid: str, blocks: Iterable[Block], share: int, seed: int) -> list[Block]:
    """Draw so many blocks of one document, in order; every block has the same chance."""
    drawn = nsmallest(share, blocks, key=lambda block: fingerprint(seed, uid, block[0]))
    return sorted(drawn, key=lambda block: block[0])


def largest_content(stage: Stage, facts: ModelFacts, policy: Policy) -> int:
    """Say how large a block's content may be, as JSON, to fit a call at all; -1: nothing fits."""
    head, prompt = prefix_bytes(render_prefix(stage)), len(stage.prompt.encode())
    room = call_budget(facts, head, prompt, reserved_output(facts), 1)
    shape = output_shape(stage.schema, policy.estimated_output_per_task)

    def overflows(content: int) -> bool:
        answer = output_estimate(shape, content, None, facts.max_output)
        return bound_tokens(item_bytes(content)) > room.input or answer > room.output

    sizes = range(4 * facts.window)
    return bisect_right(sizes, False, key=overflows) - 1


Answers: TypeAlias = Mapping[str, Json]  # by block; None where there is no answer
Leaves: TypeAlias = Mapping[str, Json]  # by JSON pointer


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How answers to the same questions differ from those of the first time, block by block."""

    fields: ShareEstimate  # that differ
    blocks: ShareEstimate  # with a field that differs
    unanswered: int  # blocks; all their fields count as differing
    noise: ShareEstimate  # the same fields, asked once more in the same way
    excess: Excess  # what is left of `fields` without the noise
    by_field: Mapping[str, int]  # how often each one differs, by JSON pointer


def compare_answers(alone: Answers, again: Answers, other: Answers) -> Comparison:
    """Compare answers with those to the same blocks alone, and with the model's own noise.

    The noise is what differs when the same is asked once more, alone again. Every field of every
    block is looked at in all three answers, so the two differences are paired.
    """
    pairs: Counter[tuple[bool, bool]] = Counter()
    by_field: Counter[str] = Counter()
    differing = 0
    for block, record in alone.items():
        first, second, third = leaves(record), leaves(again.get(block)), leaves(other.get(block))
        differs = False
        for pointer in dict.fromkeys([*(first or ()), *(second or ()), *(third or ())]):
            packed = _differs(first, third, pointer)
            pairs[packed, _differs(first, second, pointer)] += 1
            by_field[pointer] += packed
            differs = differs or packed
        differing += differs
    table = PairCounts(
        pairs[True, True], pairs[True, False], pairs[False, True], pairs[False, False]
    )
    return Comparison(
        fields=estimate_share(table.both + table.first, table.all),
        blocks=estimate_share(differing, len(alone)),
        unanswered=sum(other.get(block) is None for block in alone),
        noise=estimate_share(table.both + table.second, table.all),
        excess=estimate_excess(table),
        by_field=by_field,
    )


def leaves(record: Json) -> Leaves | None:
    """Take a record apart into its fields, down to what is no object; a list is one field."""
    return None if record is None else dict(_iter_leaves("", record))


def is_same(one: Json, other: Json) -> bool:
    """Whether two values say the same.

    Text is compared without regard to the amount of whitespace, numbers exactly, lists in order;
    a field that was left out says the same as null.
    """
    match one, other:
        case str(), str():
            return one.split() == other.split()
        case (bool(), _) | (_, bool()):
            return one is other
        case Mapping(), Mapping():
            return all(is_same(one.get(key), other.get(key)) for key in {*one, *other})
        case [*_], [*_]:
            return len(one) == len(other) and all(map(is_same, one, other))
        case _:
            return one == other


def _differs(one: Leaves | None, other: Leaves | None, pointer: str) -> bool:
    if one is None or other is None:
        return one is not other
    return not is_same(one.get(pointer), other.get(pointer))


def _iter_leaves(pointer: str, value: Json) -> Iterator[tuple[str, Json]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            escaped = key.replace("~", "~0").replace("/", "~1")
            yield from _iter_leaves(f"{pointer}/{escaped}", inner)
    else:
        yield pointer, value


class Parity(StrEnum):
    """What a sample says about one pack size."""

    WITHIN = "within"  # the whole interval is within tolerance
    LIKELY = "likely within"  # the estimate is, the interval is not: the sample is too small
    BEYOND = "beyond"  # the estimate is not within tolerance


def untried_sizes(caps: Mapping[int, int], tried: Set[int], sample: int) -> dict[int, str]:
    """Why some sizes are not tried, of those asked for with what the schema makes of each."""
    reasons: dict[int, str] = {}
    for size in sorted(caps.keys() - tried):
        if caps[size] < size:
            reasons[size] = f"the schema allows {caps[size]}"
        elif sample < size:
            reasons[size] = f"the sample has {sample}"
        else:
            smaller = max(other for other in tried if other <= size)
            reasons[size] = f"they make no fewer calls than {smaller}"
    return reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSpend:
    """What it took to ask about a sample."""

    blocks: int
    calls: int
    blocks_per_call: float  # the mean
    largest_call: int  # blocks in the fullest one: what fits may be less than what was allowed
    input_tokens: int
    output_tokens: int
    cost: int  # picodollars, presumed ones included
    presumed: int = 0  # of them: of calls whose outcome or usage is unknown

    @property
    def cost_per_thousand(self) -> float:
        """Picodollars for a thousand blocks."""
        return 1000 * self.cost / self.blocks if self.blocks else 0.0

    @property
    def comparable_cost(self) -> tuple[int, int]:
        """What decides which is cheaper: money, or tokens where the model costs nothing."""
        return self.cost, self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One pack size, tried out."""

    size: int
    spend: ProbeSpend
    comparison: Comparison

    @property
    def actual_size(self) -> int:
        """How many blocks really shared a call: no more than were allowed, perhaps fewer."""
        return min(self.size, self.spend.largest_call)

    def parity(self, tolerance: float) -> Parity:
        """Hold what packing alone changed against a tolerance."""
        excess = self.comparison.excess
        if excess.share > tolerance:
            return Parity.BEYOND
        return Parity.WITHIN if excess.high <= tolerance else Parity.LIKELY


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """How many blocks may share a call, and how sure that is."""

    size: int
    parity: Parity
    blocks_to_be_sure: int | None = None  # that would have to agree in all fields; None: no number


def recommend(alone: ProbeSpend, trials: Sequence[Trial], tolerance: float) -> Recommendation:
    """Take the largest pack size that changes little enough and is cheaper than the next smaller.

    A size changes little enough if the estimate of its excess is at most the tolerance. The excess
    is the share of fields that differ from the answers given alone, less the share that differ when
    they are asked alone once more. The estimate decides, not the upper end of its interval: where a
    model is noisy no sample of a sensible size brings that end below two percent, and one call per
    block would be recommended to everybody who probes. The finding says which of the two it is.

    A size must also be cheaper than the smaller one that would be taken instead, so that a size at
    which packs break and are asked again is not worth it. And where calls were full before they
    carried so many, the fullest one is what was tried out, and what is recommended.

    Nothing beyond a size that changes too much is taken: larger packs do not confuse a model less,
    so a larger size that seems to was lucky in its sample.
    """
    size, parity, price = 1, Parity.WITHIN, alone.comparable_cost
    needed: int | None = None
    for trial in sorted(trials, key=lambda item: item.size):
        trial_parity = trial.parity(tolerance)
        if trial_parity is Parity.BEYOND:
            break
        if trial.spend.comparable_cost < price:
            size, parity, price = trial.actual_size, trial_parity, trial.spend.comparable_cost
            needed = _blocks_to_be_sure(trial, tolerance) if trial_parity is Parity.LIKELY else None
    return Recommendation(size=size, parity=parity, blocks_to_be_sure=needed)


def _blocks_to_be_sure(trial: Trial, tolerance: float) -> int | None:
    """Only where nothing differed at all can be said how many more would do."""
    fields, noise = trial.comparison.fields, trial.comparison.noise
    least = least_sample(tolerance)
    if least is None or fields.hits or noise.hits or not fields.of:
        return None
    return math.ceil(least * trial.spend.blocks / fields.of)
