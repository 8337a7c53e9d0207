"""Counting: tokens of a sample of the real texts, where the model's own tokenizer is at hand."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from quire.domain.ids import DocumentId
from quire.domain.models import ModelFacts
from quire.ledger.ledger import Transaction
from quire.plan.sizing import FORECAST_BYTES
from quire.providers.tokenizer import counter

DOCUMENTS, BLOCKS = 40, 25  # of each at most, read for the count


def exactly(tx: Transaction, facts: ModelFacts, inputs: Sequence[DocumentId]) -> ModelFacts:
    """The facts with the tokens that these documents really have; as they were if nobody knows."""
    count = counter(facts)
    if count is None:
        return facts
    size = tokens = 0
    for text in _texts(tx, frozenset(inputs)):
        size += len(text.encode())
        tokens += count(text)
    if not size:
        return facts
    return replace(facts, token_factor=tokens * FORECAST_BYTES / size)


def _texts(tx: Transaction, inputs: frozenset[DocumentId]) -> Iterator[str]:
    wanted = [each for each in tx.documents.all() if each.id in inputs]
    for document in wanted[:: max(1, len(wanted) // DOCUMENTS)][:DOCUMENTS]:
        for block in islice(tx.copies.parsed(document).blocks, BLOCKS):
            yield block.content
