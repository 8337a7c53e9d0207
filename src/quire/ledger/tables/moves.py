"""The one way a row changes state: compare-and-set, source and target taken from the lifecycle.

States are bound as plain text: for a member of an enum SQLite's driver looks for an adapter each
time.
"""

from collections.abc import Iterable, Sequence

from quire.domain.errors import IllegalMove, LedgerError
from quire.domain.states import Lifecycle, MoveT, StateT
from quire.ledger.connection import Connection, Row


def move_rows(
    connection: Connection,
    statement: str,
    lifecycle: Lifecycle[StateT, MoveT],
    name: MoveT,
    sources: Iterable[StateT] | None = None,
    **values: object,
) -> list[tuple[StateT, list[Row]]]:
    """Make a move from each allowed source state; returns what moved, source by source."""
    target = str(lifecycle.targets[name])
    return [
        (source, connection.run(statement, target=target, source=str(source), **values))
        for source in allowed_sources(lifecycle, name, sources)
    ]


def move_row_group(
    connection: Connection,
    statement: str,
    lifecycle: Lifecycle[StateT, MoveT],
    name: MoveT,
    source: StateT,
    ids: Sequence[int],
) -> None:
    """Make a move with rows that this transaction read in one state, and that nobody else can have.

    The statement does not say who moved, which would cost as much as the move itself: all must.
    """
    if not ids:
        return
    allowed_sources(lifecycle, name, [source])
    target = str(lifecycle.targets[name])
    moved = connection.change(statement, ids=ids, source=str(source), target=target)
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
