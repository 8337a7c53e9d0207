"""The one way a row changes state: compare-and-set, source and target taken from the lifecycle."""

from collections.abc import Iterable, Sequence

from quire.domain.errors import IllegalMove, LedgerError
from quire.domain.states import Lifecycle
from quire.ledger.connection import Connection, Row


def move_rows(
    connection: Connection,
    statement: str,
    lifecycle: Lifecycle,
    name: str,
    sources: Iterable[str] | None = None,
    **values: object,
) -> list[tuple[str, list[Row]]]:
    """Make a move from each allowed source state; returns what moved, source by source."""
    target = lifecycle.targets[name]
    return [
        (source, connection.run(statement, target=target, source=source, **values))
        for source in allowed_sources(lifecycle, name, sources)
    ]


def move_row_group(
    connection: Connection,
    statement: str,
    lifecycle: Lifecycle,
    name: str,
    source: str,
    ids: Sequence[int],
) -> None:
    """Make a move with rows that this transaction read in one state, and that nobody else can have.

    The statement does not say who moved, which would cost as much as the move itself: all must.
    """
    if not ids:
        return
    allowed_sources(lifecycle, name, [source])
    target = lifecycle.targets[name]
    moved = connection.change(statement, ids=ids, source=source, target=target)
    if moved != len(ids):
        raise LedgerError(f"{len(ids) - moved} {lifecycle.noun}s to {name} were not {source}")


def allowed_sources(
    lifecycle: Lifecycle, name: str, sources: Iterable[str] | None
) -> Sequence[str]:
    """Take the move's own sources, or the caller's narrower ones if the lifecycle allows them."""
    allowed = lifecycle.sources[name]
    if sources is None:
        return allowed
    wanted = tuple(sources)
    for source in wanted:
        if source not in allowed:
            raise IllegalMove(f"a {lifecycle.noun} cannot {name} when it is {source}")
    return wanted
