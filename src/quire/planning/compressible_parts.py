"""Compressible parts: which texts of a prompt may shrink, and what it says with others there.

A text is known by what it says: wherever its text stands in a task's material, its extract takes
its place. What a task is about when that is a block, what a critic judges, and records are never
touched.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from quire.domain.data import Json
from quire.domain.extracts import ShownText, TextKind
from quire.domain.recipes import Stage
from quire.planning.compression import SMALLEST_TEXT, text_hash
from quire.planning.prompt_variables import Material, PromptDocument, PromptResult

Replace = Callable[[str], str]
DOCUMENT, DOCUMENTS = "document", "documents"  # what a declared relevance calls them


def compressible_texts(material: Material, relevance: Mapping[str, float]) -> list[ShownText]:
    """The texts that may shrink, each once; what is short is a part of the prompt."""
    found: dict[str, ShownText] = {}
    for shown in _all_texts(material, relevance):
        if len(shown.text.encode()) >= SMALLEST_TEXT:
            found.setdefault(shown.text, shown)
    return list(found.values())


def _all_texts(material: Material, relevance: Mapping[str, float]) -> Iterator[ShownText]:
    if material.document is not None:
        text, weight = material.document.text, relevance.get(DOCUMENT, 1.0)
        yield ShownText(DOCUMENT, TextKind.DOCUMENT, text, weight)
    for no, document in enumerate(material.documents):
        weight = relevance.get(DOCUMENTS, 1.0)
        yield ShownText(f"{DOCUMENTS}/{no}", TextKind.DOCUMENT, document.text, weight)
    for name, read in material.inputs.items():
        results = [read] if isinstance(read, PromptResult) else read
        for no, result in enumerate(results):
            if _written_text(result.data) is not None:
                weight = relevance.get(name, 1.0)
                yield ShownText(f"{name}/{no}", TextKind.RESULT, result.text, weight)


def with_extracts(material: Material, extracts: Mapping[bytes, str]) -> Material:
    """The same material, with extracts in the place of the texts that they were made of."""
    if not extracts:
        return material

    def shorten(text: str) -> str:
        return extracts.get(text_hash(text), text) if text else text

    own = material.document
    return replace(
        material,
        document=own and _shortened_document(own, shorten),
        documents=[_shortened_document(document, shorten) for document in material.documents],
        inputs={name: _shortened_input(read, shorten) for name, read in material.inputs.items()},
    )


def without_texts(material: Material, texts: Sequence[ShownText]) -> Material:
    """What is left of a task's material: its prompt, without all that may shrink."""
    return with_extracts(material, {text_hash(shown.text): "" for shown in texts})


def asked_words(stage: Stage, content: str) -> str:
    """What a task is asked, in words, for the ranking of passages: the prompt, and its fields."""
    fields = stage.schema.properties if stage.schema is not None else {}
    described = [f"{name} {field.get('description', '')}".strip() for name, field in fields.items()]
    own = stage.prompt if stage.schema is not None else ""
    words = "\n".join(part for part in (own.strip(), content.strip(), *described) if part)
    return words or stage.instructions


def _shortened_document(document: PromptDocument, shorten: Replace) -> PromptDocument:
    views = {name: shorten(text) for name, text in document.views.items()}
    return replace(document, text=shorten(document.text), views=views)


def _shortened_input(
    read: PromptResult | Sequence[PromptResult], shorten: Replace
) -> PromptResult | Sequence[PromptResult]:
    if isinstance(read, PromptResult):
        return _shortened_result(read, shorten)
    return [_shortened_result(result, shorten) for result in read]


def _shortened_result(result: PromptResult, shorten: Replace) -> PromptResult:
    text = _written_text(result.data)
    if text is None or (shorter := shorten(text)) == text:
        return result
    assert isinstance(result.data, Mapping)
    return replace(result, data={**result.data, "text": shorter})


def _written_text(data: Json) -> str | None:
    """What was written, where a result is text and no record."""
    text = data.get("text") if isinstance(data, Mapping) else None
    return text if isinstance(text, str) else None
