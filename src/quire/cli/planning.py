"""The command that forecasts a run, in every way it could be carried out."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from quire.cli import options as of
from quire.cli import recipe_options
from quire.cli.cooking import Typed, asked
from quire.cli.opening import opened
from quire.cli.outstanding import usually_paced
from quire.cli.printing import console, counted, print_json, print_table, say
from quire.cli.recipe_forecast import tell_recipe
from quire.domain.data import Json
from quire.domain.money import dollars

if TYPE_CHECKING:
    from quire.engine import Planned
    from quire.plan.batch_caching import BatchCaching, Considered
    from quire.plan.variants import Forecast, Variant

NEVER = "no limit"
COUNTED_APART = 0.1  # a plan and a run that differ by no more agree well enough
_GIVE_WAY = (">of it cached", ">saving", ">requests")  # on narrow screens, in this order
_GAP = 2


@of.takes_policy()
def plan(
    context: typer.Context,
    *,
    schema: recipe_options.MaybeSchema = None,
    recipe: recipe_options.RecipeName = None,
    model: of.ModelName = None,
    document: of.Documents = None,
    param: recipe_options.Params = None,
    given: recipe_options.Inputs = None,
    as_json: of.AsJson = False,
    **policy: Json,
) -> None:
    """Forecast calls, tokens, time and dollars of every way to do it; spends nothing."""
    with opened(context) as engine:
        what = asked(engine, Typed(schema, recipe, document, param, given))
        engine.exact_tokens = True
        planned: Any = engine.plan(model=model, **what, **policy)
    if recipe is not None:
        tell_recipe(planned, as_json=as_json)
    elif as_json:
        print_json(_plan_json(planned))
    else:
        _print_plan(planned)


def _plan_json(planned: "Planned") -> dict[str, object]:
    forecast, facts = planned.forecast, planned.ask.facts
    kept = forecast.batch_caching
    return {
        "model": facts.name,
        "simulated": facts.provider == "simulated",
        "blocks": forecast.tasks,
        "blocks_per_call": forecast.cap,
        "variants": [_variant_json(each) for each in forecast.variants],
        "cacheable_tokens": forecast.cacheable,
        "learnt": forecast.learnt,
        "route": forecast.route._asdict(),
        "batch_from": forecast.batch_from,
        "batch_caching": None if kept is None else _caching_json(forecast),
        "expected": forecast.expected.name,
        "recommended": forecast.cheapest.name,
        "saving_percent": round(forecast.saving_percent, 1),
    }


def _variant_json(each: "Variant") -> dict[str, object]:
    return {
        "name": each.name,
        "requests": each.requests,
        "batched_requests": each.batched,
        "input_tokens": each.input_tokens,
        "cached_tokens": each.cached_tokens,
        "output_tokens": each.output_tokens,
        "cost_micro_dollars": each.cost,
        "seconds": None if each.seconds is None else round(each.seconds),
    }


def _caching_json(forecast: "Forecast") -> dict[str, object]:
    kept = forecast.batch_caching
    assert kept is not None
    return {
        "marked": kept.mark,
        "long_lived": kept.long_lived,
        "primer": kept.primer,
        "saving_micro_dollars": kept.saving,
        "why": kept.why,
        "hits": kept.share,
        "forms": [_form_json(each) for each in kept.forms],
    }


def _form_json(each: "Considered") -> dict[str, object]:
    told: dict[str, object] = {"name": each.name, "cost_micro_dollars": each.cost}
    return told | {"taken": each.taken, "remark": each.remark}


def _print_plan(planned: "Planned") -> None:
    forecast, facts = planned.forecast, planned.ask.facts
    schema = planned.ask.recipe.stages[-1].record.ref
    named_model = f"{facts.name} ({facts.note})" if facts.note else facts.name
    say(f"{counted(forecast.tasks, 'block')} · schema {schema} · {named_model}")
    say()
    _print_variants(forecast)
    say()
    for line in (*_notes(planned), *_recommended(planned)):
        say(line)


def _print_variants(forecast: "Forecast") -> None:
    dearest = max(each.cost for each in forecast.variants)
    rows = [_row(each, dearest) for each in forecast.variants]
    told = [each for each in rows[0] if any(row[each] != "–" for row in rows)]
    shown = [each for each in rows[0] if each in told or each == ">saving"]
    for least in _GIVE_WAY:
        widths = (max(len(each.lstrip(">")), *(len(row[each]) for row in rows)) for each in shown)
        if sum(widths) + _GAP * (len(shown) - 1) <= console().width:
            break
        shown = [each for each in shown if each != least]
    print_table(shown, ([row[each] for each in shown] for row in rows))


def _row(each: "Variant", dearest: int) -> dict[str, str]:
    return {
        "variant": each.name,
        ">requests": f"{each.requests:,}",
        ">tokens in": f"{each.input_tokens:,}",
        ">of it cached": f"{each.cached_tokens:,}" if each.cached_tokens else "–",
        ">tokens out": f"{each.output_tokens:,}",
        ">cost": dollars(each.cost),
        ">saving": f"{100 * (dearest - each.cost) / dearest:.0f} %" if each.cost < dearest else "–",
        ">time": _time(each),
    }


def _time(each: "Variant") -> str:
    if each.seconds is None:
        return NEVER if each.batched else "–"
    if each.batched:
        return f"≤ {each.seconds / 3600:.0f} h"
    if each.seconds < 90:
        return f"{max(1, each.seconds):.0f} s"
    return f"{each.seconds / 60:.0f} min" if each.seconds < 5400 else f"{each.seconds / 3600:.1f} h"


def _notes(planned: "Planned") -> Iterator[str]:
    """Say what the table does not: why nothing is cached, what is a guess, what cannot be."""
    forecast, facts = planned.forecast, planned.ask.facts
    policy = planned.ask.policy.policy
    short = forecast.cacheable < facts.cache_minimum
    if short and policy.caching != "off":
        yield (
            f"not cached: every call begins with {forecast.cacheable:,} equal tokens,"
            f" {facts.name} caches from {facts.cache_minimum:,}"
        )
    if forecast.batch_caching is not None and not short and policy.caching != "off":
        yield from _forms(forecast.batch_caching)
    if forecast.batch_from is not None:
        yield _too_few(forecast, policy.min_batch_size)
    yield from _route(planned)
    yield from _early(planned)
    yield from _sizes(planned)
    if forecast.oversized:
        blocks = counted(forecast.oversized, "block")
        yield f"{blocks} cannot fit the window of {facts.window:,} tokens, and will fail unpaid"
    if forecast.route.problem:
        yield forecast.route.problem


def _forms(kept: "BatchCaching") -> Iterator[str]:
    """Do the arithmetic of the prefix, a line for every form it could be kept in."""
    if not kept.forms:
        yield f"the prefix in batches: {kept.why}"
        return
    yield f"the prefix alone, in batches, if {kept.share:.0%} of the rows find it:"
    for each in kept.forms:
        remark = "; ".join(filter(None, ("taken" if each.taken else "", each.remark)))
        yield f"  {dollars(each.cost)} {each.name}{f' ({remark})' if remark else ''}"


def _sizes(planned: "Planned") -> Iterator[str]:
    """Say what sizes are known by; a run may reckon with others than this plan."""
    facts, factor = planned.ask.facts, planned.token_factor
    if planned.forecast.learnt:
        yield "sizes are those of calls that were answered before"
        return
    if facts.thinking:
        yield "reasoning is billed as output too, and comes on top until calls were answered"
    if abs(factor - facts.token_factor) > COUNTED_APART * facts.token_factor:
        yield (
            f"tokens were counted with the model's own tokenizer: {factor:.2f} for four bytes;"
            f" runs reckon with {facts.token_factor:g} until calls were answered, unless quire.toml"
            f' says token_factor = {factor:.2f} under [models."{facts.name}"]'
        )


def _route(planned: "Planned") -> Iterator[str]:
    """Say which way `auto` goes and why, and what becomes of what a deadline finds outside."""
    forecast, policy = planned.forecast, planned.ask.policy.policy
    batch = forecast.expected.batched > 0
    limit = "" if policy.deadline is None else f"{_length(policy.deadline)} after the start"
    if policy.route == "auto":
        way = {"batch": "in batches", "paced": "steadily (paced)"}.get(
            forecast.route.lane, "direct"
        )
        told = f" (it is {limit})" if limit and not batch else ""
        yield f"auto goes {way}: {forecast.route.why}{told}"
    elif forecast.route.lane == "paced" and "route" not in planned.ask.policy.sources:
        yield f"{usually_paced(planned.ask.facts.provider)}; --route direct goes at once"
    if limit and batch:
        dearest = dollars(forecast.direct.cost)
        yield f"what is not back {limit} goes direct, for at most {dearest} more"


def _length(seconds: float) -> str:
    """A length of time in its largest whole unit."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:g} s"


def _early(planned: "Planned") -> Iterator[str]:
    """Say that the first blocks hold up the others for as long as a batch takes."""
    from quire.plan.forecasting import EARLY_TASKS  # not for --help

    forecast = planned.forecast
    whole = forecast.expected.batched == forecast.expected.requests
    if not forecast.expected.batched or not whole or forecast.tasks <= EARLY_TASKS:
        return
    least, others = forecast.early + 1, forecast.expected.requests - forecast.early
    hint = f"; with --min-batch-size {least} they go direct" if others >= least else ""
    yield (
        f"the first {EARLY_TASKS} blocks go in a batch of their own, and the rest once they are"
        f" known to be fine{hint}"
    )


def _too_few(forecast: "Forecast", least: int) -> str:
    """Say that so few calls go direct, and how they would not."""
    calls = forecast.packed.requests
    said = f"{counted(calls, 'call')} {'is' if calls == 1 else 'are'} fewer than the {least:,}"
    flags = f"--route batch --min-batch-size {forecast.batch_from}"
    return f"{said} of a batch, and would go direct; in batches all the same: `quire run {flags}`"


def _recommended(planned: "Planned") -> Iterator[str]:
    forecast = planned.forecast
    best, expected = forecast.cheapest, forecast.expected
    dearer = expected.batched > 0 and not best.batched
    if forecast.cap == 1 and not best.batched and not dearer:
        yield "one block per call is what the policy and the schema allow"
        return
    alone = best in (forecast.one_per_call, forecast.cached)
    cap = "" if alone or forecast.cap == 1 else f", up to {forecast.cap} blocks per call"
    yield f"recommended: {best.name}{cap} (`{_command(planned, best)}` does so)"
    if dearer:
        told = f"in batches it costs {dollars(expected.cost)}, direct {dollars(best.cost)}"
        more = best.cached_tokens > expected.cached_tokens
        yield told + ": more calls find the prefix in the cache there" * more
    if best.batched:
        sooner = forecast.direct
        wait = f"up to {best.seconds / 3600:.0f} hours" if best.seconds else "as long as it takes"
        yield (
            f"batches take {wait}; sooner: {sooner.name}, {dollars(sooner.cost)}"
            f" (`{_command(planned, sooner)}`)"
        )


def _command(planned: "Planned", wanted: "Variant") -> str:
    """What to type for one of the ways."""
    forecast, policy = planned.forecast, planned.ask.policy
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
