"""The stage graph: which stages come before which, cycles, and a recipe as its checks see it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from quire.domain.errors import UsageError
from quire.domain.groupings import Driver, GroupingContext
from quire.domain.recipes import GATE, Recipe, Stage
from quire.planning.builtin_groupings import SHOW_DOCUMENTS, shows_documents
from quire.planning.stage_lineage import StageLineage
from quire.recipes.plugin_registry import Registry


def topological_order(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """Each stage after all it waits for, else in the order given; circles are refused before."""
    above = _dependencies(stages)
    waiting = list(stages)
    done: list[Stage] = []
    placed: set[str] = set()
    while waiting:
        ready = next(
            stage for stage in waiting if not (set(above[stage.name]) & above.keys()) - placed
        )
        waiting.remove(ready)
        done.append(ready)
        placed.add(ready.name)
    return tuple(done)


def stages_below(recipe: Recipe, name: str) -> frozenset[str]:
    """A stage and all that may differ once it does; a critic that decides moves who it judges."""
    below: set[str] = set()
    more = {name}
    while more - below:
        below |= more
        judged = {
            stage.of for stage in recipe.stages if stage.name in below and stage.critic == GATE
        }
        more = {
            stage.name
            for stage in recipe.stages
            if set(stage.upstream) & below or (not stage.critic and set(stage.upstream) & judged)
        }
    return frozenset(below)


def unchanged_stages(before: Recipe, after: Recipe, from_stage: str) -> tuple[str, ...]:
    """The stages whose results a changed recipe may keep, from a stage on asking again.

    Raises UsageError where one that would have to be kept differs as well.
    """
    if from_stage not in {stage.name for stage in after.stages}:
        names = ", ".join(stage.name for stage in after.stages)
        raise UsageError(f"the recipe has no stage {from_stage!r}; stages: {names}")
    below = stages_below(after, from_stage)
    known = {stage.name: stage for stage in before.stages}
    kept = [stage for stage in after.stages if stage.name not in below and stage.name in known]
    if not kept:
        raise UsageError(f"nothing before {from_stage} can be kept: `quire run` asks all of it")
    fixed = before.parameters == after.parameters and before.inputs == after.inputs
    for stage in kept:
        reads_parameters = stage.templated and "parameters" in stage.instructions + stage.prompt
        if stage != known[stage.name] or (reads_parameters and not fixed):
            raise UsageError(
                f"{stage.name} differs too, and comes before {from_stage} or beside it",
                f"--from {stage.name} asks it again",
            )
    return tuple(stage.name for stage in kept)


def find_cycle(stages: Sequence[Stage]) -> tuple[str, ...]:
    """The stages of a circle in order, the first again at the end; none if there is none."""
    above = _dependencies(stages)
    finished: set[str] = set()
    for name in above:
        if found := _walk_to_cycle(name, above, finished):
            return found
    return ()


def _dependencies(stages: Sequence[Stage]) -> dict[str, tuple[str, ...]]:
    """What each stage waits for: all it reads, and the critics of that, which let it count."""
    critics: defaultdict[str, list[str]] = defaultdict(list)
    for stage in stages:
        if stage.critic:
            critics[stage.of].append(stage.name)
    awaited = {}
    for stage in stages:
        judged = {stage.of} if stage.critic else set()  # seen as soon as it is proposed
        critics_awaited = [
            name for read in stage.upstream if read not in judged for name in critics[read]
        ]
        awaited[stage.name] = tuple(dict.fromkeys([*stage.upstream, *critics_awaited]))
    return awaited


def _walk_to_cycle(
    name: str, above: Mapping[str, tuple[str, ...]], finished: set[str]
) -> tuple[str, ...]:
    """Follow needs from one stage by a path of our own, as deep as they go."""
    path = [name]
    choices = [iter(above.get(name, ()))]
    while path:
        following = next(choices[-1], None)
        if following is None:
            finished.add(path.pop())
            choices.pop()
        elif following in path:
            return (*path[path.index(following) :], following)
        elif following not in finished:
            path.append(following)
            choices.append(iter(above.get(following, ())))
    return ()


def ancestors(name: str, stages: Mapping[str, Stage]) -> frozenset[str]:
    """Every stage that one reads from, at any distance."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        stage = stages.get(waiting.pop())
        new = [text for text in (stage.upstream if stage else ()) if text not in found]
        found.update(new)
        waiting += new
    return frozenset(found)


@dataclass(frozen=True)
class RecipeCheck:
    """A recipe about to be checked."""

    recipe: Recipe
    registry: Registry
    parameters: frozenset[str]  # by name, those without a value too
    complete: bool  # every parameter has a value

    @cached_property
    def stages(self) -> Mapping[str, Stage]:
        """The stages by name; of two with one name the first."""
        return {stage.name: stage for stage in reversed(self.recipe.stages)}

    def driver(self, stage: Stage) -> Driver | None:
        """What a stage is expanded over; None where its grouping is not known."""
        grouping = self.registry.grouping(stage)
        return None if grouping is None else Driver(grouping.driver)

    def root_driver(self, stage: Stage) -> Driver | None:
        """What the subjects are that a stage is about in the end."""
        return self.driver(self.lineage.origin(stage))

    @cached_property
    def lineage(self) -> StageLineage:
        """Whose results each stage comes from and reads."""
        return StageLineage(self.stages, self.driver)

    def shows_documents(self, stage: Stage) -> bool:
        """Whether the prompt is given a list of documents."""
        grouping = self.registry.grouping(stage)
        if grouping is None:
            return bool(stage.settings.get(SHOW_DOCUMENTS))
        return shows_documents(grouping, stage.settings)

    def ancestors(self, stage: Stage) -> frozenset[str]:
        """All stages before the one that this one is about, and that one."""
        return ancestors(stage.of, self.stages) | {stage.of}

    def reads_list(self, stage: Stage, name: str) -> bool | None:
        """Whether a stage's prompt gets a list of another's results; None where nobody knows."""
        about, above = self.driver(stage), self.stages[name]
        if name == stage.of and about is None:
            return False
        if None in (about, self.root_driver(stage), self.root_driver(above)):
            return None
        return self.lineage.reads_list(stage, name)

    def grouping_context(self, stage: Stage) -> GroupingContext:
        """What a stage's grouping may look at before anything is known of its documents."""
        return GroupingContext(
            parameters=self.recipe.parameters,
            settings=stage.settings,
            samples=stage.samples,
            models=stage.models,
        )
