"""Prompt checks: every prompt can be filled in, and every accepts comes out as true or false."""

from collections.abc import Generator, Iterator, Mapping, Sequence

from quire.domain.data import Json, JsonObject
from quire.domain.errors import TemplateFailed, TemplateInvalid
from quire.domain.groupings import Driver
from quire.domain.recipes import Stage
from quire.domain.requests import Role
from quire.planning.template_analysis import ITEM, Path
from quire.planning.template_filters import NotBoolean
from quire.planning.templates import (
    SUBJECT_NAMES,
    Expression,
    Template,
    compile_expression,
    compile_template,
)
from quire.recipes.recipe_problems import KeyPath, Problems, RecipeProblem
from quire.recipes.setting_rules import unknown_message
from quire.recipes.stage_graph import RecipeCheck
from quire.simulated.field_values import read_block_text
from quire.simulated.record_filler import compile_fields

TRIAL_ANSWERS = 16  # enough for every field that may be null to be so in one of them
MOST_ITEMS = 20  # items of a list
PLAIN_GATES = ("json", "rules")  # these leave a record as it was answered
# of no matter to what type comes out
_SIZE_KEYWORDS = ("pattern", "format", "minLength", "maxLength")


def accepts_mistakes(stage: Stage) -> Iterator[str]:
    """Everything wrong with the condition of a critic that decides."""
    try:
        found = compile_expression(stage.accepts)
    except TemplateInvalid as error:
        yield f"accepts cannot be read: {error.reason}"
        return
    if found.names != {"answer"}:
        yield "accepts must be a condition on answer, such as answer.score >= 0.7"
        return
    fields = stage.schema.properties if stage.schema else {}
    parts = sorted(part for _, part in found.attributes)
    missing = [part for part in parts if fields and part not in fields]
    yield from (f"accepts: answer.{part} {unknown_message(part, fields)}" for part in missing)
    if fields and not missing and all(gate.name in PLAIN_GATES for gate in stage.gates):
        yield from _undecidable_mistakes(found, stage.record.record_schema)


def _undecidable_mistakes(condition: Expression, schema: JsonObject) -> Iterator[str]:
    """Try it on records as the critic may answer them; one that always fails is wrong."""
    fill = compile_fields(_limit_sizes(schema))
    failures = []
    for number in range(TRIAL_ANSWERS):
        try:
            condition.holds(fill(read_block_text(f"Sample {number} of an Answer.")))
        except TemplateFailed as error:
            if isinstance(error.__cause__, NotBoolean):
                yield f"accepts: {error.reason}; compare, as in answer.score >= 0.7"
                return
            failures.append(error.reason)
    if len(failures) == TRIAL_ANSWERS:
        yield f"accepts cannot be decided on any answer: {failures[0]}"


def _limit_sizes(schema: JsonObject) -> dict[str, Json]:
    """The same types and fields, without what could make a sample grow large."""
    kept: dict[str, Json] = {key: item for key, item in schema.items() if key not in _SIZE_KEYWORDS}
    least = kept.get("minItems")
    if isinstance(least, int):
        kept["minItems"] = min(least, MOST_ITEMS)
    items, properties = kept.get("items"), kept.get("properties")
    if isinstance(items, Mapping):
        kept["items"] = _limit_sizes(items)
    if isinstance(properties, Mapping):
        kept["properties"] = {
            name: _limit_sizes(item) if isinstance(item, Mapping) else item
            for name, item in properties.items()
        }
    return kept


# of a result that is read
RESULT_PARTS = frozenset({"data", "text", "document", "model", "sample"})


def field_mistakes(
    template: Template, stage: Stage, check: RecipeCheck
) -> Iterator[tuple[str, int]]:
    """What a prompt reads of other stages' results and is never there, with its line."""
    for path, line in sorted(template.readings):
        above, steps = _result_path(path, stage)
        if above not in check.stages or not steps:
            continue
        if message := _list_message(path, stage, check):
            yield message, line
            continue
        result = check.stages[above]
        if message := _wrong_part_message(above, steps) or _wrong_field_message(result, steps):
            yield message, line


def _result_path(path: Path, stage: Stage) -> tuple[str, Sequence[str]]:
    """Whose result is read, and which part of it."""
    if path[0] == "inputs" and len(path) > 1 and path[1] in stage.upstream:
        steps = path[2:]
        return path[1], steps[1:] if steps[:1] == (ITEM,) else steps
    if path[:2] == ("judged", "data") and stage.critic:
        return stage.of, path[1:]
    return "", ()


def _list_message(path: Path, stage: Stage, check: RecipeCheck) -> str:
    """Whether a list is read as if it were one result, or the other way round."""
    if path[0] != "inputs" or len(path) < 3:
        return ""
    name, is_list, as_list = path[1], check.reads_list(stage, path[1]), path[2] == ITEM
    if is_list is None or is_list == as_list:
        return ""
    if is_list:
        loop = f"{{% for each in inputs.{name} %}}{{{{ each.{path[2]} }}}}{{% endfor %}}"
        return f"inputs.{name} is a list here: write {loop}"
    return f"inputs.{name} is one result here, not a list: write inputs.{name}.text"


def _wrong_part_message(above: str, steps: Sequence[str]) -> str:
    if len(steps) > 1 or steps[0] in RESULT_PARTS or steps[0] == ITEM:
        return ""
    return f"{steps[0]} of a result of {above} {unknown_message(steps[0], RESULT_PARTS)}"


def _wrong_field_message(above: Stage, steps: Sequence[str]) -> str:
    """Every path is read with all that lead to it, so only the last step is looked at."""
    if above.schema is None or steps[0] != "data" or len(steps) < 2:
        return ""
    if any(gate.name not in PLAIN_GATES for gate in above.gates):
        return ""  # a plugin's gate may make something else of the record
    place: Json = above.schema.record_schema
    for step in steps[1:-1]:
        place = _subschema(place, step)
    fields = _closed_fields(place)
    if fields is None or steps[-1] in (*fields, ITEM):
        return ""
    return f"{'.'.join(steps)} of {above.name} {unknown_message(steps[-1], fields)}"


def _subschema(schema: Json, step: str) -> Json:
    if not isinstance(schema, Mapping):
        return None
    if step == ITEM:
        return schema.get("items")
    fields = schema.get("properties")
    return fields.get(step) if isinstance(fields, Mapping) else None


def _closed_fields(schema: Json) -> Mapping[str, Json] | None:
    """The fields of a record that can have no others."""
    if not isinstance(schema, Mapping) or schema.get("additionalProperties") is not False:
        return None
    fields = schema.get("properties")
    return fields if isinstance(fields, Mapping) and fields else None


VARIABLE_PARTS: Mapping[str, frozenset[str]] = {  # of the variables whose parts are always the same
    "block": frozenset({"text", "type", "index"}),
    "document": frozenset({"title", "text", "name", "views"}),
    "judged": frozenset({"asked", "system", "answer", "data"}),
}
_ALWAYS_KNOWN = ("parameters", "sample", "model", "part", "critique")
_WHY_MISSING = {  # why a variable that exists elsewhere does not exist here
    "block": "there is no block: tasks are not about blocks",
    "document": "there is no document: tasks are about no single one",
    "documents": "there are no documents: settings = { documents = true } shows them, unless tasks"
    " are about blocks or documents",
    "inputs": "there are no inputs: name the stage it reads in needs",
    "judged": "only critics have judged",
}


def prompt_problems(stage: Stage, number: int, check: RecipeCheck) -> Problems:
    """Everything wrong with a stage's system, prompt and accepts."""
    place = ("stages", number)
    if stage.templated:
        yield from _system_problems(stage, (*place, "system"), check)
        yield from _user_prompt_problems(stage, stage.prompt, (*place, "prompt"), check)
        yield from _history_problems(stage, (*place, "history"), check)
    yield from _relevance_problems(stage, (*place, "relevance"), check)
    if stage.accepts:
        for message in accepts_mistakes(stage):
            yield RecipeProblem((*place, "accepts"), message)


def _system_problems(stage: Stage, path: KeyPath, check: RecipeCheck) -> Problems:
    template = yield from _compile_problems(stage.instructions, path)
    if template is None:
        return
    if named := sorted(template.names & SUBJECT_NAMES):
        yield RecipeProblem(
            path,
            f"system names {', '.join(named)}, which differ from task to task; it may name only"
            " parameters, so that all calls share it: put the rest into prompt",
        )
    yield from _unknown_name_problems(template, frozenset({"parameters"}) | SUBJECT_NAMES, path)
    found = list(_parameter_problems(template, path, check))
    yield from found
    if not named and not found:
        yield from _trial_problems(template, path, check)


def _history_problems(stage: Stage, path: KeyPath, check: RecipeCheck) -> Problems:
    """Everything wrong with what was said before the prompt."""
    if stage.history and stage.history[0].role != Role.USER:
        message = "history must begin with a turn of the user: some vendors refuse any other"
        yield RecipeProblem((*path, 0), message)
    for number, entry in enumerate(stage.history):
        if not entry.inputs:
            place = (*path, number, "content")
            yield from _user_prompt_problems(stage, entry.content, place, check)
        elif entry.inputs not in stage.upstream:
            message = f"{entry.inputs}: add it to needs, or use a stage that is there"
            yield RecipeProblem((*path, number, "inputs"), message)


def _user_prompt_problems(stage: Stage, text: str, path: KeyPath, check: RecipeCheck) -> Problems:
    template = yield from _compile_problems(text, path)
    if template is None:
        return
    known = frozenset(_known_variables(stage, check))
    for name in sorted(template.names & _WHY_MISSING.keys() - known):
        yield RecipeProblem(path, f"{name}: {_WHY_MISSING[name]}")
    yield from _unknown_name_problems(template, known | _WHY_MISSING.keys(), path)
    found = [*_parameter_problems(template, path, check), *_part_problems(template, path)]
    found += _input_problems(template, stage, path)
    found += [RecipeProblem(path, *mistake) for mistake in field_mistakes(template, stage, check)]
    yield from found
    if not template.names & SUBJECT_NAMES and not found:
        yield from _trial_problems(template, path, check)


def _relevance_problems(stage: Stage, path: KeyPath, check: RecipeCheck) -> Problems:
    """Relevance is declared of what may be compressed: documents, and results that are read."""
    shown = {"document", "documents"} & set(_known_variables(stage, check))
    known = frozenset({*stage.upstream, *shown})
    for name in stage.relevance:
        if name not in known:
            message = unknown_message(name, known)
            yield RecipeProblem((*path, name), f"relevance of {name} {message}")


def _known_variables(stage: Stage, check: RecipeCheck) -> Iterator[str]:
    """The variables that a stage's prompt is given."""
    yield from _ALWAYS_KNOWN
    about = check.root_driver(stage)
    if about in (Driver.BLOCK, None):
        yield "block"
    if about in (Driver.BLOCK, Driver.DOCUMENT, None):
        yield "document"
    if check.shows_documents(stage):
        yield "documents"
    if stage.upstream:
        yield "inputs"
    if stage.critic:
        yield "judged"


def _compile_problems(text: str, path: KeyPath) -> Generator[RecipeProblem, None, Template | None]:
    """The compiled template, after what is wrong with it."""
    try:
        return compile_template(text)
    except TemplateInvalid as error:
        yield RecipeProblem(path, f"template: {error.reason}", error.line)
        return None


def _trial_problems(template: Template, path: KeyPath, check: RecipeCheck) -> Problems:
    """Fill in what is the same for all tasks; what fails now would fail for each of them."""
    if not check.complete:
        return
    try:
        template.render({"parameters": dict(check.recipe.parameters)})
    except TemplateFailed as error:
        yield RecipeProblem(path, f"template: {error.reason}", error.line)


def _unknown_name_problems(template: Template, known: frozenset[str], path: KeyPath) -> Problems:
    for name in sorted(template.names - known):
        yield RecipeProblem(path, f"the variable {name} {unknown_message(name, known)}")


def _parameter_problems(template: Template, path: KeyPath, check: RecipeCheck) -> Problems:
    for name, part in sorted(template.attributes):
        if name == "parameters" and part not in check.parameters:
            known = check.parameters
            message = unknown_message(part, known) if known else "is not declared"
            yield RecipeProblem(path, f"parameters.{part} {message}")


def _part_problems(template: Template, path: KeyPath) -> Problems:
    for name, part in sorted(template.attributes):
        if name in VARIABLE_PARTS and part not in VARIABLE_PARTS[name]:
            message = unknown_message(part, VARIABLE_PARTS[name])
            yield RecipeProblem(path, f"{name}.{part} {message}")


def _input_problems(template: Template, stage: Stage, path: KeyPath) -> Problems:
    for name, part in sorted(template.attributes):
        if name == "inputs" and stage.upstream and part not in stage.upstream:
            message = f"add {part!r} to needs, or use one that is there"
            yield RecipeProblem(path, f"inputs.{part}: {message}")
