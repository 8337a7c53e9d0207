"""Relating: checks what a stage is about, and what it may read of other stages."""

from collections.abc import Iterator

from quire.domain.groupings import Driver
from quire.domain.recipes import GATE, RECORD, Stage
from quire.plan.grouping import ALL_TO_ONE
from quire.recipes.findings import Finding, said_by
from quire.recipes.graphs import root
from quire.recipes.rules import unknown, whole
from quire.recipes.scene import Scene

MOST_SAMPLES = whole(1, 1_000_000)
_DOCUMENTS = (Driver.BLOCK, Driver.DOCUMENT)


def relation_findings(stage: Stage, number: int, scene: Scene) -> Iterator[Finding]:
    """Everything wrong with a stage's about, of, over, needs, samples and critic."""
    place = ("stages", number)
    for found in (_grouping, _of, _over, _needs, _critic):
        for step, message in found(stage, scene):
            yield Finding((*place, step), message)


def _grouping(stage: Stage, scene: Scene) -> Iterator[tuple[str, str]]:
    grouping = scene.registry.grouping(stage)
    if not MOST_SAMPLES.allows(stage.samples):
        yield "samples", f"samples must be {MOST_SAMPLES.wanted}"
    elif grouping is None:
        known = scene.registry.groupings
        yield "about", f"the grouping {stage.about!r} {unknown(stage.about, known)}"
    elif scene.complete:  # it may look at parameters that are not known yet
        around = scene.around(stage)
        for message in said_by(f"grouping {stage.about}", lambda: grouping.mistakes(around)):
            yield "about", message


def _of(stage: Stage, scene: Scene) -> Iterator[tuple[str, str]]:
    driver = scene.driver(stage)
    if stage.of and stage.of not in scene.stages:
        yield "of", f"the stage {stage.of!r} {unknown(stage.of, scene.stages)}"
    elif stage.of and driver not in (Driver.RESULT, None):
        yield "of", f"{stage.about} is not about the results of a stage; put {stage.of!r} in needs"
    elif not stage.of and driver is Driver.RESULT and not stage.critic:
        yield "about", f"{stage.about} needs of: the stage whose results it is about"
    elif stage.of == stage.name and stage.of:
        yield "of", "a stage cannot be about its own results"
    elif stage.of and scene.stages[stage.of].critic and not stage.critic:
        yield "of", _unread(scene.stages[stage.of])


def _over(stage: Stage, scene: Scene) -> Iterator[tuple[str, str]]:
    if not stage.over:
        return
    if stage.over not in scene.recipe.inputs:
        known = unknown(stage.over, scene.recipe.inputs) if scene.recipe.inputs else "is not known"
        yield "over", f"the input {stage.over!r} {known}; inputs = […] names them"
    elif scene.driver(stage) is Driver.RESULT and not scene.shows_documents(stage):
        yield "over", f"{stage.about} is about results, not about documents"


def _needs(stage: Stage, scene: Scene) -> Iterator[tuple[str, str]]:
    for place, name in enumerate(stage.needs):
        if name not in scene.stages:
            yield "needs", f"the stage {name!r} {unknown(name, scene.stages)}"
        elif name == stage.name:
            yield "needs", "a stage cannot need itself"
        elif name in stage.needs[:place]:
            yield "needs", f"{name} is named twice"
        elif scene.stages[name].critic:
            yield "needs", _unread(scene.stages[name])
        elif message := _unrelated(stage, scene.stages[name], scene):
            yield "needs", message


def _unread(critic: Stage) -> str:
    """A critic has a word for every result there ever was, refused ones too."""
    return f"{critic.name} is a critic, whose words nobody reads; read {critic.of} itself"


def _unrelated(stage: Stage, other: Stage, scene: Scene) -> str:
    """Why there is no telling which results of another stage belong to a task."""
    mine, theirs = scene.driver(stage), scene.driver(other)
    if None in (mine, theirs) or mine is Driver.ONCE or other.about == ALL_TO_ONE:
        return ""
    by_document = theirs in _DOCUMENTS or scene.root_driver(other) is Driver.DOCUMENT
    if by_document and (mine in _DOCUMENTS or scene.shows_documents(stage)):
        if mine in _DOCUMENTS and stage.over != root(other, scene.stages).over:
            return f"{other.name} is over other documents than {stage.name}"
        return ""
    if mine is Driver.RESULT:
        if other.name in scene.ancestors(stage) or stage.of not in scene.stages:
            return ""
        return (
            f"{other.name} is unrelated: a stage about results may need the stage it is of,"
            f" those before that, or an {ALL_TO_ONE}"
        )
    return (
        f"{other.name} ({other.about}) is unrelated: {stage.about} may need only stages about"
        f" blocks or documents, or an {ALL_TO_ONE}"
    )


def _critic(stage: Stage, scene: Scene) -> Iterator[tuple[str, str]]:
    if stage.accepts and stage.critic != GATE:
        yield "accepts", f'accepts is for critics of mode "{GATE}"'
    if stage.critic == GATE and not stage.accepts:
        yield "mode", 'mode "gate" needs accepts, such as accepts = "answer.score >= 0.7"'
    if stage.critic not in ("", RECORD, GATE):
        yield "mode", f"mode must be {RECORD} or {GATE}, not {stage.critic!r}"
    if stage.critic:
        yield from _judging(stage, scene)


def _judging(stage: Stage, scene: Scene) -> Iterator[tuple[str, str]]:
    if not stage.of:
        yield "critic", "a critic needs of: the stage whose results it judges"
    elif stage.of in scene.stages and scene.stages[stage.of].critic:
        yield "of", f"{stage.of} is a critic itself; a critic judges an ordinary stage"
    if stage.about != "each_result" and scene.driver(stage) is not None:
        yield "about", "a critic judges every result once: about must be each_result"
    if len(stage.models) > 1:
        yield "models", "a critic is one model; write a critic for each"
