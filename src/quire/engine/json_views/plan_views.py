"""JSON views of plans: what a run would take, a schema's in every way it could go."""

from typing import TYPE_CHECKING

from quire.domain.pricing import to_usd

if TYPE_CHECKING:
    from quire.engine.forecasts import Plan
    from quire.planning.batch_caching import CachingOption
    from quire.planning.stage_forecasts import StageForecast
    from quire.planning.variants import Forecast, Variant


def plan_json(planned: "Plan") -> dict[str, object]:
    """A plan, with what is answered already."""
    single = planned.order.recipe.is_single_schema
    own = _schema_plan(planned) if single else _recipe_plan(planned)
    return own | _answered_json(planned)


def _schema_plan(planned: "Plan") -> dict[str, object]:
    forecast, facts = planned.forecast, planned.order.facts
    caching, route = forecast.batch_caching, forecast.route
    return {
        "model": facts.name,
        "simulated": facts.provider == "simulated",
        "documents": planned.documents,
        "per": planned.order.recipe.unit,
        "blocks": forecast.tasks,
        "oversized": forecast.oversized,
        "compressed": sum(stage.compressed for stage in planned.stages),
        "blocks_per_call": forecast.cap,
        "variants": [_variant_json(variant) for variant in forecast.variants],
        "cacheable_tokens": forecast.cacheable,
        "learnt": forecast.learnt,
        "route": {"lane": route.route, "why": route.why, "problem": route.problem},
        "batch_from": forecast.batch_from,
        "batch_caching": None if caching is None else _caching_json(forecast),
        "expected": forecast.expected.name,
        "low_usd": to_usd(planned.low),
        "expected_usd": planned.cost_usd,
        "high_usd": to_usd(planned.high),
        "recommended": forecast.cheapest.name,
        "saving_percent": round(forecast.saving_percent, 1),
    }


def _variant_json(variant: "Variant") -> dict[str, object]:
    return {
        "name": variant.name,
        "requests": variant.requests,
        "batched_requests": variant.batched,
        "input_tokens": variant.input_tokens,
        "cached_tokens": variant.cached_tokens,
        "output_tokens": variant.output_tokens,
        "cost_usd": variant.cost_usd,
        "seconds": None if variant.seconds is None else round(variant.seconds),
    }


def _caching_json(forecast: "Forecast") -> dict[str, object]:
    caching = forecast.batch_caching
    assert caching is not None
    return {
        "marked": caching.mark,
        "long_lived": caching.long_lived,
        "primer": caching.primer,
        "saving_usd": to_usd(caching.saving),
        "why": caching.why,
        "hits": caching.share,
        "forms": [_form_json(form) for form in caching.forms],
    }


def _form_json(option: "CachingOption") -> dict[str, object]:
    form: dict[str, object] = {"name": option.name, "cost_usd": to_usd(option.cost)}
    return form | {"taken": option.taken, "remark": option.remark}


def _recipe_plan(planned: "Plan") -> dict[str, object]:
    return {
        "recipe": planned.order.recipe.name,
        "model": planned.order.facts.name,
        "simulated": planned.order.facts.provider == "simulated",
        "documents": planned.documents,
        "blocks": planned.blocks,
        "tasks": planned.tasks,
        "calls": planned.calls,
        "low_usd": to_usd(planned.low),
        "cost_usd": planned.cost_usd,
        "high_usd": to_usd(planned.high),
        "rough": planned.rough,
        "learnt_from": planned.learnt_from,
        "stages": [_stage_json(stage) for stage in planned.stages],
    }


def _stage_json(stage: "StageForecast") -> dict[str, object]:
    return {
        "stage": stage.stage,
        "about": stage.about,
        "model": stage.model,
        "tasks": stage.tasks,
        "reused": stage.reused,
        "calls": stage.calls,
        "input_tokens": stage.input_tokens,
        "output_tokens": stage.output_tokens,
        "low_usd": to_usd(stage.low),
        "cost_usd": stage.cost_usd,
        "high_usd": to_usd(stage.high),
        "asked_tasks": 0 if stage.reused else stage.to_ask.tasks,
        "asked_calls": stage.to_ask.calls,
        "asked_cost_usd": stage.to_ask.cost_usd,
        "rough": stage.rough,
        "largest_prompt_tokens": stage.largest,
        "room_tokens": stage.room,
        "fits": stage.fits,
        "oversized": stage.oversized,
        "compressed": stage.compressed,
        "embeds": stage.embeds,
    }


def _answered_json(planned: "Plan") -> dict[str, object]:
    """What need not be asked again, and what the rest costs."""
    blocks, _, saved, repeated = planned.answered
    asked, left = planned.to_ask, planned.forecast_to_ask
    return {
        "answered": {
            "blocks": blocks,
            "saved_usd": to_usd(saved),
            "repeated": repeated,
            "stages": list(planned.answered_stages),
        },
        "asked": {
            "tasks": asked.tasks,
            "calls": asked.calls,
            "low_usd": to_usd(asked.low),
            "cost_usd": asked.cost_usd,
            "high_usd": to_usd(asked.high),
            "least_budget_usd": to_usd(planned.least_budget),
            "variants": [_variant_json(variant) for variant in left.variants] if left else [],
        },
    }
