"""What a prompt may say of one task: the variables of its template, and the text that follows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from quire.domain.data import Json, JsonObject, canonical_json
from quire.domain.errors import TemplateFailed
from quire.domain.lineage import SubjectRow
from quire.domain.requests import Kind
from quire.plan.templating import Template

REFUSED = (
    "An earlier answer to this was refused, for these reasons:\n{reasons}\n"
    "Answer again, so that none of them holds."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
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
class Read:
    """A result of another stage as a prompt shows it."""

    data: Json
    document: str = ""  # the title of the document it is about
    model: str = ""
    sample: int = 0

    @property
    def text(self) -> str:
        """As text: what was written, or the record as JSON."""
        return text_of(self.data)

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
class Judged:
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
    document: Shown | None = None
    documents: Sequence[Shown] = ()
    inputs: Mapping[str, Read | Sequence[Read]] = field(default_factory=dict)
    of: str = ""  # the stage whose result it is about
    judged: Judged | None = None

    @property
    def critique(self) -> str:
        """Why an earlier answer was refused, if this is to mend it."""
        return (self.row.error or "") if self.row.next_kind == Kind.REPAIR else ""


def text_of(data: Json) -> str:
    """A result as text: what was written, or the record as JSON."""
    if isinstance(data, Mapping) and isinstance(data.get("text"), str):
        return str(data["text"])
    return canonical_json(data)


def variables(material: Material) -> dict[str, object]:
    """Name what a template may use; what there is none of is left out, so that using it fails."""
    row = material.row
    known: dict[str, object] = {
        "parameters": dict(material.parameters),
        "sample": row.sample,
        "model": material.model,
        "part": dict(material.part),
        "critique": material.critique,
        "inputs": {name: _shown(read) for name, read in material.inputs.items()},
        "documents": [each.variables() for each in material.documents],
    }
    if row.content is not None:
        known["block"] = {"text": row.content, "type": row.block_type, "index": row.block_index}
    if material.document is not None:
        known["document"] = material.document.variables()
    if material.judged is not None:
        known["judged"] = material.judged.variables()
    return known


def subject_text(material: Material) -> str:
    """The text of what a task is about, for a prompt that does not say where it goes."""
    if material.judged is not None:
        return material.judged.answer
    if material.of:
        read = material.inputs.get(material.of)
        if read is None:
            raise TemplateFailed(f"there is no result of {material.of} to speak of")
        return read.text if isinstance(read, Read) else "\n\n".join(each.text for each in read)
    if material.row.content is not None:
        return material.row.content
    if material.document is not None:
        return material.document.text
    read_all = [each for read in material.inputs.values() for each in _listed(read)]
    return "\n\n".join([*(each.text for each in material.documents), *(e.text for e in read_all)])


def content(material: Material, item: Template | None, prompt: str, *, records: bool) -> str:
    """What is sent of one task: an item's content, or the whole message where answers are text."""
    if item is not None:
        text = item.render(variables(material))
        known = "critique" in item.names
    else:
        text = subject_text(material)
        text = text if records or not prompt else f"{prompt}\n\n{text}"
        known = False
    if material.critique and not known and not records:
        text = f"{text}\n\n{complaint(material.critique)}"
    return text


def complaint(reasons: str) -> str:
    """Why an earlier answer did not do; of records it stands before the items, not in them."""
    return REFUSED.format(reasons=reasons)


def _listed(read: Read | Sequence[Read]) -> Sequence[Read]:
    return [read] if isinstance(read, Read) else read


def _shown(read: Read | Sequence[Read]) -> object:
    if isinstance(read, Read):
        return read.variables()
    return [each.variables() for each in read]
