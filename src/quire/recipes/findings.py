"""Findings: what is wrong in a recipe, by the path of what is wrong."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from quire.domain.data import Json
from quire.domain.errors import FileMistake, Mistake
from quire.recipes.contract import pointer
from quire.recipes.lines import Lines
from quire.recipes.rules import Rule, unknown


class Finding(NamedTuple):
    """One thing that is wrong."""

    path: tuple[str | int, ...]
    message: str
    row: int = 0  # the line inside a text, counted from 1; 0 is the text as a whole

    def as_mistake(self) -> Mistake:
        """For a recipe that is no file: a pointer says where."""
        where = f"line {self.row}: " if self.row else ""
        return Mistake(pointer(*self.path), where + self.message)

    def in_file(self, name: str, lines: Lines) -> FileMistake:
        """For a recipe that is a file: its line says where."""
        return FileMistake(name, lines.line(self.path, self.row), self.message)


def joined(first: Sequence[Finding], then: Iterable[Finding]) -> list[Finding]:
    """Both, without what only follows from something that is wrong in the same place."""
    wrong = {each.path for each in first}
    return [*first, *(each for each in then if not _within(each.path, wrong))]


def _within(path: tuple[str | int, ...], places: set[tuple[str | int, ...]]) -> bool:
    return any(path[:length] in places for length in range(1, len(path) + 1))


def unlike(
    table: Mapping[str, Json], rules: Mapping[str, Rule], place: tuple[str | int, ...]
) -> Iterator[Finding]:
    """Every key that no rule knows, and every value that its rule does not allow."""
    for name, value in table.items():
        if name not in rules:
            yield Finding((*place, name), f"{name} {unknown(name, rules)}")
        elif not rules[name].allows(value):
            shown = json.dumps(value, ensure_ascii=False, default=str)[:60]
            yield Finding((*place, name), f"{name} must be {rules[name].wanted}, not {shown}")


def said_by(who: str, mistakes: Callable[[], Sequence[str]]) -> list[str]:
    """The mistakes that a stranger's code finds; that it breaks is one of them."""
    try:
        return [str(each) for each in mistakes()]
    except Exception as error:  # noqa: BLE001 - a stranger's gate or grouping may raise anything
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        return [f"{who} could not be asked what is wrong ({said})"]
