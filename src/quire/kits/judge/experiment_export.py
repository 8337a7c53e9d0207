"""Exports of experiments: their tables and the messages behind them, in a folder of typed files."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from quire.domain.data import Json
from quire.domain.ids import RunId
from quire.engine import (
    Engine,
    FlatTable,
    WrittenFolder,
    check_table_format,
    table_file,
    write_table_folder,
)
from quire.kits.judge.experiment import ExperimentRows
from quire.kits.judge.experiment_runs import read_rows, typed_tables

EXPORT_SCHEMA_VERSION = 5
CSV = "csv"


class ExperimentExport(NamedTuple):
    """What was exported, and what became of the folder."""

    rows: ExperimentRows
    written: WrittenFolder


def export_experiment(
    engine: Engine, run: RunId, folder: str | Path, form: str = CSV
) -> ExperimentExport:
    """Write the tables of an experiment's run into a folder, as CSV or Parquet files."""
    check_table_format(form)
    with engine.queries.outcomes(run) as found:
        rows = read_rows(found, engine.runtime.now())
        tables = {**typed_tables(rows), **found.tables}
        return ExperimentExport(rows, write_tables(rows, tables, folder, form))


def write_tables(
    rows: ExperimentRows, tables: Mapping[str, FlatTable], folder: str | Path, form: str = CSV
) -> WrittenFolder:
    """Write tables, and a manifest that says which experiment they are of."""
    files = [table_file(name, table, form) for name, table in tables.items()]
    return write_table_folder(str(folder), files, _facts(rows), rows.updated_at)


def _facts(rows: ExperimentRows) -> dict[str, Json]:
    return {
        "export_schema_version": EXPORT_SCHEMA_VERSION,
        "experiment_tag": rows.experiment.experiment_tag,
        "task_type": rows.experiment.task_type,
        "run_id": rows.run_id,
        "status": rows.status,
    }
