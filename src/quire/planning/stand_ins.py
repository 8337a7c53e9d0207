"""Stand-ins: values as large as what will be there, so that a prompt can be measured beforehand.

A forecast fills templates in with them: loops, branches and parameters then count for what they
will be, and not for how they are written. What a template does with values beyond that is its own
affair; where a stand-in does not suit it, the forecast goes by the template's own size.
"""

from collections.abc import Mapping, Sequence

from quire.domain.data import Json
from quire.domain.ids import TaskId
from quire.domain.recipes import Stage
from quire.domain.requests import RequestKind
from quire.domain.tasks import SubjectRow
from quire.planning.prompt_variables import PromptAnswer, PromptDocument, PromptResult
from quire.planning.token_estimates import (
    ITEM_TEXT,
    ITEMS,
    RUBRIC,
    SHORT_TEXT,
    kinds_of,
    text_length,
)

TITLE = "A document's title"
_WORD = "filler "
_PLAIN_VALUES: Mapping[str, Json] = {"boolean": True, "integer": 100, "number": 0.55, "null": None}
CRITERIA, CRITERION, LABEL = 4, 28, 12  # of a stage of a rubric: how many, bytes of each


MOST_ITEMS = 1000  # of a list, though a schema may ask for more than anybody could write


def filler(size: float) -> str:
    """Text of so many bytes."""
    count = max(0, round(size))
    return (_WORD * (count // len(_WORD) + 1))[:count]


def document_stand_in(size: float, views: Mapping[str, float]) -> PromptDocument:
    """A document of so many bytes, and views of it of so many."""
    made = {name: filler(bytes_) for name, bytes_ in views.items()}
    return PromptDocument(title=TITLE, name=TITLE, text=filler(size), views=made)


def result_stand_in(stage: Stage, size: float) -> PromptResult:
    """A typical result of a stage: a record of its schema, or text of so many bytes."""
    return PromptResult(data=typical_data(stage, size), document=TITLE, model=TITLE)


def judged_stand_in(stage: Stage, asked: float, system: str, answer: float) -> PromptAnswer:
    """What a critic is shown of a typical result."""
    data = typical_data(stage, answer)
    return PromptAnswer(asked=filler(asked), system=system, answer=filler(answer), data=data)


def row_stand_in(content: float | None, sample: int) -> SubjectRow:
    """A task, about a block of so many bytes if it is about one."""
    return SubjectRow(
        id=TaskId(0),
        version=1,
        calls=0,
        pack_cap=0,
        output_floor=0,
        next_kind=RequestKind.ANSWER,
        error=None,
        model_no=0,
        sample=sample,
        part=None,
        block_index=0,
        block_type=None if content is None else "paragraph",
        content=None if content is None else filler(content),
        document_id=None,
        judged_result_id=None,
    )


def typical_data(stage: Stage, size: float) -> Json:
    """The data of a typical result."""
    if stage.schema is not None:
        return _typical_value("", stage.schema.record_schema)
    stages = [
        {"label": filler(LABEL), "criteria": [filler(CRITERION)] * CRITERIA}
        for _ in range(rubric_size(stage))
    ]
    return {"text": filler(size), "stages": stages}


def rubric_size(stage: Stage) -> int:
    """How many stages the rubric has that a stage asks for; 0 where it asks for none."""
    for gate in stage.gates:
        size = gate.params.get("scale_size")
        if gate.params.get("kind") == RUBRIC and isinstance(size, int):
            return size
    return 0


def _typical_value(key: str, field: Json, text: int = SHORT_TEXT) -> Json:
    """A value that a field may have, of the size that it typically has."""
    if not isinstance(field, Mapping):
        return filler(text)
    choices, properties = field.get("enum"), field.get("properties")
    if isinstance(choices, Sequence) and choices and not isinstance(choices, str):
        return choices[0]
    if isinstance(properties, Mapping):
        return {name: _typical_value(name.lower(), item) for name, item in properties.items()}
    kind = next((name for name in kinds_of(field) if name != "null"), "string")
    if kind == "array":
        least = field.get("minItems")
        count = max(ITEMS, min(MOST_ITEMS, least) if isinstance(least, int) else 0)
        return [_typical_value(key, field.get("items"), ITEM_TEXT)] * count
    if kind in _PLAIN_VALUES:
        return _PLAIN_VALUES[kind]
    return filler(text_length(key, field, text))
