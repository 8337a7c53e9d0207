"""Contexts: a worker's cache of run specs and lane contexts, and its memo of vain sweeps."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from quire.domain.accounts import Account, Pool
from quire.domain.batches import Batch
from quire.domain.data import canonical_json, plain_json
from quire.domain.errors import PluginMissing
from quire.domain.fallbacks import NO_FALLBACKS, FallbackPart, Fallbacks, plain_address
from quire.domain.ids import LaneId, RunId, StageId, hash_number
from quire.domain.models import Limits, ModelFacts, Params, StructuredOutput
from quire.domain.policy import Policy
from quire.domain.pricing import price_at
from quire.domain.quotes import QuotedField
from quire.domain.recipes import Stage
from quire.domain.requests import CallText, QueuedRequest
from quire.domain.runs import BATCH, DIRECT, Lane
from quire.gates.chain import GateChain, gate_versions
from quire.gates.packed_json import GATE_VERSION
from quire.gates.quotes import QUOTE_GATE_VERSION
from quire.gates.shape import Shape
from quire.ledger.ledger import Transaction
from quire.pipeline.run_spec import RunSpec, StagePrompt, read_run_spec
from quire.planning.batch_caching import choose_batch_caching
from quire.planning.call_health import CallHealth
from quire.planning.fallbacks import is_limit_left_out, limit_output, weakest_form
from quire.planning.first_calls import SentSoFar
from quire.planning.job_costs import TokenUse
from quire.planning.questions import drawn_by, stage_question
from quire.planning.refused_calls import RefusedCalls
from quire.planning.rendering import Prefix, payload_head, prefix_bytes, render_prefix
from quire.planning.routing import PACED
from quire.planning.sizing import (
    BOUND_BYTES,
    Budget,
    OutputPercentiles,
    OutputShape,
    bound_tokens,
    cacheable_tokens,
    call_budget,
    is_cached,
    limit_to_stage,
    output_shape,
    pack_cap,
    reserved_output,
)
from quire.planning.token_estimates import guess_token_use
from quire.recipes.plugin_registry import Registry, builtin_registry

RECHECK_AFTER = timedelta(seconds=30)  # even where nothing seems to have changed
READ_FALLBACKS_AFTER = timedelta(seconds=2)  # another worker may have met a refusal

Places = Mapping[str, Fallbacks]  # the fallbacks of a model, by its address


class SweepMemo:
    """A worker's memory of looks in vain; without it they would cost a large stage all its time."""

    def __init__(self) -> None:
        """Start with nothing looked at."""
        self._states: dict[Hashable, tuple[object, datetime]] = {}

    def is_unchanged(self, key: Hashable, state: object, now: datetime) -> bool:
        """Whether there was nothing a moment ago, and all stands as it did then."""
        seen, at = self._states.get(key, (None, now))
        return seen == state and timedelta(0) <= now - at < RECHECK_AFTER

    def note(self, key: Hashable, state: object, now: datetime) -> None:
        """Remember that there was nothing."""
        self._states[key] = (state, now)


NO_PREFIX = Prefix(system="", output_schema={}, nested=False, hash=bytes(32))  # of embeddings
FIRST_SETTLE_GROUP = 64  # answers judged at once, before it is known how long they are
PACED_CALLS = 4  # in flight, of a run that goes steadily


class RequestHead(NamedTuple):
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
    request_head: Callable[[int], RequestHead]  # by output limit; remembered, for limits repeat
    prefix: Prefix
    prefix_bytes: int  # system, wire schema and the stage's prompt
    shape: Shape
    quotes: tuple[QuotedField, ...]  # fields that ask for words of the block
    output_shape: OutputShape
    token_use: TokenUse  # what calls are forecast to take, before any was answered
    budget: Budget  # before anything was learnt of the model's tokens
    spec: RunSpec  # all of the run
    model_no: int  # who is asked, of the run's models
    stage_prompt: StagePrompt
    gates: GateChain  # all of them; of records the first is inside `judge`
    installed_gate_version: str  # empty where one of the gates is not installed here
    caching: bool  # the prefix is worth keeping, and the provider can keep it
    long_lived: bool  # for an hour and longer, so that a batch finds what was written before it
    by_block: bool  # its tasks are plain questions about blocks: the fast way
    reads_results: bool  # its tasks read results of other stages
    question: bytes  # the part of every task's question that the stage decides
    places: Places  # where the model is asked in weaker ways

    def address_of(self, account: Account) -> str:
        """Where calls with an account go, as it may be written down."""
        return plain_address(self.facts.wire.url or account.base_url)

    def fallbacks_with(self, account: Account) -> Fallbacks:
        """The weaker ways that calls with an account are written in."""
        return self.places.get(self.address_of(account), NO_FALLBACKS) if self.places else {}

    @property
    def unlimited_output(self) -> int:
        """What an answer may take whose limit is left out; 0: none is."""
        if not is_limit_left_out(self.places.values()):
            return 0
        return limit_output(self.spec.models[self.model_no], self.places.values()).max_output

    @property
    def stable_turns(self) -> int:
        """How many turns of the history all calls of the stage begin with."""
        return len(self.stage_prompt.history.stable) if self.stage_prompt.history else 0

    @property
    def embeds(self) -> bool:
        """Whether its calls ask for embeddings, and are about no tasks."""
        return self.facts.embeds

    @property
    def question_key(self) -> int:
        """The number that the ledger finds the stage's question by."""
        return hash_number(self.question)

    def name_experiment(self) -> bytes:
        """The experiment that its tasks are samples of; empty: of none."""
        return drawn_by(self.spec.recipe, self.stage)

    @property
    def answers_json(self) -> bool:
        """Whether its answers are JSON."""
        return self.stage.schema is not None

    @property
    def gate_version(self) -> str:
        """What judges answers; only a run whose gates are installed here can be judged."""
        if self.spec.missing_plugins:
            raise PluginMissing(self.spec.missing_plugins)
        return self.installed_gate_version

    def budget_at(self, per_byte: float) -> Budget:
        """What a call may hold, once it is known how many tokens the model counts for a byte."""
        facts = replace(self.facts, token_factor=per_byte * BOUND_BYTES)
        prompt_bytes = len(self.stage.prompt.encode())
        head = self.prefix_bytes - prompt_bytes
        return call_budget(facts, head, prompt_bytes, reserved_output(facts), self.budget.cap)

    def most_tokens(self, n_bytes: int, per_byte: float | None = None) -> int:
        """Tokens to allow for so many bytes, as the model counts them."""
        if per_byte is not None:
            return math.ceil(n_bytes * per_byte)
        return math.ceil(bound_tokens(n_bytes) * self.facts.token_factor)

    def with_reserve(self, request: QueuedRequest) -> QueuedRequest:
        """A request as it goes from here: what was packed for another way may cost otherwise."""
        if not request.most_input:
            return request
        reserve = self.most_cost(request.most_input, request.max_output)
        return request if reserve == request.reserve else request._replace(reserve=reserve)

    def most_cost(self, input_tokens: int, output: int) -> int:
        """The most that a call may cost: it may be the one that writes the provider's cache.

        Where a server is not told how long an answer may be, that is as long as the model writes.
        """
        output = max(output, self.unlimited_output)
        price = price_at(self.facts, input_tokens, batched=self.route == BATCH)
        most = input_tokens * price.input + output * price.output
        writing = price.written_long if self.long_lived else price.written_short
        if not self.caching or writing <= price.input:
            return most
        written = min(input_tokens, self.most_tokens(self.prefix_bytes))
        return most + written * (writing - price.input)


class LaneRest(NamedTuple):
    """A while in which no calls of a lane go."""

    until: datetime
    unheard: bool = False  # nothing is known of its limits: answers show that more may go


class Sizes(NamedTuple):
    """What a stage's own answers taught about sizes."""

    learned: OutputPercentiles | None = None  # of answers
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
        self._specs: dict[RunId, RunSpec] = {}
        self._by_lane: dict[LaneId, LaneContext] = {}
        self._by_stage: dict[StageId, LaneContext] = {}  # of any of its lanes
        self.early_checked_runs: set[RunId] = set()  # their first tasks were looked at: for good
        self.stages_with_failures: set[StageId] = set()  # since their failures were looked at
        self.answered_tasks: Counter[StageId] = Counter()  # since their cost was looked at
        self.answered_models: set[str] = set()  # by whom something was answered before
        self.announced_waits: dict[LaneId, datetime] = {}  # until when a provider wants no calls
        self.sizes: dict[tuple[StageId, int], Sizes] = {}  # of a stage's answers by one model
        self.primed: dict[tuple[LaneId, int], datetime] = {}  # when an answer last came, by key
        self.sent_calls: dict[Pool, SentSoFar] = {}  # to pools that refused nothing so far
        # when they were read, and the newest version of each by its name and model
        self.limit_profiles: tuple[datetime, dict[tuple[str, str], Limits]] | None = None
        self.rests: dict[LaneId, LaneRest] = {}  # while the limits let no group of calls go
        self.funded_runs: set[RunId] = set()  # whose spending is bounded, when lanes were last read
        self.runs_without_plugins: set[RunId] = set()  # runs that name what is not installed here
        self.runs_with_broken_plugins: set[RunId] = set()  # runs whose grouping broke here
        self.settle_group_size = FIRST_SETTLE_GROUP  # more where answers are small
        self.sweep_memo = SweepMemo()  # of sweeps, in vain
        self.call_health: defaultdict[str, CallHealth] = defaultdict(CallHealth)  # by model
        # by model, address and credential
        self.refused_calls: defaultdict[tuple[str, str, str], RefusedCalls] = defaultdict(
            RefusedCalls
        )
        self.silent_since: dict[str, datetime] = {}  # models that answer nothing, since when
        self.prepared_texts: dict[bytes, CallText] = {}  # by hash, until they are claimed
        self.notices: list[str] = []  # what whoever waits at a screen should know
        self._places: dict[str, Places] | None = None  # of models that are asked in weaker ways
        self._places_read_at: datetime | None = None

    def of_lane(self, tx: Transaction, lane: Lane) -> LaneContext:
        """The context of a lane's stage."""
        if lane.id not in self._by_lane:
            if self._places is None:
                self._read_places(tx)
            places = (self._places or {}).get(lane.model, {})
            built = build_lane_context(lane, self.spec_of(tx, lane.run_id), places)
            self._by_lane[lane.id] = built
            self._by_stage.setdefault(lane.stage_id, built)
        return self._by_lane[lane.id]

    def refresh_fallbacks(self, tx: Transaction, now: datetime) -> None:
        """See which weaker ways were taken or forgotten meanwhile, by this worker or another."""
        read_at = self._places_read_at
        if read_at is None or not timedelta(0) <= now - read_at < READ_FALLBACKS_AFTER:
            self._read_places(tx)
            self._places_read_at = now

    def forget_fallbacks(self) -> None:
        """Look again before the next call: a weaker way was taken."""
        self._places_read_at = None

    def _read_places(self, tx: Transaction) -> None:
        found: dict[str, dict[str, dict[FallbackPart, str]]] = {}
        for known in tx.fallbacks.list_fallbacks():
            place = found.setdefault(known.model, {}).setdefault(known.address, {})
            place[known.part] = known.way
        before, self._places = self._places or {}, dict[str, Places](found)
        changed = {name for name in {*before, *found} if before.get(name) != found.get(name)}
        if changed:
            self._by_stage.clear()
            for lane, context in list(self._by_lane.items()):
                if context.facts.name in changed:
                    del self._by_lane[lane]

    def spec_of(self, tx: Transaction, run: RunId) -> RunSpec:
        """What a run was told."""
        if run not in self._specs:
            self._specs[run] = read_run_spec(tx, run, self.registry)
        return self._specs[run]

    def of_batch(self, tx: Transaction, batch: Batch) -> LaneContext:
        """The context of the lane whose calls a batch carries."""
        return self.of_lane_id(tx, batch.run_id, batch.lane_id)

    def of_lane_id(self, tx: Transaction, run: RunId, lane: LaneId) -> LaneContext:
        """The context of a lane of a run, by its key."""
        if lane in self._by_lane:
            return self._by_lane[lane]
        lanes = tx.requests.lanes_of_run(run)
        return self.of_lane(tx, next(item for item in lanes if item.id == lane))

    def any_of_stage(self, tx: Transaction, run: RunId, stage: StageId) -> LaneContext:
        """The context of any lane of a stage: what is the same for all its models."""
        if stage in self._by_stage:
            return self._by_stage[stage]
        lane = next(item for item in tx.requests.lanes_of_run(run) if item.stage_id == stage)
        return self.of_lane(tx, lane)


def build_lane_context(lane: Lane, spec: RunSpec, places: Places) -> LaneContext:
    """Derive everything that a stage's verbs need."""
    facts = limit_output(spec.models[spec.model_numbers[lane.model]], places.values())
    stage_prompt = spec.stage_prompts[spec.stages[lane.stage_id].name]
    facts = limit_to_stage(facts, stage_prompt.stage)
    stage, policy = stage_prompt.stage, _pace_policy(spec.policy_of(stage_prompt.stage))
    head = NO_PREFIX if facts.embeds else render_prefix(stage)
    head_bytes, prompt_bytes = prefix_bytes(head), len(stage.prompt.encode())
    caching, long_lived = _caching(lane, policy, facts, _kept_text(head, stage_prompt))
    gates = [] if spec.missing_plugins else spec.gates_of(stage)  # then nobody packs or judges
    cap, longest = pack_cap(stage, policy), reserved_output(facts)
    return LaneContext(
        run_id=lane.run_id,
        stage_id=lane.stage_id,
        lane_id=lane.id,
        route=lane.route,
        stage=stage,
        policy=policy,
        facts=facts,
        provider=facts.provider,
        request_head=_request_heads(head, stage.params, facts),
        prefix=head,
        prefix_bytes=0 if facts.embeds else head_bytes + prompt_bytes,
        shape=_shape(stage, is_lenient(policy, weakest_form(facts, places.values()))),
        quotes=stage.schema.quoted_fields if stage.schema else (),
        output_shape=output_shape(stage.schema, policy.estimated_output_per_task),
        token_use=guess_token_use(stage, facts, head),
        budget=call_budget(facts, head_bytes, prompt_bytes, longest, cap),
        spec=spec,
        model_no=spec.model_numbers[lane.model],
        stage_prompt=stage_prompt,
        gates=gates,
        installed_gate_version=_gate_version(stage, gates),
        caching=caching,
        long_lived=long_lived,
        by_block=stage_prompt.by_block,
        reads_results=bool(stage.upstream),
        places=places,
        question=stage_question(head.hash, asked_words(stage), facts.name, stage.params),
    )


def asked_words(stage: Stage) -> str:
    """What a stage asks in its own words, all that was said before included."""
    if not stage.history:
        return stage.prompt
    return plain_json([stage.prompt, *map(list, stage.history)])


def _shape(stage: Stage, lenient: bool) -> Shape:
    return Shape(stage.schema.asked_schema if stage.schema else {}, lenient=lenient)


def is_lenient(policy: Policy, form: StructuredOutput) -> bool:
    """Whether slips of form are read: unless somebody decided, where no schema binds answers."""
    if policy.lenient is not None:
        return policy.lenient
    return form in (StructuredOutput.JSON, StructuredOutput.TEXT)


def _pace_policy(policy: Policy) -> Policy:
    """A policy with few calls in flight where they are to go steadily."""
    if policy.route != PACED:
        return policy
    return replace(policy, concurrency=min(policy.concurrency, PACED_CALLS))


def _gate_version(stage: Stage, gates: GateChain) -> str:
    """Name what judges answers; records have passed the packed form of the first gate."""
    if stage.schema is None:
        return gate_versions(gates)
    quotes = QUOTE_GATE_VERSION if stage.record.quoted_fields else ""
    return "+".join([GATE_VERSION, *filter(None, [quotes, gate_versions(gates[1:])])])


def _kept_text(head: Prefix, stage_prompt: StagePrompt) -> str:
    """What a provider may keep: the system text, and the stable head of a history."""
    stable = stage_prompt.history.stable if stage_prompt.history else ()
    return "".join([head.system, *(turn.text for turn in stable)])


def _caching(lane: Lane, policy: Policy, facts: ModelFacts, kept: str) -> tuple[bool, bool]:
    """Whether the prefix is marked, and for how long it is to be kept."""
    cached = is_cached(facts, policy, kept)
    if not cached or (lane.route == DIRECT and policy.route not in ("batch", "auto")):
        return cached, False
    tokens = math.ceil(cacheable_tokens(kept) * facts.token_factor)
    calls = policy.min_batch_size
    inside = choose_batch_caching(facts, tokens, calls, rules_caches=True, pilot=True)
    return (inside.mark if lane.route == BATCH else cached), inside.long_lived


def _request_heads(head: Prefix, params: Params, facts: ModelFacts) -> Callable[[int], RequestHead]:
    if facts.embeds:
        asked = {"dimensions": facts.dimensions} if facts.dimensions else {}
        embedding_head = RequestHead(Params(), canonical_json(asked), b"")
        return lambda max_output: embedding_head

    @lru_cache(maxsize=1024)
    def request_head(max_output: int) -> RequestHead:
        limited = replace(params, max_tokens=max_output)
        text = canonical_json(limited.as_json())
        return RequestHead(limited, text, payload_head(head.hash, limited, facts.name))

    return request_head
