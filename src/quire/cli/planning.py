"""The command that forecasts a run, in every way it could be carried out."""

from typing import TYPE_CHECKING

import typer

from quire.cli import options as of
from quire.cli.opening import opened
from quire.cli.printing import counted, print_json, print_table, say
from quire.domain.money import dollars

if TYPE_CHECKING:
    from quire.engine import Planned
    from quire.plan.forecasting import Forecast


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
        engine.exact_tokens = True
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
        "cacheable_tokens": forecast.cacheable,
        "learnt": forecast.learnt,
        "recommended": forecast.cheapest.name,
        "saving_percent": round(forecast.saving_percent, 1),
    }


def _print_plan(planned: "Planned") -> None:
    forecast, facts = planned.forecast, planned.ask.facts
    schema = planned.ask.recipe.stages[-1].schema.ref
    named_model = f"{facts.name} ({facts.note})" if facts.note else facts.name
    say(f"{counted(forecast.tasks, 'block')} · schema {schema} · {named_model}")
    say()
    _print_variants(forecast)
    say()
    _say_caching(planned)
    if forecast.learnt:
        say("sizes are those of calls that were answered before")
    if forecast.oversized:
        blocks = counted(forecast.oversized, "block")
        say(f"{blocks} cannot fit the window of {facts.window:,} tokens, and will fail unpaid")
    _recommend(forecast)


def _print_variants(forecast: "Forecast") -> None:
    dearest = max(each.cost for each in forecast.variants)
    cached = any(each.cached_tokens for each in forecast.variants)
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
    read = (">of it cached",) if cached else ()
    columns = ("variant", ">requests", ">tokens in", *read, ">tokens out", ">cost", ">saving")
    print_table(columns, rows)


def _recommend(forecast: "Forecast") -> None:
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
    short = forecast.cacheable < facts.cache_minimum
    if short and planned.ask.policy.policy.caching != "off":
        say(
            f"not cached: every call begins with {forecast.cacheable:,} equal tokens,"
            f" {facts.name} caches from {facts.cache_minimum:,}"
        )
