"""What a job will take before any of it is spent: calls, tokens, money, one by one and packed."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from quire.domain.models import ModelFacts, Usage
from quire.domain.money import cost
from quire.domain.policy import Policy
from quire.domain.recipes import Stage
from quire.plan.expecting import Expected, expect, expected_tokens
from quire.plan.packing import Sized, pack
from quire.plan.rendering import FRAMING_BYTES, item_bytes, prefix, prefix_bytes
from quire.plan.sizing import (
    Budget,
    OutputShape,
    bound_tokens,
    budget,
    forecast_tokens,
    largest_pack,
    output_estimate,
    output_shape,
    pack_cap,
    reserved_output,
)

ONE_PER_CALL = "one per call"
PACKED = "packed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to carry out the job, and what it takes."""

    name: str
    requests: int
    input_tokens: int
    output_tokens: int
    cost: int  # micro-dollars


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The job, planned in memory in every way we know."""

    one_per_call: Variant
    packed: Variant
    tasks: int
    oversized: int  # tasks that no call to this model can hold
    cap: int
    budget: Budget

    @property
    def variants(self) -> tuple[Variant, ...]:
        """All of them, dearest idea first."""
        return (self.one_per_call, self.packed)

    @property
    def saving_percent(self) -> float:
        """What packing saves of the cost of one per call; 0 where that is nothing."""
        whole = self.one_per_call.cost
        return 100 * (whole - self.packed.cost) / whole if whole else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What all tasks of the job have in common."""

    shape: OutputShape  # what packs must make room for
    expected: Expected  # what answers will probably be
    request_bytes: int  # of a call without its items
    budget: Budget
    facts: ModelFacts


@dataclass(slots=True)
class _Totals:
    """What is summed up while the tasks stream past."""

    tasks: int = 0
    oversized: int = 0
    items: int = 0  # bytes
    output: int = 0  # tokens


def forecast(
    content_json_bytes: Iterable[int], stage: Stage, facts: ModelFacts, policy: Policy
) -> Forecast:
    """Plan the whole job in one pass and constant memory; sizes are of contents as JSON strings.

    Packed tasks are expected to write as much as single ones; `break_even` asks what if not.
    """
    job = _job(stage, facts, policy, pack_cap(stage, policy))
    totals = _Totals()
    requests = _requests(content_json_bytes, job, totals)
    return Forecast(
        one_per_call=_variant(ONE_PER_CALL, totals.tasks, totals, job),
        packed=_variant(PACKED, requests, totals, job),
        tasks=totals.tasks,
        oversized=totals.oversized,
        cap=job.budget.cap,
        budget=job.budget,
    )


def break_even(
    stage: Stage,
    facts: ModelFacts,
    policy: Policy,
    content_json_bytes: Sequence[int],
    growth: float,
) -> int | None:
    """Find the smallest pack size that is cheaper than one per call; None if there is none.

    `growth` is how much longer packed answers are (1.28 = 28 % longer). What the policy says of
    packing is left aside, because this is asked to decide it; the budgets and the schema bind.
    """
    single = _job(stage, facts, policy, 1)
    totals = _Totals()
    alone = _requests(content_json_bytes, single, totals)
    ceiling = _variant(ONE_PER_CALL, alone, totals, single).cost
    grown = replace(totals, output=math.ceil(totals.output * growth))

    def is_cheaper(size: int) -> bool:
        job = replace(single, budget=replace(single.budget, cap=size))
        requests = _requests(content_json_bytes, job, _Totals())
        return _variant(PACKED, requests, grown, job).cost < ceiling

    # A larger cap never needs more requests, so "cheaper" holds from some size on.
    sizes = range(2, largest_pack(stage) + 1)
    found = bisect_left(sizes, True, key=is_cheaper)
    return sizes[found] if found < len(sizes) else None


def _job(stage: Stage, facts: ModelFacts, policy: Policy, cap: int) -> _Job:
    prefix_size = prefix_bytes(prefix(stage))
    prompt_size = len(stage.prompt.encode())
    return _Job(
        shape=output_shape(stage.schema, policy.estimated_output_per_task),
        expected=expect(stage.schema),
        request_bytes=prefix_size + prompt_size + FRAMING_BYTES,
        budget=budget(facts, prefix_size, prompt_size, reserved_output(facts), cap),
        facts=facts,
    )


def _requests(content_json_bytes: Iterable[int], job: _Job, totals: _Totals) -> int:
    """Pack the job, count the calls and fill in the totals on the way."""
    return sum(1 for _ in pack(_sized(content_json_bytes, job, totals), job.budget))


def _sized(content_json_bytes: Iterable[int], job: _Job, totals: _Totals) -> Iterator[Sized]:
    """Size each task on its way to the packer; the totals are complete at the end."""
    shape, expected, max_output = job.shape, job.expected, job.facts.max_output
    tasks = oversized = items = output = 0
    room = 4 * job.facts.window - job.request_bytes  # bytes, by the forecast's four to a token
    for content in content_json_bytes:
        size = item_bytes(content)
        estimate = output_estimate(shape, content, None, max_output)
        tasks += 1
        oversized += size > room
        items += size
        output += min(expected_tokens(expected, content), max_output)
        yield Sized(tasks, bound_tokens(size), estimate, 0)
    totals.tasks, totals.oversized, totals.items, totals.output = tasks, oversized, items, output


def _variant(name: str, requests: int, totals: _Totals, job: _Job) -> Variant:
    tokens = forecast_tokens(requests * job.request_bytes + totals.items)
    usage = Usage(input=tokens, output=totals.output)
    return Variant(
        name=name,
        requests=requests,
        input_tokens=tokens,
        output_tokens=totals.output,
        cost=cost(usage, job.facts.price),
    )
