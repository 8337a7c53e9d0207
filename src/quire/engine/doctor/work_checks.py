"""Checks of the work: live workers, stalled runs, rate limits, batches that nobody polls."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from quire.dispatch.runtime import dead_neighbours, host_name, living_workers
from quire.domain.accounts import Level
from quire.domain.batches import BatchView
from quire.domain.models import Limits, ModelFacts
from quire.domain.quantities import quantity
from quire.domain.reasons import HoldCause, HoldKind
from quire.domain.runs import Progress
from quire.domain.states import BatchState
from quire.domain.version import VERSION
from quire.engine.doctor.findings import Finding, Installation, ok, plural, problem, warning
from quire.ledger.ledger import Transaction
from quire.ledger.stored_values import to_micros
from quire.pipeline.answers.progress import is_at_rest, progress, stall_reasons
from quire.pipeline.calls.learn_rates import parse_rate
from quire.planning.learnt_rates import a_minute
from quire.planning.provider_limits import LONGEST_TIMEOUT, PARTS, narrowest_limits, refill
from quire.providers.network_errors import host_of

ON_PURPOSE = (HoldKind.USER, HoldKind.STOP_AFTER)
# Holds whose words name another command than the one that the doctor does.
OTHER_CURE = (
    *(HoldCause.EXACT_FAILURES, HoldCause.ERROR_UNREADABLE),
    *(HoldCause.BATCH_UNKNOWN, HoldCause.BATCH_FOREIGN),
    *(HoldCause.WALLET_EMPTY, HoldCause.BUDGET_SPENT),
)
CALL_SECONDS = 120.0  # where a run does not say how long its calls may take

_KINDS = ("requests", "input", "output", "total")


def check_workers(installation: Installation) -> Iterator[Finding]:
    """Who is alive, who died without a word, who is of another version."""
    now = installation.runtime.now()
    since = now - timedelta(seconds=installation.settings.lease)
    with installation.ledger.snapshot() as tx:
        unended = tx.checks.unended_workers()
        gone = set(dead_neighbours(tx, host_name()))
    dead = [worker for worker in unended if worker.id in gone or worker.seen_at < since]
    alive = [worker for worker in unended if worker not in dead]
    out = sum(worker.calls_out for worker in alive)
    yield ok(f"{len(alive)} alive, {plural(out, 'call')} in flight")
    for worker in alive:
        if worker.version != VERSION:
            yield warning(
                f"worker {worker.id} (process {worker.pid}) is of Quire {worker.version},"
                f" not {VERSION}",
                "stop it, and start it again with this version",
            )
    if dead:
        lost = sum(worker.calls_out for worker in dead)
        names = ", ".join(str(worker.id) for worker in dead[:10])
        yield warning(
            f"{plural(len(dead), 'worker')} died without signing off ({names}), with"
            f" {plural(lost, 'call')} out",
            "the next worker takes over by itself: `quire work`, or `quire run` again",
        )


def check_webhooks(installation: Installation) -> Iterator[Finding]:
    """Whether those who are to be told what happens take it."""
    with installation.ledger.snapshot() as tx:
        found = tx.webhooks.list_webhooks()
    if found:
        waiting = sum(webhook.waiting for webhook in found)
        yield ok(f"{plural(len(found), 'webhook')}, {waiting:,} to be told")
    for webhook in found:
        lost = f"; {plural(webhook.given_up, 'notification')} given up" if webhook.given_up else ""
        if webhook.failures or webhook.given_up:
            why = webhook.problem or "it works again"
            yield warning(
                f"webhook {webhook.id} ({host_of(webhook.url)}): {why}{lost}",
                f"mend that, then `quire webhooks test {webhook.id}`",
            )


def check_runs(installation: Installation) -> Iterator[Finding]:
    """Which runs are held or stalled."""
    now = installation.runtime.now()
    contexts = installation.context.contexts if installation.context else None
    lease = timedelta(seconds=installation.settings.lease)
    with installation.ledger.snapshot() as tx:
        going = [progress(tx, wish.run_id, contexts) for wish in tx.runs.running_wishes()]
        for item in going:
            workers = living_workers(tx, now - lease, item.run_id)
            yield from _run_findings(tx, item, workers, now, lease)
    if not going:
        yield ok("none is running")


def _run_findings(
    tx: Transaction, run: Progress, workers: int, now: datetime, lease: timedelta
) -> Iterator[Finding]:
    name = f"run {run.run_id}"
    for hold in run.holds:
        said = f"{name} is held ({hold.kind.value}): {hold.detail}"
        cure = "retry" if hold.kind is HoldKind.UNDECODABLE else "resume"
        if hold.kind in ON_PURPOSE:
            yield ok(said)
        else:
            fix = f"mend that, then `quire {cure} {run.run_id}`"
            is_named = hold.cause is not None and hold.cause not in OTHER_CURE
            yield warning(said, fix)._replace(names_fix=is_named)
    if run.holds:
        return
    quiet = _idle_time(tx, run, now)
    patience = lease + (_call_timeout(tx, run) if run.in_flight else lease)
    why = stall_reasons(tx, run, workers, now)
    if workers and not why and not run.batches and not is_at_rest(run) and quiet > patience:
        yield problem(
            f"{name} is stalled: {plural(workers, 'worker')}, and nothing has moved for"
            f" {_format_duration(quiet)}",
            f"restart the workers; if it stays so, report it with `quire events {run.run_id}`",
        )
    elif why and not (workers and run.batches):  # else the batches tell for themselves
        yield warning(f"{name} does not move: {why[0].message}", why[0].more)
    else:
        yield ok(f"{name} is going on: {run.done:,} of {run.total:,} done")


def _idle_time(tx: Transaction, run: Progress, now: datetime) -> timedelta:
    """How long nothing has moved; a run without any call began to wait when it was made."""
    found = tx.runs.get_run(run.run_id)
    last = tx.checks.last_activity(run.run_id) or (found.created_at if found else now)
    return now - last


def _call_timeout(tx: Transaction, run: Progress) -> timedelta:
    """How long a call may be out, where answers take long."""
    found = tx.runs.get_run(run.run_id)
    stated = found.policy.get("call_timeout") if found else None
    seconds = stated.get("value") if isinstance(stated, Mapping) else None
    seconds = seconds if isinstance(seconds, int | float) else CALL_SECONDS
    return timedelta(seconds=seconds * LONGEST_TIMEOUT)


def _format_duration(time: timedelta) -> str:
    minutes = int(time.total_seconds() // 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def check_limits(installation: Installation) -> Iterator[Finding]:
    """What is known of the limits of each model that was called."""
    moment = installation.runtime.now()
    now = to_micros(moment)
    with installation.ledger.snapshot() as tx:
        pools = tx.levels.list_limit_levels(moment)
        learnt = {pool: parse_rate(kept, now) for pool, kept in tx.levels.list_learnt_rates()}
        names: dict[int, str] = {
            credential.id: credential.label for credential in tx.credentials.list_credentials()
        }
        stated = {model.name: model.limits for model in _models_of_runs(tx)}
    for pool, level, said in pools:
        whose = names.get(pool.credential, "")
        known = narrowest_limits(said, stated.get(pool.model, Limits()))
        shown = f"{pool.model} ({whose})" if whose else pool.model
        rate = learnt.get(pool)
        refused = f"; about {quantity(a_minute(rate), 'request')} by its refusals" if rate else ""
        yield ok(f"{shown}: {_describe_limits(known, refill(level, known, now))}{refused}")
    if not pools:
        yield ok("none is known: no provider has stated any yet")


def _models_of_runs(tx: Transaction) -> list[ModelFacts]:
    going = [tx.runs.must_get_run(wish.run_id) for wish in tx.runs.running_wishes()]
    return [facts for run in going for facts in tx.runs.models_of_run(run)]


def _describe_limits(limits: Limits, left: Level) -> str:
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


FORGOTTEN = timedelta(minutes=15)  # after it was due, nobody seems to look after it
OVER = (BatchState.COLLECTED, BatchState.ABANDONED)


def check_batches(installation: Installation) -> Iterator[Finding]:
    """How the batches stand that are not collected yet."""
    now = installation.runtime.now()
    with installation.ledger.snapshot() as tx:
        out = [view for view in tx.views.list_batches() if view.state not in OVER]
    for view in out:
        named = f"batch {view.id} of run {view.run_id} ({plural(view.rows, 'call')})"
        if view.state == BatchState.UNKNOWN:
            yield warning(f"{named} may or may not have been made", _lookup_hint(view))
        elif view.next_at is not None and now - view.next_at > FORGOTTEN:
            yield warning(
                f"{named} is {view.state}, and nobody has looked at it lately",
                "start a worker: `quire work`, or `quire attach` to its run",
            )
        else:
            yield ok(f"{named} is {view.state}")
    if not out:
        yield ok("none is out")


def _lookup_hint(batch: BatchView) -> str:
    said = f"it said: {batch.problem}; " if batch.problem else ""
    return f"{said}a worker looks for it with the key that made it: `quire work`"
