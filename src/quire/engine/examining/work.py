"""The work: who is alive to do it, which runs do not move and why, what the limits allow."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from quire.dispatch.outside import host_name
from quire.dispatch.sweeper import dead_neighbours, living_workers
from quire.domain.limits import Level
from quire.domain.models import Limits, ModelFacts
from quire.domain.runs import HoldKind, Progress
from quire.domain.version import VERSION
from quire.engine.examining.findings import Finding, Patient, counted, fine, odd, wrong
from quire.ledger.ledger import Transaction
from quire.ledger.moments import to_micros
from quire.pipeline.progress import at_rest, progress
from quire.pipeline.stalls import reasons
from quire.plan.pacing import PARTS, narrowest, refilled

ON_PURPOSE = (HoldKind.USER, HoldKind.STOP_AFTER)
CALL_SECONDS = 120.0  # where a run does not say how long its calls may take

_KINDS = ("requests", "input", "output", "total")


def workers(patient: Patient) -> Iterator[Finding]:
    """Who is alive, who died without a word, who is of another version."""
    now = patient.outside.now()
    since = now - timedelta(seconds=patient.settings.lease)
    with patient.ledger.snapshot() as tx:
        unended = tx.checks.workers()
        gone = set(dead_neighbours(tx, host_name()))
    dead = [each for each in unended if each.id in gone or each.seen_at < since]
    alive = [each for each in unended if each not in dead]
    out = sum(each.calls_out for each in alive)
    yield fine("workers", f"{len(alive)} alive, {counted(out, 'call')} in flight")
    for each in alive:
        if each.version != VERSION:
            yield odd(
                "workers",
                f"worker {each.id} (process {each.pid}) is of Quire {each.version}, not {VERSION}",
                "stop it, and start it again with this version",
            )
    if dead:
        lost = sum(each.calls_out for each in dead)
        names = ", ".join(str(each.id) for each in dead[:10])
        yield odd(
            "workers",
            f"{counted(len(dead), 'worker')} died without signing off ({names}), with"
            f" {counted(lost, 'call')} out",
            "the next worker takes over by itself: `quire work`, or `quire run` again",
        )


def runs(patient: Patient) -> Iterator[Finding]:
    """Which runs are held or stalled."""
    now = patient.outside.now()
    contexts = patient.engine.look.contexts if patient.engine else None
    lease = timedelta(seconds=patient.settings.lease)
    with patient.ledger.snapshot() as tx:
        going = [progress(tx, each.run_id, contexts) for each in tx.runs.wishes()]
        for each in going:
            workers = living_workers(tx, now - lease, each.run_id)
            yield from _run(tx, each, workers, now, lease)
    if not going:
        yield fine("runs", "none is running")


def _run(
    tx: Transaction, run: Progress, workers: int, now: datetime, lease: timedelta
) -> Iterator[Finding]:
    area, name = "runs", f"run {run.run_id}"
    for hold in run.holds:
        said = f"{name} is held ({hold.kind.value}): {hold.detail}"
        cure = "retry" if hold.kind is HoldKind.UNDECODABLE else "resume"
        if hold.kind in ON_PURPOSE:
            yield fine(area, said)
        else:
            yield odd(area, said, f"mend that, then `quire {cure} {run.run_id}`")
    if run.holds:
        return
    quiet = _quiet(tx, run, now)
    patience = lease + (_call_timeout(tx, run) if run.in_flight else lease)
    why = reasons(tx, run, workers, now)
    if workers and not why and not run.batches and not at_rest(run) and quiet > patience:
        yield wrong(
            area,
            f"{name} is stalled: {counted(workers, 'worker')}, and nothing has moved for"
            f" {_long(quiet)}",
            f"restart the workers; if it stays so, report it with `quire events {run.run_id}`",
        )
    elif why and not (workers and run.batches):  # else the batches tell for themselves
        said, _, fix = why[0].partition(": ")
        yield odd(area, f"{name} does not move: {said}", fix)
    else:
        yield fine(area, f"{name} is going on: {run.done:,} of {run.total:,} done")


def _quiet(tx: Transaction, run: Progress, now: datetime) -> timedelta:
    """How long nothing has moved; a run without any call began to wait when it was made."""
    found = tx.runs.get(run.run_id)
    last = tx.checks.last_moved(run.run_id) or (found.created_at if found else now)
    return now - last


def _call_timeout(tx: Transaction, run: Progress) -> timedelta:
    found = tx.runs.get(run.run_id)
    told = found.policy.get("call_timeout") if found else None
    seconds = told.get("value") if isinstance(told, Mapping) else None
    return timedelta(seconds=seconds if isinstance(seconds, int | float) else CALL_SECONDS)


def _long(time: timedelta) -> str:
    minutes = int(time.total_seconds() // 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def limits(patient: Patient) -> Iterator[Finding]:
    """What is known of the limits of each model that was called."""
    moment = patient.outside.now()
    now = to_micros(moment)
    with patient.ledger.snapshot() as tx:
        pools = tx.levels.all(moment)
        names: dict[int, str] = {each.id: each.label for each in tx.credentials.all()}
        told = {each.name: each.limits for each in _models(tx)}
    for pool, level, said in pools:
        whose = names.get(pool.credential, "")
        known = narrowest(said, told.get(pool.model, Limits()))
        shown = f"{pool.model} ({whose})" if whose else pool.model
        yield fine("limits", f"{shown}: {_allowed(known, refilled(level, known, now))}")
    if not pools:
        yield fine("limits", "none is known: no provider has stated any yet")


def _models(tx: Transaction) -> list[ModelFacts]:
    going = [tx.runs.must_get(each.run_id) for each in tx.runs.wishes()]
    return [facts for run in going for facts in tx.runs.models(run)]


def _allowed(limits: Limits, left: Level) -> str:
    """What may go in a minute, and what of it is overdrawn."""
    parts = []
    for kind in _KINDS:
        limit = getattr(limits, kind)
        if limit is None:
            continue
        noun = kind if kind == "requests" else f"{kind} tokens"
        debt = min(0, getattr(left, kind)) // PARTS
        parts.append(f"{limit:,} {noun}" + (f" ({-debt:,} overdrawn)" if debt else ""))
    return f"{', '.join(parts)} a minute" if parts else "no limits are stated"
