"""Packing: which tasks share a call; greedy, in order, over each task's own estimate.

A call costs its prefix once, however many tasks it carries: ten blocks in a call pay for the
instructions once instead of ten times. Against that stand three limits. Input must fit the window,
so it is counted by a bound and not by a guess: a call that does not fit is refused whole. The
answers must fit the model's output: an answer cut off loses its last records, and they are paid for
again. And a model's attention wanes with company, so the number of tasks is capped, by the policy
and by a task's own history: what was lost in a pack rides in one of half the size (`half_of`), and
so on down to alone, which finds the culprit in a few steps and charges nobody else.

A clever packing (sorting by size, bin packing) would save a pack here and there, and was left out
on purpose. Order is what makes this stream in constant memory, what keeps neighbours of a document
together, and what makes a forecast pack the same way as the run; and in a fixed order greedy is
already optimal.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from quire.planning.sizing import Budget


class SizedTask(NamedTuple):
    """One task as packing sees it; or a plain tuple of the same, because there are millions."""

    key: int
    input: int  # tokens of its rendered item, by the bound
    output: int  # tokens its answer is expected to take
    cap: int = 0  # the most tasks it may share a call with, itself included; 0 = no cap of its own


Task = TypeVar("Task", bound=tuple[int, int, int, int])


def pack(items: Iterable[Task], budget: Budget) -> Iterator[list[Task]]:
    """Fill one pack after the other, in order.

    A pack closes when the next task would pass a budget or the smallest cap of those in it. In a
    fixed order no other cut needs fewer packs, because any part of a fitting pack fits too. A task
    that fits nowhere gets a pack of its own.
    """
    current: list[Task] = []
    taken_input = taken_output = 0
    cap = budget.cap
    for item in items:
        _, item_input, item_output, item_cap = item
        if item_cap and item_cap < cap:
            cap = item_cap
        taken_input += item_input
        taken_output += item_output
        if current and (
            len(current) >= cap or taken_input > budget.input or taken_output > budget.output
        ):
            yield current
            current = []
            taken_input, taken_output = item_input, item_output
            cap = min(item_cap, budget.cap) if item_cap else budget.cap
        current.append(item)
    if current:
        yield current


def half_of(tasks: int) -> int:
    """How many of these share a call at most, after one that carried all of them went wrong."""
    return max(1, -(-tasks // 2))
