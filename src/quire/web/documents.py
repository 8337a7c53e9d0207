"""The pages of documents: all of them, and one with its blocks and results in the margin."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from quire.domain.data import Json, stored_json
from quire.domain.documents import BlockType
from quire.domain.states import ReviewState
from quire.engine import Engine
from quire.ledger.tables.list_pages import MarginResult, StoredBlock
from quire.server.access import AccessRole, AskedEngine, Principal, find_principal
from quire.server.json_answers import FIRST, LARGEST, read_cursor, write_cursor
from quire.web.formatted_text import format_markdown, reads_as_markdown
from quire.web.pages import render

router = APIRouter()
DOCUMENTS, BLOCKS = 50, 100  # on a page
LONGEST_BLOCK, LONGEST_VALUE = 20_000, 300  # characters that are shown at once
MOST_FORMATTED = 200_000  # characters of a page; what is beyond is shown as it is
Number = Annotated[int, Path(ge=1, le=LARGEST)]
Viewer = Annotated[Principal, Depends(find_principal)]


class MarginField(NamedTuple):
    """A field of a result."""

    name: str
    value: Json


class MarginNote(NamedTuple):
    """A result in the margin."""

    task: int
    stage: str
    state: str
    error: str
    fields: tuple[MarginField, ...]


class ShownBlock(NamedTuple):
    """A block as it stands on its page."""

    number: int
    kind: str
    section: tuple[str, ...]  # the headings that a group of blocks stands under, before its first
    text: str
    formatted: Markup | None  # the same, as people read it
    hidden: int  # characters that are too many to be shown at once
    notes: tuple[MarginNote, ...]


@router.get("/documents")
def list_documents(
    request: Request, principal: Viewer, engine: AskedEngine, cursor: str | None = None
) -> HTMLResponse:
    """Show the documents, the newest first, and take more."""
    found = engine.listings.documents(read_cursor(cursor, FIRST), DOCUMENTS + 1)
    shown = found[:DOCUMENTS]
    return render(
        request,
        "documents.html",
        principal,
        documents=[item.as_json() for item in shown],
        cursor=cursor,
        next=write_cursor(shown[-1].id) if len(found) > DOCUMENTS else None,
        may_bring=principal.role >= AccessRole.OPERATOR,
    )


@router.get("/documents/{document}")
def show_document(  # noqa: PLR0913 - each is a part of the request
    request: Request,
    principal: Viewer,
    engine: AskedEngine,
    document: Number,
    *,
    start: Annotated[int, Query(alias="from", ge=0, le=LARGEST)] = 0,
    run: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
    exact: bool = False,
) -> HTMLResponse:
    """Show a document from a block on, with what a run made of it; formatted, or its source."""
    listed = engine.listings.document(document)
    blocks = engine.listings.blocks(document, start - 1, BLOCKS + 1)
    runs = engine.listings.runs_about(document)
    chosen = run if run is not None else next(iter(runs), None)
    notes = _read_notes(engine, document, chosen, blocks) if chosen else {}
    about = listed.as_json()
    kind = str(about["source_type"])
    return render(
        request,
        "document.html",
        principal,
        document=about,
        blocks=_show_blocks(blocks[:BLOCKS], notes, None if exact else kind),
        exact=exact,
        whole=notes.get(-1, ()),
        runs=runs,
        run=chosen,
        start=start,
        next=blocks[BLOCKS].block_index if len(blocks) > BLOCKS else None,
        total=about["conv_total_blocks"],
        per_page=BLOCKS,
        may_bring=principal.role >= AccessRole.OPERATOR,
        may_purge=principal.role >= AccessRole.ADMIN,
    )


def _read_notes(
    engine: Engine, document: int, run: int, blocks: Sequence[StoredBlock]
) -> dict[int, tuple[MarginNote, ...]]:
    first, last = (blocks[0].block_index, blocks[-1].block_index) if blocks else (0, 0)
    notes: dict[int, tuple[MarginNote, ...]] = {}
    for result in engine.listings.margin(document, run, first, last):
        notes[result.block_index] = (*notes.get(result.block_index, ()), _note(result))
    return notes


def _note(result: MarginResult) -> MarginNote:
    data = stored_json(result.data) if result.data else None
    fields = data if isinstance(data, Mapping) else {} if data is None else {"": data}
    reviewed = result.review_state in (ReviewState.APPROVED, ReviewState.EDITED)
    return MarginNote(
        task=result.task_id,
        stage=result.stage,
        state="confirmed" if reviewed else result.state,
        error=result.error or "",
        fields=tuple(MarginField(name, _show(value)) for name, value in fields.items()),
    )


def _show(value: Json) -> Json:
    """A value of a result, or the beginning of a long one as text."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _show_blocks(
    blocks: Sequence[StoredBlock],
    notes: Mapping[int, tuple[MarginNote, ...]],
    source_type: str | None,  # None: nothing is formatted
) -> list[ShownBlock]:
    shown: list[ShownBlock] = []
    left, before = MOST_FORMATTED, tuple[str, ...]()
    sections = [_section_of(block, after) for block, after in pairwise([*blocks, None]) if block]
    for block, section in zip(blocks, sections, strict=True):
        text = block.content[:LONGEST_BLOCK]
        left -= len(text)
        shown.append(
            ShownBlock(
                number=block.block_index,
                kind=block.block_type,
                section=section if section != before else (),
                text=text,
                formatted=_format(block, source_type) if left > 0 else None,
                hidden=max(0, len(block.content) - LONGEST_BLOCK),
                notes=notes.get(block.block_index, ()),
            )
        )
        before = section
    return shown


def _section_of(block: StoredBlock, after: StoredBlock | None) -> tuple[str, ...]:
    """The headings that a block stands under; a heading begins a section of its own."""
    above = _headings(block)
    if block.block_type != BlockType.HEADING:
        return above
    below = _headings(after) if after else ()
    if len(below) == len(above) + 1 and below[: len(above)] == above:
        return below
    return (*above, block.content.strip("#= -\n"))


def _headings(block: StoredBlock) -> tuple[str, ...]:
    return tuple(map(str, block.headings)) if isinstance(block.headings, list) else ()


def _format(block: StoredBlock, source_type: str | None) -> Markup | None:
    if source_type is None:
        return None
    if not reads_as_markdown(source_type, block.block_type, block.content):
        return None
    return format_markdown(block.content[:LONGEST_BLOCK])
