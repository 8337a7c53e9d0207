"""Checking: every mistake of a recipe at once, before anything is spent on it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from quire.domain.data import Json
from quire.domain.errors import Mistake, RecipeInvalid
from quire.domain.recipes import SAME, GateUse, Recipe, Stage
from quire.gates.parameters import refers
from quire.recipes.asking import asking_findings
from quire.recipes.findings import Finding, said_by, unlike
from quire.recipes.graphs import arranged, circle
from quire.recipes.policies import stage_layer
from quire.recipes.registry import Registry
from quire.recipes.relating import relation_findings
from quire.recipes.rules import PARAM_RULES, unknown
from quire.recipes.scene import Scene

MOST_STAGES = 100
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
RECIPE_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,99}")
_TAKEN = ("parameters", "answer")


def check_recipe(recipe: Recipe, registry: Registry) -> list[Mistake]:
    """Find every mistake of a recipe made in Python; an empty list means that it can be run."""
    return [each.as_mistake() for each in recipe_findings(recipe, registry)]


def checked(recipe: Recipe, registry: Registry) -> Recipe:
    """The same recipe, its stages in order; one with mistakes is refused with all of them."""
    if mistakes := check_recipe(recipe, registry):
        raise RecipeInvalid(recipe.name, mistakes)
    return in_order(recipe)


def in_order(recipe: Recipe) -> Recipe:
    """Each stage after all it needs, with its policy as it is meant."""
    settled = [replace(each, policy=stage_layer(each.policy)[0]) for each in recipe.stages]
    return replace(recipe, stages=arranged(settled))


def recipe_findings(
    recipe: Recipe,
    registry: Registry,
    parameters: frozenset[str] | None = None,
    complete: bool = True,
) -> list[Finding]:
    """The same with paths; `parameters` are all names, `complete` says that each has a value."""
    known = frozenset(recipe.parameters) if parameters is None else parameters
    scene = Scene(recipe, registry, known, complete)
    found = [*_recipe_findings(recipe), *_input_findings(recipe)]
    for number, stage in enumerate(recipe.stages):
        found += _stage_findings(stage, number, scene)
    if around := circle(recipe.stages):
        first = next(no for no, each in enumerate(recipe.stages) if each.name == around[0])
        message = f"stages go in a circle: {' → '.join(around)}{_why_circle(around, scene)}"
        found.append(Finding(("stages", first), message))
    return found


def _why_circle(around: Sequence[str], scene: Scene) -> str:
    for name, above in pairwise(around):
        if above not in scene.stages[name].upstream:  # nothing in the file says that it waits
            return f"; {name} reads {scene.stages[above].of}, so it waits for the critic {above}"
    return ""


def _recipe_findings(recipe: Recipe) -> Iterator[Finding]:
    if not RECIPE_NAME.fullmatch(recipe.name):
        yield Finding(("name",), f"name {recipe.name!r} must be of a-z, 0-9, _, - and .")
    if not recipe.stages:
        yield Finding(("stages",), "a recipe needs at least one stage")
    if len(recipe.stages) > MOST_STAGES:
        yield Finding(("stages",), f"a recipe has at most {MOST_STAGES} stages")
    names = [each.name for each in recipe.stages]
    yield from (
        Finding(("stages", number, "name"), f"two stages are named {name!r}")
        for number, name in enumerate(names)
        if name in names[:number]
    )


def _input_findings(recipe: Recipe) -> Iterator[Finding]:
    for number, name in enumerate(recipe.inputs):
        if not NAME.fullmatch(name):
            yield Finding(("inputs", number), f"input {name!r} must be of a-z, 0-9 and _")
        if name in recipe.inputs[:number]:
            yield Finding(("inputs", number), f"input {name!r} is named twice")


def _stage_findings(stage: Stage, number: int, scene: Scene) -> Iterator[Finding]:
    place = ("stages", number)
    if not NAME.fullmatch(stage.name) or stage.name in _TAKEN:
        yield Finding(
            (*place, "name"),
            f"name {stage.name!r} must be of a-z, 0-9 and _, begin with a letter,"
            f" and not be {' or '.join(_TAKEN)}",
        )
    yield from relation_findings(stage, number, scene)
    yield from _gate_findings(stage, number, scene)
    yield from _model_findings(stage, number)
    params = {name: _listed(value) for name, value in stage.params.as_json().items()}
    yield from unlike(params, PARAM_RULES, (*place, "params"))
    for key, message in stage_layer(stage.policy)[1]:
        yield Finding((*place, "policy", key), message)
    yield from asking_findings(stage, number, scene)


def _gate_findings(stage: Stage, number: int, scene: Scene) -> Iterator[Finding]:
    path = ("stages", number, "gates")
    if not stage.gates:
        yield Finding(path, "a stage needs a gate that reads its answers")
    for place, use in enumerate(stage.gates):
        for message in (*_order(stage, place, use), *_use_mistakes(use, scene)):
            yield Finding(path, f"gate {use.name}: {message}")


def _order(stage: Stage, place: int, use: GateUse) -> Iterator[str]:
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


def _use_mistakes(use: GateUse, scene: Scene) -> Iterator[str]:
    gate = scene.registry.gates.get(use.name)
    if gate is None:
        yield unknown(use.name, scene.registry.gates)
        return
    yield from said_by("it", lambda: gate.mistakes(use.params))
    for each in _references(use.params):
        place, _, name = each.partition(".")
        if place == "parameters" and name.partition(".")[0] not in scene.parameters:
            yield f"{each} is not declared among the parameters"


def _references(value: Json) -> Iterator[str]:
    if refers(value):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _references(each)


def _model_findings(stage: Stage, number: int) -> Iterator[Finding]:
    path = ("stages", number, "models")
    for place, name in enumerate(stage.models):
        if not name.strip():
            yield Finding(path, "a model needs a name")
        elif name in stage.models[:place]:
            yield Finding(path, f"{name} is named twice; samples asks a model more than once")
    if SAME in stage.models and len(stage.models) > 1:
        yield Finding(path, f'"{SAME}" stands alone: any other model may be the same')


def _listed(value: Json) -> Json:
    return list(value) if isinstance(value, tuple) else value
