"""Fields: checks that a prompt names only fields that the records it reads can have."""

from collections.abc import Iterator, Mapping, Sequence

from quire.domain.data import Json
from quire.domain.recipes import Stage
from quire.plan.template_paths import ITEM, Path
from quire.plan.templating import Template
from quire.recipes.deciding import PLAIN_GATES
from quire.recipes.rules import unknown
from quire.recipes.scene import Scene

PARTS = frozenset({"data", "text", "document", "model", "sample"})  # of a result that is read


def field_mistakes(template: Template, stage: Stage, scene: Scene) -> Iterator[tuple[str, int]]:
    """What a prompt reads of other stages' results and is never there, with its line."""
    for path, line in sorted(template.readings):
        above, steps = _result(path, stage)
        if above not in scene.stages or not steps:
            continue
        message = _wrong_part(above, steps) or _wrong_field(scene.stages[above], steps)
        if message:
            yield message, line


def _result(path: Path, stage: Stage) -> tuple[str, Sequence[str]]:
    """Whose result is read, and which part of it."""
    if path[0] == "inputs" and len(path) > 1 and path[1] in stage.upstream:
        steps = path[2:]
        return path[1], steps[1:] if steps[:1] == (ITEM,) else steps
    if path[:2] == ("judged", "data") and stage.critic:
        return stage.of, path[1:]
    return "", ()


def _wrong_part(above: str, steps: Sequence[str]) -> str:
    if len(steps) > 1 or steps[0] in PARTS or steps[0] == ITEM:
        return ""
    return f"{steps[0]} of a result of {above} {unknown(steps[0], PARTS)}"


def _wrong_field(above: Stage, steps: Sequence[str]) -> str:
    """Every path is read with all that lead to it, so only the last step is looked at."""
    if above.schema is None or steps[0] != "data" or len(steps) < 2:
        return ""
    if any(each.name not in PLAIN_GATES for each in above.gates):
        return ""  # a stranger's gate may make something else of the record
    place: Json = above.schema.record_schema
    for step in steps[1:-1]:
        place = _below(place, step)
    fields = _closed_fields(place)
    if fields is None or steps[-1] in (*fields, ITEM):
        return ""
    return f"{'.'.join(steps)} of {above.name} {unknown(steps[-1], fields)}"


def _below(schema: Json, step: str) -> Json:
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
