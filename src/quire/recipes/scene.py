"""The scene: a recipe with all that its stages are checked against."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from quire.domain.groupings import Driver, Surroundings
from quire.domain.recipes import Recipe, Stage
from quire.plan.grouping import ALL_TO_ONE
from quire.recipes.graphs import ancestors, root
from quire.recipes.registry import Registry


@dataclass(frozen=True)
class Scene:
    """A recipe about to be checked."""

    recipe: Recipe
    registry: Registry
    parameters: frozenset[str]  # by name, those without a value too
    complete: bool  # every parameter has a value

    @cached_property
    def stages(self) -> Mapping[str, Stage]:
        """The stages by name; of two with one name the first."""
        return {each.name: each for each in reversed(self.recipe.stages)}

    def driver(self, stage: Stage) -> Driver | None:
        """What a stage is expanded over; None where its grouping is not known."""
        grouping = self.registry.grouping(stage)
        return None if grouping is None else Driver(grouping.driver)

    def root_driver(self, stage: Stage) -> Driver | None:
        """What the subjects are that a stage is about in the end."""
        return self.driver(root(stage, self.stages))

    def shows_documents(self, stage: Stage) -> bool:
        """Whether the prompt is given a list of documents."""
        grouping = self.registry.grouping(stage)
        if grouping is None or stage.about == ALL_TO_ONE:
            return bool(stage.settings.get("documents"))
        return grouping.wants_documents

    def ancestors(self, stage: Stage) -> frozenset[str]:
        """All stages before the one that this one is about, and that one."""
        return ancestors(stage.of, self.stages) | {stage.of}

    def around(self, stage: Stage) -> Surroundings:
        """What a stage's grouping may look at before anything is known of its documents."""
        return Surroundings(
            parameters=self.recipe.parameters,
            settings=stage.settings,
            samples=stage.samples,
            models=stage.models,
        )
