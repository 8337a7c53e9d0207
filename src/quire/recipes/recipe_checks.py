"""Recipe checks: every mistake of a recipe at once, before anything is spent on it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise

from quire.domain.data import Json
from quire.domain.errors import Mistake, RecipeInvalid
from quire.domain.groupings import ABOUT_RESULTS, OF_WHOLE_STAGE, Driver
from quire.domain.quotes import QUOTE
from quire.domain.recipes import EACH_MODEL, GATE, RECORD, SAME, GateUse, Recipe, Stage
from quire.gates.gate_parameters import is_reference
from quire.planning.builtin_groupings import ALL_TO_ONE
from quire.planning.stage_lineage import Relation
from quire.recipes.lineage_checks import PlacedMistakes, lineage_mistakes
from quire.recipes.plugin_registry import Registry
from quire.recipes.policy_layers import stage_layer
from quire.recipes.prompt_checks import prompt_problems
from quire.recipes.recipe_parameters import SAMPLES_RULE
from quire.recipes.recipe_problems import Problems, RecipeProblem, plugin_mistakes, rule_problems
from quire.recipes.setting_rules import PARAM_RULES, unknown_message
from quire.recipes.stage_graph import RecipeCheck, find_cycle, topological_order

_DOCUMENTS = (Driver.BLOCK, Driver.DOCUMENT)
_OF_LINEAGE = (Relation.KEY, Relation.LINEAGE)  # of the same line of results


def relation_problems(stage: Stage, number: int, check: RecipeCheck) -> Problems:
    """Everything wrong with a stage's about, of, over, needs, samples and critic."""
    for step, message in chain(
        _grouping_mistakes(stage, check),
        _of_mistakes(stage, check),
        _over_mistakes(stage, check),
        _needs_mistakes(stage, check),
        lineage_mistakes(stage, check),
        _critic_mistakes(stage, check),
    ):
        yield RecipeProblem(("stages", number, step), message)


def _grouping_mistakes(stage: Stage, check: RecipeCheck) -> PlacedMistakes:
    grouping = check.registry.grouping(stage)
    if not SAMPLES_RULE.allows(stage.samples):
        yield "samples", f"samples must be {SAMPLES_RULE.wanted}"
    elif grouping is None:
        known = check.registry.groupings
        yield "about", f"the grouping {stage.about!r} {unknown_message(stage.about, known)}"
    elif check.complete:  # it may look at parameters that are not known yet
        context, name = check.grouping_context(stage), f"grouping {stage.about}"
        for message in plugin_mistakes(name, lambda: grouping.mistakes(context)):
            yield "about", message


def _of_mistakes(stage: Stage, check: RecipeCheck) -> PlacedMistakes:
    driver = check.driver(stage)
    if stage.of and stage.of not in check.stages:
        yield "of", f"the stage {stage.of!r} {unknown_message(stage.of, check.stages)}"
    elif stage.of and driver not in (*ABOUT_RESULTS, None):
        yield "of", f"{stage.about} is not about the results of a stage; put {stage.of!r} in needs"
    elif not stage.of and driver in ABOUT_RESULTS and not stage.critic:
        yield "about", f"{stage.about} needs of: the stage whose results it is about"
    elif stage.of == stage.name and stage.of:
        yield "of", "a stage cannot be about its own results"
    elif stage.of and check.stages[stage.of].critic and not stage.critic:
        yield "of", _critic_unread_message(check.stages[stage.of])


def _over_mistakes(stage: Stage, check: RecipeCheck) -> PlacedMistakes:
    if not stage.over:
        return
    known = check.recipe.inputs
    if stage.over not in known:
        message = unknown_message(stage.over, known) if known else "is not known"
        yield "over", f"the input {stage.over!r} {message}; inputs = […] names them"
    elif check.driver(stage) in ABOUT_RESULTS and not check.shows_documents(stage):
        yield "over", f"{stage.about} is about results, not about documents"


def _needs_mistakes(stage: Stage, check: RecipeCheck) -> PlacedMistakes:
    for place, name in enumerate(stage.needs):
        if name not in check.stages:
            yield "needs", f"the stage {name!r} {unknown_message(name, check.stages)}"
        elif name == stage.name:
            yield "needs", "a stage cannot need itself"
        elif name in stage.needs[:place]:
            yield "needs", f"{name} is named twice"
        elif check.stages[name].critic:
            yield "needs", _critic_unread_message(check.stages[name])
        elif message := _unrelated_message(stage, check.stages[name], check):
            yield "needs", message


def _critic_unread_message(critic: Stage) -> str:
    """A critic has a word for every result there ever was, refused ones too."""
    return f"{critic.name} is a critic, whose words nobody reads; read {critic.of} itself"


def _unrelated_message(stage: Stage, other: Stage, check: RecipeCheck) -> str:
    """Why there is no telling which results of another stage belong to a task."""
    mine, theirs = check.driver(stage), check.driver(other)
    if None in (mine, theirs) or mine is Driver.ONCE or other.about in (ALL_TO_ONE, EACH_MODEL):
        return ""
    by_document = theirs in _DOCUMENTS or check.root_driver(other) is Driver.DOCUMENT
    if by_document and (mine in _DOCUMENTS or check.shows_documents(stage)):
        if mine in _DOCUMENTS and stage.over != check.lineage.origin(other).over:
            return f"{other.name} is over other documents than {stage.name}"
        return ""
    if mine not in ABOUT_RESULTS:
        return (
            f"{other.name} ({other.about}) is unrelated: {stage.about} may need only stages about"
            f" blocks or documents, or an {ALL_TO_ONE}"
        )
    if stage.of not in check.stages or _is_of_its_line(stage, other, check):
        return ""
    return (
        f"{other.name} is unrelated: a stage about results may need the stage it is of,"
        f" those before that, or an {ALL_TO_ONE}"
    )


def _is_of_its_line(stage: Stage, other: Stage, check: RecipeCheck) -> bool:
    """Whether a stage about results can tell which of another's are of the same line."""
    if other.name in check.ancestors(stage):
        return True
    if check.driver(stage) is Driver.PAIR:  # whatever is wrong with its anchor is told there
        return other == check.lineage.anchor(stage)
    whole = check.driver(stage) in OF_WHOLE_STAGE
    return whole and check.lineage.relation(stage, other.name) in _OF_LINEAGE


def _critic_mistakes(stage: Stage, check: RecipeCheck) -> PlacedMistakes:
    if stage.accepts and stage.critic != GATE:
        yield "accepts", f'accepts is for critics of mode "{GATE}"'
    if stage.critic == GATE and not stage.accepts:
        yield "mode", 'mode "gate" needs accepts, such as accepts = "answer.score >= 0.7"'
    if stage.critic not in ("", RECORD, GATE):
        yield "mode", f"mode must be {RECORD} or {GATE}, not {stage.critic!r}"
    if stage.critic:
        yield from _critic_target_mistakes(stage, check)


def _critic_target_mistakes(stage: Stage, check: RecipeCheck) -> PlacedMistakes:
    if not stage.of:
        yield "critic", "a critic needs of: the stage whose results it judges"
    elif stage.of in check.stages and check.stages[stage.of].critic:
        yield "of", f"{stage.of} is a critic itself; a critic judges an ordinary stage"
    if stage.about != "each_result" and check.driver(stage) is not None:
        yield "about", "a critic judges every result once: about must be each_result"
    if len(stage.models) > 1 or stage.asks_all:
        yield "models", "a critic is one model; write a critic for each"


MOST_STAGES = 100
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
RECIPE_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,99}")
_RESERVED_NAMES = ("parameters", "answer")


def check_recipe(recipe: Recipe, registry: Registry) -> list[Mistake]:
    """Find every mistake of a recipe made in Python; an empty list means that it can be run."""
    return [finding.as_mistake() for finding in recipe_problems(recipe, registry)]


def validate_recipe(recipe: Recipe, registry: Registry) -> Recipe:
    """The same recipe, its stages in order; one with mistakes is refused with all of them."""
    if mistakes := check_recipe(recipe, registry):
        raise RecipeInvalid(recipe.name, mistakes)
    return order_stages(recipe)


def order_stages(recipe: Recipe) -> Recipe:
    """Each stage after all it needs, with its policy as it is meant."""
    settled = [replace(stage, policy=stage_layer(stage.policy)[0]) for stage in recipe.stages]
    return replace(recipe, stages=topological_order(settled))


def recipe_problems(
    recipe: Recipe,
    registry: Registry,
    parameters: frozenset[str] | None = None,
    complete: bool = True,
) -> list[RecipeProblem]:
    """The same with paths; `parameters` are all names, `complete` says that each has a value."""
    known = frozenset(recipe.parameters) if parameters is None else parameters
    check = RecipeCheck(recipe, registry, known, complete)
    found = [*_top_level_problems(recipe), *_input_problems(recipe)]
    for number, stage in enumerate(recipe.stages):
        found += _stage_problems(stage, number, check)
    if cycle := find_cycle(recipe.stages):
        first = next(no for no, item in enumerate(recipe.stages) if item.name == cycle[0])
        message = f"stages go in a circle: {' → '.join(cycle)}{_explain_cycle(cycle, check)}"
        found.append(RecipeProblem(("stages", first), message))
    return found


def _explain_cycle(cycle: Sequence[str], check: RecipeCheck) -> str:
    for name, above in pairwise(cycle):
        if above not in check.stages[name].upstream:  # nothing in the file says that it waits
            return f"; {name} reads {check.stages[above].of}, so it waits for the critic {above}"
    return ""


def _top_level_problems(recipe: Recipe) -> Problems:
    if not RECIPE_NAME.fullmatch(recipe.name):
        yield RecipeProblem(("name",), f"name {recipe.name!r} must be of a-z, 0-9, _, - and .")
    if not recipe.stages:
        yield RecipeProblem(("stages",), "a recipe needs at least one stage")
    if len(recipe.stages) > MOST_STAGES:
        yield RecipeProblem(("stages",), f"a recipe has at most {MOST_STAGES} stages")
    names = [stage.name for stage in recipe.stages]
    yield from (
        RecipeProblem(("stages", number, "name"), f"two stages are named {name!r}")
        for number, name in enumerate(names)
        if name in names[:number]
    )


def _input_problems(recipe: Recipe) -> Problems:
    for number, name in enumerate(recipe.inputs):
        if not NAME.fullmatch(name):
            yield RecipeProblem(("inputs", number), f"input {name!r} must be of a-z, 0-9 and _")
        if name in recipe.inputs[:number]:
            yield RecipeProblem(("inputs", number), f"input {name!r} is named twice")
    if recipe.attach and recipe.attach not in recipe.inputs:
        message = f"attach names the input {recipe.attach!r}; inputs = […] does not have it"
        yield RecipeProblem(("attach",), message)


def _stage_problems(stage: Stage, number: int, check: RecipeCheck) -> Problems:
    place = ("stages", number)
    if not NAME.fullmatch(stage.name) or stage.name in _RESERVED_NAMES:
        yield RecipeProblem(
            (*place, "name"),
            f"name {stage.name!r} must be of a-z, 0-9 and _, begin with a letter,"
            f" and not be {' or '.join(_RESERVED_NAMES)}",
        )
    yield from relation_problems(stage, number, check)
    yield from _gate_problems(stage, number, check)
    yield from _model_problems(stage, number)
    yield from rule_problems(stage.params.as_json(), PARAM_RULES, (*place, "params"))
    for key, message in stage_layer(stage.policy)[1]:
        yield RecipeProblem((*place, "policy", key), message)
    if stage.schema is not None and stage.schema.quoted_fields and stage.about != "each_block":
        message = f"{QUOTE} is for stages about each_block: there is no block to quote here"
        yield RecipeProblem((*place, "schema"), message)
    yield from prompt_problems(stage, number, check)


def _gate_problems(stage: Stage, number: int, check: RecipeCheck) -> Problems:
    path = ("stages", number, "gates")
    if not stage.gates:
        yield RecipeProblem(path, "a stage needs a gate that reads its answers")
    for place, use in enumerate(stage.gates):
        for message in (
            *_gate_order_mistakes(stage, place, use),
            *_gate_use_mistakes(stage, use, check),
        ):
            yield RecipeProblem(path, f"gate {use.name}: {message}")


def _gate_order_mistakes(stage: Stage, place: int, use: GateUse) -> Iterator[str]:
    records = stage.schema is not None
    if use.name == "json" and not records:
        yield "only answers with a schema are JSON; give the stage a schema, or take text"
    elif use.name == "json" and place:
        yield "must come first: it reads the answer"
    elif records and not place and use.name != "json":
        yield "the first gate of a stage with a schema is json"
    elif use.name == "markers" and place:
        yield "must come first: it reads the answer"
    elif use.name == "rules" and not place:
        yield "must come after the gate that reads the answer"


def _gate_use_mistakes(stage: Stage, use: GateUse, check: RecipeCheck) -> Iterator[str]:
    gate = check.registry.gates.get(use.name)
    if gate is None:
        yield unknown_message(use.name, check.registry.gates)
        return
    yield from plugin_mistakes("it", lambda: gate.mistakes(use.params))
    for reference in _references(use.params):
        place, _, name = reference.partition(".")
        if place == "parameters" and name.partition(".")[0] not in check.parameters:
            yield f"{reference} is not declared among the parameters"
        if place == "inputs" and name.partition(".")[0] not in stage.upstream:
            yield f"{reference} is not of a stage that this one is of or needs"


def _references(value: Json) -> Iterator[str]:
    if is_reference(value):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _references(item)


def _model_problems(stage: Stage, number: int) -> Problems:
    path = ("stages", number, "models")
    for place, name in enumerate(stage.models):
        if not name.strip():
            yield RecipeProblem(path, "a model needs a name")
        elif name in stage.models[:place]:
            yield RecipeProblem(path, f"{name} is named twice; samples asks a model more than once")
    if SAME in stage.models and len(stage.models) > 1:
        yield RecipeProblem(path, f'"{SAME}" stands alone: any other model may be the same')
