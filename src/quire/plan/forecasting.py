"""What a job will take before any of it is spent: calls, tokens, money, in every way we know."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from quire.domain.batches import BatchRules
from quire.domain.models import Marking, ModelFacts
from quire.domain.policy import Policy
from quire.domain.recipes import Stage
from quire.domain.requests import Sample
from quire.plan.batch_ways import BatchWays, Terms, batch_ways
from quire.plan.costing import UNKEPT, Keeping, Loads, Takes, bill, primed
from quire.plan.learning import NO_PAST, Past, guess_takes, learn_takes
from quire.plan.packing import Sized, pack
from quire.plan.rendering import (
    FRAMING_BYTES,
    Prefix,
    item_bytes,
    prefix,
    prefix_bytes,
)
from quire.plan.routing import BATCH, Compared, choose_route
from quire.plan.sizing import (
    FORECAST_BYTES,
    Budget,
    Learned,
    OutputShape,
    bound_tokens,
    budget,
    cacheable_tokens,
    is_cached,
    largest_pack,
    learn,
    output_estimate,
    output_shape,
    pack_cap,
    reserved_output,
)
from quire.plan.variants import (
    CACHED,
    ONE_PER_CALL,
    PACKED,
    PACKED_CACHED,
    Forecast,
    Variant,
    called,
    direct_seconds,
    variant,
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
    takes: Takes  # what calls will probably take
    hits: float  # of direct calls that find the prefix in the cache, once it is written
    batch_hits: float | None  # of calls in batches, where that was seen
    learned: Learned | None  # what packs must make room for, from answers
    learnt: bool

    @property
    def room(self) -> float:
        """Bytes that an item may have to fit the window, by the forecast's four to a token."""
        return FORECAST_BYTES * self.facts.window / self.facts.token_factor - self.request_bytes

    @property
    def longest(self) -> int:
        """Bytes of a block beyond which its answer cannot say more of it again."""
        per_byte = self.takes.byte_output
        return math.ceil(self.facts.max_output / per_byte) if per_byte else 0


class _Calls:
    """The calls of a job: each task alone, the first packs, and the others."""

    def __init__(self, job: _Job) -> None:
        self.alone, self.early, self.rest, self.packed = (
            Loads(job.takes, job.facts) for _ in range(4)
        )
        self.tasks = 0
        self.oversized = 0


def forecast(
    content_json_bytes: Iterable[int],
    stage: Stage,
    facts: ModelFacts,
    policy: Policy,
    past: Past | Sequence[Sample] = (),
    rules: BatchRules | None = None,
) -> Forecast:
    """Plan the whole job in one pass and constant memory; sizes are of contents as JSON strings.

    `past` are answered calls that asked the same of the same model; `rules` are those of the
    vendor's batches, None if it has none. Packed tasks are expected to write as much as single
    ones; `break_even` asks what if not.
    """
    known = past if isinstance(past, Past) else Past(past)
    job = _job(stage, facts, policy, pack_cap(stage, policy), known)
    return _told(replace(job, rules=rules), _calls(content_json_bytes, job), prefix(stage))


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
    ceiling = bill(_calls(content_json_bytes, single).alone, facts.price_at).micro
    takes = single.takes
    longer = replace(
        takes,
        call_output=takes.call_output * growth,
        task_output=takes.task_output * growth,
        byte_output=takes.byte_output * growth,
    )

    def is_cheaper(size: int) -> bool:
        job = replace(single, takes=longer, budget=replace(single.budget, cap=size))
        return bill(_calls(content_json_bytes, job).packed, facts.price_at).micro < ceiling

    # A larger cap never needs more requests, so "cheaper" holds from some size on.
    sizes = range(2, largest_pack(stage) + 1)
    found = bisect_left(sizes, True, key=is_cheaper)
    return sizes[found] if found < len(sizes) else None


def _job(stage: Stage, facts: ModelFacts, policy: Policy, cap: int, past: Past = NO_PAST) -> _Job:
    head = prefix(stage)
    prefix_size, prompt_size = prefix_bytes(head), len(stage.prompt.encode())
    guessed = guess_takes(stage, facts, head)
    automatic = facts.wire.marking is Marking.AUTOMATIC
    learnt = learn_takes(past, guessed, automatic=automatic)
    return _Job(
        shape=output_shape(stage.schema, policy.estimated_output_per_task),
        request_bytes=prefix_size + prompt_size + FRAMING_BYTES,
        caching=is_cached(facts, policy, head.system),
        budget=budget(facts, prefix_size, prompt_size, reserved_output(facts), cap),
        facts=facts,
        policy=policy,
        rules=None,
        takes=learnt.takes if learnt else guessed,
        hits=learnt.hits if learnt else 1.0,
        batch_hits=learnt.batch_hits if learnt else None,
        learned=learn(past.samples),
        learnt=learnt is not None,
    )


def _calls(content_json_bytes: Iterable[int], job: _Job) -> _Calls:
    """Pack the job and add up the calls, the first tasks apart."""
    calls = _Calls(job)
    sized = _sized(content_json_bytes, job, calls)
    longest = job.longest
    for tasks, loads in ((islice(sized, EARLY_TASKS), calls.early), (sized, calls.rest)):
        for members in pack(tasks, job.budget):
            content = sum([each.key for each in members])
            restated = content if not longest else sum([min(each.key, longest) for each in members])
            loads.add(len(members), content, restated)
            calls.packed.add(len(members), content, restated)
    return calls


def _sized(content_json_bytes: Iterable[int], job: _Job, calls: _Calls) -> Iterator[Sized]:
    """Size each task on its way to the packer, which knows it by its content's size."""
    shape, learned, max_output = job.shape, job.learned, job.facts.max_output
    room, longest, alone = job.room, job.longest, calls.alone
    for content in content_json_bytes:
        size = item_bytes(content)
        calls.tasks += 1
        calls.oversized += size > room
        alone.add(1, content, min(content, longest) if longest else content)
        estimate = output_estimate(shape, content, learned, max_output)
        yield Sized(content, bound_tokens(size), estimate, 0)


def _told(job: _Job, calls: _Calls, head: Prefix) -> Forecast:
    packed = _direct(called(PACKED, job.budget.cap), calls.packed, job)
    ways = _batches(job, calls)
    few = ways is not None and ways.least < job.policy.min_batch_size
    # A run that asks for batches marks its prefix for them, also where it is too small for any.
    long_lived = few and job.policy.route == BATCH and ways is not None and ways.caching.long_lived
    cached = called(PACKED_CACHED, job.budget.cap)
    packed_cached = _cached(cached, calls.packed, job, long_lived=long_lived)
    compared = None
    if ways is not None:
        compared = Compared((packed_cached or packed).cost, (ways.cached or ways.plain).cost)
    return Forecast(
        one_per_call=_direct(ONE_PER_CALL, calls.alone, job),
        packed=packed,
        cached=_cached(CACHED, calls.alone, job),
        packed_cached=packed_cached,
        packed_batch=ways and ways.plain,
        packed_cached_batch=ways and ways.cached,
        batch_caching=ways and ways.caching,
        batch_from=ways.least if ways and few else None,
        early=calls.early.calls,
        route=choose_route(job.policy, job.facts, packed.requests, job.rules, compared=compared),
        cacheable=cacheable_tokens(head.system),
        learnt=job.learnt,
        tasks=calls.tasks,
        oversized=calls.oversized,
        cap=job.budget.cap,
        budget=job.budget,
    )


def _direct(name: str, loads: Loads, job: _Job, keeping: Keeping = UNKEPT) -> Variant:
    found = bill(loads, job.facts.price_at, keeping)
    seconds = direct_seconds(found, job.facts.limits, job.policy.concurrency)
    return variant(name, found, seconds=seconds)


def _batches(job: _Job, calls: _Calls) -> BatchWays | None:
    if job.rules is None or job.facts.batch_price is None:
        return None
    terms = Terms(
        facts=job.facts,
        policy=job.policy,
        rules=job.rules,
        prefix=job.takes.prefix,
        caching=job.caching,
        hits=job.hits,
        batch_hits=job.batch_hits,
        cap=job.budget.cap,
    )
    return batch_ways(terms, (calls.early, calls.rest))


def _cached(name: str, loads: Loads, job: _Job, *, long_lived: bool = False) -> Variant | None:
    """The first call writes the prefix, the others read it; a lone call does not bother."""
    if not job.caching or loads.calls < 2:
        return None
    return _direct(
        name, loads, job, primed(loads.calls, job.facts, job.hits, long_lived=long_lived)
    )
