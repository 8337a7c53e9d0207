"""Deciding: checks that what a critic accepts comes out as true or false on its answers."""

from collections.abc import Iterator, Mapping

from quire.domain.data import Json, JsonObject
from quire.domain.errors import TemplateFailed, TemplateInvalid
from quire.domain.recipes import Stage
from quire.plan.template_metering import UNDECIDED
from quire.plan.templating import Expression, compile_expression
from quire.recipes.rules import unknown
from quire.simulated.filling import compile_fields
from quire.simulated.subject import read

SAMPLES = 16  # enough for every field that may be null to be so in one of them
LARGEST = 20  # items of a list
PLAIN_GATES = ("json", "rules")  # these leave a record as it was answered
_DEAR = ("pattern", "format", "minLength", "maxLength")  # of no matter to what type comes out


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
    yield from (f"accepts: answer.{part} {unknown(part, fields)}" for part in missing)
    if fields and not missing and all(each.name in PLAIN_GATES for each in stage.gates):
        yield from _tried(found, stage.record.record_schema)


def _tried(condition: Expression, schema: JsonObject) -> Iterator[str]:
    """Try it on records as the critic may answer them; one that always fails is wrong."""
    fill = compile_fields(_tamed(schema))
    failures = []
    for number in range(SAMPLES):
        try:
            condition.holds(fill(read(f"Sample {number} of an Answer.")))
        except TemplateFailed as error:
            if error.reason.startswith(UNDECIDED):
                yield f"accepts: {error.reason}; compare, as in answer.score >= 0.7"
                return
            failures.append(error.reason)
    if len(failures) == SAMPLES:
        yield f"accepts cannot be decided on any answer: {failures[0]}"


def _tamed(schema: JsonObject) -> dict[str, Json]:
    """The same types and fields, without what could make a sample grow large."""
    kept: dict[str, Json] = {key: each for key, each in schema.items() if key not in _DEAR}
    least = kept.get("minItems")
    if isinstance(least, int):
        kept["minItems"] = min(least, LARGEST)
    items, properties = kept.get("items"), kept.get("properties")
    if isinstance(items, Mapping):
        kept["items"] = _tamed(items)
    if isinstance(properties, Mapping):
        kept["properties"] = {
            name: _tamed(each) if isinstance(each, Mapping) else each
            for name, each in properties.items()
        }
    return kept
