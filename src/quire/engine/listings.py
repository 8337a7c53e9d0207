"""Listings: documents, blocks, runs and entries, some at a time, for pages and the HTTP API."""

from typing import NamedTuple

from quire.domain.documents import Document
from quire.domain.errors import NotFound
from quire.domain.ids import DocumentId, RunId
from quire.domain.runs import Run
from quire.domain.wallets import WalletEntry
from quire.engine.context import EngineContext
from quire.engine.json_views.library_views import documents_json
from quire.engine.queries import name_recipe
from quire.ledger.ledger import Transaction
from quire.ledger.tables.list_pages import MarginResult, StoredBlock
from quire.pipeline.commands.wallets import must_get_wallet
from quire.recipes.recipe_snapshots import recipe_from_json

LARGEST_KEY = 2**63 - 1
MOST_RUNS = 20  # about a document, that are named


class ListedDocument(NamedTuple):
    """A document, with a line for each path that it was read from."""

    id: DocumentId
    lines: list[dict[str, object]]

    def as_json(self) -> dict[str, object]:
        """As at its first path, and all of them."""
        return {**self.lines[0], "paths": [line["source_locator"] for line in self.lines]}


class Listings:
    """Pages of what a workspace has."""

    def __init__(self, context: EngineContext) -> None:
        """List what is in the context's ledger."""
        self._context = context

    def documents(self, before: int, limit: int) -> list[ListedDocument]:
        """Documents before one, the newest first."""
        with self._context.ledger.snapshot() as tx:
            return _list_documents(tx, tx.list_pages.documents_before(before, limit))

    def newest_titles(self, most: int) -> list[tuple[DocumentId, str]]:
        """What the newest documents are called."""
        with self._context.ledger.snapshot() as tx:
            return tx.list_pages.newest_titles(most)

    def newest_run_names(self, most: int) -> list[tuple[RunId, str]]:
        """What the newest runs ask, drafts of schemas too: in one statement."""
        return [
            (run.id, name_recipe(recipe_from_json(run.recipe)))
            for run in self.runs(LARGEST_KEY, most, drafts=True)
        ]

    def count_usual(self, most: int) -> tuple[int, int]:
        """How many documents a run is about that does not say, up to so many, and their blocks."""
        with self._context.ledger.snapshot() as tx:
            return tx.list_pages.count_usual(most)

    def document(self, number: int) -> ListedDocument:
        """One document."""
        with self._context.ledger.snapshot() as tx:
            found = tx.list_pages.documents_before(number + 1, 1)
            if not found or found[0].id != number:
                raise NotFound(f"there is no document {number}; `quire documents` lists them")
            return _list_documents(tx, found)[0]

    def blocks(self, document: int, after: int, limit: int) -> list[StoredBlock]:
        """Blocks of a document after one, in order."""
        self.document(document)
        with self._context.ledger.snapshot() as tx:
            return tx.list_pages.blocks_after(DocumentId(document), after, limit)

    def runs_about(self, document: int, limit: int = MOST_RUNS) -> list[RunId]:
        """The newest runs about a document."""
        with self._context.ledger.snapshot() as tx:
            return tx.list_pages.runs_about_document(DocumentId(document), limit)

    def margin(self, document: int, run: int, first: int, last: int) -> list[MarginResult]:
        """What became in a run of some blocks of a document, and of it as a whole."""
        place = DocumentId(document), RunId(run)
        with self._context.ledger.snapshot() as tx:
            whole = tx.list_pages.results_about_document(*place, MOST_RUNS)
            return [*whole, *tx.list_pages.results_beside_blocks(*place, first, last)]

    def runs(self, before: int, limit: int, state: str = "", *, drafts: bool = False) -> list[Run]:
        """Runs before one, the newest first; of one state, or of all."""
        with self._context.ledger.snapshot() as tx:
            return tx.list_pages.runs_before(before, state, limit, drafts=drafts)

    def wallet_entries(self, wallet: str, before: int, limit: int) -> list[WalletEntry]:
        """Entries of a wallet before one, the newest first."""
        with self._context.ledger.snapshot() as tx:
            found = must_get_wallet(tx, wallet)
            return tx.list_pages.entries_before(found.id, before, limit)


def _list_documents(tx: Transaction, found: list[Document]) -> list[ListedDocument]:
    numbers = [document.id for document in found]
    sources, aside = (
        tx.sources.sources_of_documents(numbers),
        tx.list_pages.documents_put_aside(numbers),
    )
    return [
        ListedDocument(document.id, documents_json([document], sources, aside))
        for document in found
    ]
