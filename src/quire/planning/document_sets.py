"""Document sets: how many blocks, sections or pages some documents have, and how large they are."""

from collections.abc import Sequence
from typing import NamedTuple

from quire.domain.documents import Document
from quire.planning.stage_counts import InputCount


class DocumentSet(NamedTuple):
    """Some documents, by what matters for sizes."""

    documents: Sequence[Document]
    spans: Sequence[int] | None = None  # bytes of each section or page; None: they are not divided
    types: Sequence[str] = ()  # of blocks that count; none: all do

    @property
    def blocks(self) -> int:
        if self.types:
            found = [document.conv_block_type_freq for document in self.documents]
            return sum(counts.get(kind, 0) for counts in found for kind in self.types)
        return sum(document.conv_total_blocks for document in self.documents)

    @property
    def input_count(self) -> InputCount:
        return InputCount(len(self.sizes), self.blocks)

    @property
    def text(self) -> int:
        return sum(document.conv_total_characters for document in self.documents)

    @property
    def sizes(self) -> Sequence[int]:
        """How large each document, or each part of one, is."""
        whole = [document.conv_total_characters for document in self.documents]
        return whole if self.spans is None else self.spans

    def document_size(self, largest: bool) -> float:
        if largest or not self.sizes:
            return max(self.sizes, default=0)
        return sum(self.sizes) / len(self.sizes)
