"""Contexts: what a run was told at its start, read once and kept ready for every verb."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from quire.domain.batches import Batch
from quire.domain.data import canonical_json
from quire.domain.errors import PluginMissing
from quire.domain.ids import LaneId, RunId, StageId
from quire.domain.models import ModelFacts, Params, Price
from quire.domain.policy import Policy
from quire.domain.recipes import Stage
from quire.domain.runs import BATCH, DIRECT, Lane
from quire.gates.chain import Uses, gate_versions
from quire.gates.packed import GATE_VERSION
from quire.gates.shape import Shape
from quire.ledger.ledger import Transaction
from quire.pipeline.looks import Looks
from quire.pipeline.told import Asking, Told, read_told
from quire.plan.batch_caching import batch_caching
from quire.plan.rendering import Prefix, payload_head, prefix, prefix_bytes, stage_question
from quire.plan.routing import PACED
from quire.plan.sizing import (
    BOUND_BYTES,
    Budget,
    Learned,
    OutputShape,
    bound_tokens,
    budget,
    cacheable_tokens,
    is_cached,
    output_shape,
    pack_cap,
    reserved_output,
)
from quire.recipes.registry import Registry, builtin_registry

FEW = 64  # answers judged at once, before it is known how long they are
PACED_CALLS = 4  # in flight, of a run that goes steadily


class Sending(NamedTuple):
    """What all requests of a stage with the same output limit have in common."""

    params: Params
    params_text: str  # as an attempt remembers them
    payload_head: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneContext:
    """One lane's stage with everything derived from it."""

    run_id: RunId
    stage_id: StageId
    lane_id: LaneId
    route: str  # direct, or batch
    stage: Stage
    policy: Policy
    facts: ModelFacts
    provider: str  # who answers
    sending: Callable[[int], Sending]  # by output limit; remembered, for limits repeat
    prefix: Prefix
    prefix_bytes: int  # system, wire schema and the stage's prompt
    shape: Shape
    output_shape: OutputShape
    budget: Budget  # before anything was learnt of the model's tokens
    told: Told  # all of the run
    model_no: int  # who is asked, of the run's models
    asking: Asking
    gates: Uses  # all of them; of records the first is inside `judge`
    judged_by: str  # the gates' versions; empty where one of them is not installed here
    caching: bool  # the prefix is worth keeping, and the provider can keep it
    long_lived: bool  # for an hour and longer, so that a batch finds what was written before it
    by_block: bool  # its tasks are plain questions about blocks: the fast way
    reads: bool  # its tasks read results of other stages
    question: bytes  # the part of every task's question that the stage decides

    @property
    def gate_version(self) -> str:
        """What judges answers; only a run whose gates are installed here can be judged."""
        if self.told.missing:
            raise PluginMissing(self.told.missing)
        return self.judged_by

    def budget_at(self, per_byte: float) -> Budget:
        """What a call may hold, once it is known how many tokens the model counts for a byte."""
        facts = replace(self.facts, token_factor=per_byte * BOUND_BYTES)
        prompt_bytes = len(self.stage.prompt.encode())
        head = self.prefix_bytes - prompt_bytes
        return budget(facts, head, prompt_bytes, reserved_output(facts), self.budget.cap)

    def price_at(self, input_tokens: int, batched: bool | None = None) -> Price:
        """What tokens cost in a call with this much input that travels this way, or as told."""
        inside = self.route == BATCH if batched is None else batched
        batch = self.facts.batch_price_at(input_tokens) if inside else None
        return batch or self.facts.price_at(input_tokens)

    def most_tokens(self, n_bytes: int, per_byte: float | None = None) -> int:
        """Tokens to allow for so many bytes, as the model counts them."""
        if per_byte is not None:
            return math.ceil(n_bytes * per_byte)
        return math.ceil(bound_tokens(n_bytes) * self.facts.token_factor)


class Sizes(NamedTuple):
    """What a stage's own answers taught about sizes."""

    learned: Learned | None = None  # of answers
    per_byte: float | None = None  # tokens to allow for a byte of input
    budget: Budget | None = None  # with that
    packed: int = 0  # tasks packed since it was learnt


NOTHING_LEARNT = Sizes()


class Contexts:
    """A worker's memory of what runs were told when it first saw them, and of what it learnt since.

    What is asked never changes; a speed that does is seen by the next worker.
    """

    def __init__(self, registry: Registry | None = None) -> None:
        """Start with nothing but what recipes may name."""
        self.registry = registry or builtin_registry()
        self._told: dict[RunId, Told] = {}
        self._by_lane: dict[LaneId, LaneContext] = {}
        self._by_stage: dict[StageId, LaneContext] = {}  # of any of its lanes
        self.judged_early: set[RunId] = set()  # runs whose first tasks were looked at: for good
        self.sizes: dict[tuple[StageId, int], Sizes] = {}  # of a stage's answers by one model
        self.primed: dict[tuple[LaneId, int], datetime] = {}  # when an answer last came, by key
        self.unfit: set[RunId] = set()  # runs that name what is not installed here
        self.broken: set[RunId] = set()  # runs whose grouping broke here
        self.judged_together = FEW  # answers judged in one transaction: more where they are small
        self.looks = Looks()  # of sweeps, in vain
        self.rendered: dict[bytes, str] = {}  # texts prepared here, by hash, until they are claimed

    def of_lane(self, tx: Transaction, lane: Lane) -> LaneContext:
        """The context of a lane's stage."""
        known = self._by_lane.get(lane.id)
        if known is None:
            known = self._by_lane[lane.id] = build(lane, self.told(tx, lane.run_id))
            self._by_stage.setdefault(lane.stage_id, known)
        return known

    def told(self, tx: Transaction, run: RunId) -> Told:
        """What a run was told."""
        known = self._told.get(run)
        if known is None:
            known = self._told[run] = read_told(tx, run, self.registry)
        return known

    def of_batch(self, tx: Transaction, batch: Batch) -> LaneContext:
        """The context of the lane whose calls a batch carries."""
        return self.of_lane_id(tx, batch.run_id, batch.lane_id)

    def of_lane_id(self, tx: Transaction, run: RunId, lane: LaneId) -> LaneContext:
        """The context of a lane of a run, by its key."""
        known = self._by_lane.get(lane)
        if known is not None:
            return known
        lanes = tx.requests.lanes_of_run(run)
        return self.of_lane(tx, next(each for each in lanes if each.id == lane))

    def any_of_stage(self, tx: Transaction, run: RunId, stage: StageId) -> LaneContext:
        """The context of any lane of a stage: what is the same for all its models."""
        known = self._by_stage.get(stage)
        if known is not None:
            return known
        lane = next(each for each in tx.requests.lanes_of_run(run) if each.stage_id == stage)
        return self.of_lane(tx, lane)


def build(lane: Lane, told: Told) -> LaneContext:
    """Derive everything that a stage's verbs need."""
    facts = told.models[told.model_numbers[lane.model]]
    asking = told.askings[told.stages[lane.stage_id].name]
    stage, policy = asking.stage, _paced(told.policy_of(asking.stage))
    head = prefix(stage)
    prompt_bytes = len(stage.prompt.encode())
    caching, long_lived = _caching(lane, policy, facts, head)
    gates = [] if told.missing else told.gates_of(stage)  # then nobody packs or judges
    version = _version(stage, gates)
    cap, longest = pack_cap(stage, policy), reserved_output(facts)
    room = budget(facts, prefix_bytes(head), prompt_bytes, longest, cap)
    return LaneContext(
        run_id=lane.run_id,
        stage_id=lane.stage_id,
        lane_id=lane.id,
        route=lane.route,
        stage=stage,
        policy=policy,
        facts=facts,
        provider=facts.provider,
        sending=_sending(head, stage.params, facts.name),
        prefix=head,
        prefix_bytes=prefix_bytes(head) + prompt_bytes,
        shape=Shape(stage.schema.record_schema if stage.schema else {}),
        output_shape=output_shape(stage.schema, policy.estimated_output_per_task),
        budget=room,
        told=told,
        model_no=told.model_numbers[lane.model],
        asking=asking,
        gates=gates,
        judged_by=version,
        caching=caching,
        long_lived=long_lived,
        by_block=asking.by_block,
        reads=bool(stage.upstream),
        question=stage_question(head.hash, stage.prompt, facts.name, stage.params, version),
    )


def _paced(policy: Policy) -> Policy:
    """A policy with few calls in flight where they are to go steadily."""
    if policy.route != PACED:
        return policy
    return replace(policy, concurrency=min(policy.concurrency, PACED_CALLS))


def _version(stage: Stage, gates: Uses) -> str:
    """Name what judges answers; records have passed the packed form of the first gate."""
    if stage.schema is None:
        return gate_versions(gates)
    return "+".join([GATE_VERSION, *filter(None, [gate_versions(gates[1:])])])


def _caching(lane: Lane, policy: Policy, facts: ModelFacts, head: Prefix) -> tuple[bool, bool]:
    """Whether the prefix is marked, and for how long it is to be kept."""
    cached = is_cached(facts, policy, head.system)
    if not cached or (lane.route == DIRECT and policy.route not in ("batch", "auto")):
        return cached, False
    tokens = math.ceil(cacheable_tokens(head.system) * facts.token_factor)
    inside = batch_caching(facts, tokens, policy.min_batch_size, rules_caches=True, pilot=True)
    return (inside.mark if lane.route == BATCH else cached), inside.long_lived


def _sending(head: Prefix, params: Params, model: str) -> Callable[[int], Sending]:
    @lru_cache(maxsize=1024)
    def sending(max_output: int) -> Sending:
        limited = replace(params, max_tokens=max_output)
        text = canonical_json(limited.as_json())
        return Sending(limited, text, payload_head(head.hash, limited, model))

    return sending
