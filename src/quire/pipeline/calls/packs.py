"""Packs: tasks that share a call, how long its answer may be, what it reserves.

As a rule a call is allowed far more output than it will write: a limit costs nothing, and an answer
that is cut off is paid twice. But the most that a call may cost is reserved before it is sent, so
that a budget above what a run really costs would not let it go to its end. Where money is short,
calls are therefore made to fit it: an answer may be as long as such answers were, with room to
spare, and fewer tasks share a call where even that is not covered. The provider cannot bill more
than the limit it is sent, so what is reserved stays the most; where a server takes no limit, that
is as much as the model can write. Before anything is known of the answers, only the number of tasks
is lowered, so far that enough calls go to learn from.
"""

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from quire.domain.requests import QueuedRequest, Turn
from quire.domain.tasks import ReadyTask
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.render import GatheredTasks
from quire.pipeline.contexts import LaneContext, Sizes
from quire.planning.funding import tight_output
from quire.planning.history import turn_bytes
from quire.planning.packing import pack
from quire.planning.rendering import item_bytes, items_bytes
from quire.planning.sizing import (
    FEWEST_SAMPLES,
    bound_tokens,
    limit_alone,
    max_tokens,
    output_estimates,
)


class Pack(NamedTuple):
    """Tasks that share a request."""

    tasks: list[ReadyTask]
    estimates: Sequence[int]  # of each one's output, in tokens, as far as it is to be allowed
    usual: Sequence[int]  # what such answers took; nothing while that is unknown
    tight: bool = False  # its answer may be as long as usual, and not much longer

    def part(self, start: int, end: int) -> "Pack":
        """Some of its tasks."""
        cut = slice(start, end)
        return Pack(self.tasks[cut], self.estimates[cut], self.usual[cut], self.tight)


class Money(NamedTuple):
    """What a run may reserve now."""

    free: int  # picodollars
    calls_out: bool  # some are out, and will release something


def form_packs(
    context: LaneContext,
    known: Sizes,
    ready: list[ReadyTask],
    *,
    more: bool,
    left: bool,
) -> list[Pack]:
    """Pack tasks by their sizes; a last pack that more tasks could fill waits."""
    shape, most = context.output_shape, context.facts.max_output
    sizes = [task.json_bytes for task in ready]
    inputs = [bound_tokens(item_bytes(size)) for size in sizes]
    outputs = output_estimates(shape, sizes, known.learned, most)
    allowed = outputs
    if known.learned is not None:  # a limit costs nothing, and an answer cut off is paid twice
        allowed = list(map(max, outputs, output_estimates(shape, sizes, None, most)))
    caps = [task.pack_cap for task in ready]
    packs: list[Pack] = []
    done = 0
    for members in pack(zip(count(), inputs, outputs, caps), known.budget or context.budget):
        cut = slice(done, done + len(members))  # packs keep the order
        usual = outputs[cut] if known.learned else ()
        packs.append(Pack(ready[cut], allowed[cut], usual))
        done = cut.stop
    return packs[:-1] if left or (more and len(packs) > 1) else packs


def output_limit(context: LaneContext, packed: Pack) -> int:
    """The longest answer that a call may get, in tokens."""
    first, tasks = packed.tasks[0], packed.tasks
    floor = max([task.output_floor for task in tasks])
    limit = max_tokens(packed.estimates, context.facts, limit_alone(context.stage), floor)
    if not (packed.tight and packed.usual):
        return limit
    cut = first.calls if first.output_floor else 0  # it goes alone
    return min(limit, tight_output(packed.usual, cut) + context.facts.thinking)


def sent_bytes(
    context: LaneContext, tasks: Sequence[ReadyTask], reasons: str | None, turns: tuple[Turn, ...]
) -> int:
    """Bytes that a call about these tasks sends."""
    content = sum([task.json_bytes for task in tasks])
    said = context.prefix_bytes + items_bytes(len(tasks), content) + len(reasons or "")
    return said + turn_bytes(turns)


def are_covered(
    context: LaneContext,
    known: Sizes,
    packs: Sequence[Pack],
    gathered: GatheredTasks,
    money: int,
) -> bool:
    """Whether some money surely covers them all: enough for so many of the dearest there could be.

    As a rule there is plenty, and that is found out without reckoning what each of them reserves.
    """
    if gathered.repair_reasons or gathered.turns:
        return False
    tasks = max([len(packed.tasks) for packed in packs])
    content = max([task.json_bytes for packed in packs for task in packed.tasks])
    most_bytes = context.prefix_bytes + items_bytes(tasks, tasks * content)
    most_input = context.most_tokens(most_bytes, known.per_byte)
    return len(packs) * context.most_cost(most_input, context.facts.max_output) <= money


def fit_packs(
    context: LaneContext,
    known: Sizes,
    packs: Sequence[Pack],
    gathered: GatheredTasks,
    money: Money,
) -> Sequence[Pack]:
    """The same tasks in calls that some money covers, the first of them though it be too dear.

    While calls are out, those that are too large for it wait for what these release.
    """

    def reserve(packed: Pack) -> int:
        first = packed.tasks[0].id
        said = gathered.repair_reasons.get(first), gathered.turns.get(first, ())
        most_input = context.most_tokens(sent_bytes(context, packed.tasks, *said), known.per_byte)
        return context.most_cost(most_input, output_limit(context, packed))

    if sum(map(reserve, packs)) <= money.free:
        return packs
    tight = [packed._replace(tight=True) for packed in packs]
    if money.calls_out:
        return tight
    fitting: list[Pack] = []
    left, most = money.free, money.free if known.learned else money.free // FEWEST_SAMPLES
    for packed in tight:
        rest = packed
        while rest.tasks:
            size = len(rest.tasks)
            while size > 1 and reserve(rest.part(0, size)) > min(most, left):
                size -= 1
            left -= reserve(rest.part(0, size))
            if left < 0 and fitting:
                return fitting
            fitting.append(rest.part(0, size))
            rest = rest.part(size, len(rest.tasks))
    return fitting


def may_shrink(tx: Transaction, context: LaneContext, known: Sizes, queued: QueuedRequest) -> bool:
    """Whether a queued call, packed again for little money, could reserve less.

    One that was sent may still be answered, and goes again as it is.
    """
    if context.embeds or queued.sent or queued.parent is not None:
        return False
    if queued.tasks > 1:
        return True
    if known.learned is None or context.unlimited_output:  # a lower limit would not be sent
        return False
    (task,) = tx.requests.take_members([queued.id])
    shape, most = context.output_shape, context.facts.max_output
    usual = output_estimates(shape, [queued.content_bytes], known.learned, most)
    cut = task.calls if task.output_floor else 0
    return queued.max_output > tight_output(usual, cut) + context.facts.thinking
