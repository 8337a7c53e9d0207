"""Asking: checks that every prompt of a recipe can be filled in with what its stage knows."""

from collections.abc import Iterator, Mapping

from quire.domain.errors import TemplateFailed, TemplateInvalid
from quire.domain.groupings import Driver
from quire.domain.recipes import Stage
from quire.plan.templating import SUBJECT_NAMES, Template, compile_template
from quire.recipes.deciding import accepts_mistakes
from quire.recipes.fields import field_mistakes
from quire.recipes.findings import Finding
from quire.recipes.rules import unknown
from quire.recipes.scene import Scene

PARTS: Mapping[str, frozenset[str]] = {  # of the variables whose parts are always the same
    "block": frozenset({"text", "type", "index"}),
    "document": frozenset({"title", "text", "name", "views"}),
    "judged": frozenset({"asked", "system", "answer", "data"}),
}
_ALWAYS = ("parameters", "sample", "model", "part", "critique")
_MISSING = {  # why a variable that exists elsewhere does not exist here
    "block": "there is no block: tasks are not about blocks",
    "document": "there is no document: tasks are about no single one",
    "documents": "there are no documents: all_to_one shows them with"
    " settings = { documents = true }",
    "inputs": "there are no inputs: name the stage it reads in needs",
    "judged": "only critics have judged",
}


def asking_findings(stage: Stage, number: int, scene: Scene) -> Iterator[Finding]:
    """Everything wrong with a stage's system, prompt and accepts."""
    place = ("stages", number)
    if stage.templated:
        yield from _system(stage, (*place, "system"), scene)
        yield from _prompt(stage, (*place, "prompt"), scene)
    if stage.accepts:
        for message in accepts_mistakes(stage):
            yield Finding((*place, "accepts"), message)


def _system(stage: Stage, path: tuple[str | int, ...], scene: Scene) -> Iterator[Finding]:
    template, wrong = _compiled(stage.instructions, path)
    yield from wrong
    if template is None:
        return
    if named := sorted(template.names & SUBJECT_NAMES):
        yield Finding(
            path,
            f"system names {', '.join(named)}, which differ from task to task; it may name only"
            " parameters, so that all calls share it: put the rest into prompt",
        )
    yield from _unknown_names(template, frozenset({"parameters"}) | SUBJECT_NAMES, path)
    found = list(_parameter_findings(template, path, scene))
    yield from found
    if not named and not found:
        yield from _trial(template, path, scene)


def _prompt(stage: Stage, path: tuple[str | int, ...], scene: Scene) -> Iterator[Finding]:
    template, wrong = _compiled(stage.prompt, path)
    yield from wrong
    if template is None:
        return
    known = frozenset(_known(stage, scene))
    for name in sorted(template.names & _MISSING.keys() - known):
        yield Finding(path, f"{name}: {_MISSING[name]}")
    yield from _unknown_names(template, known | _MISSING.keys(), path)
    found = [*_parameter_findings(template, path, scene), *_part_findings(template, path)]
    found += _input_findings(template, stage, path)
    found += [Finding(path, *each) for each in field_mistakes(template, stage, scene)]
    yield from found
    if not template.names & SUBJECT_NAMES and not found:
        yield from _trial(template, path, scene)


def _known(stage: Stage, scene: Scene) -> Iterator[str]:
    """The variables that a stage's prompt is given."""
    yield from _ALWAYS
    about = scene.root_driver(stage)
    if about in (Driver.BLOCK, None):
        yield "block"
    if about in (Driver.BLOCK, Driver.DOCUMENT, None):
        yield "document"
    if scene.shows_documents(stage):
        yield "documents"
    if stage.upstream:
        yield "inputs"
    if stage.critic:
        yield "judged"


def _compiled(
    text: str, path: tuple[str | int, ...]
) -> tuple[Template | None, tuple[Finding, ...]]:
    try:
        return compile_template(text), ()
    except TemplateInvalid as error:
        return None, (Finding(path, f"template: {error.reason}", error.line),)


def _trial(template: Template, path: tuple[str | int, ...], scene: Scene) -> Iterator[Finding]:
    """Fill in what is the same for all tasks; what fails now would fail for each of them."""
    if not scene.complete:
        return
    try:
        template.render({"parameters": dict(scene.recipe.parameters)})
    except TemplateFailed as error:
        yield Finding(path, f"template: {error.reason}", error.line)


def _unknown_names(
    template: Template, known: frozenset[str], path: tuple[str | int, ...]
) -> Iterator[Finding]:
    for name in sorted(template.names - known):
        yield Finding(path, f"the variable {name} {unknown(name, known)}")


def _parameter_findings(
    template: Template, path: tuple[str | int, ...], scene: Scene
) -> Iterator[Finding]:
    for name, part in sorted(template.attributes):
        if name == "parameters" and part not in scene.parameters:
            known = unknown(part, scene.parameters) if scene.parameters else "is not declared"
            yield Finding(path, f"parameters.{part} {known}")


def _part_findings(template: Template, path: tuple[str | int, ...]) -> Iterator[Finding]:
    for name, part in sorted(template.attributes):
        if name in PARTS and part not in PARTS[name]:
            yield Finding(path, f"{name}.{part} {unknown(part, PARTS[name])}")


def _input_findings(
    template: Template, stage: Stage, path: tuple[str | int, ...]
) -> Iterator[Finding]:
    for name, part in sorted(template.attributes):
        if name == "inputs" and stage.upstream and part not in stage.upstream:
            yield Finding(path, f"inputs.{part}: add {part!r} to needs, or use one that is there")
