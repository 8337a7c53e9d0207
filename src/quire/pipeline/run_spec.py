"""Run spec: a run's recipe, policy, models and stage prompts as they were fixed at its start."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from quire.domain.data import NOTHING, Json, JsonObject, stored_json
from quire.domain.errors import NotFound, PluginMissing
from quire.domain.gates import Gate
from quire.domain.groupings import Driver, Grouping
from quire.domain.ids import RunId, StageId
from quire.domain.models import ModelFacts
from quire.domain.policy import Policy, SourcedPolicy
from quire.domain.recipes import ITEM_PROMPT, JSON_GATE, LEAVE_OUT, SAME, SPANS, Recipe, Stage
from quire.domain.tasks import LeavingOut
from quire.ledger.ledger import Transaction
from quire.planning.builtin_groupings import grouping_of
from quire.planning.history import History
from quire.planning.stage_lineage import StageLineage, recipe_lineage
from quire.recipes.plugin_registry import Registry
from quire.recipes.policy_layers import policy_from_json
from quire.recipes.recipe_snapshots import recipe_from_json

if TYPE_CHECKING:
    from quire.planning.templates import Template

EXACT, BEST_EFFORT, THROUGHPUT = "exact", "best_effort", "throughput"  # completion modes
NOT_INSTALLED = "whoever brought it is not installed here; install that package"


@dataclass(frozen=True)
class RunSpec:
    """One run's recipe, policy and models, with the keys of its stages."""

    run_id: RunId
    recipe: Recipe
    policy: SourcedPolicy
    models: tuple[ModelFacts, ...]  # by number; 0 is the run's own
    stage_ids: Mapping[str, StageId]
    registry: Registry
    person: str = ""  # who started it: their own keys are used first

    @cached_property
    def stages(self) -> dict[StageId, Stage]:
        """The stages by key."""
        return {self.stage_ids[stage.name]: stage for stage in self.recipe.stages}

    @cached_property
    def model_numbers(self) -> dict[str, int]:
        """The models' numbers by name."""
        return {model.name: no for no, model in reversed(list(enumerate(self.models)))}

    def model_number(self, name: str) -> int | None:
        """The number of a model, "" for the run's own; None where the run was not told of it."""
        return self.model_numbers.get(name or self.models[0].name)

    @cached_property
    def stage_prompts(self) -> dict[str, "StagePrompt"]:
        """How each stage asks, by name."""
        return {
            stage.name: StagePrompt(stage, self.recipe.parameters) for stage in self.recipe.stages
        }

    def policy_of(self, stage: Stage) -> Policy:
        """The policy of one stage: its own words, unless the caller said otherwise."""
        policy, own = self.policy.policy, self.policy_overrides(stage)
        return replace(policy, **own) if own else policy  # type: ignore[arg-type]  # checked at load

    def policy_overrides(self, stage: Stage) -> dict[str, Json]:
        """What a stage says in the place of the run's policy."""
        return {
            name: value
            for name, value in stage.policy.items()
            if self.policy.sources.get(name) != "flag"
        }

    def models_of(self, stage: Stage) -> tuple[str, ...]:
        """Who is asked: names, or `same`."""
        if stage.models:
            return stage.models
        above = self.lineage.answerer(stage)
        if above is not None and self.models_of(above) != (self.models[0].name,):
            return (SAME,)
        return (self.models[0].name,)

    def gates_of(self, stage: Stage) -> list[tuple[Gate, JsonObject]]:
        """A stage's gates with their parameters."""
        return [(self._gate(use.name), use.params) for use in stage.gates]

    def _gate(self, name: str) -> Gate:
        found = self.registry.gates.get(name)
        if found is None:
            raise PluginMissing(f"no gate {name!r}: {NOT_INSTALLED}")
        return found

    @cached_property
    def missing_plugins(self) -> str:
        """What the recipe names that is not installed here, in words; empty: it is all there."""
        try:
            for stage in self.recipe.stages:
                self.grouping_of(stage)
                self.gates_of(stage)
        except PluginMissing as error:
            return str(error)
        return ""

    def critics_of(self, stage: Stage) -> tuple[Stage, ...]:
        """The stages that judge its results."""
        return self.recipe.critics_of(stage.name)

    def dependants_of(self, stage: Stage) -> tuple[Stage, ...]:
        """The ordinary stages that read its results."""
        return tuple(
            item for item in self.recipe.stages if stage.name in item.upstream and not item.critic
        )

    def driver_of(self, stage: Stage) -> Driver:
        """What a stage is expanded over."""
        return self.grouping_of(stage).driver

    @cached_property
    def lineage(self) -> StageLineage:
        """Whose results each stage comes from and reads."""
        return StageLineage({stage.name: stage for stage in self.recipe.stages}, self.driver_of)

    @cached_property
    def list_inputs(self) -> dict[str, frozenset[str]]:
        """The stages by name of which one task of each stage may read several results."""
        return {
            stage.name: frozenset(
                name for name in stage.upstream if self.lineage.reads_list(stage, name)
            )
            for stage in self.recipe.stages
        }

    def grouping_of(self, stage: Stage) -> Grouping:
        """A stage's grouping."""
        found = grouping_of(stage.about, stage.of, self.registry.groupings)
        if found is None:
            raise PluginMissing(f"no grouping {stage.about!r}: {NOT_INSTALLED}")
        return found

    def is_gathering(self, stage: Stage) -> bool:
        """Whether one task of it reads all of what it needs."""
        return self.driver_of(stage) is Driver.ONCE and bool(stage.upstream)

    def leaving_out(self, stage: Stage) -> LeavingOut | None:
        """How it takes what is done of what it reads, once all of that has ended; None: not so."""
        leaves = stage.missing == LEAVE_OUT if stage.missing else self.is_gathering(stage)
        return LeavingOut(self.stage_ids[stage.of] if stage.of else None) if leaves else None

    @cached_property
    def lenient_stages(self) -> list[StageId]:
        """The stages that leave out what is missing."""
        return [stage_id for stage_id, stage in self.stages.items() if self.leaving_out(stage)]

    def stages_above(self, stage: Stage) -> frozenset[str]:
        """Every stage that has to be done before it, at any distance."""
        found: set[str] = set()
        for name in stage.upstream:
            found |= {name, *self.stages_above(self.stage_named(name))}
        return frozenset(found)

    def and_below(self, stage: Stage) -> list[Stage]:
        """A stage and all that comes after it, critics included, each after what it needs."""
        name, stages = stage.name, self.recipe.stages
        return [item for item in stages if item.name == name or name in self.stages_above(item)]

    def and_waiting(self, stage: Stage) -> list[Stage]:
        """The same with all that waits for it: who reads what a critic judges waits for that."""
        judged = self.and_below(self.stage_named(stage.of)) if stage.critic else []
        names = {item.name for item in (*self.and_below(stage), *judged)}
        return [item for item in self.recipe.stages if item.name in names]

    def stages_through(self, last: str) -> frozenset[str]:
        """A stage and all without which it is not over: what is read, and who judges that."""
        found: set[str] = set()
        more = {last}
        while more:
            found |= more
            stages = self.recipe.stages
            read = {name for item in stages if item.name in more for name in item.upstream}
            judges = {item.name for item in stages if item.critic and item.of in more}
            more = (read | judges) - found
        return frozenset(found)

    def stages_beyond(self, last: str | None) -> frozenset[StageId]:
        """The stages that wait while a run is to stop after this one; none if it is not to."""
        if last is None:
            return frozenset()
        through = self.stages_through(last)
        return frozenset(key for name, key in self.stage_ids.items() if name not in through)

    def parse_part(self, text: str | None) -> JsonObject:
        """What a grouping said of a task, as it was written down."""
        found: JsonObject = stored_json(text) or NOTHING
        return found

    def stage_named(self, name: str) -> Stage:
        """A stage by its name."""
        if name not in self.stage_ids:
            names = ", ".join(self.stage_ids)
            raise NotFound(f"run {self.run_id} has no stage {name!r}; stages: {names}")
        return self.stages[self.stage_ids[name]]

    def stages_named(self, name: str | None) -> tuple[Stage, ...]:
        """The stage of this name, or all of them."""
        return self.recipe.stages if name is None else (self.stage_named(name),)

    @property
    def is_exact(self) -> bool:
        """Whether every answer counts, so that a failure holds the run."""
        return self.policy.policy.completion_mode == EXACT


def possible_models(recipe: Recipe, stage: Stage, own: str) -> tuple[str, ...]:
    """The names of all models that tasks of a stage may be asked of; `own` is the run's."""
    if stage.models and SAME not in stage.models:
        return stage.models
    named = tuple(model for model in stage.models if model != SAME)
    above = recipe_lineage(recipe).answerer(stage)
    if above is not None:
        return tuple(dict.fromkeys([*named, *possible_models(recipe, above, own)]))
    return named or (own,)


class StagePrompt:
    """How one stage asks: its fixed words, and a template for what differs from task to task.

    `by_block` is the fast way of the plain case, a schema asked of every block: its texts are put
    together from what one statement reads, without subjects, parts or templates. A stage of a
    recipe may go it too.
    """

    __slots__ = ("by_block", "history", "item", "stage")

    def __init__(self, stage: Stage, parameters: Mapping[str, Json]) -> None:
        """Fill in the parameters once; a stage without templates is asked as it stands."""
        self.item: Template | None = None
        self.history = History(stage.history, parameters) if stage.history else None
        if not stage.templated:
            self.stage = stage
            self.by_block = is_plain(stage)
            return
        from quire.planning.templates import SUBJECT_NAMES, compile_template  # loads Jinja

        known: dict[str, object] = {"parameters": dict(parameters)}
        prompt = compile_template(stage.prompt)
        instructions = compile_template(stage.instructions).render(known)
        if prompt.names & SUBJECT_NAMES:
            self.item = prompt
            fixed = ITEM_PROMPT if stage.schema else ""
        else:
            fixed = prompt.render(known)
        self.stage = replace(
            stage,
            instructions=instructions,
            prompt=fixed,
            prompt_in_items=self.item is not None,
        )
        self.by_block = is_plain(stage) and self.item is None

    @property
    def shows_documents(self) -> bool:
        """Whether documents are read in full."""
        return self.item is None or bool(self.item.names & {"document", "documents"})

    @property
    def shows_spans(self) -> bool:
        """Whether each task is about a part of a document."""
        return self.stage.about in SPANS


def is_plain(stage: Stage) -> bool:
    """Whether it asks for records about every block and reads nothing else: the fast way."""
    return (
        stage.about == "each_block"
        and stage.schema is not None
        and not (stage.upstream or stage.models or stage.over or stage.settings or stage.history)
        and stage.samples == 1
        and stage.gates == (JSON_GATE,)
    )


def read_run_spec(tx: Transaction, run: RunId, registry: Registry) -> RunSpec:
    """Read what a run was told."""
    found = tx.runs.must_get_run(run)
    return RunSpec(
        run_id=run,
        recipe=recipe_from_json(found.recipe),
        policy=policy_from_json(found.policy),
        models=tuple(tx.runs.models_of_run(found)),
        stage_ids={stage.name: stage.id for stage in tx.runs.stages_of_run(run)},
        registry=registry,
        person=found.started_by,
    )
