"""Tables of a TOML file checked against rules, with every mistake kept beside its place."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from quire.domain.data import Json
from quire.recipes.recipe_problems import KeyPath as Place
from quire.recipes.setting_rules import Rule, unknown_message

_MOST_SHOWN = 60  # characters of a refused value
_MOST_ALIKE = 5  # mistakes of one kind that are told one by one
_SPECIFICS = re.compile(r"""'[^']*'|"[^"]*"|[0-9]+""")  # what tells mistakes of one kind apart
_PARTS = re.compile(r"([^0-9]*)([0-9]{0,18})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MistakeLog:
    """The mistakes found so far, in the order they were found."""

    mistakes: list[tuple[Place, str]] = field(default_factory=list)

    def add(self, place: Place, message: str) -> None:
        """Keep a mistake; the message follows the name of the place."""
        self.mistakes.append((place, message))


@dataclass(frozen=True, slots=True)
class TomlTable:
    """One table of a file, and where it stands."""

    body: Mapping[str, Json]
    place: Place
    mistake_log: MistakeLog

    def check(self, rules: Mapping[str, Rule], needed: Sequence[str] = ()) -> dict[str, Json]:
        """Give the values that their rules allow; tell of all others, and of what is missing."""
        kept: dict[str, Json] = {}
        for name, value in self.body.items():
            if name not in rules:
                self.add_mistake(name, unknown_message(name, rules))
            elif not rules[name].allows(value):
                self.add_mistake(name, f"must be {rules[name].wanted}, not {_show_value(value)}")
            elif has_nul(*(value if isinstance(value, list) else [value])):
                message = "holds a NUL character, which not every database keeps as text"
                self.add_mistake(name, message)
            else:
                kept[name] = value
        for name in needed:
            if name not in self.body:
                self.add_mistake(name, f"is missing; it is {rules[name].wanted}")
        return kept

    def add_mistake(self, name: str, message: str) -> None:
        """Tell of a mistake in one value."""
        self.mistake_log.add((*self.place, name), f"{name} {message}")


def summarize_mistakes(mistakes: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Mistakes by line, rows in their order; many of one kind in a line become one, counted."""
    groups: dict[tuple[int, str], list[str]] = {}
    for line, message in sorted(mistakes, key=lambda item: (item[0], _sort_key(item[1]))):
        groups.setdefault((line, _SPECIFICS.sub("…", message)), []).append(message)
    for (line, _), alike in groups.items():
        if len(alike) <= _MOST_ALIKE:
            yield from ((line, message) for message in alike)
        else:
            yield line, f"{alike[0]}; and {len(alike) - 1:,} more like it"


def _sort_key(message: str) -> list[tuple[str, int]]:
    """A message as it is sorted: numbers by how large they are, not by their first digit."""
    return [(words, int(digits or 0)) for words, digits in _PARTS.findall(message)]


def has_nul(*values: Json) -> bool:
    """Whether one of some values is text that not every database can keep."""
    return any(isinstance(value, str) and "\0" in value for value in values)


def toml_tables(body: Json, name: str, mistake_log: MistakeLog) -> list[TomlTable]:
    """The tables of a list; anything else is told as a mistake."""
    if isinstance(body, Sequence) and all(isinstance(item, Mapping) for item in body):
        return [TomlTable(item, (name, at), mistake_log) for at, item in enumerate(body)]  # type: ignore[arg-type]  # just looked
    mistake_log.add((name,), f"{name} must be written as tables, each under [[{name}]]")
    return []


def list_of(rule: Rule, wanted: str, least: int = 0) -> Rule:
    """Allow lists whose every value another rule allows, none twice."""
    return Rule(
        wanted=wanted,
        allows=lambda value: (
            isinstance(value, Sequence)
            and not isinstance(value, str)
            and len(value) >= least
            and all(rule.allows(item) for item in value)
            and len({json.dumps(item) for item in value}) == len(value)
        ),
    )


def texts(value: Json) -> tuple[str, ...]:
    """The texts of a checked list."""
    return tuple(map(str, value)) if isinstance(value, Sequence) else ()


def _show_value(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"
