"""Pages of lists: documents, blocks, runs and entries of wallets, from a place on."""

from typing import NamedTuple

from quire.domain.data import stored_json
from quire.domain.documents import Document
from quire.domain.ids import DocumentId, RunId, TaskId, WalletId
from quire.domain.runs import Run
from quire.domain.wallets import WalletEntry
from quire.ledger.stored_values import row_reader
from quire.ledger.tables.table import Table

_to_document = row_reader(Document)
_to_run = row_reader(Run)
_to_entry = row_reader(WalletEntry)


class StoredBlock(NamedTuple):
    """A block of a document, for whoever reads it."""

    block_index: int
    block_type: str
    content: str
    locator: object
    headings: object


class MarginResult(NamedTuple):
    """What became of a block in a stage of a run, as it stands in the margin."""

    block_index: int  # -1: of the document as a whole
    task_id: TaskId
    stage: str
    state: str
    error: str | None
    data: str | None  # JSON
    review_state: str | None


class ListPages(Table):
    """Some of a list at a time, by keys and never by counting rows off."""

    def documents_before(self, before: int, limit: int) -> list[Document]:
        """The next documents, the newest first."""
        rows = self._run("documents_before", before=before, limit=limit)
        return [_to_document(row) for row in rows]

    def newest_titles(self, most: int) -> list[tuple[DocumentId, str]]:
        """What the newest documents are called."""
        return [(row[0], row[1]) for row in self._run("newest_titles", most=most)]

    def count_usual(self, most: int) -> tuple[int, int]:
        """How many documents a run is about that does not say, up to so many, and their blocks."""
        ((documents, blocks),) = self._run("count_usual", most=most)
        return documents, blocks

    def documents_put_aside(self, documents: list[DocumentId]) -> set[DocumentId]:
        """Which of some documents are only for the runs that name them."""
        return set(self._column("documents_put_aside", ids=documents)) if documents else set()

    def blocks_after(self, document: DocumentId, after: int, limit: int) -> list[StoredBlock]:
        """The next blocks of a document."""
        rows = self._run("blocks_after", document=document, after=after, limit=limit)
        return [
            StoredBlock(number, kind, content, stored_json(locator), stored_json(headings))
            for number, kind, content, locator, headings in rows
        ]

    def runs_about_document(self, document: DocumentId, limit: int) -> list[RunId]:
        """The newest runs about a document."""
        return self._column("runs_about_document", document=document, limit=limit)

    def results_beside_blocks(
        self, document: DocumentId, run: RunId, first: int, last: int
    ) -> list[MarginResult]:
        """What became in a run of a document's blocks, from one to another."""
        place = {"document": document, "run": run, "first": first, "last": last}
        return self._list(MarginResult, "results_beside_blocks", **place)

    def results_about_document(
        self, document: DocumentId, run: RunId, limit: int
    ) -> list[MarginResult]:
        """What became in a run of a document as a whole."""
        place = {"document": document, "run": run, "limit": limit}
        return self._list(MarginResult, "results_about_document", **place)

    def runs_before(
        self, before: int, state: str, limit: int, *, drafts: bool = False
    ) -> list[Run]:
        """The next runs, the newest first; of one state, or of all where it is empty."""
        rows = self._run("runs_before", before=before, state=state, limit=limit, drafts=int(drafts))
        return [_to_run(row) for row in rows]

    def entries_before(self, wallet: WalletId, before: int, limit: int) -> list[WalletEntry]:
        """The next entries of a wallet, the newest first."""
        rows = self._connection.run("entries_before", wallet=wallet, before=before, limit=limit)
        return [_to_entry(row) for row in rows]

    def run_of_command(self, command: str) -> RunId | None:
        """The run that a command was about, if it was carried out."""
        return next(iter(self._column("run_of_command", id=command)), None)

    def last_purge(self) -> int:
        """When a document was last erased, in microseconds; 0: never."""
        return self._count("last_purge")
