"""A result's data: text is cut as Markdown is, anything else is one block of readable JSON.

Two results may say the same, and a file may say it too; each is a document of its own, because what
comes from it must lead back to where it came from. So the name of the conversion holds the result.
"""

from typing import NamedTuple

from quire.domain.data import Json, mend_text, readable_json, text_of_result
from quire.domain.documents import Block, BlockType, ParsedDocument
from quire.domain.errors import SourceUnreadable
from quire.domain.ids import ResultId, RunId, conv_uid, source_uid
from quire.domain.source_formats import SourceFormat
from quire.sources import markdown
from quire.sources.source_naming import Naming, naming_of
from quire.sources.text import offset_range

TOOL = "quire-result/1"
JSON_TYPE, JSON_REPRESENTATION = "json", "json_text"


class ResultOrigin(NamedTuple):
    """Which result it is, and who wrote it."""

    run: RunId
    stage: str
    model: str
    result: ResultId

    @property
    def title(self) -> str:
        """Its name for a person."""
        return f"{self.stage} by {self.model}, result {self.result}"

    @property
    def locator(self) -> str:
        """Where it is found again."""
        return f"run:{self.run}/{self.stage}/{self.result}"


def read_result(origin: ResultOrigin, data: Json) -> ParsedDocument:
    """A result as a source; one that holds nothing but white space is refused."""
    text = text_of_result(data)
    is_text = text is not None
    text = mend_text(readable_json(data) if text is None else text)
    blocks = markdown.read_text(text).blocks if is_text else (_json_block(text),)
    if not blocks:
        raise SourceUnreadable(f"{origin.locator}: is empty: it holds only white space")
    naming = Naming(JSON_TYPE, "", JSON_REPRESENTATION)
    if is_text:
        naming = naming_of(SourceFormat.MARKDOWN)
    kind, representation = naming.source_type, naming.representation_type
    tool = f"{TOOL};result={origin.result}" + (f";{naming.parsing_tool}" if is_text else "")
    raw = text.encode()
    return ParsedDocument(
        source_uid=source_uid(kind, raw),
        source_type=kind,
        source_filesize=len(raw),
        source_total_characters=len(text),
        source_locator=origin.locator,
        title=origin.title,
        conv_uid=conv_uid(tool, representation, raw),
        parsing_tool=tool,
        representation_type=representation,
        blocks=blocks,
        result_id=origin.result,
    )


def _json_block(text: str) -> Block:
    return Block(index=0, type=BlockType.OTHER, content=text, locator=offset_range(0, len(text)))
