"""Bundles: a folder with a flat CSV file a table and a manifest, of results and of the ledger."""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.export.column_types import TEXT, Column
from quire.export.delimited import text_lines
from quire.export.file_names import words_in_name
from quire.export.flat_tables import FlatRow, flat_table
from quire.export.result_selection import ALL, ResultSource, RowFilter, choose_stage
from quire.export.table_folders import (
    TableFile,
    csv_file,
    table_file,
    typed_columns,
    write_table_folder,
)
from quire.ledger.ledger import Transaction
from quire.ledger.tables.ledger_views import LEDGER_TABLES, RESPONSES
from quire.ledger.view_scripts import views

ROWS, MESSAGES = "rows", "messages"
TABLES = (ROWS, *LEDGER_TABLES, MESSAGES)
# The messages of a run's calls: request, run, ordinal, role, content.
ReadMessages = Callable[[Transaction, RunId], Iterator[FlatRow]]


class BundleOrder(NamedTuple):
    """What goes into a bundle."""

    folder: str
    chosen: RowFilter
    stage: str | None
    tables: tuple[str, ...]  # of TABLES
    read_messages: ReadMessages
    now: datetime


class BundleReport(NamedTuple):
    """What became of a bundle."""

    rows: int  # of results
    changed: bool


def choose_tables(named: str) -> tuple[str, ...]:
    """Tables by their names, parted by commas; `all` are all."""
    wanted = tuple(name.strip() for name in named.split(",") if name.strip())
    if wanted == (ALL,) or not wanted:
        return TABLES
    unknown = [name for name in wanted if name not in TABLES]
    if unknown:
        raise UsageError(f"--tables takes all, or some of {', '.join(TABLES)}; not {unknown[0]!r}")
    return wanted


def write_bundle(tx: Transaction, source: ResultSource, order: BundleOrder) -> BundleReport:
    """Write the tables of a run, and the manifest after them."""
    facts = _describe(source)
    written = write_table_folder(order.folder, _tables(tx, source, order), facts, order.now)
    tables = written.manifest["tables"]
    rows = sum(table["rows"] for table in tables if table["name"].startswith(ROWS))
    return BundleReport(rows, written.changed)


def _describe(source: ResultSource) -> dict[str, Any]:
    schemas = [stage.schema for stage in source.recipe.stages if stage.schema]
    return {
        "run": source.run.id,
        "recipe": source.recipe.name,
        "schemas": [
            {"ref": schema.ref, "version": schema.version, "uid": schema.uid} for schema in schemas
        ],
    }


def _tables(tx: Transaction, source: ResultSource, order: BundleOrder) -> Iterator[TableFile]:
    documented = {view.name.removeprefix("v_"): view.columns for view in views()}
    for name in order.tables:
        if name == ROWS:
            yield from _row_tables(tx, source, order)
            continue
        columns = typed_columns({item.name: item.datatype for item in documented[name]})
        if name == MESSAGES:
            rows = order.read_messages(tx, source.run.id)
        else:
            rows = tx.ledger_views.rows_of_table(name, source.run.id)
        columns += (Column("raw", TEXT),) if name == RESPONSES else ()
        names = [column.name for column in columns]
        yield csv_file(name, columns, partial(text_lines, names, rows, ","))


def _row_tables(tx: Transaction, source: ResultSource, order: BundleOrder) -> Iterator[TableFile]:
    """The rows of a schema as one table; of a recipe those of every stage, or of one."""
    stages = source.recipe.stages
    if order.stage not in (None, ALL):
        stages = (choose_stage(source.recipe, order.stage),)
    for stage in stages:
        found = flat_table(tx, source, stage, order.chosen)
        plain = source.recipe.is_single_schema
        name = ROWS if plain else f"{ROWS}_{words_in_name(stage.name).replace('-', '_')}"
        yield table_file(name, found)
