"""Lines: where in a TOML text each table and key stands, which its parser does not tell."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

Path = tuple[str | int, ...]

_SPACE = re.compile(r"[ \t\r\n]*(?:#[^\n]*)?")
_PART = re.compile(r"""[ \t]*("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*(\.?)""")
_PIECE = re.compile(  # of a value: a text of one of four kinds, a remark, a bracket, a line's end
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}' + r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"' + r"|'[^'\n]*'|#[^\n]*|[\[\]{}]|\n|[^\"'#\[\]{}\n]+",
    re.DOTALL,
)
_LONG_QUOTES = ('"""', "'''")


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of what is written in a file, by path."""

    keys: Mapping[Path, int]
    texts: Mapping[Path, int]  # where the first line of a text is

    def line(self, path: Path, row: int = 0) -> int:
        """The line of the nearest thing around a path; `row` counts lines inside a text."""
        if row and path in self.texts:
            return self.texts[path] + row - 1
        for length in range(len(path), 0, -1):
            if path[:length] in self.keys:
                return self.keys[path[:length]]
        return 1


def find_lines(text: str) -> Lines:
    """Find the lines of a text that has been parsed without a mistake."""
    return _Finder(text.replace("\r\n", "\n")).find()


class _Finder:
    """Walks over a TOML text, statement by statement."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._table: Path = ()
        self._counts: dict[Path, int] = {}  # of tables in arrays
        self._keys: dict[Path, int] = {}
        self._texts: dict[Path, int] = {}

    def find(self) -> Lines:
        """Read to the end."""
        while self._skip_space():
            begun = self._at
            if self._text[self._at] == "[":
                self._header()
            else:
                self._statement()
            if self._at == begun:  # not TOML as we know it: the rest has no lines
                break
        return Lines(self._keys, self._texts)

    def _skip_space(self) -> bool:
        while (found := _SPACE.match(self._text, self._at)) and found.end() > self._at:
            self._at = found.end()
        return self._at < len(self._text)

    def _line(self) -> int:
        return self._text.count("\n", 0, self._at) + 1

    def _header(self) -> None:
        line = self._line()
        several = self._text.startswith("[[", self._at)
        self._at += 2 if several else 1
        path = self._inside(self._names(), () if several else None)
        self._at = (self._text.find("\n", self._at) + 1) or len(self._text)
        if several:
            count = self._counts.get(path, -1) + 1
            self._counts[path] = count
            path = (*path, count)
        self._table = path
        self._keys.setdefault(path, line)

    def _inside(self, names: list[str], last: Path | None) -> Path:
        """The path of a header: where a table has several entries, the newest is meant."""
        path: Path = ()
        for place, name in enumerate(names, 1):
            path = (*path, name)
            if path in self._counts and (place < len(names) or last is None):
                path = (*path, self._counts[path])
        return path

    def _names(self) -> list[str]:
        names = []
        while found := _PART.match(self._text, self._at):
            self._at = found.end()
            names.append(_bare(found[1]))
            if not found[2]:
                break
        return names

    def _statement(self) -> None:
        line = self._line()
        names = self._names()
        for length in range(1, len(names) + 1):
            self._keys.setdefault((*self._table, *names[:length]), line)
        if self._text.startswith("=", self._at):
            self._at += 1
            self._value((*self._table, *names))

    def _value(self, path: Path) -> None:
        depth = 0
        first = True
        while found := _PIECE.match(self._text, self._at):
            piece = found[0]
            if first and piece.strip():
                first = False
                after = piece.startswith(tuple(f"{each}\n" for each in _LONG_QUOTES))
                self._texts[path] = self._line() + after
            self._at = found.end()
            depth += (piece in ("[", "{")) - (piece in ("]", "}"))
            if piece == "\n" and depth <= 0:
                return


def _bare(name: str) -> str:
    if name.startswith('"'):
        try:
            return str(json.loads(name))
        except ValueError:
            return name[1:-1]
    return name.strip("'")
