"""Documents of an experiment: each piece of evidence is one, of one block, word for word."""

from quire.domain.documents import Block, BlockType, Parsed
from quire.domain.ids import conv_uid, source_uid
from quire.kits.judge.experiment import Evidence

TOOL = "quire-evidence/1"
REPRESENTATION = "text_bytes"
_TYPE = "txt"


def document_of(evidence: Evidence) -> Parsed:
    """The document that holds a piece of evidence; equal texts are the same document."""
    raw = evidence.text.encode()
    size = len(evidence.text)
    whole = Block(
        index=0,
        type=BlockType.OTHER,
        content=evidence.text,
        locator={"type": "text_offset_range", "start_offset": 0, "end_offset": size},
    )
    return Parsed(
        source_uid=source_uid(_TYPE, raw),
        source_type=_TYPE,
        source_filesize=len(raw),
        source_total_characters=size,
        source_locator=evidence.url or evidence.title,
        title=evidence.title,
        conv_uid=conv_uid(TOOL, REPRESENTATION, raw),
        parsing_tool=TOOL,
        representation_type=REPRESENTATION,
        blocks=(whole,),
    )
