"""The command that forecasts a run; a schema's in every way it could go."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from quire.cli import answered_words, order_options
from quire.cli import options as of
from quire.cli.order_options import TypedOrder, order_from_options, tell_earlier
from quire.cli.printing import (
    Narrowing,
    print_json,
    print_table,
    quantity,
    say,
)
from quire.cli.progress_words import pacing_note
from quire.cli.recipe_forecasts import cost_bounds, print_recipe_forecast, window_note
from quire.cli.session import engine_for
from quire.domain.data import Json
from quire.domain.pricing import dollars
from quire.engine.json_views.plan_views import plan_json

if TYPE_CHECKING:
    from quire.engine import BatchCaching, Forecast, Plan, Variant

NO_TIME_LIMIT = "no limit"
TOKEN_FACTOR_TOLERANCE = 0.1  # a plan and a run that differ by no more agree well enough
_VARIANT_NARROWING: tuple[Narrowing, ...] = (
    *((name, None) for name in ("of it cached", "saving", "requests")),
)


@of.takes_policy()
def plan(
    context: typer.Context,
    *,
    schema: order_options.MaybeSchema = None,
    recipe: order_options.RecipeName = None,
    model: of.ModelName = None,
    models: order_options.Models = None,
    document: of.Documents = None,
    per: order_options.Per = None,
    block_type: order_options.BlockTypes = None,
    param: order_options.Params = None,
    given: order_options.Inputs = None,
    prompt: order_options.Prompt = None,
    attach: order_options.Attachments = None,
    reuse: order_options.ReuseRun = None,
    from_stage: order_options.FromStage = None,
    as_json: of.AsJson = False,
    **policy: Json,
) -> None:
    """Forecast calls, tokens, time and dollars of every way to do it; spends nothing."""
    with engine_for(context) as engine:
        typed = TypedOrder(
            *(schema, recipe, document, param, given, None, reuse, from_stage),
            *(models, prompt, attach, per, block_type),
        )
        engine.exact_tokens = True
        order = order_from_options(engine, typed, model, policy)
        planned = engine.forecasts.plan(order)
        tell_earlier(context, engine, order)
    if not planned.order.recipe.is_single_schema:
        print_recipe_forecast(planned, as_json=as_json)
    elif as_json:
        print_json(plan_json(planned))
    else:
        _print_plan(planned)


def _print_plan(planned: "Plan") -> None:
    forecast, facts = planned.forecast, planned.order.facts
    schema = planned.order.recipe.stages[-1].record.label
    named_model = f"{facts.name} ({facts.note})" if facts.note else facts.name
    documents = quantity(planned.documents, "document")
    unit = planned.order.recipe.unit
    asked = documents if unit == "document" else f"{documents}, {quantity(forecast.tasks, unit)}"
    per = "" if unit == "block" else f" · a record per {unit}"
    say(f"{asked} · schema {schema}{per} · {named_model}")
    say()
    _print_variants(forecast)
    say()
    for line in (*_plan_notes(planned), *answered_words.lines(planned), *_recommendation(planned)):
        say(line)
    say(f"expected of `{_command_for(planned, forecast.expected)}`: {_expected_words(planned)}")


def _expected_words(planned: "Plan") -> str:
    """What will be paid; beside it what all would cost, where some is answered already."""
    whole = cost_bounds(planned)
    if not planned.is_answered_in_part:
        return whole
    return f"{answered_words.asked_totals(planned)}; all of it anew would be {whole}"


def _print_variants(forecast: "Forecast") -> None:
    dearest = max(variant.cost for variant in forecast.variants)
    rows = [_variant_row(variant, dearest) for variant in forecast.variants]
    filled = [name for name in rows[0] if any(row[name] != "–" for row in rows)]
    columns = [name for name in rows[0] if name in filled or name == ">saving"]
    cells = ([row[name] for name in columns] for row in rows)
    print_table(columns, cells, narrowing=_VARIANT_NARROWING)


def _variant_row(variant: "Variant", dearest: int) -> dict[str, str]:
    return {
        "variant": variant.name,
        ">requests": f"{variant.requests:,}",
        ">tokens in": f"{variant.input_tokens:,}",
        ">of it cached": f"{variant.cached_tokens:,}" if variant.cached_tokens else "–",
        ">tokens out": f"{variant.output_tokens:,}",
        ">cost": dollars(variant.cost),
        ">saving": f"{100 * (dearest - variant.cost) / dearest:.0f} %"
        if variant.cost < dearest
        else "–",
        ">time": _time_cell(variant),
    }


def _time_cell(variant: "Variant") -> str:
    if variant.seconds is None:
        return NO_TIME_LIMIT if variant.batched else "–"
    if variant.batched:
        return f"≤ {variant.seconds / 3600:.0f} h"
    if variant.seconds < 90:
        return f"{max(1, variant.seconds):.0f} s"
    return (
        f"{variant.seconds / 60:.0f} min"
        if variant.seconds < 5400
        else f"{variant.seconds / 3600:.1f} h"
    )


def _plan_notes(planned: "Plan") -> Iterator[str]:
    """Say what the table does not: why nothing is cached, what is a guess, what cannot be."""
    forecast, facts = planned.forecast, planned.order.facts
    policy = planned.order.policy.policy
    short = forecast.cacheable < facts.cache_minimum
    if short and policy.caching != "off":
        yield (
            f"not cached: every call begins with {forecast.cacheable:,} equal tokens,"
            f" {facts.name} caches from {facts.cache_minimum:,}"
        )
    if forecast.batch_caching is not None and not short and policy.caching != "off":
        yield from _caching_lines(forecast.batch_caching)
    if forecast.batch_from is not None:
        yield _too_few_note(forecast, policy.min_batch_size)
    yield from _route_notes(planned)
    yield from _early_batch_note(planned)
    yield from _size_notes(planned)
    if planned.order.recipe.unit != "block":
        rankers = [f"ranked by {stage.model}" for stage in planned.stages if stage.embeds]
        yield from filter(None, [window_note(planned.stages[0], next(iter(rankers), None))])
    if forecast.oversized:
        blocks = quantity(forecast.oversized, planned.order.recipe.unit)
        yield (
            f"{blocks} cannot fit the window of {facts.window:,} tokens: what cannot fails unsent,"
            " and is not in the cost"
        )
    if forecast.route.problem:
        yield forecast.route.problem


def _caching_lines(caching: "BatchCaching") -> Iterator[str]:
    """Do the arithmetic of the prefix, a line for every form it could be kept in."""
    if not caching.forms:
        yield f"the prefix in batches: {caching.why}"
        return
    yield f"the prefix alone, in batches, if {caching.share:.0%} of the rows find it:"
    for form in caching.forms:
        remark = "; ".join(filter(None, ("taken" if form.taken else "", form.remark)))
        yield f"  {dollars(form.cost)} {form.name}{f' ({remark})' if remark else ''}"


def _size_notes(planned: "Plan") -> Iterator[str]:
    """Say what sizes are known by; a run may reckon with others than this plan."""
    facts, factor = planned.order.facts, planned.token_factor
    if planned.forecast.learnt:
        yield "sizes are those of calls that were answered before"
        return
    if facts.thinking:
        yield "reasoning is billed as output too, and comes on top until calls were answered"
    if abs(factor - facts.token_factor) > TOKEN_FACTOR_TOLERANCE * facts.token_factor:
        yield (
            f"tokens were counted with the model's own tokenizer: {factor:.2f} for four bytes;"
            f" runs reckon with {facts.token_factor:g} until calls were answered, unless quire.toml"
            f' says token_factor = {factor:.2f} under [models."{facts.name}"]'
        )


def _route_notes(planned: "Plan") -> Iterator[str]:
    """Say which way `auto` goes and why, and what becomes of what a deadline finds outside."""
    forecast, policy = planned.forecast, planned.order.policy.policy
    batch = forecast.expected.batched > 0
    limit = "" if policy.deadline is None else f"{_duration_words(policy.deadline)} after the start"
    if policy.route == "auto":
        way = {"batch": "in batches", "paced": "steadily (paced)"}.get(
            forecast.route.route, "direct"
        )
        deadline = f" (it is {limit})" if limit and not batch else ""
        yield f"auto goes {way}: {forecast.route.why}{deadline}"
    elif forecast.route.route == "paced" and "route" not in planned.order.policy.sources:
        yield f"{pacing_note(planned.order.facts.provider)}; --route direct goes at once"
    if limit and batch:
        dearest = dollars(forecast.direct.cost)
        yield f"what is not back {limit} goes direct, for at most {dearest} more"


def _duration_words(seconds: float) -> str:
    """A length of time in its largest whole unit."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:g} s"


def _early_batch_note(planned: "Plan") -> Iterator[str]:
    """Say that the first blocks hold up the others for as long as a batch takes."""
    from quire.engine import EARLY_TASKS  # not for --help

    forecast = planned.forecast
    whole = forecast.expected.batched == forecast.expected.requests
    if not forecast.expected.batched or not whole or forecast.tasks <= EARLY_TASKS:
        return
    least, others = forecast.early + 1, forecast.expected.requests - forecast.early
    hint = f"; with --min-batch-size {least} they go direct" if others >= least else ""
    yield (
        f"the first {EARLY_TASKS} {planned.order.recipe.unit}s go in a batch of their own, and the"
        " rest once they are"
        f" known to be fine{hint}"
    )


def _too_few_note(forecast: "Forecast", least: int) -> str:
    """Say that so few calls go direct, and how they would not."""
    calls = forecast.packed.requests
    said = f"{quantity(calls, 'call')} {'is' if calls == 1 else 'are'} fewer than the {least:,}"
    flags = f"--route batch --min-batch-size {forecast.batch_from}"
    return f"{said} of a batch, and would go direct; in batches all the same: `quire run {flags}`"


def _recommendation(planned: "Plan") -> Iterator[str]:
    forecast, unit = planned.forecast, planned.order.recipe.unit
    best, expected = forecast.cheapest, forecast.expected
    dearer = expected.batched > 0 and not best.batched
    if forecast.cap == 1 and not best.batched and not dearer:
        yield f"one {unit} per call is what the policy and the schema allow"
        return
    alone = best in (forecast.one_per_call, forecast.cached)
    cap = "" if alone or forecast.cap == 1 else f", up to {forecast.cap} {unit}s per call"
    yield f"recommended: {best.name}{cap} (`{_command_for(planned, best)}` does so)"
    if dearer:
        comparison = f"in batches it costs {dollars(expected.cost)}, direct {dollars(best.cost)}"
        more = best.cached_tokens > expected.cached_tokens
        yield comparison + ": more calls find the prefix in the cache there" * more
    if best.batched:
        sooner = forecast.direct
        wait = f"up to {best.seconds / 3600:.0f} hours" if best.seconds else "as long as it takes"
        yield (
            f"batches take {wait}; sooner: {sooner.name}, {dollars(sooner.cost)}"
            f" (`{_command_for(planned, sooner)}`)"
        )


def _command_for(planned: "Plan", wanted: "Variant") -> str:
    """What to type for one of the ways."""
    forecast, policy = planned.forecast, planned.order.policy
    typed = policy.sources.get("route") == "flag"
    batch = forecast.expected.batched > 0
    flags = ""
    if wanted.batched:
        flags += "" if batch and not typed else " --route batch"
    elif batch:
        flags += " --route direct"
    alone = forecast.cap > 1 and wanted in (forecast.one_per_call, forecast.cached)
    if alone or (not policy.policy.packing and policy.sources.get("packing") == "flag"):
        flags += " --no-packing"
    if not alone and wanted not in (forecast.direct, forecast.batch):
        flags += " --no-caching"
    return f"quire run{flags}"
