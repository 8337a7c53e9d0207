"""Data frames: rows with typed columns become a pandas, polars, Arrow or Hugging Face table.

`make_frame("pandas", columns, rows)` is the one way in. `columns` are what
`schema_columns(schema.properties)` gives; a row is a sequence of JSON values, one for each.
Where a value is not what its column was said to hold, the whole column becomes text (JSON text,
if its values have parts): nothing is lost.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.export.column_types import (
    Column,
    ColumnKind,
    ColumnType,
    DoesNotFitError,
    fit_values,
    widen,
)

if TYPE_CHECKING:
    import pyarrow

# The packages a kind of frame needs, and how to get them.
_PACKAGES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "pandas": (("pandas",), "pip install pandas"),
    "polars": (("polars", "pyarrow"), "pip install polars 'quire[frames]'"),
    "arrow": (("pyarrow",), "pip install 'quire[frames]'"),
    "hf": (("datasets", "pyarrow"), "pip install datasets 'quire[frames]'"),
}

JSON_NOTE = {b"datatype": b"json"}
PANDAS_TYPES: Mapping[ColumnKind, str] = {
    ColumnKind.TEXT: "string",
    ColumnKind.INTEGER: "Int64",
    ColumnKind.NUMBER: "float64",
    ColumnKind.BOOLEAN: "boolean",
    ColumnKind.DATE: "datetime64[us]",
    ColumnKind.MOMENT: "datetime64[us, UTC]",
}


def make_frame(
    kind: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[Json]],
    *,
    categories: bool = False,
) -> Any:
    """Rows as a frame of a kind: `pandas`, `polars`, `arrow` or `hf`.

    With `categories`, a text that is one of a few becomes a category (a dictionary in Arrow).
    """
    if kind not in _PACKAGES:
        raise UsageError(f"a frame is one of {', '.join(_PACKAGES)}, not {kind!r}")
    import_packages(kind, *_PACKAGES[kind])
    by_column = _transpose(columns, rows)
    if kind == "pandas":
        return _pandas_frame(columns, by_column, categories=categories)
    return _FROM_ARROW[kind](arrow_table(columns, by_column, categories=categories))


def import_packages(what: str, names: Sequence[str], remedy: str) -> None:
    """Refuse clearly what needs a package that is not installed."""
    for name in names:
        try:
            import_module(name)
        except ImportError:
            raise UsageError(f"{what} needs the package {name}: {remedy}") from None


def _transpose(columns: Sequence[Column], rows: Iterable[Sequence[Json]]) -> list[Sequence[Json]]:
    found: list[Sequence[Json]] = list(zip(*rows, strict=True))
    return found or [[] for _ in columns]


def _fit_or_widen(column: Column, values: Sequence[Json]) -> tuple[Column, list[Any]]:
    try:
        return column, fit_values(column, values)
    except DoesNotFitError:
        (wider,) = widen([column], column.name)
        return wider, fit_values(wider, values)


def _pandas_frame(
    columns: Sequence[Column], by_column: Sequence[Sequence[Json]], *, categories: bool
) -> Any:
    import pandas

    series = {}
    for column, values in zip(columns, by_column, strict=True):
        if column.type.is_nested:  # lists, records: as Python has them
            series[column.name] = pandas.Series(list(values), dtype="object")
            continue
        fitted, data = _fit_or_widen(column, values)
        dtype: Any = PANDAS_TYPES[fitted.type.kind]
        if categories and fitted.type.choices:
            dtype = pandas.CategoricalDtype(list(fitted.type.choices))
        series[column.name] = pandas.Series(data, dtype=dtype)
    return pandas.DataFrame(series, columns=[column.name for column in columns])


def arrow_table(
    columns: Sequence[Column], by_column: Sequence[Sequence[Json]], *, categories: bool = False
) -> "pyarrow.Table":
    """Columns of values as an Arrow table."""
    import pyarrow

    fields, arrays = [], []
    for column, values in zip(columns, by_column, strict=True):
        fitted, data = _fit_or_widen(column, values)
        kind = arrow_type(fitted.type)
        array = pyarrow.array(data, type=kind)
        if categories and fitted.type.choices:
            array = array.dictionary_encode()
        fields.append(pyarrow.field(column.name, array.type))
        arrays.append(array)
    return pyarrow.table(arrays, schema=pyarrow.schema(fields))


def arrow_schema(columns: Sequence[Column]) -> "pyarrow.Schema":
    """The columns as Arrow names them; text that is JSON says so."""
    import pyarrow

    fields = []
    for name, kind in columns:
        note = JSON_NOTE if kind.kind is ColumnKind.JSON else None
        fields.append(pyarrow.field(name, arrow_type(kind), metadata=note))
    return pyarrow.schema(fields)


def arrow_type(kind: ColumnType) -> "pyarrow.DataType":
    """A type as Arrow names it; what may be anything is JSON text."""
    import pyarrow

    if kind.kind is ColumnKind.LIST and kind.item is not None:
        return pyarrow.list_(arrow_type(kind.item))
    if kind.kind is ColumnKind.RECORD:
        return pyarrow.struct(
            [pyarrow.field(name, arrow_type(field)) for name, field in kind.fields]
        )
    plain: Mapping[ColumnKind, Any] = {
        ColumnKind.INTEGER: pyarrow.int64(),
        ColumnKind.NUMBER: pyarrow.float64(),
        ColumnKind.BOOLEAN: pyarrow.bool_(),
        ColumnKind.DATE: pyarrow.date32(),
        ColumnKind.MOMENT: pyarrow.timestamp("us", tz="UTC"),
    }
    return plain.get(kind.kind, pyarrow.string())


def _to_polars(table: "pyarrow.Table") -> Any:
    import polars

    return polars.from_arrow(table)


def _to_dataset(table: "pyarrow.Table") -> Any:
    import datasets

    return datasets.Dataset(table)


_FROM_ARROW: Mapping[str, Callable[["pyarrow.Table"], Any]] = {
    "arrow": lambda table: table,
    "polars": _to_polars,
    "hf": _to_dataset,
}
