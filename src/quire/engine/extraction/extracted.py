"""Extracted lists: rows or objects as they come back, and beside them what they cost."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from quire.domain.pricing import dollars, to_usd
from quire.engine.foreign_values import CallerObject
from quire.engine.html_tables import html_table

Item = TypeVar("Item")
SHOWN = 20  # rows of a notebook's table


class Extracted(list[Item]):
    """A list, and beside it the run that made it."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        """Take the items; whoever made them says the rest."""
        super().__init__(items)
        self.run: int | None = None  # None: there was nothing to ask
        self.cost = 0  # picodollars
        self.statuses: Mapping[str, int] = {}
        self.simulated = False  # the answers are made up, and the dollars no money

    @property
    def cost_usd(self) -> float:
        """Dollars that this call spent."""
        return to_usd(self.cost)

    def __repr__(self) -> str:
        """Say what came of the rows."""
        parts = [f"{count:,} {status}" for status, count in self.statuses.items()]
        words = ", ".join(parts) or f"{len(self):,}"
        where = "" if self.run is None else f", run {self.run}"
        cost = dollars(self.cost) + ", simulated" * self.simulated
        return f"<quire rows: {words}, {cost}{where}>"


class ExtractedRows(Extracted[dict[str, Any]]):
    """The caller's rows, each with the answer's fields, its status, error and cost."""

    def _repr_html_(self) -> str:
        columns = list(dict.fromkeys(name for row in self[:SHOWN] for name in row))
        rows = [[row.get(name) for name in columns] for row in self[:SHOWN]]
        return html_table(columns, rows, repr(self), left=len(self) - len(rows))


class ExtractedObjects(Extracted[Any]):
    """Objects of the caller's class; None where there is no answer, and `errors` says why."""

    errors: Mapping[int, str]  # by place in the list

    def __init__(
        self, items: Iterable[CallerObject] = (), errors: Mapping[int, str] | None = None
    ) -> None:
        """Take the objects, and why some are missing."""
        super().__init__(items)
        self.errors = errors or {}

    def _repr_html_(self) -> str:
        shown: Sequence[Any] = self[:SHOWN]
        rows = [[place, item, self.errors.get(place)] for place, item in enumerate(shown)]
        return html_table(["", "object", "error"], rows, repr(self), left=len(self) - len(rows))


def count_statuses(statuses: Iterable[str]) -> dict[str, int]:
    """How many rows came to what, the commonest first."""
    return dict(Counter(statuses).most_common())
