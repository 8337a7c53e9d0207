"""Ways to carry out a job, what each takes, and which of them a run takes."""

from dataclasses import asdict, dataclass

from quire.domain.models import Limits
from quire.plan.batch_caching import BatchCaching
from quire.plan.costing import Bill
from quire.plan.pacing import STEADY_PERCENT
from quire.plan.routing import BATCH, Route
from quire.plan.sizing import Budget

ONE_PER_CALL = "one per call"
CACHED = "one per call + cached"
PACKED = "packed"
PACKED_CACHED = "packed + cached"
PACKED_BATCH = "packed + batch"
PACKED_CACHED_BATCH = "packed + cached + batch"

# For an estimate of time only, where the limits are known and the speed of the model is not.
FIRST_WORD = 1.0  # seconds until a model begins to write
WRITTEN_A_SECOND = 60.0  # tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to carry out the job, and what it takes."""

    name: str
    requests: int
    input_tokens: int
    output_tokens: int
    cost: int  # micro-dollars
    cached_tokens: int = 0  # of the input, read from the provider's prompt cache
    batched: int = 0  # of the requests, sent in batches
    seconds: float | None = None  # under the limits that are known; of batches the longest wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The job, planned in memory in every way we know."""

    one_per_call: Variant
    packed: Variant
    cached: Variant | None  # the same with the prefix cached; None where the provider would not
    packed_cached: Variant | None
    packed_batch: Variant | None = None  # None where there are no batches
    packed_cached_batch: Variant | None = None  # None where caching inside batches does not pay
    batch_caching: BatchCaching | None = None  # how that was decided; None without batches
    batch_from: int | None = None  # the smallest batch these assume, where the policy's has no call
    early: int = 0  # packed calls about the first tasks, which go before all others
    route: Route  # that a run would take
    cacheable: int  # tokens that every call begins with, as far as they count towards a cache
    learnt: bool  # from calls that were answered, not only from rules of thumb
    tasks: int
    oversized: int  # tasks that no call to this model can hold
    cap: int
    budget: Budget

    @property
    def variants(self) -> tuple[Variant, ...]:
        """All of them, the plainest idea first; where nothing is packed, no two that are equal."""
        ways = (
            *((self.one_per_call, self.cached) if self.cap > 1 else ()),
            self.packed,
            self.packed_cached,
            self.packed_batch,
            self.packed_cached_batch,
        )
        return tuple(each for each in ways if each is not None)

    @property
    def direct(self) -> Variant:
        """What a run does that sends every call at once: it packs, and caches where that can be."""
        return self.packed_cached or self.packed

    @property
    def batch(self) -> Variant | None:
        """What a run does that takes batches; None where there are none, or too few calls."""
        return None if self.batch_from else self.packed_cached_batch or self.packed_batch

    @property
    def expected(self) -> Variant:
        """What a run does, by the route it takes."""
        return (self.batch if self.route.lane == BATCH else None) or self.direct

    @property
    def cheapest(self) -> Variant:
        """The way that costs least; of equals the one with fewer calls, the sooner, the usual.

        Batches that the policy finds too small are none of them.
        """
        usual = self.expected
        ways = [each for each in self.variants if not (each.batched and self.batch_from)]

        def rank(each: Variant) -> tuple[int, int, int, bool]:
            return each.cost, each.requests, each.batched, each is not usual

        return min(ways, key=rank)

    @property
    def saving_percent(self) -> float:
        """What a run saves of the cost of one per call; 0 where that is nothing."""
        whole = self.one_per_call.cost
        return 100 * (whole - self.expected.cost) / whole if whole else 0.0


def called(name: str, cap: int) -> str:
    """The name of a packed way; where no two tasks share a call, it is not called packed."""
    return name if cap > 1 else name.replace(PACKED, ONE_PER_CALL, 1)


def variant(name: str, bill: Bill, *, batched: int = 0, seconds: float | None = None) -> Variant:
    """Show a bill as a way to carry out the job."""
    return Variant(
        name=name,
        requests=bill.requests,
        input_tokens=_whole(bill.input),
        output_tokens=_whole(bill.output),
        cost=bill.micro,
        cached_tokens=_whole(bill.cached),
        batched=batched,
        seconds=seconds,
    )


def direct_seconds(bill: Bill, limits: Limits, concurrency: int) -> float | None:
    """Say how long direct calls take under the limits that are known; None where none is."""
    needs = {
        "requests": bill.requests,
        "input": bill.input,
        "output": bill.output,
        "total": bill.input + bill.output,
    }
    known: dict[str, int | None] = asdict(limits)
    waits = [
        need * 6_000.0 / (limit * STEADY_PERCENT)
        for name, need in needs.items()
        if (limit := known[name])
    ]
    if not waits or not bill.requests:
        return None
    each = FIRST_WORD + bill.output / bill.requests / WRITTEN_A_SECOND
    return max(*waits, -(-bill.requests // max(1, concurrency)) * each)


def _whole(tokens: float) -> int:
    return -int(-round(tokens, 6) // 1)
