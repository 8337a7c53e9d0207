"""Tables of a page while their tags come in; a table that only arranges a page is none."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from quire.sources.table_grid import TableCell, TableGrid

_LONGEST_SPAN = 1000  # what browsers take at most

Attributes = Mapping[str, str | None]


@dataclass(slots=True)
class HtmlCell:
    """A cell: what it says, how far it reaches, and where its words stand in the page."""

    across: int = 1
    down: int = 1
    words: list[str] = field(default_factory=list)
    start: int = 0
    end: int = 0

    @property
    def text(self) -> str:
        """All that it says."""
        return " ".join(self.words)


class HtmlTable:
    """A table that has begun and not ended."""

    def __init__(self, start: int, attributes: Attributes) -> None:
        """Begin at an offset of the page."""
        self.start = start
        self.is_layout = attributes.get("role") in ("presentation", "none")
        self._rows: list[list[HtmlCell]] = []

    def start_part(self, tag: str, attributes: Attributes) -> None:
        """Begin a row or a cell; a cell outside of a row begins one."""
        if tag == "tr" or not self._rows:
            self._rows.append([])
        if tag != "tr":
            across, down = (_span(attributes.get(name)) for name in ("colspan", "rowspan"))
            self._rows[-1].append(HtmlCell(across, down))

    def add_text(self, text: str, start: int, end: int) -> None:
        """Add words to the cell that has begun last."""
        if not self._rows or not self._rows[-1]:
            self.start_part("td", {})
        cell = self._rows[-1][-1]
        cell.start = cell.start if cell.words else start
        cell.end = end
        cell.words.append(text)

    def cells(self) -> Iterator[HtmlCell]:
        """The cells that say something, in order."""
        return (cell for row in self._rows for cell in row if cell.words)

    def unwrap(self) -> list[HtmlCell]:
        """Let it only arrange the page from here on; returns what it held."""
        held = list(self.cells())
        self.is_layout, self._rows = True, []
        return held

    def markdown(self) -> str:
        """The whole table."""
        grid = TableGrid()
        for row in self._rows:
            grid.add_row(TableCell(cell.text, cell.across, cell.down) for cell in row)
        return grid.markdown()


def _span(value: str | None) -> int:
    digits = (value or "").strip()
    is_number = digits.isascii() and digits.isdigit() and len(digits) < 6
    return max(1, min(int(digits), _LONGEST_SPAN)) if is_number else 1
