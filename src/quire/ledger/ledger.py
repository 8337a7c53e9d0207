"""The ledger: open it, and work in transactions whose tables speak domain values."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property

from quire.domain.errors import LedgerError
from quire.domain.ids import LOCAL, WorkspaceId
from quire.ledger.connection import Connection, Database
from quire.ledger.sqlite import SqliteDatabase
from quire.ledger.statements import migrations
from quire.ledger.tables.access import Access
from quire.ledger.tables.attempts import Attempts
from quire.ledger.tables.audits import Audits
from quire.ledger.tables.batches import Batches
from quire.ledger.tables.checks import Checks
from quire.ledger.tables.controls import Controls
from quire.ledger.tables.credentials import Credentials
from quire.ledger.tables.critiques import Critiques
from quire.ledger.tables.documents import Documents
from quire.ledger.tables.embeddings import EmbeddingTable
from quire.ledger.tables.extracts import ExtractTable
from quire.ledger.tables.fallbacks import FallbackTable
from quire.ledger.tables.holds import Events, Holds
from quire.ledger.tables.inbox import Inbox
from quire.ledger.tables.ledger_views import LedgerViews
from quire.ledger.tables.limit_profiles import LimitProfiles
from quire.ledger.tables.limits import LimitLevels, PrefixCaches
from quire.ledger.tables.lineage import Lineage, Subjects
from quire.ledger.tables.list_pages import ListPages
from quire.ledger.tables.origins import Origins
from quire.ledger.tables.pieces import Pieces
from quire.ledger.tables.purges import Purges
from quire.ledger.tables.questions import Questions
from quire.ledger.tables.requests import Requests
from quire.ledger.tables.results import Results
from quire.ledger.tables.reviews import Reviews
from quire.ledger.tables.runs import Runs
from quire.ledger.tables.schemas import Schemas
from quire.ledger.tables.sources import Sources
from quire.ledger.tables.spend import Spend
from quire.ledger.tables.strips import Strips
from quire.ledger.tables.tallies import Tallies
from quire.ledger.tables.tasks import Tasks
from quire.ledger.tables.views import Views
from quire.ledger.tables.wallets import Wallets
from quire.ledger.tables.webhooks import Webhooks
from quire.ledger.tables.workers import Workers


class Transaction:
    """One transaction, with a table for each noun."""

    def __init__(self, connection: Connection, workspace: WorkspaceId) -> None:
        """Give every table the same connection and workspace."""
        self.connection, self.workspace = connection, workspace
        self.documents, self.sources = (
            Documents(connection, workspace),
            Sources(connection, workspace),
        )
        self.schemas = Schemas(connection, workspace)
        self.runs = Runs(connection, workspace)
        self.holds = Holds(connection)
        self.events = Events(connection, workspace)
        self.webhooks = Webhooks(connection, workspace)
        self.tallies = Tallies(connection, workspace)
        self.tasks = Tasks(connection, workspace, self.tallies)
        self.lineage = Lineage(connection, workspace, self.tallies)
        self.subjects = Subjects(connection, workspace)
        self.origins = Origins(connection, workspace)
        self.critiques = Critiques(connection, workspace)
        self.controls = Controls(connection, workspace, self.tallies)
        self.requests = Requests(connection, workspace)
        self.attempts = Attempts(connection, workspace)
        self.batches = Batches(connection, workspace)
        self.results = Results(connection, workspace)
        self.credentials = Credentials(connection, workspace)
        self.levels, self.caches = (
            LimitLevels(connection, workspace),
            PrefixCaches(connection, workspace),
        )
        self.fallbacks = FallbackTable(connection, workspace)
        self.extracts, self.embeddings = (
            ExtractTable(connection, workspace),
            EmbeddingTable(connection, workspace),
        )
        self.pieces = Pieces(connection, workspace)
        self.questions = Questions(connection, workspace)
        self.workers, self.wallets = Workers(connection, workspace), Wallets(connection, workspace)
        self.purges = Purges(connection, workspace)
        self.views = Views(connection, workspace)
        self.spend, self.checks = Spend(connection, workspace), Checks(connection, workspace)
        self.notify = connection.notify

    @cached_property
    def inbox(self) -> Inbox:
        """Results in the order in which they want a person."""
        return Inbox(self.connection, self.workspace)

    @cached_property
    def audits(self) -> Audits:
        """Random samples, and what was marked in them."""
        return Audits(self.connection, self.workspace)

    @cached_property
    def reviews(self) -> Reviews:
        """What persons decided, and who is at what."""
        return Reviews(self.connection, self.workspace)

    @property
    def ledger_views(self) -> LedgerViews:
        """A run's part of the ledger, as people's tools see it."""
        return LedgerViews(self.connection, self.workspace)

    @property
    def strips(self) -> Strips:
        """The packs of a run, at a glance."""
        return Strips(self.connection, self.workspace)

    @property
    def limit_profiles(self) -> LimitProfiles:
        """What people say that models allow."""
        return LimitProfiles(self.connection, self.workspace)

    @property
    def access(self) -> Access:
        """Who may ask, and what the workspace decided."""
        return Access(self.connection, self.workspace)

    @property
    def list_pages(self) -> ListPages:
        """Lists, some at a time."""
        return ListPages(self.connection, self.workspace)


class Ledger:
    """The durable truth of one workspace."""

    def __init__(self, database: Database, workspace: WorkspaceId = LOCAL) -> None:
        """Use a database whose tables are up to date."""
        self._database = database
        self.workspace = workspace
        self.url, self.is_new = database.url, database.is_new
        self.dialect = database.dialect
        self._last: Transaction | None = None

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Read, decide, write; all of it or nothing."""
        with self._database.transaction() as connection:
            yield self._tables(connection)

    @contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        """Read one moment, in nobody's way."""
        with self._database.snapshot() as connection:
            yield Transaction(connection, self.workspace)

    def _tables(self, connection: Connection) -> Transaction:
        """Speak through a connection; SQLite has but one that writes, and its tables are kept."""
        known = self._last
        if known is None or known.connection is not connection:
            known = self._last = Transaction(connection, self.workspace)
        return known

    def check_version(self) -> None:
        """Refuse to go on if a newer Quire has changed the tables in the meantime."""
        self._database.migrate(migrations(self.dialect))

    def fail_if_busy(self) -> AbstractContextManager[None]:
        """On this thread, raise LedgerBusy rather than wait until others have written."""
        return self._database.fail_if_busy()

    def wait(self, seconds: float) -> None:
        """Wait for news from another process, at most this long."""
        self._database.wait(seconds)

    def scrub(self) -> None:
        """Overwrite what deleted rows left behind on disk."""
        self._database.scrub()

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()


def open_ledger(
    url: str, *, workspace: WorkspaceId = LOCAL, durable: bool = True, must_exist: bool = False
) -> Ledger:
    """Open a file or a `postgresql://` address, and bring its tables up to date."""
    database: Database
    if url.startswith(("postgresql://", "postgres://")):
        database = _open_postgres(url)
    else:
        path = url.removeprefix("sqlite:///")
        if "\0" in path:
            raise LedgerError(f"{path!r} names no file")
        database = SqliteDatabase(path, durable=durable, must_exist=must_exist)
    try:
        database.migrate(migrations(database.dialect))
    except BaseException:
        database.close()
        raise
    return Ledger(database, workspace)


def _open_postgres(url: str) -> Database:
    try:
        from quire.ledger.postgres import PostgresDatabase  # an optional extra
    except ImportError:
        raise LedgerError(
            "PostgreSQL needs the extra `postgres`: pip install 'quire[postgres]'"
        ) from None
    return PostgresDatabase(url)
