"""Policy: how a run may spend and behave; every value remembers which layer it came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from quire.domain.data import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The built-in values; the layers above replace some of them."""

    pack_size: int | None = None  # tasks per call; None = the class cap; over 25 only from a probe
    packing: bool = True  # False = one task per call
    estimated_output_per_task: int = 250  # the floor of the output estimate, in tokens
    max_tries: int = 3  # wrong answers of its own before a task fails
    max_calls: int = 12  # answered calls a task may ride in before it fails
    max_continuations: int = 5  # calls that go on with one unfinished answer; 0 = none
    concurrency: int = 16  # direct calls in flight
    call_timeout: float = 120.0  # seconds before a call counts as lost
    temperature: float | None = None
    effort: str | None = None  # how hard a reasoning model should think, in the vendor's word
    caching: str = "auto"  # auto = the prefix is kept by the provider where that pays; off = never
    route: str = "direct"  # direct, batch, auto (whichever is cheaper in time), paced (steadily)
    deadline: float | None = None  # seconds after the start: what a batch then owes goes direct
    min_batch_size: int = 30  # calls; fewer go direct
    limits: str = "default"  # the profile in the ledger that says what its models allow
    batch_wait: float = 60.0  # seconds that a batch may wait for more calls to join it
    completion_mode: str = "best_effort"  # exact, best_effort, throughput: what failures hold up
    lenient: bool | None = None  # read lossless slips of form; None = where no schema binds answers
    repair_after_failures: int = 2  # wrong answers before a task is told why; 0 = never
    hold_failed_percent: int = 20  # of the last tasks: if more fail, the run is held; 100 = never
    hold_cost_percent: int = 300  # of the forecast: if the last answers cost more, it is held
    embedder: str = "auto"  # who ranks passages: auto, local, words, or a model of embeddings
    reuse: bool = True  # what was answered before is not asked again; False = ask everything
    review: str = "optional"  # required = only what a person confirmed is exported as data
    ledger: str = "lean"  # lean = bodies are rendered again; full = bodies are stored


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedPolicy:
    """A policy, with the layer each value came from; snapshotted into the run."""

    policy: Policy
    sources: Mapping[str, str] = field(default_factory=dict)
    probed: bool = False  # the pack size is to be what a probe recommends, and is not known yet

    def with_pack_size(self, size: int, source: str) -> "SourcedPolicy":
        """The same policy with so many tasks per call."""
        policy = replace(self.policy, pack_size=size)
        return SourcedPolicy(policy=policy, sources={**self.sources, "pack_size": source})

    def with_route(self, route: str) -> "SourcedPolicy":
        """The same policy, once it is decided how calls travel."""
        return replace(self, policy=replace(self.policy, route=route))

    def as_json(self) -> dict[str, Json]:
        """Each value with its source, as stored and as shown."""
        return {
            item.name: {
                "value": getattr(self.policy, item.name),
                "source": self.sources.get(item.name, "built-in"),
            }
            for item in fields(Policy)
        }
