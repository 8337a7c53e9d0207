"""Result queries: a run's rows, flat or as a table with typed columns, and the first of them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from quire.dispatch.rare_collections import rare_collections
from quire.domain.data import Json
from quire.domain.ids import RunId
from quire.engine.context import EngineContext
from quire.export.flat_tables import FlatTable, flat_table
from quire.export.result_rows import ExportedBlock, ExportedTask, block_rows, task_rows
from quire.export.result_selection import (
    ALL,
    RowFilter,
    choose_stage,
    find_result_source,
    is_block_by_block,
    row_filter,
)

Since = str | datetime | None  # only what has changed since this moment


class FirstRows(NamedTuple):
    """The first results of a stage: of blocks where it is about every block, else of tasks."""

    stage: str
    fields: tuple[str, ...]
    blocks: list[ExportedBlock] | None = None
    tasks: Sequence[ExportedTask] = ()


class ResultQueries:
    """What is asked about results."""

    def __init__(self, context: EngineContext) -> None:
        """Look at the context's ledger."""
        self._context = context

    def rows(
        self,
        run: RunId,
        only: str = ALL,
        stage: str | None = None,
        since: Since = None,
    ) -> list[dict[str, Json]]:
        """The results of a run's last stage, or of another, as flat rows."""
        with rare_collections(), self.table(run, row_filter(only, since), stage) as table:
            return table.as_mappings()

    @contextmanager
    def table(self, run: RunId, chosen: RowFilter, stage: str | None = None) -> Iterator[FlatTable]:
        """The same with typed columns, to be read while it is open."""
        with self._context.ledger.snapshot() as tx:
            source = find_result_source(tx, run)
            wanted = None if stage == ALL else choose_stage(source.recipe, stage)
            yield flat_table(tx, source, wanted, chosen)

    def sample(
        self,
        run: RunId,
        only: str,
        limit: int,
        stage: str | None = None,
        since: Since = None,
    ) -> FirstRows:
        """The first rows of a run's last stage, or of another: blocks or tasks."""
        chosen = row_filter(only, since)
        with self._context.ledger.snapshot() as tx:
            source = find_result_source(tx, run)
            wanted = choose_stage(source.recipe, stage)
            fields = tuple(wanted.schema.properties) if wanted.schema else ()
            if is_block_by_block(wanted):
                blocks = islice(block_rows(tx, source, wanted, chosen), limit)
                return FirstRows(wanted.name, fields, list(blocks))
            tasks = islice(task_rows(tx, source, wanted, chosen), limit)
            return FirstRows(wanted.name, fields, tasks=list(tasks))
