"""Lines: where in a TOML file a value stands, so that a mistake can be found."""

import re
import tomllib
from collections.abc import Iterator

Place = tuple[str | int, ...]

_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]")
_SETTING = re.compile(rf"\s*({_DOTTED})\s*=")


def line_of(text: str, place: Place) -> int:
    """The line, from 1, of a value in a file that is TOML; of what holds it, if it is not there."""
    lines = _lines(text)
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def _lines(text: str) -> dict[Place, int]:
    found: dict[Place, int] = {}
    tables: dict[Place, int] = {}  # how many tables of a list there have been
    prefix: Place = ()
    for number, line in _starts(text):
        if header := _HEADER.match(line):
            prefix = _names(header[2])
            if header[1] == "[[":
                tables[prefix] = tables.get(prefix, -1) + 1
                found.setdefault(prefix, number)
            prefix = _counted(prefix, tables)
            found.setdefault(prefix, number)
        elif setting := _SETTING.match(line):
            found.setdefault(prefix + _names(setting[1]), number)
    return found


def _starts(text: str) -> Iterator[tuple[int, str]]:
    """The lines that start something: those inside a value of several lines are passed over."""
    value: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not value:
            yield number, line
        if value or _SETTING.match(line):
            value.append(line)
            if _whole("\n".join(value)):
                value = []


def _whole(value: str) -> bool:
    if value[-1:].isalnum() and "\n" in value:
        return False  # cannot be the end of a value of several lines: saves reading it
    try:
        tomllib.loads(value)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _names(dotted: str) -> Place:
    return tuple(each.strip("\"'") for each in re.findall(_KEY, dotted))


def _counted(names: Place, tables: dict[Place, int]) -> Place:
    """Put its number behind every name that is a list of tables."""
    place: Place = ()
    for end in range(1, len(names) + 1):
        place += (names[end - 1],)
        if names[:end] in tables:
            place += (tables[names[:end]],)
    return place
