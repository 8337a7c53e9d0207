"""A recipe's forecast, printed: what each stage takes of each model, and what all may cost."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from quire.cli import answered_words
from quire.cli.printing import (
    Narrowing,
    clip,
    model_label,
    print_json,
    print_table,
    quantity,
    say,
    short_model_name,
)
from quire.domain.pricing import dollars
from quire.domain.recipes import GATE
from quire.engine.json_views.plan_views import plan_json

if TYPE_CHECKING:
    from quire.engine import Plan, StageForecast

_RECIPE_NARROWING: tuple[Narrowing, ...] = (
    ("model", short_model_name),
    ("stage", lambda name: clip(name, 20)),
    ("about", None),
    ("model", lambda name: clip(name, 16)),
    ("low", None),
    ("high", None),
    ("tokens out", None),
    ("tokens in", None),
)


def print_recipe_forecast(planned: "Plan", *, as_json: bool, about: str = "") -> None:
    """Print what a recipe's run would roughly take; `about` is said in place of its head."""
    if as_json:
        print_json(plan_json(planned))
        return
    say(about or _recipe_heading(planned))
    say()
    columns = (
        *("stage", "about", "model", ">tasks", ">calls", ">tokens in", ">tokens out"),
        *(">low", ">cost", ">high", *([">to pay"] if planned.is_answered_in_part else [])),
    )
    rows = [[*_stage_cells(stage)][: len(columns)] for stage in planned.stages]
    print_table(columns, rows, narrowing=_RECIPE_NARROWING)
    say()
    known = answered_words.lines(planned)
    for line in (*_recipe_notes(planned), f"together: {forecast_totals(planned)}", *known):
        say(line)


def _recipe_heading(planned: "Plan") -> str:
    about = f"{quantity(planned.documents, 'document')}, {quantity(planned.blocks, 'block')}"
    return f"{about} · recipe {planned.order.recipe.name} · {asked_models(planned)}"


def asked_models(planned: "Plan") -> str:
    """Who is asked; of simulated models, that they are."""
    order = planned.order
    note = f" ({order.facts.note})" if order.facts.note else ""
    others = (model_label(facts.name) for facts in order.models)
    return ", ".join([f"{order.facts.name}{note}", *others])


def _stage_cells(forecast: "StageForecast") -> Iterator[object]:
    roughly = "~" if forecast.rough else ""
    yield from (forecast.stage, forecast.about, forecast.model, forecast.tasks, forecast.calls)
    if forecast.reused:
        yield from ("–", "–", "", "reused", "", "–")
        return
    yield f"{roughly}{forecast.input_tokens:,}"
    yield f"{roughly}{forecast.output_tokens:,}"
    yield dollars(forecast.low)
    yield f"{roughly}{dollars(forecast.cost)}"
    yield dollars(forecast.high)
    yield dollars(forecast.to_ask.cost)


def _recipe_notes(planned: "Plan") -> Iterator[str]:
    from quire.engine import VETOED  # not for --help

    if planned.learnt_from is not None:
        yield f"by what run {planned.learnt_from} of the same recipe took"
    if planned.rough:
        yield "~ is a rough guess: how long answers are is known when some have come"
    rankers = {it.stage: f"ranked by {it.model}" for it in planned.stages if it.embeds}
    yield from filter(None, (window_note(it, rankers.get(it.stage)) for it in planned.stages))
    unseen = {stage.stage for stage in planned.stages if stage.rough}
    for critic in planned.order.recipe.stages:
        if critic.critic == GATE and critic.name in unseen:
            yield f"{critic.name} is taken to veto {VETOED:.0%} of what it judges, asked again"


def window_note(stage: "StageForecast", how: str | None) -> str:
    """What does not fit the window of the model, and what becomes of it."""
    if not (stage.tasks or stage.embeds):
        return f"{stage.stage}: there is nothing to ask about; are its documents ingested?"
    room = (
        f"{stage.stage}: a prompt may take {stage.largest:,} tokens, and {stage.model} has room for"
        f" {stage.room:,}"
    )
    if stage.oversized:
        return (
            f"{stage.stage}: {stage.oversized:,} of {quantity(stage.tasks, 'prompt')} cannot fit"
            f" the window of {stage.model}: what cannot fails unsent, and is not in the cost;"
            " choose a larger window"
        )
    if stage.compressed:
        prompts_do = quantity(stage.tasks, "prompt does", "prompts do")
        return (
            f"{stage.stage}: {stage.compressed:,} of {prompts_do} not fit the window of"
            f" {stage.model}: what is shown is compressed, {how or 'here and for nothing'}"
        )
    if stage.fits:
        return ""
    if stage.compressible:
        return f"{room}: what does not fit is compressed, {how or 'here and for nothing'}"
    return f"{room}: what does not fit fails unpaid; choose a larger window"


def forecast_totals(planned: "Plan") -> str:
    """Calls and dollars in all, in a few words."""
    roughly = "roughly " if planned.rough else ""
    tasks, calls = quantity(planned.tasks, "task"), quantity(planned.calls, "call")
    return f"{tasks}, {calls}, {roughly}{cost_bounds(planned)}"


def expected_totals(planned: "Plan") -> str:
    """The same of what is really asked: what was answered before is not."""
    is_part = planned.is_answered_in_part
    return answered_words.asked_totals(planned) if is_part else forecast_totals(planned)


def cost_bounds(planned: "Plan") -> str:
    """What it is expected to cost, and between what and what."""
    return f"{dollars(planned.cost)} ({dollars(planned.low)} to {dollars(planned.high)})"
