"""Flat tables: a stage's results as rows with typed columns, for files and data frames alike.

A column of ours gives way to a field of the data that is called the same: it gets `quire_` before
its name. All rows have all columns. Which those are follows from the schema; where answers are no
records of a schema, or critics may have spoken, the rows are looked through once to find out.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from quire.domain.data import Json, JsonObject, as_object, stored_json
from quire.domain.ids import block_uid
from quire.domain.recipes import EACH_PAGE, EACH_SECTION, Stage
from quire.domain.task_wording import span_text
from quire.export.column_types import (
    BOOLEAN,
    INTEGER,
    JSON,
    MOMENT,
    NUMBER,
    TEXT,
    Column,
    ColumnType,
    key_type,
    merge_types,
    schema_columns,
)
from quire.export.critic_words import ExportedVerdict, critic_columns, read_stored
from quire.export.quote_columns import (
    in_block,
    quote_columns,
    quote_values,
    quoted_fields_of,
    without_quotes,
)
from quire.export.result_rows import (
    STATUSES_WITH_ERROR,
    ExportedTask,
    judged_blocks,
    locator_key,
    task_rows,
)
from quire.export.result_selection import (
    WITH_DATA,
    ResultSource,
    RowFilter,
    is_block_by_block,
)
from quire.ledger.ledger import Transaction

FlatRow = tuple[Json, ...]

_FACTS: Mapping[str, ColumnType] = {
    "cost": NUMBER,
    "review": TEXT,
    "reviewer": TEXT,
    "reviewed_at": MOMENT,
    "changed_at": MOMENT,
}
BLOCK_COLUMNS: Mapping[str, ColumnType] = {  # of a flat row, before those of the data
    "block_uid": TEXT,
    "source": TEXT,
    "title": TEXT,
    "key": TEXT,
    "block_index": INTEGER,
    "block_type": TEXT,
    "text": TEXT,
    "run": INTEGER,
    "schema": TEXT,
    "schema_version": INTEGER,
    "task_id": INTEGER,
    "model": TEXT,
    "status": TEXT,
    "error": TEXT,
    **_FACTS,
    "notes": JSON,
    "reused_from": INTEGER,
}
TASK_COLUMNS: Mapping[str, ColumnType] = {
    "stage": TEXT,
    "source": TEXT,
    "title": TEXT,
    "key": TEXT,
    "conv_uid": TEXT,
    "block_uid": TEXT,
    "text": TEXT,
    "run": INTEGER,
    "task_id": INTEGER,
    "model": TEXT,
    "sample": INTEGER,
    "part": JSON,
    "status": TEXT,
    "error": TEXT,
    "attempt_count": INTEGER,
    "version": INTEGER,
    "stale": BOOLEAN,
    **_FACTS,
    "notes": JSON,
    "reused_from": INTEGER,
}
SPAN_COLUMNS: Mapping[str, ColumnType] = {"headings": TEXT, "page": INTEGER}


class FlatTable(NamedTuple):
    """Rows with typed columns; they are read again each time they are asked for."""

    columns: tuple[Column, ...]
    read_rows: Callable[[], Iterator[FlatRow]]

    @property
    def names(self) -> list[str]:
        """What the columns are called."""
        return [column.name for column in self.columns]

    def as_mappings(self) -> list[dict[str, Json]]:
        """All rows, each as a mapping."""
        names = self.names
        empty = dict.fromkeys(names)  # a copy has room for all: it need not grow name by name
        found: list[dict[str, Json]] = []
        for row in self.read_rows():
            mapping: dict[str, Json] = empty.copy()
            mapping.update(zip(names, row, strict=True))
            found.append(mapping)
        return found


def flat_table(
    tx: Transaction, source: ResultSource, stage: Stage | None, chosen: RowFilter
) -> FlatTable:
    """The results of one stage, or of all of them where it is None: a row a block, or a task."""
    chosen.check()
    if stage is not None and is_block_by_block(stage):
        return _block_table(tx, source, stage, chosen)
    return _task_table(tx, source, source.recipe.stages if stage is None else (stage,), chosen)


def _run_key_type(tx: Transaction, source: ResultSource) -> ColumnType:
    return key_type(map(locator_key, tx.documents.first_locators(source.run.id)))


def _own_name(name: str, data: Container[str]) -> str:
    """The name of a column of ours, which gives way to one of the data."""
    return f"quire_{name}" if name in data else name


def _own_columns(
    known: Mapping[str, ColumnType], data: Container[str], key: ColumnType
) -> tuple[Column, ...]:
    return tuple(
        Column(_own_name(name, data), key if name == "key" else kind)
        for name, kind in known.items()
    )


def _block_table(
    tx: Transaction, source: ResultSource, stage: Stage, chosen: RowFilter
) -> FlatTable:
    fields = schema_columns(stage.record.properties)
    names = [column.name for column in fields]
    quoted = quote_columns(stage.record.quoted_fields, located=True)
    spoken = _spoken_columns(tx, source, stage, chosen)
    asked = (source.run.id, stage.record.ref, stage.record.version)

    def read_rows() -> Iterator[FlatRow]:
        blocks = judged_blocks(tx, source, stage, chosen)
        for document, path, row, status, facts, model, critics in blocks:
            data: JsonObject = {}
            notes = None
            if status in WITH_DATA:
                data = as_object(read_stored(row.task_id, row.data))
                notes = row.notes
            own = (
                block_uid(document.conv_uid, row.block_index),
                *path,
                locator_key(row.locator),
                row.block_index,
                row.block_type,
                row.content,
                *asked,
                row.task_id,
                model,
                status,
                row.error if status in STATUSES_WITH_ERROR else None,
                *facts[1:],
                None if notes is None else read_stored(row.task_id, without_quotes(notes)),
                row.reused_from,
                *map(data.get, names),
            )
            if quoted:
                own += quote_values(quoted, notes, in_block(row.locator, row.content))
            yield own + _spoken_values(spoken, critics) if spoken else own

    own = _own_columns(BLOCK_COLUMNS, names, _run_key_type(tx, source))
    return FlatTable((*own, *fields, *_rename_columns(quoted, names), *spoken), read_rows)


def _spoken_columns(
    tx: Transaction, source: ResultSource, stage: Stage, chosen: RowFilter
) -> tuple[Column, ...]:
    """The columns that critics of blocks filled; without critics nothing is looked through."""
    if not source.recipe.critics_of(stage.name):
        return ()
    said = (block.critics for block in judged_blocks(tx, source, stage, chosen))
    return _critic_columns(source, said)


def _rename_columns(columns: Sequence[Column], data: Container[str]) -> tuple[Column, ...]:
    """Columns of ours beside those of the data, which keep their names."""
    return tuple(column._replace(name=_own_name(column.name, data)) for column in columns)


def _spoken_values(columns: Sequence[Column], critics: Iterable[ExportedVerdict]) -> FlatRow:
    values = critic_columns(critics)
    return tuple(values.get(column.name) for column in columns)


def _critic_columns(
    source: ResultSource, said: Iterable[Sequence[ExportedVerdict]]
) -> tuple[Column, ...]:
    """The columns that critics filled, or would have, in the order of the recipe."""
    found: dict[str, ColumnType] = {}
    for critics in said:
        for name in critic_columns(critics):
            if name not in found:
                found[name] = _critic_type(source, name)
    return tuple(Column(name, kind) for name, kind in found.items())


def _critic_type(source: ResultSource, name: str) -> ColumnType:
    """The type of `check.score` or `check.2.score`, by the schema of `check`."""
    head, _, field = name.partition(".")
    number, _, rest = field.partition(".")
    field = rest if number.isdigit() and rest else field
    if field == "status":
        return TEXT
    stages = [stage for stage in source.recipe.stages if stage.name == head and stage.schema]
    known = {column.name: column.type for stage in stages for column in _stage_fields(stage)}
    return known.get(field, JSON if stages else TEXT)


def _stage_fields(stage: Stage) -> tuple[Column, ...]:
    return schema_columns(stage.schema.properties) if stage.schema else ()


def _task_table(
    tx: Transaction, source: ResultSource, stages: Sequence[Stage], chosen: RowFilter
) -> FlatTable:
    def read_tasks() -> Iterator[ExportedTask]:
        for stage in stages:
            for row in task_rows(tx, source, stage, chosen):
                yield from row.at_paths()

    fields, places = _task_fields(stages, read_tasks), _span_columns(stages)
    names = [column.name for column in fields]
    quoted = quote_columns(quoted_fields_of(stages), located=True)
    spoken: tuple[Column, ...] = ()
    if any(source.recipe.critics_of(stage.name) for stage in stages):
        spoken = _critic_columns(source, (row.critics for row in read_tasks()))

    def read_rows() -> Iterator[FlatRow]:
        for row in read_tasks():
            data = row.fields
            proofs = quote_values(quoted, row.stored_notes if quoted else None, row.locate)
            own = (*_task_values(row), *_span_values(row, places), *map(data.get, names), *proofs)
            yield own + _spoken_values(spoken, row.critics) if spoken else own

    known = {**TASK_COLUMNS, **places}
    own = _own_columns(known, names, _run_key_type(tx, source))
    return FlatTable((*own, *fields, *_rename_columns(quoted, names), *spoken), read_rows)


def _span_columns(stages: Sequence[Stage]) -> Mapping[str, ColumnType]:
    """Where a section or page stands in its document."""
    divided = {stage.about for stage in stages}
    names = {"headings": EACH_SECTION, "page": EACH_PAGE}
    return {name: SPAN_COLUMNS[name] for name, about in names.items() if about in divided}


def _span_values(row: ExportedTask, places: Iterable[str]) -> FlatRow:
    part = as_object(row.part or {})
    values = {"headings": span_text(row.part), "page": part.get("page")}
    return tuple(values[name] for name in places)


def _task_values(row: ExportedTask) -> FlatRow:
    outcome, facts = row.outcome, row.facts
    return (
        row.stage,
        *row.paths[0],
        locator_key(outcome.locator),
        outcome.conv_uid,
        row.block_uid,
        row.subject_text,
        row.run,
        outcome.task_id,
        row.model,
        outcome.sample,
        row.part,
        row.status,
        row.error,
        facts.attempts,
        outcome.version,
        outcome.stale_since is not None,
        *facts[1:],
        stored_json(row.notes),
        outcome.reused_from,
    )


def _task_fields(
    stages: Sequence[Stage], read_tasks: Callable[[], Iterator[ExportedTask]]
) -> tuple[Column, ...]:
    """The fields of the answers of some stages; a field of several may be anything of theirs."""
    types: dict[str, list[ColumnType]] = {}
    for stage in stages:
        for name, kind in _stage_fields(stage):
            types.setdefault(name, []).append(kind)
    if any(stage.schema is None for stage in stages):
        loose = {stage.name for stage in stages if stage.schema is None}
        for row in read_tasks():
            if row.stage in loose:
                for name, value in row.fields.items():
                    kind = key_type([value]) if isinstance(value, str | int | float) else JSON
                    if kind not in types.setdefault(name, []) and value is not None:
                        types[name].append(kind)
    return tuple(
        Column(name, merge_types(kinds) if kinds else TEXT) for name, kinds in types.items()
    )
