"""The pages of documents: all of them, and one with its blocks and results in the margin."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import HTMLResponse

from quire.domain.data import stored_json
from quire.domain.states import ReviewState
from quire.engine import Engine
from quire.ledger.tables.list_pages import MarginResult, StoredBlock
from quire.server.access import AccessRole, AskedEngine, Principal, find_principal
from quire.server.json_answers import FIRST, LARGEST, read_cursor, write_cursor
from quire.web.pages import render

router = APIRouter()
DOCUMENTS, BLOCKS = 50, 100  # on a page
LONGEST_BLOCK, LONGEST_VALUE = 20_000, 300  # characters that are shown at once
Number = Annotated[int, Path(ge=1, le=LARGEST)]
Viewer = Annotated[Principal, Depends(find_principal)]


class MarginField(NamedTuple):
    """A field of a result, as text."""

    name: str
    value: str


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
    headings: tuple[str, ...]  # above a heading, and above the first block of a page
    text: str
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
def show_document(
    request: Request,
    principal: Viewer,
    engine: AskedEngine,
    document: Number,
    start: Annotated[int, Query(alias="from", ge=0, le=LARGEST)] = 0,
    run: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
) -> HTMLResponse:
    """Show a document from a block on, with what a run made of it."""
    listed = engine.listings.document(document)
    blocks = engine.listings.blocks(document, start - 1, BLOCKS + 1)
    runs = engine.listings.runs_about(document)
    chosen = run if run is not None else next(iter(runs), None)
    notes = _read_notes(engine, document, chosen, blocks) if chosen else {}
    total = listed.as_json()["conv_total_blocks"]
    return render(
        request,
        "document.html",
        principal,
        document=listed.as_json(),
        blocks=_show_blocks(blocks[:BLOCKS], notes),
        whole=notes.get(-1, ()),
        runs=runs,
        run=chosen,
        start=start,
        next=blocks[BLOCKS].block_index if len(blocks) > BLOCKS else None,
        total=total,
        per_page=BLOCKS,
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


def _show(value: object) -> str:
    """A value of a result in a few words."""
    if value is None:
        return "–"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _show_blocks(
    blocks: Sequence[StoredBlock], notes: Mapping[int, tuple[MarginNote, ...]]
) -> list[ShownBlock]:
    shown: list[ShownBlock] = []
    for block in blocks:
        headings = tuple(map(str, block.headings)) if isinstance(block.headings, list) else ()
        shown.append(
            ShownBlock(
                number=block.block_index,
                kind=block.block_type,
                headings=headings if not shown or block.block_type == "heading" else (),
                text=block.content[:LONGEST_BLOCK],
                hidden=max(0, len(block.content) - LONGEST_BLOCK),
                notes=notes.get(block.block_index, ()),
            )
        )
    return shown
