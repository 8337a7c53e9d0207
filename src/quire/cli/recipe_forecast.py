"""The forecast of a recipe, stage by stage, with what does not fit."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from quire.cli.printing import Narrowing, clipped, counted, last_part, print_json, print_table, say
from quire.domain.money import dollars

if TYPE_CHECKING:
    from quire.engine.recipe_forecasting import PlannedRecipe
    from quire.plan.stage_forecasting import StageForecast

_GIVE_WAY: tuple[Narrowing, ...] = (
    ("model", last_part),
    ("stage", lambda name: clipped(name, 20)),
    ("about", None),
    ("model", lambda name: clipped(name, 16)),
    ("tokens out", None),
)


def tell_recipe(planned: "PlannedRecipe", *, as_json: bool, about: str = "") -> None:
    """Print what a recipe's run would roughly take; `about` is said in place of its head."""
    if as_json:
        print_json(_json(planned))
        return
    say(about or _head(planned))
    say()
    columns = ("stage", "about", "model", ">tasks", ">calls", ">tokens in", ">tokens out", ">cost")
    print_table(columns, [[*_row(each)] for each in planned.stages], narrowing=_GIVE_WAY)
    say()
    for line in (*_notes(planned), f"together: {together(planned)}"):
        say(line)


def _head(planned: "PlannedRecipe") -> str:
    about = f"{counted(planned.documents, 'document')}, {counted(planned.blocks, 'block')}"
    note = f" ({planned.facts.note})" if planned.facts.note else ""
    return f"{about} · recipe {planned.recipe.name} · {planned.facts.name}{note}"


def _row(each: "StageForecast") -> Iterator[object]:
    roughly = "~" if each.rough else ""
    yield from (each.stage, each.about, each.model, each.tasks, each.calls)
    yield f"{roughly}{each.input_tokens:,}"
    yield f"{roughly}{each.output_tokens:,}"
    yield f"{roughly}{dollars(each.cost)}"


def _notes(planned: "PlannedRecipe") -> Iterator[str]:
    if planned.rough:
        yield "~ is a rough guess: how long answers are is known when some have come"
    for each in planned.stages:
        if not each.tasks:
            yield f"{each.stage}: there is nothing to ask about; are its documents ingested?"
        elif not each.fits:
            yield (
                f"{each.stage}: a prompt may take {each.largest:,} tokens, and {each.model} has"
                f" room for {each.room:,}: what does not fit fails unpaid; choose a larger window"
            )


def together(planned: "PlannedRecipe") -> str:
    """Calls and dollars in all, in a few words."""
    roughly = "roughly " if planned.rough else ""
    tasks, calls = counted(planned.tasks, "task"), counted(planned.calls, "call")
    return f"{tasks}, {calls}, {roughly}{dollars(planned.cost)}"


def _json(planned: "PlannedRecipe") -> dict[str, object]:
    return {
        "recipe": planned.recipe.name,
        "model": planned.facts.name,
        "simulated": planned.facts.provider == "simulated",
        "documents": planned.documents,
        "blocks": planned.blocks,
        "tasks": planned.tasks,
        "calls": planned.calls,
        "cost_micro_dollars": planned.cost,
        "rough": planned.rough,
        "stages": [
            {
                "stage": each.stage,
                "about": each.about,
                "model": each.model,
                "tasks": each.tasks,
                "calls": each.calls,
                "input_tokens": each.input_tokens,
                "output_tokens": each.output_tokens,
                "cost_micro_dollars": each.cost,
                "rough": each.rough,
                "largest_prompt_tokens": each.largest,
                "room_tokens": each.room,
                "fits": each.fits,
            }
            for each in planned.stages
        ],
    }
