"""Frame answers: the outcomes of rows as columns beside the caller's own, or as objects."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from quire.domain.class_schemas import typed_record
from quire.domain.data import as_object
from quire.domain.errors import UsageError
from quire.domain.recipes import Schema
from quire.engine.extraction.asked_schemas import AskedSchema
from quire.engine.extraction.extracted import (
    Extracted,
    ExtractedObjects,
    ExtractedRows,
)
from quire.engine.extraction.frame_kinds import Frame, read_frame
from quire.engine.extraction.row_outcomes import RowOutcome
from quire.engine.foreign_values import CallerObject, Cell, ForeignFrame
from quire.export.column_types import NUMBER, TEXT, Column, schema_columns
from quire.export.data_frames import import_packages, make_frame
from quire.export.quote_columns import quote_columns, quote_values
from quire.export.result_selection import WITH_DATA

OBJECTS, ROWS = "objects", "rows"
OUR_COLUMNS = (Column("status", TEXT), Column("error", TEXT), Column("cost_usd", NUMBER))
_MAKERS = {  # how a kind of frame is made of a list of mappings
    "pandas": ("pandas", "DataFrame"),
    "polars": ("polars", "DataFrame"),
    "arrow": ("pyarrow", "Table.from_pylist"),
    "hf": ("datasets", "Dataset.from_list"),
}


class AnswerForm(NamedTuple):
    """What the caller wants back."""

    frame: Frame
    asked: AskedSchema
    form: str | None  # None: as the rows came

    def check(self) -> None:
        """Refuse what cannot be made before anything is spent."""
        if self.form not in (None, OBJECTS, ROWS, self.frame.kind, *_MAKERS):
            forms = ", ".join(repr(name) for name in (OBJECTS, ROWS, *_MAKERS))
            raise UsageError(f"as_={self.form!r} is unknown; it is one of {forms}, or left out")
        if self.form == OBJECTS and self.asked.answer_class is None:
            raise UsageError("objects are of a class: give one as the schema, or leave out as_=")
        if self.form in _MAKERS:
            package = _MAKERS[self.form][0]
            import_packages(f"as_={self.form!r}", [package], f"pip install {package}")


class RunFacts(NamedTuple):
    """What a run came to."""

    run: int | None = None
    cost: int = 0  # picodollars that this call spent on it
    is_simulated: bool = False  # the answers are made up, and the dollars no money


def give_back(wanted: AnswerForm, outcomes: Iterable[RowOutcome], facts: RunFacts) -> ForeignFrame:
    """The caller's rows with what became of each."""
    statuses: Counter[str] = Counter()

    def count() -> Iterator[RowOutcome]:
        for outcome in outcomes:
            statuses[outcome.status] += 1
            yield outcome

    if wanted.form == OBJECTS:
        found: Any = _objects(wanted.asked, count())
    elif wanted.form == ROWS or not (wanted.form or wanted.frame.kind):
        found = _rows(wanted.frame, wanted.asked.schema, count())
    else:
        found = _frame(wanted, count())
    _note_facts(found, facts, dict(statuses.most_common()))
    return found


def _note_facts(found: Any, facts: RunFacts, statuses: dict[str, int]) -> None:
    """Say beside the rows what they came to, where there is a place for it."""
    if isinstance(found, Extracted):
        found.run, found.cost, found.statuses = facts.run, facts.cost, statuses
        found.simulated = facts.is_simulated
    elif hasattr(found, "attrs"):  # pandas
        spent = RowOutcome("", cost=facts.cost).cost_usd
        said = {"run": facts.run, "cost_usd": spent, "statuses": statuses}
        found.attrs["quire"] = said | {"simulated": facts.is_simulated}


def _frame(wanted: AnswerForm, outcomes: Iterable[RowOutcome]) -> Any:
    frame, kind = wanted.frame, wanted.form or wanted.frame.kind
    if kind != frame.kind:
        frame = _as_kind(frame, kind)
    columns = added_columns(wanted.asked.schema, frame.columns)
    read = value_reader(wanted.asked.schema)
    rows = map(read, outcomes)
    return frame.with_columns(make_frame(kind, columns, rows))


def _as_kind(frame: Frame, kind: str) -> Frame:
    """The caller's rows in another kind of frame."""
    package, path = _MAKERS[kind]
    make = import_module(package)
    for name in path.split("."):
        make = getattr(make, name)
    rows = [dict(zip(frame.columns, cells, strict=True)) for cells in frame.cells(frame.columns)]
    return read_frame(make(rows))  # type: ignore[operator]  # what was named is called


def value_reader(schema: Schema) -> Callable[[RowOutcome], tuple[Cell, ...]]:
    """What reads the values of the added columns, in their order."""
    fields, quoted = [*schema.properties], quote_columns(schema.quoted_fields)

    def read(outcome: RowOutcome) -> tuple[Cell, ...]:
        data = as_object(outcome.data)
        quotes = outcome.quotes
        if quotes is None:
            quotes = quote_values(quoted, outcome.notes) if quoted else ()
        return (*map(data.get, fields), *quotes, *outcome[:2], outcome.cost_usd)

    return read


def _rows(frame: Frame, schema: Schema, outcomes: Iterable[RowOutcome]) -> ExtractedRows:
    columns = [column.name for column in added_columns(schema, frame.columns)]
    read = value_reader(schema)
    cells = frame.cells(frame.columns)
    return ExtractedRows(
        {
            **dict(zip(frame.columns, own, strict=True)),
            **dict(zip(columns, read(outcome), strict=True)),
        }
        for own, outcome in zip(cells, outcomes, strict=True)
    )


def added_columns(schema: Schema, own: Sequence[str]) -> list[Column]:
    """The fields of a schema, their quotes and our columns; each gives way to a name in use."""
    there = set(own)
    found: list[Column] = []
    quoted = quote_columns(schema.quoted_fields)
    for column in (*schema_columns(schema.properties), *quoted, *OUR_COLUMNS):
        name = column.name
        while name in there:
            name = f"quire_{name}"
        there.add(name)
        found.append(column._replace(name=name))
    return found


def _objects(asked: AskedSchema, outcomes: Iterable[RowOutcome]) -> ExtractedObjects:
    objects: list[Any] = []
    errors: dict[int, str] = {}
    for place, outcome in enumerate(outcomes):
        found, error = make_object(asked, outcome)
        objects.append(found)
        if error:
            errors[place] = error
    return ExtractedObjects(objects, errors)


def make_object(asked: AskedSchema, outcome: RowOutcome) -> tuple[CallerObject, str | None]:
    """The answer as the caller's class has it; else None, and why."""
    if outcome.status not in WITH_DATA or asked.answer_class is None:
        return None, outcome.error or outcome.status
    try:
        return typed_record(as_object(outcome.data), asked.answer_class), None
    except ValueError as error:  # a check of the class that its schema does not tell
        return None, " ".join(str(error).split())
