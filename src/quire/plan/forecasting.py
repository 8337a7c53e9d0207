"""What a job will take before any of it is spent: calls, tokens, money, one by one and packed."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from quire.domain.models import Marking, ModelFacts, Usage
from quire.domain.money import cost
from quire.domain.policy import Policy
from quire.domain.recipes import Stage
from quire.domain.requests import Sample
from quire.plan.expecting import Expected, Seen, expect, expected_tokens, see
from quire.plan.packing import Sized, pack
from quire.plan.rendering import FRAMING_BYTES, item_bytes, prefix, prefix_bytes
from quire.plan.sizing import (
    Budget,
    Learned,
    OutputShape,
    bound_tokens,
    budget,
    cacheable_tokens,
    forecast_tokens,
    is_cached,
    largest_pack,
    learn,
    output_estimate,
    output_shape,
    pack_cap,
    reserved_output,
)

ONE_PER_CALL = "one per call"
CACHED = "one per call + cached"
PACKED = "packed"
PACKED_CACHED = "packed + cached"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to carry out the job, and what it takes."""

    name: str
    requests: int
    input_tokens: int
    output_tokens: int
    cost: int  # micro-dollars
    cached_tokens: int = 0  # of the input, read from the provider's prompt cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The job, planned in memory in every way we know."""

    one_per_call: Variant
    packed: Variant
    cached: Variant | None  # the same with the prefix cached; None where the provider would not
    packed_cached: Variant | None
    cacheable: int  # tokens that every call begins with, as far as they count towards a cache
    learnt: bool  # from calls that were answered, not only from rules of thumb
    tasks: int
    oversized: int  # tasks that no call to this model can hold
    cap: int
    budget: Budget

    @property
    def variants(self) -> tuple[Variant, ...]:
        """All of them, the plainest idea first."""
        ways = (self.one_per_call, self.cached, self.packed, self.packed_cached)
        return tuple(each for each in ways if each is not None)

    @property
    def expected(self) -> Variant:
        """What a run does: it packs, and caches where that can be."""
        return self.packed_cached or self.packed

    @property
    def cheapest(self) -> Variant:
        """The way that costs least; of equals the one with fewer calls."""
        return min(self.variants, key=lambda each: (each.cost, each.requests))

    @property
    def saving_percent(self) -> float:
        """What a run saves of the cost of one per call; 0 where that is nothing."""
        whole = self.one_per_call.cost
        return 100 * (whole - self.expected.cost) / whole if whole else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What all tasks of the job have in common."""

    shape: OutputShape  # what packs must make room for
    expected: Expected  # what answers will probably be
    request_bytes: int  # of a call without its items
    prefix_bytes: int
    caching: bool
    budget: Budget
    facts: ModelFacts
    learned: Learned | None  # what packs must make room for, from answers
    seen: Seen | None  # what such calls took so far

    def tokens(self, n_bytes: int) -> int:
        """Expect so many tokens for bytes that are sent."""
        if self.seen is not None:
            return math.ceil(n_bytes * self.seen.input_per_byte)
        return math.ceil(forecast_tokens(n_bytes) * self.facts.token_factor)

    @property
    def prefix_tokens(self) -> int:
        """Expect so many tokens for what every call begins with."""
        return self.tokens(self.prefix_bytes)

    def output_tokens(self, content: int) -> int:
        """Expect so many tokens for the answer about a content of so many bytes."""
        if self.seen is None:
            expected = float(expected_tokens(self.expected, content))
        elif self.shape.restated:
            expected = self.seen.output_per_byte * content
        else:
            expected = self.seen.output_per_task
        return min(math.ceil(expected), self.facts.max_output)


@dataclass(slots=True)
class _Totals:
    """What is summed up while the tasks stream past."""

    tasks: int = 0
    oversized: int = 0
    items: int = 0  # bytes
    output: int = 0  # tokens


def forecast(
    content_json_bytes: Iterable[int],
    stage: Stage,
    facts: ModelFacts,
    policy: Policy,
    samples: Sequence[Sample] = (),
) -> Forecast:
    """Plan the whole job in one pass and constant memory; sizes are of contents as JSON strings.

    `samples` are of answered calls that asked the same of the same model. Packed tasks are
    expected to write as much as single ones; `break_even` asks what if not.
    """
    job = _job(stage, facts, policy, pack_cap(stage, policy), samples)
    totals = _Totals()
    requests = _requests(content_json_bytes, job, totals)
    return Forecast(
        one_per_call=_variant(ONE_PER_CALL, totals.tasks, totals, job),
        packed=_variant(PACKED, requests, totals, job),
        cached=_cached(CACHED, totals.tasks, totals, job),
        packed_cached=_cached(PACKED_CACHED, requests, totals, job),
        cacheable=cacheable_tokens(prefix(stage).system),
        learnt=job.seen is not None,
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


def _job(
    stage: Stage, facts: ModelFacts, policy: Policy, cap: int, samples: Sequence[Sample] = ()
) -> _Job:
    head = prefix(stage)
    prefix_size = prefix_bytes(head)
    prompt_size = len(stage.prompt.encode())
    return _Job(
        shape=output_shape(stage.schema, policy.estimated_output_per_task),
        expected=expect(stage.schema),
        request_bytes=prefix_size + prompt_size + FRAMING_BYTES,
        prefix_bytes=prefix_size,
        caching=is_cached(facts, policy, head.system),
        budget=budget(facts, prefix_size, prompt_size, reserved_output(facts), cap),
        facts=facts,
        learned=learn(samples),
        seen=see(samples, prefix_size + prompt_size),
    )


def _requests(content_json_bytes: Iterable[int], job: _Job, totals: _Totals) -> int:
    """Pack the job, count the calls and fill in the totals on the way."""
    return sum(1 for _ in pack(_sized(content_json_bytes, job, totals), job.budget))


def _sized(content_json_bytes: Iterable[int], job: _Job, totals: _Totals) -> Iterator[Sized]:
    """Size each task on its way to the packer; the totals are complete at the end."""
    shape, learned, max_output = job.shape, job.learned, job.facts.max_output
    tasks = oversized = items = output = 0
    window = job.facts.window / job.facts.token_factor
    room = 4 * window - job.request_bytes  # bytes, by the forecast's four to a token
    for content in content_json_bytes:
        size = item_bytes(content)
        estimate = output_estimate(shape, content, learned, max_output)
        tasks += 1
        oversized += size > room
        items += size
        output += job.output_tokens(content)
        yield Sized(tasks, bound_tokens(size), estimate, 0)
    totals.tasks, totals.oversized, totals.items, totals.output = tasks, oversized, items, output


def _variant(name: str, requests: int, totals: _Totals, job: _Job) -> Variant:
    usage = Usage(input=_input_tokens(requests, totals, job), output=totals.output)
    return _priced(name, requests, usage, job.facts)


def _cached(name: str, requests: int, totals: _Totals, job: _Job) -> Variant | None:
    """The first call writes the prefix, the others read it; a lone call does not bother."""
    if not job.caching or requests < 2:
        return None
    whole = _input_tokens(requests, totals, job)
    written = job.prefix_tokens if job.facts.wire.marking is Marking.BREAKPOINT else 0
    read = job.prefix_tokens * (requests - 1)
    usage = Usage(
        input=max(0, whole - written - read),
        cached=read,
        written_short=written,
        output=totals.output,
    )
    return _priced(name, requests, usage, job.facts)


def _input_tokens(requests: int, totals: _Totals, job: _Job) -> int:
    return job.tokens(requests * job.request_bytes + totals.items)


def _priced(name: str, requests: int, usage: Usage, facts: ModelFacts) -> Variant:
    each = usage.input_total // max(1, requests)  # a dear tier is for large calls, not large jobs
    return Variant(
        name=name,
        requests=requests,
        input_tokens=usage.input_total,
        output_tokens=usage.output,
        cost=cost(usage, facts.price_at(each)),
        cached_tokens=usage.cached,
    )
