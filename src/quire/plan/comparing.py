"""Answers side by side: the same blocks alone, alone again, and packed, field by field."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from quire.domain.data import Json
from quire.plan.estimating import Excess, Paired, Rate, excess, rate

Answers: TypeAlias = Mapping[str, Json]  # by block; None where there is no answer
Leaves: TypeAlias = Mapping[str, Json]  # by JSON pointer


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How answers to the same questions differ from those of the first time, block by block."""

    fields: Rate  # that differ
    blocks: Rate  # with a field that differs
    unanswered: int  # blocks; all their fields count as differing
    noise: Rate  # the same fields, asked once more in the same way
    excess: Excess  # what is left of `fields` without the noise
    by_field: Mapping[str, int]  # how often each one differs, by JSON pointer


def compare(alone: Answers, again: Answers, other: Answers) -> Comparison:
    """Compare answers with those to the same blocks alone, and with the model's own noise.

    The noise is what differs when the same is asked once more, alone again. Every field of every
    block is looked at in all three answers, so the two differences are paired.
    """
    pairs: Counter[tuple[bool, bool]] = Counter()
    by_field: Counter[str] = Counter()
    differing = 0
    for block, record in alone.items():
        first, second, third = leaves(record), leaves(again.get(block)), leaves(other.get(block))
        struck = False
        for pointer in dict.fromkeys([*(first or ()), *(second or ()), *(third or ())]):
            packed = _differ(first, third, pointer)
            pairs[packed, _differ(first, second, pointer)] += 1
            by_field[pointer] += packed
            struck = struck or packed
        differing += struck
    table = Paired(pairs[True, True], pairs[True, False], pairs[False, True], pairs[False, False])
    return Comparison(
        fields=rate(table.both + table.first, table.all),
        blocks=rate(differing, len(alone)),
        unanswered=sum(other.get(block) is None for block in alone),
        noise=rate(table.both + table.second, table.all),
        excess=excess(table),
        by_field=by_field,
    )


def leaves(record: Json) -> Leaves | None:
    """Take a record apart into its fields, down to what is no object; a list is one field."""
    return None if record is None else dict(_leaves("", record))


def same(one: Json, other: Json) -> bool:
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
            return all(same(one.get(key), other.get(key)) for key in {*one, *other})
        case [*_], [*_]:
            return len(one) == len(other) and all(map(same, one, other))
        case _:
            return one == other


def _differ(one: Leaves | None, other: Leaves | None, pointer: str) -> bool:
    if one is None or other is None:
        return one is not other
    return not same(one.get(pointer), other.get(pointer))


def _leaves(pointer: str, value: Json) -> Iterator[tuple[str, Json]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            escaped = key.replace("~", "~0").replace("/", "~1")
            yield from _leaves(f"{pointer}/{escaped}", inner)
    else:
        yield pointer, value
