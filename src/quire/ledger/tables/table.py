"""What every table can: run statements for its workspace, and move rows by compare-and-set.

A row changes state in one way only: source and target are taken from the lifecycle. They are bound
as plain text, because for a member of an enum SQLite's driver looks for an adapter each time.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from quire.domain.data import to_named_tuples
from quire.domain.errors import IllegalMove, LedgerError
from quire.domain.ids import WorkspaceId
from quire.domain.states import Lifecycle, MoveT, StateT
from quire.ledger.connection import Connection, Row

Value = TypeVar("Value")
NamedRow = TypeVar("NamedRow", bound=tuple[object, ...])


class Table:
    """One noun's rows, in one transaction, of one workspace."""

    def __init__(self, connection: Connection, workspace: WorkspaceId) -> None:
        """Work in one transaction, for one workspace."""
        self._connection = connection
        self._workspace = workspace

    def _run(self, name: str, /, **values: object) -> list[Row]:
        return self._connection.run(name, workspace=self._workspace, **values)

    def _change(self, name: str, /, **values: object) -> int:
        return self._connection.change(name, workspace=self._workspace, **values)

    def _count(self, name: str, /, **values: object) -> int:
        """Carry out a statement that returns one number."""
        count: int = self._run(name, **values)[0][0]
        return count

    def _column(self, name: str, /, **values: object) -> list[Any]:
        """The first column of what a statement returns."""
        return [row[0] for row in self._run(name, **values)]

    def _one(self, read: Callable[[Row], Value], name: str, /, **values: object) -> Value | None:
        """The first row that a statement returns, read; None if there is none."""
        rows = self._run(name, **values)
        return read(rows[0]) if rows else None

    def _list(self, kind: type[NamedRow], name: str, /, **values: object) -> list[NamedRow]:
        """What a statement returns, its columns named; a state in it stays the text it is."""
        return to_named_tuples(kind, self._run(name, **values))

    def _move(
        self,
        statement: str,
        lifecycle: Lifecycle[StateT, MoveT],
        name: MoveT,
        sources: Iterable[StateT] | None = None,
        **values: object,
    ) -> list[tuple[StateT, list[Row]]]:
        """Make a move from each allowed source state; returns what moved, source by source."""
        target = str(lifecycle.targets[name])
        return [
            (source, self._run(statement, target=target, source=str(source), **values))
            for source in allowed_sources(lifecycle, name, sources)
        ]

    def _move_group(
        self,
        statement: str,
        lifecycle: Lifecycle[StateT, MoveT],
        name: MoveT,
        source: StateT,
        ids: Sequence[int],
    ) -> None:
        """Make a move with rows that this transaction read in one state, and nobody else can have.

        The statement does not say who moved, which would cost as much as the move itself: all must.
        """
        if not ids:
            return
        allowed_sources(lifecycle, name, [source])
        target = str(lifecycle.targets[name])
        moved = self._connection.change(statement, ids=ids, source=str(source), target=target)
        if moved != len(ids):
            raise LedgerError(f"{len(ids) - moved} {lifecycle.noun}s to {name} were not {source}")


def allowed_sources(
    lifecycle: Lifecycle[StateT, MoveT], name: MoveT, sources: Iterable[StateT] | None
) -> Sequence[StateT]:
    """Take the move's own sources, or the caller's narrower ones if the lifecycle allows them."""
    allowed = lifecycle.sources[name]
    if sources is None:
        return allowed
    wanted = tuple(sources)
    for source in wanted:
        if source not in allowed:
            raise IllegalMove(f"a {lifecycle.noun} cannot {name} when it is {source}")
    return wanted
