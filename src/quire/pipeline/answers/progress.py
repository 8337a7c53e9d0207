"""Progress: how far a run and each of its stages are, and why nothing moves when nothing moves."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from quire.domain.errors import NotFound, PluginFailed, PluginMissing
from quire.domain.gates import clip
from quire.domain.groupings import OF_WHOLE_STAGE, Driver
from quire.domain.ids import RunId
from quire.domain.models import Limits
from quire.domain.quantities import quantity
from quire.domain.reasons import StageWait, WaitKind
from quire.domain.runs import BATCH, Progress, RunStage, StageProgress, Stall, StallKind, Wishes
from quire.domain.states import (
    TASK,
    TASK_OWED,
    TASK_UNDER_WAY,
    BatchState,
    RunState,
    StageState,
    TaskState,
)
from quire.domain.task_wording import shared_cause
from quire.domain.wallets import RunMoney
from quire.ledger.ledger import Transaction
from quire.pipeline.answers.hold_reasons import explained_holds
from quire.pipeline.answers.money_waits import money_waits
from quire.pipeline.calls.admit import scarce_limits
from quire.pipeline.calls.limit_profiles import model_limits
from quire.pipeline.contexts import Contexts
from quire.pipeline.run_spec import RunSpec
from quire.pipeline.stages.begin import stop_wait, wait_reason
from quire.pipeline.stages.expand import MOST_DOCUMENTS, grouping_context
from quire.planning.job_forecasts import EARLY_TASKS
from quire.recipes.policy_layers import policy_from_json

_SUMS = (  # what is tallied besides tasks by state
    *("packs", "packed_tasks", "splits", "calls", "resent", "reused"),
    *("input_tokens", "output_tokens", "cached_tokens"),
)
_MONEY = ("cost", "presumed", "saved")  # tallied too, in picodollars


def progress(tx: Transaction, run: RunId, contexts: Contexts | None = None) -> Progress:
    """Sum up a run; `contexts` remember what recipes were told, so that it is not read again."""
    found = tx.runs.must_get_run(run)
    stages = tx.runs.stages_of_run(run)
    by_stage = tx.tallies.tallies_by_stage(run)
    sums: Counter[str] = Counter()
    for record in by_stage.values():
        sums.update(record)
    figures: Any = {name: sums[name] for name in _SUMS}
    money: Any = {f"{name}_pico": sums[name] for name in _MONEY}
    documents, total = tx.runs.count_run_inputs(run)
    batches, next_at = tx.batches.uncollected_batches(run)
    now = Progress(
        run_id=run,
        state=found.state,
        total=total,
        expanded=sum(stage.expanded for stage in stages),
        counts=_task_states(sums),
        **figures,
        **money,
        in_flight=tx.requests.count_calls_in_flight(run),
        holds=explained_holds(tx, run, stages),
        batches=batches,
        next_poll_at=next_at,
        task_limit=found.task_limit,
        money=_run_money(tx, run, sums["cost"] + sums["presumed"]) if found.funded else None,
        cancelling=found.state == RunState.RUNNING and found.cancel_asked_at is not None,
        stages=tuple(
            StageProgress(
                name=stage.name, state=stage.state, counts=_task_states(by_stage[stage.id])
            )
            for stage in stages
        ),
    )
    spec = (contexts or Contexts()).spec_of(tx, run)
    now = replace(now, is_simulated=all(model.is_simulated for model in spec.models))
    if spec.recipe.is_single_schema:  # asked often: what only several stages have is not read
        now = _count_units(now, spec.recipe.unit, documents, stages[0])
        return replace(now, spent=_is_fully_asked(now))
    return _add_stage_facts(tx, now, spec, stages)


def _count_units(now: Progress, unit: str, documents: int, stage: RunStage) -> Progress:
    """The same in documents, sections or pages, as far as they were divided yet."""
    if unit == now.noun:
        return now
    known = stage.state in (StageState.OPEN, StageState.CLOSED)
    total = now.expanded if known else max(now.expanded, documents)
    return replace(now, noun=unit, total=total)


def _run_money(tx: Transaction, run: RunId, spent: int) -> RunMoney | None:
    """How the money of a run stands whose spending is bounded."""
    funds = tx.wallets.funds_of_run(run)
    if funds is None:
        return None
    slices = tx.wallets.slices_of_run(run)
    used = sum(piece.used for piece in slices)
    wallet = tx.wallets.get_wallet(funds.wallet) if funds.wallet else None
    bounds = [wallet.balance + sum(piece.free for piece in slices)] if wallet else []
    bounds += [funds.budget - used] if funds.budget is not None else []
    return RunMoney(funds.wallet, funds.budget, spent, max(0, used - spent), min(bounds))


def _is_fully_asked(now: Progress) -> bool:
    """Whether a limit on blocks allows no more; also of a stage that is about to be closed."""
    limited = now.task_limit is not None and now.expanded >= now.task_limit
    return limited and not any(now.counts.get(state) for state in TASK_OWED)


def is_at_rest(now: Progress) -> bool:
    """Whether a worker can do nothing more for this run until somebody acts."""
    if now.state != RunState.RUNNING:
        return True
    if now.cancelling:
        return False
    if now.holds:
        return True
    return now.spent


class _RecipeRun(NamedTuple):
    """A run of a recipe, as it stands."""

    spec: RunSpec
    stages: dict[str, RunStage]
    seen: dict[str, StageProgress]
    wishes: Wishes | None  # None: it has ended


def _add_stage_facts(
    tx: Transaction, now: Progress, spec: RunSpec, stages: "list[RunStage]"
) -> Progress:
    """The same with what only a recipe's stages have: critics, waiting, marks."""
    stages_by_name = {stage.name: stage for stage in stages}
    wishes = tx.runs.wishes_of_run(now.run_id)
    stale = tx.lineage.count_stale(now.run_id)
    seen = {stage.name: stage for stage in now.stages}
    whole = _RecipeRun(spec, stages_by_name, seen, wishes)
    for recipe_stage in spec.recipe.stages:
        seen[recipe_stage.name] = replace(
            seen[recipe_stage.name],
            judges=recipe_stage.of if recipe_stage.critic else "",
            wait=_stage_wait(tx, whole, recipe_stage.name),
            stale=stale.get(recipe_stage.name, 0),
        )
    return replace(
        now,
        noun="task",
        total=sum(stage_progress.expanded for stage_progress in seen.values()),
        stages=tuple(seen.values()),
        spent=_is_limit_used_up(tx, whole),
    )


def _stage_wait(tx: Transaction, whole: _RecipeRun, name: str) -> StageWait | None:
    """Why a stage has not begun, or is kept back; None where it goes on, or is about to."""
    stage = whole.stages[name]
    if whole.wishes is None or stage.state == StageState.CLOSED:
        return None
    recipe_stage = whole.spec.stages[stage.id]
    if stage.state != StageState.WAITING:
        owes = whole.seen[name].count(*TASK_OWED)
        return stop_wait(whole.spec, recipe_stage, whole.wishes) if owes else None
    try:
        return wait_reason(tx, whole.spec, recipe_stage, whole.stages, whole.wishes)
    except NotFound as error:  # a package that brought a grouping is not installed here
        return StageWait(WaitKind.PLUGIN, problem=str(error))


def _is_limit_used_up(tx: Transaction, whole: _RecipeRun) -> bool:
    """Whether the limit allows nothing more: nothing is owed, and no stage can go on."""
    limit = whole.wishes.task_limit if whole.wishes else None
    if whole.wishes is None or limit is None:
        return False
    beyond = whole.spec.stages_beyond(whole.wishes.stop_after)
    stages = [stage for stage in whole.stages.values() if stage.id not in beyond]
    if any(whole.seen[stage.name].count(*TASK_OWED) for stage in stages):
        return False
    return all(_is_stage_used_up(tx, whole, stage, limit) for stage in stages)


def _is_stage_used_up(tx: Transaction, whole: _RecipeRun, stage: RunStage, limit: int) -> bool:
    recipe_stage = whole.spec.stages[stage.id]
    if stage.state == StageState.WAITING:
        return whole.seen[recipe_stage.name].wait is not None
    if stage.state != StageState.EXPANDING or recipe_stage.critic:
        return stage.state != StageState.OPEN
    if not recipe_stage.upstream:
        return stage.expanded >= limit
    try:
        grouping = whole.spec.grouping_of(recipe_stage)
        if grouping.driver in (Driver.PAIR, *OF_WHOLE_STAGE):  # begun only when nothing was limited
            return False
        around = grouping_context(tx, whole.spec, recipe_stage, grouping)
        return stage.expanded >= grouping.count(_item_count(tx, whole, recipe_stage.name), around)
    except (PluginFailed, PluginMissing):  # the run is held, which says more
        return False


def _item_count(tx: Transaction, whole: _RecipeRun, name: str) -> int:
    """How many things a stage is expanded over, as things stand."""
    spec = whole.spec
    recipe_stage = spec.stages[whole.stages[name].id]
    driver = spec.driver_of(recipe_stage)
    if driver is Driver.RESULT:
        return whole.seen[recipe_stage.of].expanded
    if driver is Driver.ONCE:
        return 1
    documents = [
        document
        for _, document in tx.lineage.input_documents(
            spec.run_id, recipe_stage.over, 0, MOST_DOCUMENTS
        )
    ]
    return len(documents) if driver is Driver.DOCUMENT else tx.documents.count_blocks(documents)


def _task_states(sums: "Counter[str] | dict[str, int]") -> dict[str, int]:
    return {str(state): sums[state] for state in TASK.states if sums.get(state)}


SHOWN_CAUSES = 3  # of what is blocked in a stage
LONGEST_CAUSE = 160  # characters of a reason


def stall_reasons(tx: Transaction, found: Progress, workers: int, now: datetime) -> list[Stall]:
    """Say why a run does not move, given how many workers live; empty when it does or has ended."""
    if found.state != RunState.RUNNING:
        return []
    stalls = [
        Stall(StallKind.HELD, f"held ({hold.kind.value})", hold.detail) for hold in found.holds
    ]
    if found.cancelling:
        waits = "for a worker" if workers == 0 else "for the calls that are out"
        stalls.append(Stall(StallKind.CANCELLING, "being cancelled", f"waiting {waits}"))
    if found.spent and not (found.holds or found.cancelling):
        go_on = "run the same command without it (and --new) to go on"
        said = f"--limit {found.task_limit} is reached; {go_on}"
        stalls.append(Stall(StallKind.TASK_LIMIT, said))
    if not stalls and workers == 0:
        # The command that began it may begin another: with --new, or after one that had it.
        begin = f"`quire attach {found.run_id}` or `quire work` goes on with it"
        stalls.append(Stall(StallKind.NO_WORKER, "no worker is running", begin))
    moment = tx.requests.next_lane_moment(found.run_id)
    if moment is not None and moment > now and not found.holds:
        error = tx.attempts.last_error(found.run_id) or "the provider asked to wait"
        seconds = (moment - now).total_seconds()
        said = f"{error}; the next call may go in {seconds:.0f} s"
        stalls.append(Stall(StallKind.BACKOFF, said))
    if not stalls and moment is not None:
        stalls += money_waits(tx, found.run_id) or _limit_reasons(tx, found.run_id, now)
    if found.batches and not found.holds:
        stalls += _batch_reasons(tx, found, workers, now)
    return stalls


def stage_stall_reasons(tx: Transaction, found: Progress, workers: int) -> Iterator[Stall]:
    """Say what is the matter with a recipe's stages, in their order, also when it has ended.

    That one stage waits for another is told only where the run does not move.
    """
    moves = workers > 0 and not is_at_rest(found)
    blocked = any(progress.count(TaskState.BLOCKED) for progress in found.stages)
    causes = _block_causes(tx, found) if blocked else {}
    for stage in found.stages:
        if stage.wait and not moves:
            waits = f"{stage.name} {_stage_wait_text(found, stage)}"
            yield Stall(StallKind.STAGE_WAITS, waits)
        proposed = stage.count(TaskState.PROPOSED)
        if proposed and not moves:
            said = f"{proposed:,} proposed, {_critics_text(found, stage)}"
            yield Stall(StallKind.PROPOSED, stage.name, said)
        if stage.count(TaskState.BLOCKED):
            said = _blocked_text(found, stage, causes.get(stage.name, Counter()))
            yield Stall(StallKind.BLOCKED, stage.name, said)
        if stage.stale:
            again = f"`quire retry {found.run_id} --stale` makes them again"
            said = f"{stage.stale:,} stale, made from what has changed since; {again}"
            yield Stall(StallKind.STALE, stage.name, said)


def _blocked_text(found: Progress, stage: StageProgress, causes: Counter[str]) -> str:
    """Why some of a stage are blocked, and what helps; nothing need be done once it was."""
    count, run = stage.count(TaskState.BLOCKED), found.run_id
    said = f"{count:,} blocked"
    whys = causes.most_common()
    listed = [f"{why} ({min(times, count):,})" for why, times in whys[:SHOWN_CAUSES]]
    if listed:
        said += f", {'; '.join(listed)}{'; …' if len(whys) > SHOWN_CAUSES else ''}"
    if found.counts.get(TaskState.FAILED, 0) or found.counts.get(TaskState.CANCELLED, 0):
        return f"{said}; `quire retry {run}` asks again what failed"
    if any(found.counts.get(state, 0) for state in TASK_OWED):
        return f"{said} until what they read is answered, which is asked again"
    return f"{said}; `quire failures {run} --blocked` says by what"


def _block_causes(tx: Transaction, found: Progress) -> dict[str, Counter[str]]:
    """Why tasks are blocked, by stage, each reason with how many it blocks."""
    causes: dict[str, Counter[str]] = defaultdict(Counter)
    for cause in tx.results.causes_of_blocked_tasks(found.run_id):
        became = cause.state if cause.state == TaskState.FAILED else f"is {cause.state}"
        why = (
            f": {shared_cause(cause.error_kind, cause.error_stage, cause.error)}"
            if cause.error and became == "failed"
            else ""
        )
        reason = clip(f"because {cause.above} {became}{why}", LONGEST_CAUSE)
        causes[cause.stage][reason] += cause.tasks
    return causes


def _stage_wait_text(found: Progress, stage: StageProgress) -> str:
    """Why a stage has not begun, and what lets it."""
    wait = stage.wait
    if wait is None or wait.kind is not WaitKind.UPSTREAM:
        go_on = f"`quire resume {found.run_id}` goes on"
        return f"waits: {stage.waits_for}; {go_on}"
    above = next(progress for progress in found.stages if progress.name == wait.stage)
    owed = above.count(*TASK_OWED)
    left = f"{owed:,} of its {above.expanded:,} owed" if above.expanded else "it has not begun"
    if not owed and above.state == StageState.EXPANDING:
        left = "not all of it was asked yet"
    return f"{stage.waits_for}: {left}"


def _critics_text(found: Progress, stage: StageProgress) -> str:
    """What the critics of a stage still owe it."""
    critics = [progress for progress in found.stages if progress.judges == stage.name]
    owed = [f"{critic.name} ({critic.count(*TASK_UNDER_WAY):,} owed)" for critic in critics]
    return f"waiting for {' and '.join(owed)}"


def _batch_reasons(tx: Transaction, found: Progress, workers: int, now: datetime) -> list[Stall]:
    """Say what batches are waited for, and when they are looked at."""
    stalls = []
    for view in tx.views.list_batches(found.run_id):
        if view.state in (BatchState.COLLECTED, BatchState.ABANDONED):
            continue
        wait = max(0.0, (view.next_at - now).total_seconds()) if view.next_at else 0.0
        problem = f" ({view.problem})" if view.problem else ""
        calls = quantity(view.rows, "call")
        next_look = f"next look in {wait:.0f} s" if wait else "its next look is now"
        if not wait and not workers:
            next_look = "its next look is due, and needs a worker: `quire work`"
        said = f"batch {view.id}, {calls}, is {view.state}{problem}"
        stalls.append(Stall(StallKind.BATCH, said, next_look))
    run = tx.runs.get_run(found.run_id)
    if run and run.early_judged_at is None and found.total > EARLY_TASKS:
        said = f"the rest is sent when the first {EARLY_TASKS} tasks are known to be fine"
        stalls.append(Stall(StallKind.EARLY_CHECK, said))
    return stalls


def _limit_reasons(tx: Transaction, run: RunId, now: datetime) -> list[Stall]:
    """Say so where we hold calls back ourselves, to keep within the provider's limits."""
    found = tx.runs.must_get_run(run)
    policy = policy_from_json(found.policy).policy
    models = tx.runs.models_of_run(found)
    limits = {model.name: model_limits(tx, model, policy) for model in models}
    held = {model.name: scarce_limits(tx, model, now, limits[model.name]) for model in models}
    waits = [
        Stall(StallKind.RATE_LIMIT, "calls wait for a place in a batch", why)
        for name in limits
        if _has_calls_for_batches(tx, run, name)
        for why in _full_batch_limits(tx, name, limits[name])
    ]
    return waits + [
        Stall(
            StallKind.RATE_LIMIT,
            "calls are held back",
            f"{name} allows {' and '.join(limits)} a minute",
        )
        for name, limits in held.items()
        if limits
    ]


def _has_calls_for_batches(tx: Transaction, run: RunId, model: str) -> bool:
    lanes = [lane for lane in tx.requests.lanes_of_run(run) if lane.model == model]
    return any(
        lane.route == BATCH and tx.requests.count_queued_in_lane(lane.id, 1) for lane in lanes
    )


def _full_batch_limits(tx: Transaction, model: str, limits: Limits) -> list[str]:
    """Say how much of what a provider takes in batches it has already."""
    loads = [load for load in tx.batches.list_batch_loads() if load.model == model]
    jobs = max((load.jobs for load in loads), default=0)
    tokens = max((load.tokens for load in loads), default=0)
    why = []
    if limits.jobs and jobs >= limits.jobs:
        why.append(
            f"{model} has {jobs:,} of {quantity(limits.jobs, 'batch', 'batches')} to work off"
        )
    if limits.enqueued and tokens:
        why.append(f"{model} has {tokens:,} of {limits.enqueued:,} tokens to work off")
    return why
