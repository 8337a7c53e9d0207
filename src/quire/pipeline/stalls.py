"""Stalls: why nothing moves when nothing moves, a line a reason, each with what to do."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime

from quire.domain.ids import RunId
from quire.domain.runs import Progress, StageProgress
from quire.domain.states import TASK_OWED
from quire.ledger.ledger import Transaction
from quire.pipeline.admit import held_back_by
from quire.pipeline.progress import at_rest
from quire.plan.forecasting import EARLY_TASKS

REASONS = 3  # of what is blocked in a stage
LONGEST = 160  # characters of a reason
_NUMBER = re.compile(r"^task \d+(?= of |, which it reads)")  # of what blocks a task


def reasons(tx: Transaction, found: Progress, workers: int, now: datetime) -> list[str]:
    """Say why a run does not move, given how many workers live; empty when it does or has ended."""
    if found.state != "running":
        return []
    said = [f"held ({hold.kind.value}): {hold.detail}" for hold in found.holds]
    if found.cancelling:
        waits = "for a worker" if workers == 0 else "for the calls that are out"
        said.append(f"being cancelled: waiting {waits}")
    if _limited(found):
        said.append(
            f"--limit {found.task_limit} is reached; run the same command without it to go on"
        )
    if not said and workers == 0:
        said.append(
            f"no worker is running: `quire attach {found.run_id}`, the command that began it"
            " again, or `quire work`"
        )
    moment = tx.requests.next_moment(found.run_id)
    if moment is not None and moment > now and not found.holds:
        error = tx.attempts.last_error(found.run_id) or "the provider asked to wait"
        seconds = (moment - now).total_seconds()
        said.append(f"{error}; the next call may go in {seconds:.0f} s")
    if not said and moment is not None:
        said += _paced(tx, found.run_id, now)
    if found.batches and not found.holds:
        said += _batched(tx, found, workers, now)
    return said


def _limited(found: Progress) -> bool:
    limit = found.task_limit
    if limit is None or found.holds or not at_rest(found):
        return False
    return bool(found.recipe) or found.expanded >= limit


def reasons_of_stages(tx: Transaction, found: Progress, workers: int) -> Iterator[str]:
    """Say what is the matter with a recipe's stages, in their order, also when it has ended.

    That one stage waits for another is told only where the run does not move.
    """
    if not found.recipe:
        return
    moves = workers > 0 and not at_rest(found)
    blocked = any(each.count("blocked") for each in found.stages)
    causes = _causes(tx, found) if blocked else {}
    for stage in found.stages:
        if stage.waits_for and not moves:
            yield f"{stage.name} {_waiting(found, stage)}"
        proposed = stage.count("proposed")
        if proposed and not moves:
            yield f"{stage.name}: {proposed:,} proposed, {_judged(found, stage)}"
        if stage.count("blocked"):
            yield _blocked(found, stage, causes.get(stage.name, Counter()))
        if stage.stale:
            yield (
                f"{stage.name}: {stage.stale:,} stale, made from what has changed since;"
                f" `quire retry {found.run_id} --stale` makes them again"
            )


def _blocked(found: Progress, stage: StageProgress, causes: Counter[str]) -> str:
    """Why some of a stage are blocked, and what helps; nothing need be done once it was."""
    count, run = stage.count("blocked"), found.run_id
    said = f"{stage.name}: {count:,} blocked"
    whys = causes.most_common()
    told = [f"{why} ({min(times, count):,})" for why, times in whys[:REASONS]]
    if told:
        said += f", {'; '.join(told)}{'; …' if len(whys) > REASONS else ''}"
    if found.counts.get("failed", 0) or found.counts.get("cancelled", 0):
        return f"{said}; `quire retry {run}` asks again what failed"
    if any(found.counts.get(state, 0) for state in TASK_OWED):
        return f"{said} until what they read is answered, which is asked again"
    return f"{said}; `quire failures {run} --blocked` says by what"


def _causes(tx: Transaction, found: Progress) -> dict[str, Counter[str]]:
    """Why tasks are blocked, by stage, each reason with how many it blocks."""
    causes: dict[str, Counter[str]] = defaultdict(Counter)
    for each in tx.exports.blocked(found.run_id):
        became = each.state if each.state == "failed" else f"is {each.state}"
        why = f": {cause_of(found.stages, each.error)}" if each.error and became == "failed" else ""
        causes[each.stage][f"because {each.above} {became}{why}"[:LONGEST]] += each.tasks
    return causes


def cause_of(stages: Sequence[StageProgress], error: str) -> str:
    """A task's error as a cause that it shares with others: without what was said of it alone."""
    for each in stages:
        if each.judges and error.startswith(f"{each.name}: "):
            return f"{each.name} objected"
    return _NUMBER.sub("a task", error)


def _waiting(found: Progress, stage: StageProgress) -> str:
    """Why a stage has not begun, and what lets it."""
    above = next((e for e in found.stages if stage.waits_for == f"waits for {e.name}"), None)
    if above is None:
        go_on = f"`quire resume {found.run_id}` goes on"
        return f"waits: {stage.waits_for}; {go_on}"
    owed = above.count("waiting", "ready", "packed", "proposed")
    left = f"{owed:,} of its {above.expanded:,} owed" if above.expanded else "it has not begun"
    if not owed and above.state == "expanding":
        left = "not all of it was asked yet"
    return f"{stage.waits_for}: {left}"


def _judged(found: Progress, stage: StageProgress) -> str:
    """What the critics of a stage still owe it."""
    critics = [each for each in found.stages if each.judges == stage.name]
    told = [f"{each.name} ({each.count('waiting', 'ready', 'packed'):,} owed)" for each in critics]
    return f"waiting for {' and '.join(told)}"


def _batched(tx: Transaction, found: Progress, workers: int, now: datetime) -> list[str]:
    """Say what batches are waited for, and when they are looked at."""
    said = []
    for view in tx.batch_views.all(found.run_id):
        if view.state in ("collected", "abandoned"):
            continue
        wait = max(0.0, (view.next_at - now).total_seconds()) if view.next_at else 0.0
        problem = f" ({view.problem})" if view.problem else ""
        calls = f"{view.rows:,} calls"
        look = f"next look in {wait:.0f} s" if wait else "its next look is now"
        if not wait and not workers:
            look = "its next look is due, and needs a worker: `quire work`"
        said.append(f"batch {view.id}, {calls}, is {view.state}{problem}: {look}")
    run = tx.runs.get(found.run_id)
    if run and run.early_judged_at is None and found.total > EARLY_TASKS:
        said.append(f"the rest is sent when the first {EARLY_TASKS} tasks are known to be fine")
    return said


def _paced(tx: Transaction, run: RunId, now: datetime) -> list[str]:
    """Say so where we hold calls back ourselves, to keep within the provider's limits."""
    models = tx.runs.models(tx.runs.must_get(run))
    held = {each.name: held_back_by(tx, each, now) for each in models}
    return [
        f"calls are held back: {name} allows {' and '.join(limits)} a minute"
        for name, limits in held.items()
        if limits
    ]
