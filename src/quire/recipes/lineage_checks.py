"""Lineage checks: pairs have anchors, groups have sources, and models read what is their own."""

from collections.abc import Iterator

from quire.domain.groupings import Driver
from quire.domain.recipes import BLOCK, EVERY_STAGE, LEAVE_OUT, Stage
from quire.planning.builtin_groupings import ANCHOR
from quire.planning.stage_lineage import Relation
from quire.recipes.setting_rules import unknown_message
from quire.recipes.stage_graph import RecipeCheck

PlacedMistakes = Iterator[tuple[str, str]]  # each with the key that it is about


def lineage_mistakes(stage: Stage, check: RecipeCheck) -> PlacedMistakes:
    """Everything wrong with how a stage finds what it reads."""
    if stage.of in check.stages and stage.of != stage.name:
        if check.driver(stage) is Driver.PAIR:
            yield from _pair_mistakes(stage, check)
        elif check.driver(stage) is Driver.GROUP and check.lineage.source(stage) is None:
            above = check.stages[stage.of]
            yield (
                "of",
                f"results of {above.name} ({above.about}) are about no result, so there is nothing"
                " to group them by; all_to_one takes all of them",
            )
    yield from _own_model_mistakes(stage, check)
    yield from _missing_mistakes(stage)


def _pair_mistakes(stage: Stage, check: RecipeCheck) -> PlacedMistakes:
    """Pairs need two stages of one origin."""
    name = stage.settings.get(ANCHOR) or next(iter(stage.needs), "")
    if not isinstance(name, str):
        return  # its grouping says so
    if not name:
        yield "about", f"{stage.about} needs a second stage: name it in needs"
    elif name not in stage.needs:
        yield "settings", f"{ANCHOR} = {name!r} must be one of needs, whose results it reads"
    elif name == stage.of:
        yield "needs", f"{stage.about} would pair every result of {name} with its own kind"
    elif name in check.stages:
        mine, theirs = (check.lineage.origin(check.stages[part]) for part in (stage.of, name))
        if mine.name != theirs.name:
            yield (
                "needs",
                f"{stage.of} and {name} have no common origin: one comes from {mine.name}, the"
                f" other from {theirs.name}, so there is no telling which belong together",
            )


def _own_model_mistakes(stage: Stage, check: RecipeCheck) -> PlacedMistakes:
    if stage.own_model and not stage.upstream:
        yield "own_model", "own_model is for stages that read others: name them in needs"
        return
    for name in stage.own_model:
        if name == EVERY_STAGE:
            continue
        if name not in stage.upstream:
            yield "own_model", f"own_model: {name!r} {unknown_message(name, stage.upstream)}"
        elif name in check.stages and check.lineage.relation(stage, name) in (
            *(Relation.DRIVER, Relation.KEY),
        ):
            yield (
                "own_model",
                f"own_model: a task reads one result of {name}, whoever gave it;"
                ' model = "same" asks the one who gave it',
            )


def _missing_mistakes(stage: Stage) -> PlacedMistakes:
    if stage.missing not in ("", BLOCK, LEAVE_OUT):
        yield "missing", f"missing must be {BLOCK} or {LEAVE_OUT}, not {stage.missing!r}"
    elif stage.missing and stage.critic:
        yield "missing", "a critic reads only what it judges: it has no use for missing"
    elif stage.missing and not stage.upstream:
        yield "missing", "missing is for stages that read others: name them in needs"
