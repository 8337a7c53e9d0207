"""Checking: a table of a file against rules, with every mistake kept beside its place."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from quire.domain.data import Json
from quire.recipes.lines import Path as Place
from quire.recipes.rules import Rule, unknown

_SHOWN = 60  # characters of a refused value
_ALIKE = 5  # mistakes of one kind that are told one by one
_OWN = re.compile(r"""'[^']*'|"[^"]*"|[0-9]+""")  # what tells mistakes of one kind apart
_PARTS = re.compile(r"([^0-9]*)([0-9]{0,18})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Findings:
    """The mistakes found so far, in the order they were found."""

    mistakes: list[tuple[Place, str]] = field(default_factory=list)

    def add(self, place: Place, message: str) -> None:
        """Keep a mistake; the message follows the name of the place."""
        self.mistakes.append((place, message))


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a file, and where it stands."""

    body: Mapping[str, Json]
    place: Place
    findings: Findings

    def check(self, rules: Mapping[str, Rule], needed: Sequence[str] = ()) -> dict[str, Json]:
        """Give the values that their rules allow; tell of all others, and of what is missing."""
        kept: dict[str, Json] = {}
        for name, value in self.body.items():
            if name not in rules:
                self.wrong(name, unknown(name, rules))
            elif not rules[name].allows(value):
                self.wrong(name, f"must be {rules[name].wanted}, not {_shown(value)}")
            elif has_nul(*(value if isinstance(value, list) else [value])):
                self.wrong(name, "holds a NUL character, which not every database keeps as text")
            else:
                kept[name] = value
        for name in needed:
            if name not in self.body:
                self.wrong(name, f"is missing; it is {rules[name].wanted}")
        return kept

    def wrong(self, name: str, message: str) -> None:
        """Tell of a mistake in one value."""
        self.findings.add((*self.place, name), f"{name} {message}")


def summed_up(mistakes: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Mistakes by line, rows in their order; many of one kind in a line become one, counted."""
    groups: dict[tuple[int, str], list[str]] = {}
    for line, message in sorted(mistakes, key=lambda each: (each[0], _in_order(each[1]))):
        groups.setdefault((line, _OWN.sub("…", message)), []).append(message)
    for (line, _), alike in groups.items():
        if len(alike) <= _ALIKE:
            yield from ((line, message) for message in alike)
        else:
            yield line, f"{alike[0]}; and {len(alike) - 1:,} more like it"


def _in_order(message: str) -> list[tuple[str, int]]:
    """A message as it is sorted: numbers by how large they are, not by their first digit."""
    return [(words, int(digits or 0)) for words, digits in _PARTS.findall(message)]


def has_nul(*values: Json) -> bool:
    """Whether one of some values is text that not every database can keep."""
    return any(isinstance(each, str) and "\0" in each for each in values)


def tables(body: Json, name: str, findings: Findings) -> list[Table]:
    """The tables of a list; anything else is told as a mistake."""
    if isinstance(body, Sequence) and all(isinstance(each, Mapping) for each in body):
        return [Table(each, (name, at), findings) for at, each in enumerate(body)]  # type: ignore[arg-type]  # just looked
    findings.add((name,), f"{name} must be written as tables, each under [[{name}]]")
    return []


def list_of(rule: Rule, wanted: str, least: int = 0) -> Rule:
    """Allow lists whose every value another rule allows, none twice."""
    return Rule(
        wanted=wanted,
        allows=lambda value: (
            isinstance(value, Sequence)
            and not isinstance(value, str)
            and len(value) >= least
            and all(rule.allows(each) for each in value)
            and len({json.dumps(each) for each in value}) == len(value)
        ),
    )


def texts(value: Json) -> tuple[str, ...]:
    """The texts of a checked list."""
    return tuple(map(str, value)) if isinstance(value, Sequence) else ()


def _shown(value: Json) -> str:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
