"""Tables of documents, written whole as Markdown; a cell that spans is written once."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

WIDEST = 1000  # columns; a page may claim any number


class TableCell(NamedTuple):
    """A cell, and how many columns and rows it takes."""

    text: str
    across: int = 1
    down: int = 1


class TableGrid:
    """Rows as they come, each cell put where it stands among those that reach down to it."""

    def __init__(self) -> None:
        """Begin with no rows."""
        self.rows: list[list[str]] = []
        self._taken: dict[int, int] = {}  # column -> rows that a cell above still reaches down

    def add_row(self, cells: Iterable[TableCell]) -> None:
        """Add a row below the others."""
        texts: list[str] = []
        taken, self._taken = self._taken, {}
        for cell in cells:
            while len(texts) in taken:
                texts.append("")
            column = len(texts)
            across = max(1, min(cell.across, WIDEST - column))
            texts += [cell.text, *[""] * (across - 1)]
            if cell.down > 1:
                self._taken.update(dict.fromkeys(range(column, column + across), cell.down - 1))
        for column, rows in taken.items():
            if rows > 1:
                self._taken[column] = rows - 1
        self.rows.append(texts)

    def markdown(self) -> str:
        """The whole table, its first row as the header; empty if it says nothing."""
        return markdown_table(self.rows)


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as a Markdown table; a cell is one line, and a bar in it is escaped."""
    lines = [[" ".join(cell.replace("|", "\\|").split()) for cell in row] for row in rows]
    lines = [line for line in lines if any(line)]
    if not lines:
        return ""
    # as many columns as the longest row, without those that are empty in all
    columns = [column for column in zip_longest(*lines, fillvalue="") if any(column)]
    header, *below = zip(*columns, strict=True)
    shown = [header, tuple("---" for _ in columns), *below]
    return "\n".join(f"| {' | '.join(line)} |" for line in shown)
