"""Forecasts: what a job will take before it is spent, and how far that was off."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from quire.domain.batches import BatchRules
from quire.domain.models import CacheMarking, ModelFacts
from quire.domain.policy import Policy
from quire.domain.pricing import dollars
from quire.domain.recipes import Stage
from quire.domain.requests import OutputSample
from quire.planning.job_costs import (
    UNCACHED,
    CallTotals,
    PrefixCaching,
    TokenUse,
    price_calls,
    primed_caching,
)
from quire.planning.packing import SizedTask, pack
from quire.planning.rendering import FRAMING_BYTES, Prefix, item_bytes, prefix_bytes, render_prefix
from quire.planning.routing import BATCH, RouteCosts, choose_route
from quire.planning.size_samples import SizeSample
from quire.planning.sizing import (
    Budget,
    OutputPercentiles,
    OutputShape,
    bound_tokens,
    cacheable_tokens,
    call_budget,
    is_cached,
    largest_pack,
    learn_output,
    limit_to_stage,
    most_prompt_bytes,
    output_estimate,
    output_shape,
    pack_cap,
    reserved_output,
)
from quire.planning.token_estimates import (
    NO_PAST_CALLS,
    PastCalls,
    guess_token_use,
    learn_token_use,
)
from quire.planning.variants import (
    CACHED,
    ONE_PER_CALL,
    PACKED,
    PACKED_CACHED,
    BatchTerms,
    BatchVariants,
    Forecast,
    Variant,
    direct_seconds,
    make_variant,
    price_batch_variants,
    variant_name,
)

__all__ = ["EARLY_TASKS", "Forecast", "Variant", "break_even", "forecast"]

EARLY_TASKS = 50  # go first and alone, and are looked at before the rest is paid for


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What all tasks of the job have in common."""

    shape: OutputShape  # what packs must make room for
    request_bytes: int  # of a call without its items
    caching: bool
    budget: Budget
    facts: ModelFacts
    policy: Policy
    rules: BatchRules | None
    takes: TokenUse  # what calls will probably take
    hits: float  # of direct calls that find the prefix in the cache, once it is written
    batch_hits: float | None  # of calls in batches, where that was seen
    percentiles: OutputPercentiles | None  # what packs must make room for, from answers
    longest_known: int | None  # bytes of a block beyond which no answer was seen to grow
    learnt: bool

    @property
    def room(self) -> int:
        """Bytes that an item may have to fit the window, by the forecast's four to a token."""
        return most_prompt_bytes(self.facts) - self.request_bytes

    @property
    def longest(self) -> int:
        """Bytes of a block beyond which its answer does not grow with it."""
        per_byte = self.takes.byte_output
        cut = math.ceil(self.facts.max_output / per_byte) if per_byte else 0
        return min(cut, self.longest_known) if self.longest_known is not None else cut


class _Calls:
    """The calls of a job: each task alone, the first packs, and the others."""

    def __init__(self, job: _Job) -> None:
        self._none = CallTotals(job.takes, job.facts)
        self.alone, self.early, self.rest = (CallTotals(job.takes, job.facts) for _ in range(3))
        self.tasks = 0
        self.oversized = 0

    @property
    def packs(self) -> CallTotals:
        return self.early.plus(self.rest)

    def stand_for(self, tasks: int) -> None:
        """Let a sample be as many tasks; the first of them are as they are, and no sample."""
        if not tasks > self.tasks > EARLY_TASKS:
            return
        times = tasks / self.tasks
        self.rest = self._none.plus(self.rest, (tasks - EARLY_TASKS) / (self.tasks - EARLY_TASKS))
        self.alone = self._none.plus(self.alone, times)
        self.oversized = math.ceil(self.oversized * times)
        self.tasks = tasks


def forecast(
    content_json_bytes: Iterable[int] | SizeSample,
    stage: Stage,
    facts: ModelFacts,
    policy: Policy,
    past: PastCalls | Sequence[OutputSample] = (),
    rules: BatchRules | None = None,
) -> Forecast:
    """Plan the whole job in one pass and constant memory; sizes are of contents as JSON strings.

    `past` are answered calls that asked the same of the same model; `rules` are those of the
    vendor's batches, None if it has none. Packed tasks are expected to write as much as single
    ones; `break_even` asks what if not.
    """
    known = past if isinstance(past, PastCalls) else PastCalls(past)
    facts = limit_to_stage(facts, stage)
    job = _make_job(stage, facts, policy, pack_cap(stage, policy), known)
    sample = content_json_bytes
    if isinstance(sample, SizeSample):
        calls = _pack_calls(sample.sizes, job)
        calls.stand_for(sample.tasks)
    else:
        calls = _pack_calls(sample, job)
    return _build_forecast(replace(job, rules=rules), calls, render_prefix(stage))


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
    facts = limit_to_stage(facts, stage)
    single = _make_job(stage, facts, policy, 1)
    ceiling = price_calls(_pack_calls(content_json_bytes, single).alone, facts).picodollars
    outputs = ("call_output", "task_output", "byte_output")
    longer = replace(
        single.takes, **{name: getattr(single.takes, name) * growth for name in outputs}
    )

    def is_cheaper(size: int) -> bool:
        job = replace(single, takes=longer, budget=replace(single.budget, cap=size))
        packed = _pack_calls(content_json_bytes, job).packs
        return price_calls(packed, facts).picodollars < ceiling

    # A larger cap never needs more requests, so "cheaper" holds from some size on.
    sizes = range(2, largest_pack(stage) + 1)
    found = bisect_left(sizes, True, key=is_cheaper)
    return sizes[found] if found < len(sizes) else None


def _make_job(
    stage: Stage, facts: ModelFacts, policy: Policy, cap: int, past: PastCalls = NO_PAST_CALLS
) -> _Job:
    head = render_prefix(stage)
    prefix_size, prompt_size = prefix_bytes(head), len(stage.prompt.encode())
    guessed = guess_token_use(stage, facts, head)
    automatic = facts.wire.marking is CacheMarking.AUTOMATIC
    learnt = learn_token_use(past, guessed, automatic=automatic)
    return _Job(
        shape=output_shape(stage.schema, policy.estimated_output_per_task),
        request_bytes=prefix_size + prompt_size + FRAMING_BYTES,
        caching=is_cached(facts, policy, head.system),
        budget=call_budget(facts, prefix_size, prompt_size, reserved_output(facts), cap),
        facts=facts,
        policy=policy,
        rules=None,
        takes=learnt.use if learnt else guessed,
        hits=learnt.hits if learnt else 1.0,
        batch_hits=learnt.batch_hits if learnt else None,
        percentiles=learn_output(past.samples),
        longest_known=learnt.longest if learnt else None,
        learnt=learnt is not None,
    )


def _pack_calls(content_json_bytes: Iterable[int], job: _Job) -> _Calls:
    """Pack the job and add up the calls, the first tasks apart."""
    calls = _Calls(job)
    sized = _size_tasks(content_json_bytes, job, calls)
    longest = job.longest
    for tasks, loads in ((islice(sized, EARLY_TASKS), calls.early), (sized, calls.rest)):
        for members in pack(tasks, job.budget):
            content = sum([member.key for member in members])
            restated = sum([min(member.key, longest) for member in members]) if longest else content
            loads.add(len(members), content, restated)
    return calls


def _size_tasks(content_json_bytes: Iterable[int], job: _Job, calls: _Calls) -> Iterator[SizedTask]:
    """Size each task on its way to the packer, which knows it by its content's size.

    One that no call can hold is counted and goes no further: it is never sent.
    """
    shape, percentiles, max_output = job.shape, job.percentiles, job.facts.max_output
    room, longest, alone = job.room, job.longest, calls.alone
    for content in content_json_bytes:
        size = item_bytes(content)
        calls.tasks += 1
        if size > room:
            calls.oversized += 1
            continue
        alone.add(1, content, min(content, longest) if longest else content)
        estimate = output_estimate(shape, content, percentiles, max_output)
        yield SizedTask(content, bound_tokens(size), estimate, 0)


def _build_forecast(job: _Job, calls: _Calls, head: Prefix) -> Forecast:
    together = calls.packs
    packed = _direct_variant(variant_name(PACKED, job.budget.cap), together, job)
    ways = _batch_variants(job, calls)
    few = ways is not None and ways.least < job.policy.min_batch_size
    # A run that asks for batches marks its prefix for them, also where it is too small for any.
    long_lived = few and job.policy.route == BATCH and ways is not None and ways.caching.long_lived
    cached = variant_name(PACKED_CACHED, job.budget.cap)
    packed_cached = _cached_variant(cached, together, job, long_lived=long_lived)
    costs = None
    if ways is not None:
        costs = RouteCosts((packed_cached or packed).cost, (ways.cached or ways.plain).cost)
    return Forecast(
        one_per_call=_direct_variant(ONE_PER_CALL, calls.alone, job),
        packed=packed,
        cached=_cached_variant(CACHED, calls.alone, job),
        packed_cached=packed_cached,
        packed_batch=ways and ways.plain,
        packed_cached_batch=ways and ways.cached,
        batch_caching=ways and ways.caching,
        batch_from=ways.least if ways and few else None,
        early=calls.early.calls,
        route=choose_route(job.policy, job.facts, packed.requests, job.rules, costs=costs),
        cacheable=cacheable_tokens(head.system),
        learnt=job.learnt,
        tasks=calls.tasks,
        oversized=calls.oversized,
        cap=job.budget.cap,
        budget=job.budget,
    )


def _direct_variant(
    name: str, loads: CallTotals, job: _Job, caching: PrefixCaching = UNCACHED
) -> Variant:
    found = price_calls(loads, job.facts, caching)
    seconds = direct_seconds(found, job.facts.limits, job.policy.concurrency)
    return make_variant(name, found, seconds=seconds)


def _batch_variants(job: _Job, calls: _Calls) -> BatchVariants | None:
    if job.rules is None or job.facts.batch_price is None:
        return None
    terms = BatchTerms(
        facts=job.facts,
        policy=job.policy,
        rules=job.rules,
        prefix=job.takes.prefix,
        caching=job.caching,
        hits=job.hits,
        batch_hits=job.batch_hits,
        cap=job.budget.cap,
    )
    return price_batch_variants(terms, (calls.early, calls.rest))


def _cached_variant(
    name: str, loads: CallTotals, job: _Job, *, long_lived: bool = False
) -> Variant | None:
    """The first call writes the prefix, the others read it; a lone call does not bother."""
    if not job.caching or loads.calls < 2:
        return None
    caching = primed_caching(loads.calls, job.facts, job.hits, long_lived=long_lived)
    return _direct_variant(name, loads, job, caching)


def percent_over(forecast: int, spent: int) -> float | None:
    """How far above the forecast it was, in percent of the forecast; None where either is 0."""
    return 100 * (spent - forecast) / forecast if spent and forecast else None


def describe_forecast_error(forecast: int, spent: int) -> str:
    """The forecast beside what came, as a person reads it; both are picodollars."""
    over = percent_over(forecast, spent)
    text = f"forecast {dollars(forecast)}"
    if over is None:
        return text
    side = "over" if over > 0 else "under" if over < 0 else "off"
    return f"{text}, {abs(over):.{0 if abs(over) >= 1 else 1}f} % {side}"
