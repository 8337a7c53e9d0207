"""Remote frames: a run's rows, sent as Parquet, become the table that they would be here."""

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any

from quire.domain.errors import UsageError

if TYPE_CHECKING:
    import pyarrow

_PACKAGES = {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow", "hf": "datasets"}
_PANDAS_TYPES = {  # by what Arrow calls a type
    "string": "string",
    "int64": "Int64",
    "double": "float64",
    "bool": "boolean",
    "date32[day]": "datetime64[us]",
    "timestamp[us, tz=UTC]": "datetime64[us, UTC]",
}


def frame_from_parquet(kind: str, content: bytes) -> Any:
    """The table of a Parquet file as a frame: `pandas`, `polars`, `arrow` or `hf`."""
    check_frame(kind)
    from pyarrow import parquet

    return _FROM_ARROW[kind](parquet.read_table(BytesIO(content)))


def check_frame(kind: str) -> None:
    """Refuse a frame whose packages are not here, before anything is fetched."""
    for name in ("pyarrow", _PACKAGES[kind]):
        try:
            import_module(name)
        except ImportError:
            remedy = "pip install 'quire[frames]'" if name == "pyarrow" else f"pip install {name}"
            raise UsageError(f"{kind} needs the package {name}: {remedy}") from None


def _to_pandas(table: "pyarrow.Table") -> Any:
    import pandas

    columns = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        values: list[Any] = column.to_pylist()
        if (field.metadata or {}).get(b"datatype") == b"json":
            values = [value if value is None else json.loads(value) for value in values]
            columns[field.name] = pandas.Series(values, dtype="object")
        else:
            dtype: Any = _PANDAS_TYPES.get(str(field.type), "object")
            columns[field.name] = pandas.Series(values, dtype=dtype)
    return pandas.DataFrame(columns, columns=table.column_names)


def _to_polars(table: "pyarrow.Table") -> Any:
    import polars

    return polars.from_arrow(table)


def _to_dataset(table: "pyarrow.Table") -> Any:
    import datasets

    return datasets.Dataset(table)


_FROM_ARROW: Mapping[str, Callable[["pyarrow.Table"], Any]] = {
    "pandas": _to_pandas,
    "polars": _to_polars,
    "arrow": lambda table: table,
    "hf": _to_dataset,
}
