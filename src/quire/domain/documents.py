"""Documents and blocks: one ingested input, and its smallest addressable pieces. Both immutable."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, TypedDict

from quire.domain.data import Json
from quire.domain.ids import DocumentId, ResultId

FRAME_SOURCE = "frame"  # where the rows of a frame come from, whichever frame it was


class BlockType(StrEnum):
    """What a piece of a document is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    CODE_BLOCK = "code_block"
    TABLE = "table"
    FIGURE = "figure"
    CAPTION = "caption"
    FOOTNOTE = "footnote"
    DIVIDER = "divider"
    HTML_BLOCK = "html_block"
    DEFINITION = "definition"
    CHECKBOX = "checkbox"
    FORM_REGION = "form_region"
    KEY_VALUE_REGION = "key_value_region"
    PAGE_HEADER = "page_header"
    PAGE_FOOTER = "page_footer"
    OTHER = "other"


class Block(NamedTuple):
    """One piece of a document, before the ledger has given it a key."""

    index: int  # type: ignore[assignment]  # nobody asks a block for `tuple.index`
    type: BlockType
    content: str  # the exact source slice where the format allows
    locator: Json  # an object with `type` and where the piece stands in the source
    headings: tuple[str, ...] = ()  # the titles above it, outermost first


class LeftOut(NamedTuple):
    """Something that was found beside the blocks and is in none of them."""

    name: str  # of a file, or of a place in one
    reason: str
    source: str = ""  # the file that it is a part of; empty: it is a file itself
    without_text: bool = False  # a row with nothing in the column that is asked about


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a source is to be read, where its format leaves a choice."""

    text_column: str | None = None  # of rows: what is asked about; None: the whole row
    key_column: str | None = None  # of rows: what names one
    encoding: str | None = None  # of text; None: UTF-8, or what a byte order mark says
    delimiter: str | None = None  # between the cells of csv and tsv; None: found out
    skip_bad_rows: bool = False  # else the first one refuses its file
    ocr: bool = False  # read the pictures of pages that have no text


AS_FOUND = ReadOptions()


class ReadChoices(TypedDict, total=False):
    """The fields of `ReadOptions`, as arguments by name."""

    text_column: str | None
    key_column: str | None
    encoding: str | None
    delimiter: str | None
    skip_bad_rows: bool
    ocr: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """One source read to the end of its identity; its blocks may still be streaming."""

    source_uid: str
    source_type: str  # the ending that most files of its format have
    source_filesize: int
    source_total_characters: int | None  # None where the source is not text
    source_locator: str  # where it was read from
    title: str
    conv_uid: str
    parsing_tool: str  # name and version
    representation_type: str
    blocks: Iterable[Block] = field(repr=False)
    delimiter: str = ""  # what parts the cells of a row, where its ending states another
    result_id: ResultId | None = None  # that it is made of
    options: ReadOptions = AS_FOUND  # that it was read with
    left_out: Sequence[LeftOut] = ()  # of its content; complete once its blocks were read


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One ingested input as the ledger keeps it."""

    id: DocumentId
    source_uid: str
    source_type: str
    source_filesize: int
    source_total_characters: int | None
    source_locator: str
    title: str
    uploaded_at: datetime
    conv_uid: str
    conv_parsing_tool: str
    conv_representation_type: str
    conv_total_blocks: int
    conv_block_type_freq: dict[str, int]
    conv_total_characters: int


def unstored_document(number: int, source: ParsedDocument, now: datetime) -> Document:
    """A source as a document that is in no ledger: its number counts only for the caller."""
    blocks = list(source.blocks)
    return Document(
        id=DocumentId(number),
        source_uid=source.source_uid,
        source_type=source.source_type,
        source_filesize=source.source_filesize,
        source_total_characters=source.source_total_characters,
        source_locator=source.source_locator,
        title=source.title,
        uploaded_at=now,
        conv_uid=source.conv_uid,
        conv_parsing_tool=source.parsing_tool,
        conv_representation_type=source.representation_type,
        conv_total_blocks=len(blocks),
        conv_block_type_freq=dict(Counter(block.type.value for block in blocks)),
        conv_total_characters=sum(len(block.content) for block in blocks),
    )
