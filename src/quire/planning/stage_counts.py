"""Stage counts: how many tasks each stage of a recipe makes, before anything is asked.

Groupings multiply evenly: every origin has as many results as every other. So what a stage is
expanded over follows from the stages above it, by their tasks, lineages and groups alone.
"""

from collections.abc import Mapping
from typing import NamedTuple

from quire.domain.groupings import ABOUT_RESULTS, Driver, Grouping, GroupingContext
from quire.domain.ids import DocumentId
from quire.domain.recipes import Recipe, Stage
from quire.planning.builtin_groupings import grouping_of
from quire.planning.stage_lineage import Relation, StageLineage


class LineCount(NamedTuple):
    """How many tasks a stage has, from how many origins, about how many results."""

    tasks: int
    lineages: int
    groups: int = 0


class InputCount(NamedTuple):
    """How much there is to ask about."""

    documents: int
    blocks: int


LineCounts = Mapping[str, LineCount]  # by the names of stages


def count_things(
    lineage: StageLineage, stage: Stage, counts: LineCounts, inputs: InputCount
) -> int:
    """How many things a stage is expanded over."""
    driver = lineage.driver(stage)
    if driver not in ABOUT_RESULTS:
        things = {Driver.DOCUMENT: inputs.documents, Driver.BLOCK: inputs.blocks}
        return things.get(driver or Driver.ONCE, 1)
    above, anchor = counts[stage.of], lineage.anchor(stage)
    if driver is Driver.PAIR and anchor is not None:
        anchors = counts[anchor.name]
        return above.tasks * anchors.tasks // max(1, anchors.lineages)
    whole = {Driver.LINEAGE: above.lineages, Driver.GROUP: above.groups}
    return whole.get(driver or Driver.RESULT, above.tasks)


def line_count(lineage: StageLineage, stage: Stage, counts: LineCounts, tasks: int) -> LineCount:
    """What so many tasks of a stage come to, for those that are about them."""
    driver = lineage.driver(stage)
    if driver not in ABOUT_RESULTS:
        return LineCount(tasks, lineages=tasks)
    above, source = counts[stage.of], lineage.source(stage)
    lineages = min(above.lineages, tasks)
    groups = counts[source.name].tasks if source else 0
    return LineCount(tasks, lineages, min(groups, tasks))


def inputs_per_task(
    lineage: StageLineage, stage: Stage, name: str, counts: LineCounts, inputs: InputCount
) -> float:
    """How many results of another stage one task reads, where it may be several."""
    count = counts[name]
    tasks = {
        Relation.WHOLE: 1,
        Relation.LINEAGE: count.lineages,
        Relation.GROUP: count.groups,
        Relation.BLOCK: inputs.blocks,
    }.get(lineage.relation(stage, name), inputs.documents)
    return max(1.0, count.tasks / max(1, tasks))


def count_recipe(
    recipe: Recipe, groupings: Mapping[str, Grouping], inputs: InputCount
) -> dict[str, LineCount]:
    """The counts of a recipe's stages, its models named and its stages in order."""
    found = {stage.name: grouping_of(stage.about, stage.of, groupings) for stage in recipe.stages}
    known = {name: grouping for name, grouping in found.items() if grouping is not None}
    lineage = StageLineage(
        {stage.name: stage for stage in recipe.stages}, lambda stage: known[stage.name].driver
    )
    counts: dict[str, LineCount] = {}
    for stage in recipe.stages:
        things = count_things(lineage, stage, counts, inputs)
        around = GroupingContext(
            parameters=recipe.parameters,
            settings=stage.settings,
            samples=stage.samples,
            models=stage.models,
            documents=[DocumentId(number) for number in range(inputs.documents)],
        )
        tasks = known[stage.name].count(things, around)
        counts[stage.name] = line_count(lineage, stage, counts, tasks)
    return counts
