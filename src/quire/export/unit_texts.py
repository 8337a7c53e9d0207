"""Unit texts: what a document, section or page says that a record is of, and where words stand."""

from typing import NamedTuple

from quire.domain.data import stored_json
from quire.domain.quotes import Quote
from quire.domain.recipes import EACH_BLOCK, EXTRACTION, UNITS, Stage
from quire.export.quote_columns import NOWHERE, QuotePlace, place_in_block
from quire.export.result_selection import ResultSource
from quire.ledger.ledger import Transaction
from quire.ledger.tables.documents import LocatedText
from quire.ledger.tables.results import StageOutcome
from quire.planning.spans import span_of_part

_BETWEEN = "\n\n"  # blocks, as they are sent
_ALL = (0, (1 << 31) - 1)  # blocks of a document


class UnitText(NamedTuple):
    """The blocks of a document, section or page, in order."""

    blocks: tuple[LocatedText, ...]

    @property
    def text(self) -> str:
        """All of it, as it is sent where it fits."""
        return _BETWEEN.join(block.content for block in self.blocks)

    def locate(self, quote: Quote) -> QuotePlace:
        """Where words stand in the source; of what was compressed they were found elsewhere."""
        text = self.text
        start = quote.start if text.startswith(quote.text, quote.start) else text.find(quote.text)
        if start < 0 or not self.blocks:
            return NOWHERE
        whole = self._place_of(start, len(quote.text))
        if whole.start is not None:
            return whole
        first, last = self._place_of(start, 1), self._place_of(start + len(quote.text) - 1, 1)
        if first.start is None or last.end is None:
            return whole
        return QuotePlace.of_range(first.start, last.end)  # it goes on in a later block

    def _place_of(self, start: int, length: int) -> QuotePlace:
        """Where so many characters stand, if they are of one block."""
        before = 0
        for block in self.blocks:
            end = before + len(block.content)
            if start < end:
                return place_in_block(block.locator, block.content, start - before, length)
            before = end + len(_BETWEEN)
        return NOWHERE


def reads_units(source: ResultSource, stage: Stage) -> bool:
    """Whether a schema alone was asked of documents, sections or pages."""
    return source.recipe.name == EXTRACTION and stage.about != EACH_BLOCK and stage.about in UNITS


def read_unit(tx: Transaction, outcome: StageOutcome) -> UnitText | None:
    """What one task is about; some other stage's is about no document."""
    if outcome.document_id is None:
        return None
    first, last = span_of_part(stored_json(outcome.part) or {}) or _ALL
    return UnitText(tuple(tx.documents.located_texts(outcome.document_id, first, last)))
