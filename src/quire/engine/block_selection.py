"""Block selection: a schema is asked of blocks of some types only."""

from collections.abc import Sequence

from quire.domain.documents import BlockType
from quire.domain.errors import UsageError
from quire.domain.ids import DocumentId
from quire.domain.recipes import EACH_BLOCK, UNITS, Recipe
from quire.ledger.ledger import Ledger
from quire.pipeline.commands.start import BlockSample

_KNOWN = tuple(kind.value for kind in BlockType)


def read_block_types(typed: Sequence[str]) -> tuple[str, ...]:
    """Types of blocks, each once: given several times, or with commas between them."""
    names = [name.strip() for text in typed for name in text.split(",")]
    strange = [name for name in names if name not in _KNOWN]
    if strange:
        raise UsageError(f"there is no type of block {strange[0]!r}; types: {', '.join(_KNOWN)}")
    return tuple(sorted(set(names)))


def select_blocks(
    ledger: Ledger, recipe: Recipe, documents: Sequence[DocumentId], typed: Sequence[str]
) -> BlockSample | None:
    """The blocks of some types; None where nobody asked for that."""
    if not typed:
        return None
    if recipe.unit != UNITS[EACH_BLOCK]:
        raise UsageError("types of blocks go with a schema that is asked of every block")
    types = read_block_types(typed)
    ordinals = {document: ordinal for ordinal, document in enumerate(documents)}
    with ledger.snapshot() as tx:
        found = tx.documents.blocks_of_types(list(documents), types)
    if not found:
        raise UsageError(f"these documents have no block of type {' or '.join(types)}")
    return BlockSample(tuple((ordinals[document], index) for document, index in found), types=types)
