"""Commands that forecast a run and carry it out."""

from typing import TYPE_CHECKING, Any

import typer

from quire.cli import options as of
from quire.cli.ending import exit_code, print_end, print_end_json
from quire.cli.opening import opened, session
from quire.cli.printing import counted, named, note, print_json, print_table, say
from quire.cli.watching import Watcher, goal
from quire.domain.money import dollars
from quire.domain.runs import Progress

if TYPE_CHECKING:
    from quire.engine import Engine, Planned, RunHandle
    from quire.engine.looking import RunHead

FORECAST_MOST = 100_000  # blocks


def plan(
    context: typer.Context,
    *,
    schema: of.SchemaName,
    model: of.ModelName = None,
    document: of.Documents = None,
    pack_size: of.PackSize = None,
    packing: of.Packing = None,
    max_tries: of.MaxTries = None,
    max_calls: of.MaxCalls = None,
    concurrency: of.Concurrency = None,
    call_timeout: of.CallTimeout = None,
    temperature: of.Temperature = None,
    effort: of.Effort = None,
    caching: of.Caching = None,
    estimated_output_per_task: of.EstimatedOutput = None,
    ledger_bodies: of.LedgerBodies = None,
    as_json: of.AsJson = False,
) -> None:
    """Forecast calls, tokens and dollars, one block per call and packed; spends nothing."""
    with opened(context) as engine:
        over = engine.look.documents(document) if document else None
        told = of.told_policy(context.params)
        planned = engine.plan(schema=schema, model=model, over=over, **told)
    if as_json:
        print_json(_plan_json(planned))
    else:
        _print_plan(planned)


def _plan_json(planned: "Planned") -> dict[str, object]:
    forecast, facts = planned.forecast, planned.ask.facts
    return {
        "model": facts.name,
        "simulated": facts.provider == "simulated",
        "blocks": forecast.tasks,
        "blocks_per_call": forecast.cap,
        "variants": [
            {
                "name": each.name,
                "requests": each.requests,
                "input_tokens": each.input_tokens,
                "cached_tokens": each.cached_tokens,
                "output_tokens": each.output_tokens,
                "cost_micro_dollars": each.cost,
            }
            for each in forecast.variants
        ],
        "prefix_tokens": forecast.prefix_tokens,
        "learnt": forecast.learnt,
        "recommended": forecast.cheapest.name,
        "saving_percent": round(forecast.saving_percent, 1),
    }


def _print_plan(planned: "Planned") -> None:
    forecast, facts = planned.forecast, planned.ask.facts
    schema = planned.ask.recipe.stages[-1].schema.ref
    say(f"{counted(forecast.tasks, 'block')} · schema {schema} · {facts.name} ({facts.note})")
    say()
    dearest = max(each.cost for each in forecast.variants)
    cached = forecast.packed_cached is not None or forecast.cached is not None
    rows = (
        (
            each.name,
            each.requests,
            each.input_tokens,
            *((each.cached_tokens or "–",) if cached else ()),
            each.output_tokens,
            dollars(each.cost),
            f"{100 * (dearest - each.cost) / dearest:.0f} %" if each.cost < dearest else "–",
        )
        for each in forecast.variants
    )
    columns = (
        (">tokens in", ">of it cached", ">tokens out") if cached else (">tokens in", ">tokens out")
    )
    print_table(("variant", ">requests", *columns, ">cost", ">saving"), rows)
    say()
    _say_caching(planned)
    if forecast.learnt:
        say("sizes are those of calls that were answered before")
    if forecast.oversized:
        blocks = counted(forecast.oversized, "block")
        say(f"{blocks} cannot fit the window of {facts.window:,} tokens, and will fail unpaid")
    best = forecast.cheapest
    if forecast.cap == 1:
        say("one block per call is what the policy and the schema allow")
    elif best in (forecast.packed, forecast.packed_cached):
        flag = "" if best is forecast.expected else " --no-caching"
        say(
            f"recommended: {best.name}, up to {forecast.cap} blocks per call"
            f" (`quire run{flag}` does so)"
        )
    else:
        say(f"recommended: {best.name} (`quire run --no-packing`)")


def _say_caching(planned: "Planned") -> None:
    """Say why nothing is cached where one might expect it."""
    forecast, facts = planned.forecast, planned.ask.facts
    short = forecast.prefix_tokens < facts.cache_minimum
    if short and planned.ask.policy.policy.caching != "off":
        say(
            f"not cached: every call begins with {forecast.prefix_tokens:,} equal tokens,"
            f" {facts.name} caches from {facts.cache_minimum:,}"
        )


def run(
    context: typer.Context,
    *,
    schema: of.SchemaName,
    model: of.ModelName = None,
    document: of.Documents = None,
    limit: of.Limit = None,
    new: of.New = False,
    detach: of.Detach = False,
    pack_size: of.PackSize = None,
    packing: of.Packing = None,
    max_tries: of.MaxTries = None,
    max_calls: of.MaxCalls = None,
    concurrency: of.Concurrency = None,
    call_timeout: of.CallTimeout = None,
    temperature: of.Temperature = None,
    effort: of.Effort = None,
    caching: of.Caching = None,
    estimated_output_per_task: of.EstimatedOutput = None,
    ledger_bodies: of.LedgerBodies = None,
    as_json: of.AsJson = False,
) -> None:
    """Ask the schema about every block; Ctrl-C stops cleanly, the same command goes on."""
    told = of.told_policy(context.params)
    with opened(context, make=True) as engine:
        over = engine.look.documents(document) if document else None
        asked: dict[str, Any] = {"schema": schema, "model": model, "over": over, **told}
        handle = engine.run(limit=limit, new=new, **asked)
        if detach:
            _tell_detached(context, handle, as_json)
            return
        foreseen = _foreseen(engine, handle, **asked)
        interrupted = _drive(context, engine, handle)
        now = engine.progress(handle.id)
        code = exit_code(now, interrupted=interrupted)
        if as_json:
            print_end_json(engine, now, code)
        else:
            compared = foreseen if now.state == "finished" else None
            print_end(engine, now, code, foreseen=compared, quiet=session(context).quiet)
    raise typer.Exit(code)


def _drive(context: typer.Context, engine: "Engine", handle: "RunHandle") -> bool:
    """Work until the run is at rest; true if somebody interrupted."""
    from quire.pipeline.progress import at_rest

    quiet = session(context).quiet
    start = engine.progress(handle.id)
    if not quiet:
        note(_beginning(engine.look.head(handle.id), start, goes_on=handle.goes_on))

    with Watcher(start, quiet=quiet) as watcher:

        def done() -> bool:
            now = engine.progress(handle.id)
            watcher(now)
            return at_rest(now)

        return engine.work(done, signals=True, tell=watcher.tell)


def _foreseen(engine: "Engine", handle: "RunHandle", **asked: Any) -> int | None:
    """What the forecast says when the work begins, if working that out takes no time."""
    now = handle.progress()
    if now.state != "running" or now.total > FORECAST_MOST:
        return None
    return engine.plan(**asked).forecast.expected.cost


def _beginning(head: "RunHead", now: Progress, *, goes_on: bool) -> str:
    about = f"{head.schema} over {counted(now.total, 'block')} with {named(head.model.name)}"
    limited = f", at most {goal(now):,} of them" if goal(now) < now.total else ""
    if goes_on and now.state == "finished":
        return f"run {head.id} has this already, nothing is asked again (--new asks, and pays)"
    if goes_on:
        stands = "is held" if now.holds else "goes on"
        return f"run {head.id} {stands}, {now.done:,} done so far: {about}{limited}"
    return f"run {head.id}: {about}{limited}"


def _tell_detached(context: typer.Context, handle: "RunHandle", as_json: bool) -> None:
    if as_json:
        print_json({"run": handle.id, "goes_on": handle.goes_on, "detached": True})
    elif not session(context).quiet:
        said = "was recorded before" if handle.goes_on else "is recorded"
        say(f"run {handle.id} {said}; `quire work` carries it out, `quire status` watches it")
