"""Stage lineage: whose results a stage comes from, is about and reads, and which are lists.

A lineage is all that came from one result, its origin: a thesis, its critiques, what was made of
both. The ledger keeps it with each task (`origin_id`), and with it the task whose result it is
directly about (`group_id`); nothing is read out of names. Here is the same among stages, as a
recipe's check, a forecast and a worker must agree on it: all tasks of a stage are roots or none is,
and all its lineages began in one stage.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from quire.domain.groupings import ABOUT_RESULTS, OF_WHOLE_STAGE, Driver
from quire.domain.recipes import EVERY_STAGE, Recipe, Stage
from quire.planning.builtin_groupings import ANCHOR, GROUPINGS, grouping_of


class Relation(StrEnum):
    """Which results of another stage a task reads."""

    DRIVER = "driver"  # the one it is about
    KEY = "key"  # the one its pair, lineage or group has its name from
    GROUP = "group"  # those about the same result
    ANCESTRY = "ancestry"  # those it comes from, step by step
    LINEAGE = "lineage"  # those of its own lineage
    WHOLE = "whole"  # all of them
    BLOCK = "block"  # those of its block
    DOCUMENT = "document"  # those of its document


@dataclass(frozen=True, slots=True)
class StageLineage:
    """A recipe's stages as lines of results."""

    stages: Mapping[str, Stage]
    driver: Callable[[Stage], Driver | None]  # None where a grouping is not known

    def origin(self, stage: Stage) -> Stage:
        """The stage that its lineages began in: itself, if its tasks are about no results."""
        seen = {stage.name}
        while stage.of in self.stages and stage.of not in seen:
            seen.add(stage.of)
            stage = self.stages[stage.of]
        return stage

    def anchor(self, stage: Stage) -> Stage | None:
        """The stage whose results pairs are made with."""
        name = stage.settings.get(ANCHOR) or next(iter(stage.needs), "")
        return self.stages.get(str(name))

    def source(self, stage: Stage) -> Stage | None:
        """The stage whose results the tasks of a stage are directly about; None: about none."""
        seen: set[str] = set()
        while stage.of in self.stages and stage.name not in seen:
            seen.add(stage.name)
            driver, above = self.driver(stage), self.stages[stage.of]
            if driver is Driver.PAIR:
                return self.anchor(stage)
            if driver is Driver.LINEAGE:
                return self.origin(stage)
            if driver is not Driver.GROUP:
                return above
            stage = above
        return None

    def key(self, stage: Stage) -> Stage | None:
        """The stage of the one result that a pair, lineage or group has its name from."""
        return self.source(stage) if self.driver(stage) in ABOUT_RESULTS else None

    def answerer(self, stage: Stage) -> Stage | None:
        """The stage whose model `same` means."""
        whole = self.driver(stage) in OF_WHOLE_STAGE
        return self.key(stage) if whole else self.stages.get(stage.of)

    def sources(self, stage: Stage) -> frozenset[str]:
        """The stages whose results its own come from, step by step through `of`."""
        found: set[str] = set()
        while stage.of in self.stages and stage.of not in found:
            stage = self.stages[stage.of]
            found |= {stage.name, *stage.needs}
        return frozenset(found)

    def relation(self, stage: Stage, name: str) -> Relation:
        """How a task of a stage finds what it reads of another."""
        driver, above = self.driver(stage), self.stages[name]
        if driver is Driver.ONCE:
            return Relation.WHOLE
        if driver in ABOUT_RESULTS and (found := self._by_result(stage, name)):
            return found
        if name in self.sources(stage):
            return Relation.ANCESTRY
        if self.driver(above) is Driver.ONCE:
            return Relation.WHOLE
        if driver is Driver.BLOCK and self.driver(above) is Driver.BLOCK:
            return Relation.BLOCK
        return Relation.DOCUMENT

    def _by_result(self, stage: Stage, name: str) -> Relation | None:
        """The same where it is about results, as far as that alone decides."""
        driver, key = self.driver(stage), self.key(stage)
        if name == stage.of:
            whole = {Driver.LINEAGE: Relation.LINEAGE, Driver.GROUP: Relation.GROUP}
            return whole.get(driver or Driver.RESULT, Relation.DRIVER)
        if driver is Driver.RESULT:
            return None
        if key is not None and name == key.name:
            return Relation.KEY
        if key is not None and driver in OF_WHOLE_STAGE and name in self._above(key):
            return Relation.ANCESTRY
        akin = self.origin(self.stages[name]).name == self.origin(stage).name
        return Relation.LINEAGE if akin and driver is not Driver.PAIR else None

    def _above(self, stage: Stage) -> frozenset[str]:
        return self.sources(stage) | frozenset(stage.upstream)

    def own_stages(self, stage: Stage) -> tuple[str, ...]:
        """The stages of whose results its tasks read only those of their own model."""
        if stage.own_model != (EVERY_STAGE,):
            return stage.own_model
        single = (Relation.DRIVER, Relation.KEY)
        known = [name for name in stage.upstream if name in self.stages]
        return tuple(name for name in known if self.relation(stage, name) not in single)

    def reads_list(self, stage: Stage, name: str) -> bool:
        """Whether one task may read several results of another stage: templates get a list then."""
        above, relation = self.stages[name], self.relation(stage, name)
        if relation in (Relation.DRIVER, Relation.KEY):
            return False
        if name in self.own_stages(stage) and self.driver(above) is Driver.ONCE:
            return above.is_sampled  # one for each model
        if relation in (Relation.GROUP, Relation.LINEAGE) or above.may_be_several:
            return True
        return self._is_of_several_things(stage, name)

    def _is_of_several_things(self, stage: Stage, name: str) -> bool:
        driver, relation = self.driver(stage), self.relation(stage, name)
        root, over = self.driver(self.origin(stage)), self.driver(self.origin(self.stages[name]))
        if driver is Driver.ONCE:
            return True
        if driver in ABOUT_RESULTS and relation is not Relation.ANCESTRY:
            return over in (Driver.BLOCK, Driver.DOCUMENT)
        if root is Driver.ONCE:
            return over in (Driver.BLOCK, Driver.DOCUMENT)
        return root is Driver.DOCUMENT and over is Driver.BLOCK


def recipe_lineage(recipe: Recipe) -> StageLineage:
    """A recipe's lines of results, as far as the built-in groupings tell them."""
    return StageLineage({stage.name: stage for stage in recipe.stages}, _builtin_driver)


def _builtin_driver(stage: Stage) -> Driver:
    """What a stage is expanded over; of a package's grouping its `of` says enough."""
    found = grouping_of(stage.about, stage.of, GROUPINGS)
    return found.driver if found else Driver.RESULT if stage.of else Driver.ONCE
