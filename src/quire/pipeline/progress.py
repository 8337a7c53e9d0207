"""Progress: how far a run is, from its tallies, and why nothing moves when nothing moves."""

from datetime import datetime

from quire.domain.errors import NotFound
from quire.domain.ids import RunId
from quire.domain.models import ModelFacts
from quire.domain.runs import Progress
from quire.domain.states import TASK, TASK_OWED
from quire.ledger.ledger import Transaction
from quire.pipeline.admit import held_back_by


def progress(tx: Transaction, run: RunId) -> Progress:
    """Sum up a run."""
    found = tx.runs.get(run)
    if found is None:
        raise NotFound(f"there is no run {run}; `quire runs` lists them")
    sums = tx.tallies.of_run(run)
    _, total = tx.runs.inputs(run)
    batches, next_at = tx.batches.out(run)
    return Progress(
        run_id=run,
        state=found.state,
        total=total,
        expanded=sum(stage.expanded for stage in tx.runs.stages(run)),
        counts={state: sums[state] for state in TASK.states if sums.get(state)},
        packs=sums.get("packs", 0),
        packed_tasks=sums.get("packed_tasks", 0),
        splits=sums.get("splits", 0),
        calls=sums.get("calls", 0),
        resent=sums.get("resent", 0),
        input_tokens=sums.get("input_tokens", 0),
        output_tokens=sums.get("output_tokens", 0),
        cached_tokens=sums.get("cached_tokens", 0),
        cost=sums.get("cost", 0),
        presumed=sums.get("presumed", 0),
        in_flight=tx.requests.in_flight(run),
        holds=tx.holds.of_run(run),
        batches=batches,
        next_poll_at=next_at,
        task_limit=found.task_limit,
        cancelling=found.state == "running" and found.cancel_asked_at is not None,
    )


def at_rest(now: Progress) -> bool:
    """Whether a worker can do nothing more for this run until somebody acts."""
    if now.state != "running":
        return True
    if now.cancelling:
        return False
    if now.holds:
        return True
    limited = now.task_limit is not None and now.expanded >= now.task_limit
    return limited and not any(now.counts.get(state) for state in TASK_OWED)


def reasons(tx: Transaction, found: Progress, workers: int, now: datetime) -> list[str]:
    """Say why a run does not move, given how many workers live; empty when it does or has ended."""
    if found.state != "running":
        return []
    said = [f"held ({hold.kind.value}): {hold.detail}" for hold in found.holds]
    if found.cancelling:
        waits = "for a worker" if workers == 0 else "for the calls that are out"
        said.append(f"being cancelled: waiting {waits}")
    limit = found.task_limit
    if limit is not None and found.expanded >= limit and not found.holds and at_rest(found):
        said.append(f"--limit {limit} is reached; run the same command without it to go on")
    if not said and workers == 0:
        said.append("no worker is running: `quire run` with the same options, or `quire work`")
    moment = tx.requests.next_moment(found.run_id)
    if moment is not None and moment > now and not found.holds:
        error = tx.attempts.last_error(found.run_id) or "the provider asked to wait"
        seconds = (moment - now).total_seconds()
        said.append(f"{error}; the next call may go in {seconds:.0f} s")
    if not said and moment is not None:
        said += _paced(tx, found.run_id, now)
    if found.batches and not found.holds:
        said += _batched(tx, found.run_id, workers, now)
    return said


def _batched(tx: Transaction, run: RunId, workers: int, now: datetime) -> list[str]:
    """Say what batches are waited for, and when they are looked at."""
    said = []
    for view in tx.batch_views.all(run):
        if view.state in ("collected", "abandoned"):
            continue
        wait = max(0.0, (view.next_at - now).total_seconds()) if view.next_at else 0.0
        problem = f" ({view.problem})" if view.problem else ""
        calls = f"{view.rows:,} calls"
        look = f"next look in {wait:.0f} s" if wait else "its next look is now"
        if not wait and not workers:
            look = "its next look is due, and needs a worker: `quire work`"
        said.append(f"batch {view.id}, {calls}, is {view.state}{problem}: {look}")
    return said


def _paced(tx: Transaction, run: RunId, now: datetime) -> list[str]:
    """Say so where we hold calls back ourselves, to keep within the provider's limits."""
    told = tx.runs.get(run)
    facts = ModelFacts.from_json(told.model) if told else None
    limits = held_back_by(tx, facts, now) if facts else []
    if not facts or not limits:
        return []
    return [f"calls are held back: {facts.name} allows {' and '.join(limits)} a minute"]
