"""Printing numbers, tables and JSON, for terminals, pipes and programs."""

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from quire.domain.plain_text import plain_text
from quire.domain.quantities import quantity as quantity

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


WIDTH_OF_PIPES = 100
SIMULATED = "simulated"
_COLUMN_MARKS = ">~*"
_GAP = 2  # between two columns

Narrowing = tuple[str, Callable[[Any], object] | None]  # a column, and how it shortens or goes


class Cell(NamedTuple):
    """What stands in a table, and what in its place where there is little room."""

    text: str
    short: str

    @classmethod
    def of_moment(cls, at: datetime | None) -> "Cell":
        """A moment; in short without its date where that is today's, else the date alone."""
        from quire.engine import Runtime  # loads asyncio: not for --help

        if at is None:
            return cls("", "")
        local, today = at.astimezone(), Runtime().now().astimezone().date()
        return cls(moment(at), time_of_day(at) if local.date() == today else f"{local:%Y-%m-%d}")


def shorter(cell: Cell) -> str:
    """A cell where there is little room."""
    return cell.short


def allow_any_text() -> None:
    """Show what the terminal's encoding lacks as an escape, rather than fail on it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def console(stream: IO[str] | None = None) -> "Console":
    """A console on stdout; in pipes as wide as people's logs."""
    from rich.console import Console

    stream = stream or sys.stdout
    has_width = stream.isatty() or "COLUMNS" in os.environ
    return Console(
        file=stream,
        width=None if has_width else WIDTH_OF_PIPES,
        highlight=False,
        markup=False,
        emoji=False,
    )


def say(text: str = "") -> None:
    """Print a line of what was asked for."""
    _write_line(sys.stdout, text)


def note(text: str) -> None:
    """Print a line beside what was asked for, on stderr."""
    _write_line(sys.stderr, text)


def print_json(value: object, *, on_a_line: bool = False) -> None:
    """Print one JSON value; programs, and whoever reads line by line, get it on one line."""
    from quire.engine.json_views.encoding import json_bytes

    sys.stdout.flush()
    text = json_bytes(value, indent=sys.stdout.isatty() and not on_a_line)
    sys.stdout.buffer.write(text + b"\n")
    sys.stdout.buffer.flush()


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    to_stderr: bool = False,
    narrowing: Sequence[Narrowing] = (),
) -> None:
    """Print one line a row; what stands beside what was asked for goes `to_stderr`.

    A mark before a column's name says how it behaves: `>` is flush right, `~` gives way where the
    table is too wide, `*` gives way by going on in the next line. Before that, as far as it is
    needed, columns are shortened or left out as `narrowing` says, the least important first.
    """
    stream = sys.stderr if to_stderr else sys.stdout
    width = console(stream).width
    _print_grid(_build_table(*narrow_table(columns, rows, narrowing, width)), stream)


def print_list(
    as_json: bool,
    found: Sequence[object],
    nothing: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
) -> None:
    """Print what there is, as JSON or as a table; `nothing` is said where there is none."""
    if as_json:
        print_json(found)
    elif found:
        print_table(columns, rows)
    else:
        say(nothing)


MOST_LISTED = 1_000_000_000  # where all of a list are wanted


def tell_cut(found: Sequence[object], limit: int) -> bool:
    """Whether there is more than a list shows, which programs are told beside it."""
    if len(found) <= limit:
        return False
    note(f"quire: truncated at {limit:,}; --limit N lists more, --all everything")
    return True


@contextmanager
def file_watcher(doing: str, quiet: bool) -> Iterator[Callable[..., None] | None]:
    """On a terminal, say which file is worked on: what is being done, how many, and its path."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    seen = 0
    with console(sys.stderr).status(doing) as status:

        def watch(path: object, total: int = 0) -> None:
            nonlocal seen
            seen += 1
            count = f"{seen:,} of {total:,}" if total else f"{seen:,}"
            status.update(f"{doing} {count}: {plain_text(clip(str(path), 60))}")

        yield watch


def narrow_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    narrowing: Sequence[Narrowing],
    width: int,
) -> tuple[list[str], list[list[str]]]:
    """Let columns give way, in the order they are named, until a table is not wider than that."""
    headings, cells = list(columns), [list(row) for row in rows]
    for name, shorten in narrowing:
        names = [text.lstrip(_COLUMN_MARKS) for text in headings]
        if _table_width(headings, _cell_texts(cells)) <= width:
            break
        if name not in names:
            continue
        at = names.index(name)
        if shorten is None:
            del headings[at]
        for row in cells:
            row[at : at + 1] = [] if shorten is None else [shorten(row[at])]
    return headings, _cell_texts(cells)


def _cell_texts(rows: Iterable[Sequence[object]]) -> list[list[str]]:
    return [[plain_text(cell_text(value)) for value in row] for row in rows]


def _table_width(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    from rich.cells import cell_len

    widths = (
        max(cell_len(text) for text in (name.lstrip(_COLUMN_MARKS), *(row[at] for row in rows)))
        for at, name in enumerate(columns)
    )
    return sum(widths) + _GAP * (len(columns) - 1)


def _build_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold"
    )
    for column in columns:
        table.add_column(
            Text(column.lstrip(_COLUMN_MARKS), no_wrap=True, overflow="ellipsis"),
            justify="right" if column.startswith(">") else "left",
            no_wrap=not column.startswith(("~", "*")),
            overflow="fold",
        )
    folds = [column.startswith("*") for column in columns]
    for row in rows:
        table.add_row(
            *(
                Text(cell, no_wrap=not fold, overflow="fold" if fold else "ellipsis")
                for cell, fold in zip(row, folds, strict=True)
            )
        )
    return table


def print_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Print names and what they are, one below the other; what is empty is left out."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs:
        if value:
            grid.add_row(Text(name, style="bold"), Text(plain_text(value, keep="\n")))
    _print_grid(grid)


def model_label(model: str) -> str:
    """A model's name; it says so where nothing real answers."""
    return f"{model} ({SIMULATED})" if model.startswith(f"{SIMULATED}/") else model


def moment(at: datetime | None) -> str:
    """A moment on this machine's clock."""
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S") if at else ""


def time_of_day(at: datetime) -> str:
    """The time of a moment on this machine's clock."""
    return f"{at.astimezone():%H:%M:%S}"


def short_model_name(model: str) -> str:
    """A model's name without its provider's; of one's own server with the machine it is at."""
    name, at, address = model.partition("@")
    _, scheme, place = address.partition("://")
    own = f"@{place.partition('/')[0]}" if scheme else at + address
    return name.rpartition("/")[2] + own


def cell_text(value: object) -> str:
    """A cell of a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Cell):
        return value.text
    if isinstance(value, list):
        return ", ".join(map(cell_text, value))
    return "" if value is None else str(value)


def clip(text: str, length: int) -> str:
    """The start of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def _print_grid(table: "Table", stream: IO[str] | None = None) -> None:
    """Print a table; in a pipe without the blanks that fill its lines."""
    stream = stream or sys.stdout
    target = console(stream)
    with target.capture() as captured:
        target.print(table)
    text = captured.get()
    if not target.is_terminal:
        text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    stream.write(text)
    stream.flush()


def _write_line(stream: IO[str], text: str) -> None:
    stream.write(plain_text(text, keep="\n\t") + "\n")
    stream.flush()
