"""Prompt variables: what a template may say of one task, and the text sent without one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quire.domain.data import Json, JsonObject, canonical_json
from quire.domain.errors import TemplateFailed
from quire.domain.requests import RequestKind
from quire.domain.tasks import SubjectRow

if TYPE_CHECKING:
    from quire.planning.templates import Template

REPAIR_NOTE = (
    "An earlier answer to this was refused, for these reasons:\n{reasons}\n"
    "Answer again, so that none of them holds."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDocument:
    """A document as a prompt shows it."""

    title: str
    name: str
    text: str
    views: Mapping[str, str] = field(default_factory=dict)  # by stage: what was made of it

    def variables(self) -> dict[str, object]:
        """As templates see it."""
        views = {"raw": self.text, **self.views}
        return {"title": self.title, "name": self.name, "text": self.text, "views": views}


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptResult:
    """A result of another stage as a prompt shows it."""

    data: Json
    document: str = ""  # the title of the document it is about
    model: str = ""
    sample: int = 0

    @property
    def text(self) -> str:
        """As text: what was written, or the record as JSON."""
        return result_text(self.data)

    def variables(self) -> dict[str, object]:
        """As templates see it."""
        return {
            "data": self.data,
            "text": self.text,
            "document": self.document,
            "model": self.model,
            "sample": self.sample,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptAnswer:
    """What a critic judges, exactly as it was asked and answered."""

    asked: str
    system: str
    answer: str
    data: Json

    def variables(self) -> dict[str, object]:
        """As templates see it."""
        return {
            "asked": self.asked,
            "system": self.system,
            "answer": self.answer,
            "data": self.data,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """All that is known of one task when it is asked."""

    row: SubjectRow
    parameters: Mapping[str, Json]
    model: str
    part: JsonObject = field(default_factory=dict)
    document: PromptDocument | None = None
    documents: Sequence[PromptDocument] = ()
    inputs: Mapping[str, PromptResult | Sequence[PromptResult]] = field(default_factory=dict)
    of: str = ""  # the stage whose result it is about
    judged_answer: PromptAnswer | None = None

    @property
    def critique(self) -> str:
        """Why an earlier answer was refused, if this is to mend it."""
        return (self.row.error or "") if self.row.next_kind == RequestKind.REPAIR else ""


def result_text(data: Json) -> str:
    """A result as text: what was written, or the record as JSON."""
    if isinstance(data, Mapping) and isinstance(data.get("text"), str):
        return str(data["text"])
    return canonical_json(data)


def template_variables(material: Material) -> dict[str, object]:
    """Name what a template may use; what there is none of is left out, so that using it fails."""
    row = material.row
    known: dict[str, object] = {
        "parameters": dict(material.parameters),
        "sample": row.sample,
        "model": material.model,
        "part": dict(material.part),
        "critique": material.critique,
        "inputs": {name: _result_variables(read) for name, read in material.inputs.items()},
        "documents": [document.variables() for document in material.documents],
    }
    if row.content is not None:
        known["block"] = {"text": row.content, "type": row.block_type, "index": row.block_index}
    if material.document is not None:
        known["document"] = material.document.variables()
    if material.judged_answer is not None:
        known["judged"] = material.judged_answer.variables()
    return known


def subject_text(material: Material) -> str:
    """The text of what a task is about, for a prompt that does not say where it goes."""
    if material.judged_answer is not None:
        return material.judged_answer.answer
    if material.of:
        read = material.inputs.get(material.of)
        if read is None:
            raise TemplateFailed(f"there is no result of {material.of} to speak of")
        return "\n\n".join(result.text for result in _as_list(read))
    if material.row.content is not None:
        return material.row.content
    if material.document is not None:
        return material.document.text
    texts = [document.text for document in material.documents]
    texts += [result.text for read in material.inputs.values() for result in _as_list(read)]
    return "\n\n".join(texts)


def task_content(material: Material, item: "Template | None", prompt: str, *, records: bool) -> str:
    """What is sent of one task: an item's content, or the whole message where answers are text."""
    if item is not None:
        text = item.render(template_variables(material))
        known = "critique" in item.names
    else:
        text = subject_text(material)
        text = text if records or not prompt else f"{prompt}\n\n{text}"
        known = False
    if material.critique and not known and not records:
        text = f"{text}\n\n{repair_note(material.critique)}"
    return text


def repair_note(reasons: str) -> str:
    """Why an earlier answer did not do; of records it stands before the items, not in them."""
    return REPAIR_NOTE.format(reasons=reasons)


def _as_list(read: PromptResult | Sequence[PromptResult]) -> Sequence[PromptResult]:
    return [read] if isinstance(read, PromptResult) else read


def _result_variables(read: PromptResult | Sequence[PromptResult]) -> object:
    if isinstance(read, PromptResult):
        return read.variables()
    return [result.variables() for result in read]
