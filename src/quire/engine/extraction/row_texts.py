"""Row texts: what of a row is asked about: a column, a template over columns, or all as JSON."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import date, time
from string import Formatter
from typing import Any, NamedTuple

from quire.domain.data import mend_text
from quire.domain.errors import UsageError
from quire.engine.extraction.frame_kinds import Cells, Frame
from quire.engine.foreign_values import Cell

MOST_NAMED = 30  # columns, where they are listed
_MISSING = ("NAType", "NaTType")  # pandas' own, which compare with nothing


class RowText(NamedTuple):
    """Which columns a row's text is made of, and how; "" where there is nothing to ask about."""

    columns: tuple[str, ...]
    write: Callable[[Cells], str]


def is_missing(value: Cell) -> bool:
    """Whether a cell has no value: None, NaN, NA or NaT."""
    if value is None:
        return True
    if isinstance(value, float):
        return value != value  # noqa: PLR0124 - only NaN differs from itself
    return type(value).__name__ in _MISSING


def choose_text(frame: Frame, text: str | None, key: str | None = None) -> RowText:
    """What the caller wants asked about; a row of which only the key is known says nothing."""
    if text is None:
        if frame.is_text:
            return RowText(frame.columns[:1], lambda cells: _plain_text(cells[0]))
        return RowText(frame.columns, _row_writer(frame.columns, key))
    if text in frame.columns:
        return RowText((text,), lambda cells: _plain_text(cells[0]))
    parts = _template_parts(text)
    names = tuple(dict.fromkeys(part.name for part in parts if part.name))
    if not names:
        raise missing_column(frame, text)
    for name in names:
        if name not in frame.columns:
            raise missing_column(frame, name)
    return RowText(names, _template_writer(parts, names, key))


def missing_column(frame: Frame, name: str) -> UsageError:
    """What is wrong with a column that is not there."""
    more = len(frame.columns) - MOST_NAMED
    listed = ", ".join(frame.columns[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return UsageError(f"there is no column {name!r}; the columns are {listed or 'none'}")


def _plain_text(value: Any) -> str:
    if is_missing(value):
        return ""
    text = value if isinstance(value, str) else str(value)
    return text if text.strip() else ""


def _row_writer(columns: Sequence[str], key: str | None) -> Callable[[Cells], str]:
    def write(cells: Cells) -> str:
        row = {name: None if is_missing(value) else value for name, value in zip(columns, cells)}  # noqa: B905 - as long as each other by their making
        if not any(_plain_text(value) for name, value in row.items() if name != key):
            return ""
        try:
            return json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=_as_json)
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(
                f"a row cannot be written as JSON: {error}; say what to ask about with text="
            ) from None

    return write


def _as_json(value: Any) -> Any:
    """A value that JSON has no word for."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    listed = getattr(value, "tolist", None)  # numpy's
    return listed() if callable(listed) else str(value)


class _TemplatePart(NamedTuple):
    words: str
    name: str  # of the column that follows; "": none
    form: str


def _template_parts(template: str) -> list[_TemplatePart]:
    try:
        found = list(Formatter().parse(template))
    except ValueError as error:
        raise UsageError(
            f"text={template!r} is no template: {error}; write {{{{ for a brace"
        ) from None
    return [_TemplatePart(words, name or "", form or "") for words, name, form, _ in found]


def _template_writer(
    parts: Sequence[_TemplatePart], names: Sequence[str], key: str | None
) -> Callable[[Cells], str]:
    places = {name: place for place, name in enumerate(names)}
    telling = [place for name, place in places.items() if name != key or len(names) == 1]

    def write(cells: Cells) -> str:
        if not any(_plain_text(cells[place]) for place in telling):
            return ""
        return "".join(_part_words(parts, cells, places))

    return write


def _part_words(
    parts: Sequence[_TemplatePart], cells: Cells, places: dict[str, int]
) -> Iterator[str]:
    for words, name, form in parts:
        yield words
        if name:
            value = cells[places[name]]
            yield "" if is_missing(value) else _format_value(name, value, form)


def _format_value(name: str, value: Any, form: str) -> str:
    try:
        return format(value, form)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"column {name}: {value!r} cannot be written as {form!r}: {error}"
        ) from None


def storable(text: str) -> str:
    """The text as it may stand in a block."""
    if "\0" not in text:
        try:
            text.encode()
        except UnicodeEncodeError:
            pass
        else:
            return text
    return mend_text(text)
