"""Frames: a run's results as flat rows that all have the same columns."""

from quire.domain.data import Json
from quire.domain.ids import RunId
from quire.export.choosing import ALL, check_only, chosen, each_block_once, source_of
from quire.export.rows import flat_blocks
from quire.export.stages import flat_tasks
from quire.ledger.ledger import Ledger


def flat_rows(
    ledger: Ledger, run: RunId, only: str = "all", stage: str | None = None
) -> list[dict[str, Json]]:
    """One flat mapping a block, or a task where a stage is not about blocks; `stage` may be all."""
    check_only(only)
    with ledger.snapshot() as tx:
        source = source_of(tx, run)
        if stage == ALL:
            every = (flat_tasks(tx, source, each, only) for each in source.recipe.stages)
            return _aligned([row for rows in every for row in rows])
        wanted = chosen(source.recipe, stage)
        told = flat_blocks if each_block_once(wanted) else flat_tasks
        return _aligned(list(told(tx, source, wanted, only)))


def _aligned(rows: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """The rows with all columns that any of them has; None where one has no value."""
    columns = dict.fromkeys(name for row in rows for name in row)
    if all(len(row) == len(columns) for row in rows):
        return rows
    return [{name: row.get(name) for name in columns} for row in rows]
