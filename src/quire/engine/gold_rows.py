"""Gold rows: what is right, from a file or from Python, and which row of a run each belongs to."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path, PurePath
from typing import NamedTuple, TypeAlias

from quire.domain.data import Json, JsonObject, as_object, stored_json
from quire.domain.errors import UsageError
from quire.sources.source_reader import read_source

GoldSource: TypeAlias = str | Path | Iterable[Mapping[str, Json]]
IDENTITIES = ("key", "block_uid", "task_id", "source", "title")  # of rows, by which gold may go
MOST_NAMED = 5  # of rows that match nothing


class Gold(NamedTuple):
    """Rows of gold, and the columns by which they find theirs."""

    name: str  # where they come from
    rows: Mapping[str, JsonObject]  # by what stands in the key column
    key: str  # the column of the gold
    identity: str  # the column of the run's rows


def read_gold_rows(source: GoldSource, key: str | None, known: Mapping[str, Set[str]]) -> Gold:
    """Read gold. Without a key it goes by the column whose values name the most rows.

    `known` has what the rows of runs go by: for each identity, its values.
    """
    rows, name = _rows_of(source)
    if not rows:
        raise UsageError(f"{name} has no rows")
    columns = list(dict.fromkeys(column for row in rows for column in row))
    stated, _, identity = (key or "").partition("=")
    column = stated or _guess_column(rows, columns, known)
    if column not in columns:
        raise UsageError(
            f"{name} has no column {column!r}" if column else f"which column of {name} is the key?",
            f"--key takes one of {', '.join(columns)}; --key file=source names what rows go by",
        )
    if identity and identity not in IDENTITIES:
        raise UsageError(f"--key {key}: rows go by {', '.join(IDENTITIES)}, not {identity!r}")
    values = {identity_text(row.get(column)) for row in rows}
    best = max(IDENTITIES, key=lambda item: len(values & known[item]))
    found = identity or (column if column in IDENTITIES else best)
    return Gold(name, _by_key(rows, column, name), column, found)


def _guess_column(
    rows: Sequence[JsonObject], columns: Sequence[str], known: Mapping[str, Set[str]]
) -> str:
    """The column that names the most rows of a run; "" where none names any."""
    every = frozenset[str]().union(*known.values())
    counts = {
        column: sum(identity_text(row.get(column)) in every for row in rows) for column in columns
    }
    best = max(columns, key=lambda column: (column in IDENTITIES, counts[column]))
    return best if counts[best] else ""


def _rows_of(source: GoldSource) -> tuple[list[JsonObject], str]:
    if isinstance(source, str | os.PathLike):
        parsed = read_source(Path(source))
        rows = [as_object(stored_json(block.content)) for block in parsed.blocks]
        if not any(rows):
            raise UsageError(f"{source}: gold is a file of rows, such as gold.csv or gold.jsonl")
        return rows, str(source)
    return [dict(row) for row in source], "the gold"


def _by_key(rows: Sequence[JsonObject], column: str, name: str) -> dict[str, JsonObject]:
    keys = [identity_text(row.get(column)) for row in rows]
    twice = [key for key, count in Counter(keys).items() if count > 1 and key]
    if twice:
        shown = ", ".join(twice[:MOST_NAMED])
        raise UsageError(f"{name}: {column} names more than one row: {shown}")
    return {key: row for key, row in zip(keys, rows, strict=True) if key}


def identity_text(value: Json) -> str:
    """What a row goes by, as text: 7 and "7" are the same row."""
    if value is None:
        return ""
    return (
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
    )


def gold_keys(identities: Sequence[str], gold: Gold) -> list[str | None]:
    """The gold key of each row of a run; None where gold does not know it.

    A file is known by its whole path, or by its name alone where only one row has that name.
    """
    if gold.identity != "source":
        return [text if text in gold.rows else None for text in identities]
    names = Counter(PurePath(text).name for text in set(identities))
    found: list[str | None] = []
    for text in identities:
        name = PurePath(text).name
        alone = name if names[name] == 1 else None
        found.append(text if text in gold.rows else alone if alone in gold.rows else None)
    return found
