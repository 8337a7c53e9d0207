"""Routes about documents: listed, read block by block, uploaded, erased."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from quire.domain.documents import ReadChoices
from quire.engine.json_views.library_views import ingestion_json
from quire.server.access import AccessRole, AskedEngine, requires, site_of
from quire.server.json_answers import (
    FIRST,
    USUAL_ITEMS,
    AnswerShape,
    Body,
    Cursor,
    Limit,
    Number,
    Page,
    Settings,
    answer_json,
    answer_page,
    read_cursor,
)
from quire.server.upload_bodies import FormFiles
from quire.server.upload_folders import upload_folder

router = APIRouter(tags=["documents"])
Word = Annotated[str | None, Query(max_length=200)]


class DocumentShape(AnswerShape):
    """A document of the workspace."""

    id: int = Field(examples=[3])
    title: str = Field(examples=["lease.md"])
    source_type: str = Field(examples=["md"])
    source_locator: str = Field(examples=["upload://lease.md"])
    source_uid: str
    source_filesize: int = Field(description="Bytes.")
    source_total_characters: int | None = Field(description="Null: it is no text.")
    conv_uid: str
    conv_parsing_tool: str
    conv_representation_type: str
    conv_block_type_freq: dict[str, int]
    conv_total_blocks: int
    conv_total_characters: int
    uploaded_at: datetime = Field(description="When it came in.")
    read_at: datetime = Field(description="When it was last read.")
    options: Settings = Field(description="How it was read: what an upload says.")
    aside: bool
    use: str = Field(
        description="Empty: runs are about it; aside or replaced: only those that name it.",
        examples=[""],
    )
    paths: list[str] = Field(description="Every path that it was read from.")


class BlockShape(AnswerShape):
    """A piece of a document."""

    block_index: int
    block_type: str = Field(examples=["paragraph"])
    content: str
    locator: Settings | None = Field(description="Where it stands in the source, by format.")
    headings: list[str]


class UploadShape(AnswerShape):
    """A document that came in."""

    id: int
    title: str
    blocks: int
    new: bool = Field(description="False: it was here already.")


class RefusedFileShape(AnswerShape):
    """A file that did not."""

    name: str
    reason: str


class LeftOutShape(AnswerShape):
    """Something that was found beside the blocks and is in none of them."""

    name: str = Field(description="Of a file, or of a place in one.")
    reason: str
    source: str = Field(description="The file that it is a part of; empty: a file itself.")
    without_text: bool = Field(description="A row with nothing in the column that is asked about.")


class UploadedShape(AnswerShape):
    """What became of the files of one request."""

    documents: list[UploadShape] = Field(description="What came in.")
    refused: list[RefusedFileShape] = Field(description="What did not, and why.")
    skipped: int = Field(description="Files of types that are not read.")
    left_out: list[LeftOutShape] = Field(description="Parts of files that are in no block.")


class PurgedShape(AnswerShape):
    """What was erased with a document."""

    document: int
    title: str
    documents: int
    requests: int
    tasks: int


@router.get(
    "/v1/documents",
    response_model=Page[DocumentShape],
    dependencies=[requires(AccessRole.VIEWER)],
)
def list_documents(
    engine: AskedEngine, cursor: Cursor = None, limit: Limit = USUAL_ITEMS
) -> Response:
    """List documents, the newest first."""
    found = engine.listings.documents(read_cursor(cursor, FIRST), limit + 1)
    return answer_page(found, limit, lambda item: item.id, lambda item: item.as_json())


@router.get(
    "/v1/documents/{document}",
    response_model=DocumentShape,
    dependencies=[requires(AccessRole.VIEWER)],
)
def get_document(engine: AskedEngine, document: Number) -> Response:
    """Show one document."""
    return answer_json(engine.listings.document(document).as_json())


@router.get(
    "/v1/documents/{document}/blocks",
    response_model=Page[BlockShape],
    dependencies=[requires(AccessRole.VIEWER)],
)
def list_blocks(
    engine: AskedEngine, document: Number, cursor: Cursor = None, limit: Limit = USUAL_ITEMS
) -> Response:
    """Read a document, block by block."""
    after = read_cursor(cursor, 0) - 1
    found = engine.listings.blocks(document, after, limit + 1)
    return answer_page(found, limit, lambda block: block.block_index + 1)


@router.post(
    "/v1/documents",
    response_model=UploadedShape,
    status_code=201,
    dependencies=[requires(AccessRole.OPERATOR)],
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "multipart/form-data": {
                    "schema": {
                        "type": "object",
                        "required": ["files"],
                        "properties": {
                            "files": {
                                "type": "array",
                                "items": {"type": "string", "format": "binary"},
                            }
                        },
                    },
                    "example": {"files": ["The Tenant pays a rent of $1,450 a month.\n"]},
                }
            },
        }
    },
)
async def upload_documents(  # noqa: PLR0913 - each is a part of the request
    request: Request,
    engine: AskedEngine,
    *,
    text_column: Word = None,
    key_column: Word = None,
    encoding: Word = None,
    delimiter: Word = None,
    skip_bad_rows: bool = False,
    ocr: bool = False,
    keep: bool = False,
) -> Response:
    """Bring files in; a bad one is refused with a line, the rest go in.

    Files are written to disk while they come. The same name again, with other content, takes the
    place of what it had before, unless `keep` says otherwise.
    """
    choices = ReadChoices(
        text_column=text_column,
        key_column=key_column,
        encoding=encoding,
        delimiter=delimiter,
        skip_bad_rows=skip_bad_rows,
        ocr=ocr,
    )
    with upload_folder() as folder:
        files = await FormFiles(folder).read(request)
        found = await run_in_threadpool(engine.uploads.ingest, files, keep=keep, **choices)
    documents = [
        {"id": item.document_id, "title": item.title, "blocks": item.blocks, "new": item.new}
        for item in found.documents
    ]
    refused = [_refusal(line) for line in found.refused]
    return answer_json(ingestion_json(found) | {"documents": documents, "refused": refused}, 201)


def _refusal(line: str) -> dict[str, str]:
    name, _, reason = line.partition(": ")
    return {"name": name, "reason": reason}


class AsideBody(Body):
    """Whether a document is only for the runs that name it."""

    aside: bool = Field(default=True, examples=[True])


class AsideShape(AnswerShape):
    """How a document stands."""

    document: int
    aside: bool


@router.post(
    "/v1/documents/{document}/aside",
    response_model=AsideShape,
    dependencies=[requires(AccessRole.OPERATOR)],
)
def put_document_aside(engine: AskedEngine, document: Number, asked: AsideBody) -> Response:
    """Put a document aside, so that only runs that name it are about it, or take it back."""
    engine.listings.document(document)
    engine.library.put_aside([str(document)], back=not asked.aside)
    return answer_json({"document": document, "aside": asked.aside})


@router.delete(
    "/v1/documents/{document}",
    response_model=PurgedShape,
    dependencies=[requires(AccessRole.ADMIN)],
)
def purge_document(request: Request, engine: AskedEngine, document: Number) -> Response:
    """Erase a document with its prompts, responses and results, for good; money and counts stay."""
    engine.listings.document(document)
    found, counts = engine.library.purge(str(document))
    site_of(request).answers.forget()
    return answer_json({"document": found.id, "title": found.title, **counts._asdict()})
