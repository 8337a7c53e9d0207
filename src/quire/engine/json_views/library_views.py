"""JSON views of what runs read and ask: documents, what became of files, schemas."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from quire.domain.documents import Document
from quire.domain.plain_text import plain_text

if TYPE_CHECKING:
    from quire.domain.ids import DocumentId
    from quire.domain.recipes import Schema
    from quire.domain.sources import Source
    from quire.engine.library import Ingestion


def ingestion_json(ingestion: "Ingestion") -> dict[str, object]:
    """What became of the files of one call."""
    return {
        "documents": [
            {
                **source._asdict(),
                "options": dict(source.options),
                "replaced": [
                    {**item._asdict(), "options": dict(item.options)} for item in source.replaced
                ],
            }
            for source in ingestion.documents
        ],
        "refused": [plain_text(line) for line in ingestion.refused],
        "skipped": ingestion.skipped,
        "left_out": [item._asdict() for item in ingestion.left_out],
    }


def documents_json(
    documents: Sequence[Document],
    sources: "Mapping[DocumentId, Sequence[Source]]",
    aside: "set[DocumentId]",
) -> list[dict[str, object]]:
    """Documents, each path that one was read from for itself."""
    return [
        {
            **asdict(document),
            "title": source.title,
            "source_locator": source.path,
            "options": source.options,
            "aside": document.id in aside,
            "use": source_use(source, aside),
            "read_at": source.read_at,
        }
        for document in documents
        for source in sources.get(document.id, ())
    ]


def source_use(source: "Source", aside: "set[DocumentId]") -> str:
    """Why runs are not about a document unless they name it; "" where they are."""
    if source.retired_at is not None:
        return "replaced"
    return "aside" if source.document_id in aside else ""


def schema_json(schema: "Schema") -> dict[str, object]:
    """A schema's names and fields."""
    fields: Sequence[str] = list(schema.properties)
    return {"ref": schema.ref, "version": schema.version, "uid": schema.uid, "fields": fields}
