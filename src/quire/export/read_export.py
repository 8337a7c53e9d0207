"""Read exports back: files of rows become pandas frames with the types and texts they had."""

import json
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

from quire.domain.errors import NotFound, UsageError
from quire.export.column_types import ColumnKind
from quire.export.data_frames import JSON_NOTE, import_packages
from quire.export.delimited import METADATA_ENDING, kind_of_datatype, rearm
from quire.export.export_targets import is_remote, open_store, remote_errors
from quire.export.table_folders import MANIFEST

_NO_VALUE = {"keep_default_na": False, "na_values": [""]}  # "NA" is a country


def read_export(path: str | Path) -> Any:
    """A CSV, TSV, Parquet or XLSX file that Quire wrote, as a pandas frame with its own types.

    Numbers that may be missing are `Int64` and `boolean`, moments are in UTC, lists and records
    are Python's, and what was written so that no sheet runs it is as it was. Of a bundle, a folder,
    they are all its tables by name.
    """
    path = str(path)
    import_packages("read_export", ["pandas"], "pip install pandas")
    if path.endswith("/") or Path(path).is_dir():
        return _read_bundle(path.rstrip("/"))
    ending = PurePosixPath(path).suffix.lower()
    if ending not in _READERS:
        known = ", ".join(_READERS)
        raise UsageError(f"{path}: read_export reads {known}", "JSON lines: pandas.read_json")
    return _READERS[ending](path)


def read_bytes(path: str) -> bytes:
    """What is at a path or an address."""
    if is_remote(path):
        with remote_errors(path):
            store, name = open_store(path)
            found: bytes = store.cat_file(name)
            return found
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise NotFound(f"{path}: there is no such file") from None


def _read_delimited(path: str) -> Any:
    import pandas

    described = json.loads(read_bytes(path + METADATA_ENDING))
    columns = described["tableSchema"]["columns"]
    kinds = {column["name"]: kind_of_datatype(column["datatype"]) for column in columns}
    delimiter = described["dialect"]["delimiter"]
    file = BytesIO(read_bytes(path))
    frame = pandas.read_csv(file, sep=delimiter, dtype="string", **_NO_VALUE)
    return typed_frame(frame, kinds)


def _read_bundle(folder: str) -> dict[str, Any]:
    import pandas

    frames = {}
    for table in json.loads(read_bytes(f"{folder}/{MANIFEST}"))["tables"]:
        if table["file"].endswith(".parquet"):
            frames[table["name"]] = _read_parquet(f"{folder}/{table['file']}")
            continue
        kinds = {
            column["name"]: kind_of_datatype(column["datatype"]) for column in table["columns"]
        }
        file = BytesIO(read_bytes(f"{folder}/{table['file']}"))
        frame = pandas.read_csv(file, dtype="string", **_NO_VALUE)
        frames[table["name"]] = typed_frame(frame, kinds)
    return frames


def _read_parquet(path: str) -> Any:
    """Nullable numbers and texts stay what they are, without a value too."""
    import_packages("read_export", ["pyarrow"], "pip install 'quire[frames]'")
    import pandas
    import pyarrow
    from pyarrow import parquet

    table = parquet.read_table(pyarrow.BufferReader(read_bytes(path)))
    kinds = {
        pyarrow.int64(): pandas.Int64Dtype(),
        pyarrow.bool_(): pandas.BooleanDtype(),
        pyarrow.string(): pandas.StringDtype(),
    }
    frame = table.to_pandas(types_mapper=kinds.get)
    for field in table.schema:
        if pyarrow.types.is_nested(field.type):
            frame[field.name] = pandas.Series(table[field.name].to_pylist(), dtype="object")
        elif (field.metadata or {}).items() >= JSON_NOTE.items():
            frame[field.name] = _to_objects(frame[field.name])
        elif pyarrow.types.is_date(field.type):
            frame[field.name] = _to_dates(frame[field.name])
    return frame


def _read_xlsx(path: str) -> Any:
    import_packages("read_export", ["openpyxl"], "pip install 'quire[files]'")
    import pandas

    sheets = pandas.read_excel(
        BytesIO(read_bytes(path)), sheet_name=None, dtype="string", **_NO_VALUE
    )
    described = sheets["columns"]
    kinds = {name: kind_of_datatype(kind) for name, kind in described.itertuples(index=False)}
    return typed_frame(sheets["rows"], kinds, armed=False)


def typed_frame(frame: Any, kinds: Mapping[str, ColumnKind], *, armed: bool = True) -> Any:
    """A frame of texts with the types of its columns; text where some value is of no such type.

    `armed`: texts were written so that no sheet runs them.
    """
    for name, kind in kinds.items():
        try:
            if kind is not ColumnKind.TEXT:
                frame[name] = _CONVERTERS[kind](frame[name])
                continue
        except (TypeError, ValueError):
            pass
        if armed:
            frame[name] = frame[name].map(rearm, na_action="ignore").astype("string")
    return frame


def _to_booleans(series: Any) -> Any:
    truth = {"true": True, "false": False}
    return series.str.lower().map(truth, na_action="ignore").astype("boolean")


def _to_objects(series: Any) -> Any:
    import pandas

    values = [None if value is pandas.NA else json.loads(rearm(value)) for value in series]
    return pandas.Series(values, index=series.index, dtype="object")


def _to_moments(series: Any) -> Any:
    import pandas

    found = pandas.to_datetime(series, utc=True, format="ISO8601")
    return found.astype("datetime64[us, UTC]")


def _to_dates(series: Any) -> Any:
    import pandas

    return pandas.to_datetime(series, format="ISO8601").astype("datetime64[us]")


def _to_integers(series: Any) -> Any:
    return series.astype("Int64")


def _to_numbers(series: Any) -> Any:
    return series.astype("float64")


_CONVERTERS: Mapping[ColumnKind, Callable[[Any], Any]] = {
    ColumnKind.INTEGER: _to_integers,
    ColumnKind.NUMBER: _to_numbers,
    ColumnKind.BOOLEAN: _to_booleans,
    ColumnKind.DATE: _to_dates,
    ColumnKind.MOMENT: _to_moments,
    ColumnKind.JSON: _to_objects,
}
_READERS: Mapping[str, Callable[[str], Any]] = {
    ".csv": _read_delimited,
    ".tsv": _read_delimited,
    ".parquet": _read_parquet,
    ".xlsx": _read_xlsx,
}
