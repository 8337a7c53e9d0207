"""Progress: how far a run and each of its stages are, from their tallies."""

from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

from quire.domain.data import JsonObject
from quire.domain.errors import NotFound, PluginFailed, PluginMissing
from quire.domain.groupings import Driver
from quire.domain.ids import RunId
from quire.domain.runs import Progress, RunStage, StageProgress, Wishes
from quire.domain.states import TASK, TASK_OWED
from quire.ledger.ledger import Transaction
from quire.pipeline.begin import waits_for
from quire.pipeline.contexts import Contexts
from quire.pipeline.fan import MOST_DOCUMENTS, surroundings
from quire.pipeline.told import Told

_SUMS = (  # what is tallied besides tasks by state
    *("packs", "packed_tasks", "splits", "calls", "resent"),
    *("input_tokens", "output_tokens", "cached_tokens", "cost", "presumed"),
)


def progress(tx: Transaction, run: RunId, contexts: Contexts | None = None) -> Progress:
    """Sum up a run; `contexts` remember what recipes were told, so that it is not read again."""
    found = tx.runs.must_get(run)
    stages = tx.runs.stages(run)
    by_stage = tx.tallies.by_stage(run)
    sums: Counter[str] = Counter()
    for each in by_stage.values():
        sums.update(each)
    figures: Any = {name: sums[name] for name in _SUMS}
    _, total = tx.runs.inputs(run)
    batches, next_at = tx.batches.out(run)
    now = Progress(
        run_id=run,
        state=found.state,
        total=total,
        expanded=sum(stage.expanded for stage in stages),
        counts=_states(sums),
        **figures,
        in_flight=tx.requests.in_flight(run),
        holds=tx.holds.of_run(run),
        batches=batches,
        next_poll_at=next_at,
        task_limit=found.task_limit,
        cancelling=found.state == "running" and found.cancel_asked_at is not None,
        stages=tuple(
            StageProgress(name=each.name, state=each.state, counts=_states(by_stage[each.id]))
            for each in stages
        ),
    )
    if asks_a_schema(found.recipe):
        return now
    return _staged(tx, now, (contexts or Contexts()).told(tx, run), stages)


def asks_a_schema(recipe: JsonObject) -> bool:
    """Whether a run was told no more than a schema: then its tasks are blocks, and it is shown so.

    It looks at what the run keeps, because that is cheap, and asked often.
    """
    stages = recipe.get("stages")
    if not isinstance(stages, list) or len(stages) != 1 or not isinstance(stages[0], dict):
        return False
    only = stages[0]
    return only.get("about") == "each_block" and bool(only["schema"]) and not only.get("templated")


def at_rest(now: Progress) -> bool:
    """Whether a worker can do nothing more for this run until somebody acts."""
    if now.state != "running":
        return True
    if now.cancelling:
        return False
    if now.holds:
        return True
    if now.recipe:
        return now.spent
    limited = now.task_limit is not None and now.expanded >= now.task_limit
    return limited and not any(now.counts.get(state) for state in TASK_OWED)


class _Whole(NamedTuple):
    """A run of a recipe, as it stands."""

    told: Told
    stages: dict[str, RunStage]
    seen: dict[str, StageProgress]
    wishes: Wishes | None  # None: it has ended


def _staged(tx: Transaction, now: Progress, told: Told, stages: "list[RunStage]") -> Progress:
    """The same with what only a recipe's stages have: critics, waiting, marks."""
    standing = {each.name: each for each in stages}
    wishes = tx.runs.wishes_of(now.run_id)
    stale = tx.lineage.count_stale(now.run_id)
    seen = {each.name: each for each in now.stages}
    whole = _Whole(told, standing, seen, wishes)
    for spec in told.recipe.stages:
        seen[spec.name] = replace(
            seen[spec.name],
            judges=spec.of if spec.critic else "",
            waits_for=_waits(tx, whole, spec.name),
            stale=stale.get(spec.name, 0),
        )
    return replace(
        now,
        recipe=told.recipe.name,
        total=sum(each.expanded for each in seen.values()),
        stages=tuple(seen.values()),
        spent=_spent(tx, whole),
    )


def _waits(tx: Transaction, whole: _Whole, name: str) -> str:
    """Why a stage has not begun; "" where it has, or is about to."""
    stage = whole.stages[name]
    if stage.state != "waiting" or whole.wishes is None:
        return ""
    try:
        said = waits_for(tx, whole.told, whole.told.stages[stage.id], whole.stages, whole.wishes)
    except NotFound as error:  # a package that brought a grouping is not installed here
        return str(error)
    return said.replace("it stops", "the run stops").removeprefix("it ")


def _spent(tx: Transaction, whole: _Whole) -> bool:
    """Whether the limit allows nothing more: nothing is owed, and no stage can go on."""
    limit = whole.wishes.task_limit if whole.wishes else None
    if limit is None or any(each.count(*TASK_OWED) for each in whole.seen.values()):
        return False
    return all(_rests(tx, whole, each, limit) for each in whole.stages.values())


def _rests(tx: Transaction, whole: _Whole, stage: RunStage, limit: int) -> bool:
    spec = whole.told.stages[stage.id]
    if stage.state == "waiting":
        return bool(whole.seen[spec.name].waits_for)
    if stage.state != "expanding" or spec.critic:
        return stage.state != "open"
    if not spec.upstream:
        return stage.expanded >= limit
    try:
        grouping = whole.told.grouping_of(spec)
        around = surroundings(tx, whole.told, spec, grouping)
        return stage.expanded >= grouping.count(_things(tx, whole, spec.name), around)
    except (PluginFailed, PluginMissing):  # the run is held, which says more
        return False


def _things(tx: Transaction, whole: _Whole, name: str) -> int:
    """How many things a stage is expanded over, as things stand."""
    told = whole.told
    spec = told.stages[whole.stages[name].id]
    driver = told.driver_of(spec)
    if driver is Driver.RESULT:
        return whole.seen[spec.of].expanded
    if driver is Driver.ONCE:
        return 1
    documents = [
        each for _, each in tx.lineage.documents(told.run_id, spec.over, 0, MOST_DOCUMENTS)
    ]
    return len(documents) if driver is Driver.DOCUMENT else tx.documents.count_blocks(documents)


def _states(sums: "Counter[str] | dict[str, int]") -> dict[str, int]:
    return {state: sums[state] for state in TASK.states if sums.get(state)}
