"""Foreign values: frames, cells and objects whose types only their own packages can name."""

from typing import Any, TypeAlias

ForeignRows: TypeAlias = Any  # whatever a caller keeps rows in
ForeignFrame: TypeAlias = Any  # of pandas, polars, pyarrow or datasets
Cell: TypeAlias = Any  # one value of a row, as its frame has it
CallerObject: TypeAlias = Any  # of a class that the caller wrote
Said: TypeAlias = Any  # by name, and checked where it is read
