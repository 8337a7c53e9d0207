"""Start: an order becomes a run, or goes on with the run of the same order."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.accounts.credentials import clear
from quire.domain.data import canonical_json
from quire.domain.errors import UsageError
from quire.domain.ids import DocumentId, RunId, fingerprint
from quire.domain.models import ModelFacts
from quire.domain.policy import Policy, SourcedPolicy
from quire.domain.reasons import MENDED_OUTSIDE, EventKind, Fields, HoldKind, ResumeCause
from quire.domain.recipes import RUN_TITLE, Recipe, Stage
from quire.domain.runs import BATCH, DIRECT
from quire.domain.states import TASK_OWED, RunState, StageMove
from quire.ledger.ledger import Transaction
from quire.pipeline.answers.notifications import lift_holds
from quire.pipeline.calls.limit_profiles import keep_run_limits
from quire.pipeline.calls.route import set_route
from quire.pipeline.commands.wallets import UsualFunds, fund_run
from quire.pipeline.run_spec import possible_models
from quire.recipes.policy_layers import policy_from_json
from quire.recipes.recipe_snapshots import recipe_to_json

# How fast a run goes does not change what it asks: the same command goes on at another speed.
_SPEED = ("concurrency", "call_timeout", "caching", "ledger")
_TRAVEL = ("route", "deadline", "min_batch_size", "batch_wait", "limits")
_HOLDS = ("hold_failed_percent", "hold_cost_percent")
# Nor does how a model is spoken to: what it takes may be stated after it refused something else.
_SAYING = ("limits", "wire", "max_output")
_PAYING = ("reuse",)  # nor whether it is paid for once more: a run keeps its own until told
UNBOUND = UsualFunds()
AUTO_EMBEDDER = "auto"  # nobody said who ranks passages
OPERATIONAL = frozenset((*_SPEED, *_TRAVEL, *_HOLDS, *_PAYING))
_TOLD = tuple(item.name for item in fields(Policy) if item.name not in OPERATIONAL)


class BlockSample(NamedTuple):
    """Some blocks of the inputs, in the place of all."""

    blocks: tuple[tuple[int, int], ...]  # the document's ordinal among the inputs, and the index
    turn: int = 1  # the same asked once more is another run
    types: tuple[str, ...] = ()  # they are all that there are of these


class Reuse(NamedTuple):
    """Whose results are kept, and from which stage on everything is asked again."""

    run: RunId
    from_stage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a caller wants done: a checked recipe, everybody who is asked, how it may spend."""

    recipe: Recipe
    facts: ModelFacts  # of the run's own model
    policy: SourcedPolicy
    inputs: Sequence[tuple[DocumentId, str]] = ()  # each with its fingerprint
    input_names: Mapping[DocumentId, str] = field(default_factory=dict)  # the recipe's, of its set
    models: tuple[ModelFacts, ...] = ()  # that stages name, besides the run's own
    embedders: tuple[ModelFacts, ...] = ()  # that rank passages, and answer nothing
    stop_after: str | None = None  # only this stage and what it needs is carried out
    task_limit: int | None = None
    new: bool = False  # start afresh, and pay again, even if the same order was given before
    sample: BlockSample | None = None
    reuse: Reuse | None = None  # what an earlier run has of it already
    wallet: str | None = None  # that it spends from
    budget: int | None = None  # picodollars that it may spend in all
    command: str | None = None  # the caller's own id of it: the same again begins nothing
    person: str = ""  # who orders it: their own keys are used first

    @property
    def route(self) -> str:
        """The lane that its calls travel in; whoever orders has decided what `auto` means."""
        return BATCH if self.policy.policy.route == BATCH else DIRECT


class StartedRun(NamedTuple):
    """The run that carries out an order."""

    run_id: RunId
    goes_on: bool  # it had begun before


def start(tx: Transaction, order: Order, now: datetime, usual: UsualFunds = UNBOUND) -> StartedRun:
    """Begin a run, or go on with the newest one of the same order; a finished one owes nothing."""
    assert not order.policy.probed  # whoever orders has looked the pack size up
    key = run_key(order)
    tx.runs.lock_key(key)  # two equal orders at once are one run
    known = None if order.new else find_run(tx, order)
    if known is not None:
        _go_on(tx, known, order, now)
    run = _begin_run(tx, key, order, now, usual) if known is None else known
    tx.notify()
    return StartedRun(run, goes_on=known is not None)


def _go_on(tx: Transaction, run: RunId, order: Order, now: datetime) -> None:
    _change_limit(tx, run, order, now)
    _change_stop(tx, run, order, now)
    _change_speed(tx, run, order, now)
    _retry_keys(tx, run, order, now)
    tx.batches.poll_batches_now(run)
    if tx.runs.must_get_run(run).state == RunState.RUNNING:  # what has ended spends nothing more
        fund_run(tx, run, order.wallet, order.budget, now)


def _begin_run(
    tx: Transaction, key: bytes, order: Order, now: datetime, usual: UsualFunds
) -> RunId:
    """Write down all that a new run was told."""
    snapshots = (recipe_to_json(order.recipe), order.facts.as_json(), order.policy.as_json())
    run = tx.runs.add_run(key, snapshots, order.task_limit, now, order.person)
    wallet = usual.wallet if order.wallet is None else order.wallet
    budget = usual.budget if order.budget is None else order.budget
    fund_run(tx, run, wallet, budget, now, new=True)
    tx.runs.add_run_documents(run, [document for document, _ in order.inputs], order.input_names)
    further = (*order.models, *order.embedders)
    tx.lineage.add_run_models(run, [(model.name, model.as_json()) for model in further])
    keep_run_limits(tx, run, order.policy.policy, [order.facts, *further])
    if order.sample is not None:
        tx.runs.add_run_blocks(run, order.sample.blocks)
        tx.runs.set_block_types(run, order.sample.types)
    for stage in order.recipe.stages:
        _add_stage(tx, run, order, stage)
    if order.route == BATCH:
        set_route(tx, run, BATCH)
    tx.runs.set_deadline(run, _deadline(order, now))
    tx.runs.set_stop_after(run, order.stop_after)
    sample = len(order.sample.blocks) if order.sample and not order.sample.types else 0
    facts: Fields = {"recipe": order.recipe.name, "model": order.facts.name, "sample": sample}
    tx.events.add_event(run, EventKind.RUN_STARTED, now, **facts)
    return run


def _add_stage(tx: Transaction, run: RunId, order: Order, stage: Stage) -> None:
    """Add a stage with a lane to each model; it begins at once if it waits for nothing."""
    stage_id = tx.runs.add_stage(run, stage.name)
    for model in possible_models(order.recipe, stage, order.facts.name):
        tx.requests.add_lane(run, stage_id, model)
    embedder = embedder_of(order, stage)
    if any(model.name == embedder for model in order.embedders):
        tx.requests.add_lane(run, stage_id, embedder, serves=False)  # nothing is packed there
    if stage.critic or not stage.upstream:
        tx.runs.move_stage(StageMove.EXPAND, stage_id)


def embedder_of(order: Order, stage: Stage) -> str:
    """Who ranks passages for a stage: its own word, unless the caller said otherwise."""
    own = stage.policy.get("embedder")
    overrides = order.policy.sources.get("embedder") == "flag" or not isinstance(own, str)
    return order.policy.policy.embedder if overrides else str(own)


def _deadline(order: Order, now: datetime) -> datetime | None:
    seconds = order.policy.policy.deadline
    return None if seconds is None else now + timedelta(seconds=seconds)


def _change_limit(tx: Transaction, run: RunId, order: Order, now: datetime) -> None:
    """Owe as much as this order says, and say so where that is more or less than before."""
    found = tx.runs.must_get_run(run)
    before = found.task_limit
    if before != order.task_limit:
        if found.state == RunState.RUNNING:
            _refuse_limit_passed(tx, run, order)
        tx.runs.set_task_limit(run, order.task_limit)
        fields = {"before": before or 0, "limit": order.task_limit or 0}
        tx.events.add_event(run, EventKind.LIMIT_CHANGED, now, **fields)


def _refuse_limit_passed(tx: Transaction, run: RunId, order: Order) -> None:
    """Refuse a limit that a run has gone beyond, while there is more to ask: all of it would be."""
    if order.task_limit is None:
        return
    first = {stage.name for stage in order.recipe.stages if not (stage.upstream or stage.critic)}
    stages, wishes = tx.runs.stages_of_run(run), tx.runs.wishes_of_run(run)
    if all(s.name not in first or s.expanded <= order.task_limit for s in stages):
        return
    tallies = [tx.tallies.tallies_of_stage(stage.id) for stage in stages]
    owed = sum(counts.get(state, 0) for counts in tallies for state in TASK_OWED)
    goes_further = wishes is not None and wishes.stop_after not in (None, order.stop_after)
    if owed or goes_further:
        more = f"owes {owed:,} more answers by now" if owed else "has begun with more than that"
        them = "them" if owed else "what follows"
        raise UsageError(
            f"run {run} {more}, and --limit {order.task_limit} would not hold {them} back: leave"
            " it out to go on; or begin another run with --new, where what was answered before"
            " costs nothing"
        )


def _change_stop(tx: Transaction, run: RunId, order: Order, now: datetime) -> None:
    """Stop after the stage that this order says, and no longer after another."""
    wishes = tx.runs.wishes_of_run(run)
    if wishes is not None and wishes.stop_after != order.stop_after:
        tx.runs.set_stop_after(run, order.stop_after)
        lift_holds(tx, run, [HoldKind.STOP_AFTER], ResumeCause.SAME_ORDER, now)


def _change_speed(tx: Transaction, run: RunId, order: Order, now: datetime) -> None:
    """Go on as fast as this order says; what is asked stays as it was told at the start."""
    found = tx.runs.must_get_run(run)
    policy_json = order.policy.as_json()
    before = policy_from_json(found.policy).policy
    if before.deadline != order.policy.policy.deadline:  # else it is the same moment as before
        tx.runs.set_deadline(run, _deadline(order, now))
    wishes = tx.runs.wishes_of_run(run)
    late = wishes is not None and wishes.deadline is not None and wishes.deadline <= now
    set_route(tx, run, DIRECT if late else order.route)
    unsaid = [name for name in _PAYING if order.policy.sources.get(name) != "flag"]
    changed = OPERATIONAL.difference(name for name in unsaid if name in found.policy)
    tx.runs.set_policy(run, {**found.policy, **{name: policy_json[name] for name in changed}})
    facts = order.facts.as_json()
    tx.runs.set_model(run, {**found.model, **{name: facts[name] for name in _SAYING}})


def _retry_keys(tx: Transaction, run: RunId, order: Order, now: datetime) -> None:
    """Whoever gives the order again wants it tried again; without a good key it is held again."""
    if lift_holds(tx, run, MENDED_OUTSIDE, ResumeCause.SAME_ORDER, now):
        for provider in sorted(
            {facts.provider for facts in (order.facts, *order.models, *order.embedders)}
        ):
            clear(tx, now, provider)


def find_run(tx: Transaction, order: Order) -> RunId | None:
    """The newest run of the same order that was not cancelled; older versions named it otherwise.

    They knew no embedders: a run that they began is the same where the order leaves that open.
    """
    recipe = _recipe_words(order)
    known = tx.runs.newest_run_of_key(_name_order(order, recipe), order.person)
    if known is None and order.policy.policy.embedder == AUTO_EMBEDDER:
        older = _name_order(order, recipe, unknown=("embedder",))
        known = tx.runs.newest_run_of_key(older, order.person)
    return known


def run_key(order: Order, unknown: Collection[str] = ()) -> bytes:
    """Name an order: two equal ones are the same run, whatever it is called.

    As it was before some settings existed, where those are `unknown`.
    """
    return _name_order(order, _recipe_words(order), unknown)


def _recipe_words(order: Order) -> str:
    """All that its recipe says, but for what the run is called."""
    facts = {name: fact for name, fact in order.recipe.facts.items() if name != RUN_TITLE}
    return canonical_json(recipe_to_json(replace(order.recipe, facts=facts)))


def _name_order(order: Order, recipe: str, unknown: Collection[str] = ()) -> bytes:
    policy = {name: getattr(order.policy.policy, name) for name in _TOLD if name not in unknown}
    return fingerprint(
        recipe,
        order.facts.name,
        canonical_json(policy),
        *(conv_uid for _, conv_uid in order.inputs),
        *sorted(f"{document}={name}" for document, name in order.input_names.items()),
        *_sample_parts(order.sample),
    )


def _sample_parts(sample: BlockSample | None) -> tuple[str, ...]:
    if sample is None:
        return ()
    if sample.types:
        return ("types", *sample.types)
    return ("sample", str(sample.turn), *(f"{ordinal}:{index}" for ordinal, index in sample.blocks))
