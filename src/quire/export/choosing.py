"""Choosing: which stage of a run is meant, and in which shape its results are told."""

from dataclasses import dataclass

from quire.domain.errors import UsageError
from quire.domain.ids import RunId, StageId
from quire.domain.recipes import Recipe, Stage
from quire.domain.runs import Run
from quire.ledger.ledger import Transaction
from quire.recipes.snapshots import recipe_from_json

ALL = "all"
ONLY = ("all", "accepted", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A run that results are taken from."""

    run: Run
    recipe: Recipe
    stage_ids: dict[str, StageId]
    models: tuple[str, ...]  # by number


def source_of(tx: Transaction, run: RunId) -> Source:
    """Find a run, with all that telling its results needs."""
    found = tx.runs.must_get(run)
    return Source(
        run=found,
        recipe=recipe_from_json(found.recipe),
        stage_ids={each.name: each.id for each in tx.runs.stages(run)},
        models=tuple(each.name for each in tx.runs.models(found)),
    )


def sinks(recipe: Recipe) -> list[Stage]:
    """The stages whose results no other one reads, critics aside: what a recipe is for."""
    read = {name for each in recipe.stages if not each.critic for name in each.upstream}
    return [each for each in recipe.stages if not each.critic and each.name not in read]


def chosen(recipe: Recipe, stage: str | None) -> Stage:
    """The stage that is meant: by its name, or the one that the recipe is for."""
    names = [each.name for each in recipe.stages]
    if stage is not None:
        found = next((each for each in recipe.stages if each.name == stage), None)
        if found is None:
            raise UsageError(f"{recipe.name} has no stage {stage!r}; stages: {', '.join(names)}")
        return found
    last = sinks(recipe)
    if len(last) != 1:
        told = ", ".join(each.name for each in last)
        raise UsageError(f"{recipe.name} has several last stages: {told}; --stage NAME takes one")
    return last[0]


def each_block_once(stage: Stage) -> bool:
    """Whether it owes one record about every block: then its results are told block by block."""
    return (
        stage.about == "each_block"
        and stage.schema is not None
        and stage.samples == 1
        and len(stage.models) <= 1
        and not stage.over
    )


def check_only(only: str) -> None:
    """Refuse what is no choice of results."""
    if only not in ONLY:
        raise UsageError(f"--only takes {', '.join(ONLY)}, not {only!r}")
