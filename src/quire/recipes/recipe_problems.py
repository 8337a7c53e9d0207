"""Problems of a recipe: what is wrong by its path, and the line of that path in a TOML file."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quire.domain.data import Json
from quire.domain.errors import FileMistake, Mistake
from quire.recipes.schema_contract import pointer
from quire.recipes.setting_rules import Rule, unknown_message

KeyPath = tuple[str | int, ...]

_SPACE = re.compile(r"[ \t\r\n]*(?:#[^\n]*)?")
_PART = re.compile(r"""[ \t]*("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*(\.?)""")
_PIECE = re.compile(  # of a value: a text of one of four kinds, a remark, a bracket, a line's end
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}' + r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"' + r"|'[^'\n]*'|#[^\n]*|[\[\]{}]|\n|[^\"'#\[\]{}\n]+",
    re.DOTALL,
)
_LONG_QUOTES = ('"""', "'''")


@dataclass(frozen=True, slots=True)
class TomlLines:
    """The lines of what is written in a file, by path."""

    keys: Mapping[KeyPath, int]
    texts: Mapping[KeyPath, int]  # where the first line of a text is

    def line(self, path: KeyPath, row: int = 0) -> int:
        """The line of the nearest thing around a path; `row` counts lines inside a text."""
        if row and path in self.texts:
            return self.texts[path] + row - 1
        for length in range(len(path), 0, -1):
            if path[:length] in self.keys:
                return self.keys[path[:length]]
        return 1


def find_lines(text: str) -> TomlLines:
    """Find the lines of a text that has been parsed without a mistake."""
    return _LineFinder(text.replace("\r\n", "\n")).find()


class _LineFinder:
    """Walks over a TOML text, statement by statement."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._table: KeyPath = ()
        self._counts: dict[KeyPath, int] = {}  # of tables in arrays
        self._keys: dict[KeyPath, int] = {}
        self._texts: dict[KeyPath, int] = {}

    def find(self) -> TomlLines:
        """Read to the end."""
        while self._skip_space():
            begun = self._position
            if self._text[self._position] == "[":
                self._read_header()
            else:
                self._read_statement()
            if self._position == begun:  # not TOML as we know it: the rest has no lines
                break
        return TomlLines(self._keys, self._texts)

    def _skip_space(self) -> bool:
        while (found := _SPACE.match(self._text, self._position)) and found.end() > self._position:
            self._position = found.end()
        return self._position < len(self._text)

    def _current_line(self) -> int:
        return self._text.count("\n", 0, self._position) + 1

    def _read_header(self) -> None:
        line = self._current_line()
        several = self._text.startswith("[[", self._position)
        self._position += 2 if several else 1
        path = self._header_path(self._read_names(), () if several else None)
        self._position = (self._text.find("\n", self._position) + 1) or len(self._text)
        if several:
            self._counts[path] = self._counts.get(path, -1) + 1
            path = (*path, self._counts[path])
        self._table = path
        self._keys.setdefault(path, line)

    def _header_path(self, names: list[str], last: KeyPath | None) -> KeyPath:
        """The path of a header: where a table has several entries, the newest is meant."""
        path: KeyPath = ()
        for place, name in enumerate(names, 1):
            path = (*path, name)
            if path in self._counts and (place < len(names) or last is None):
                path = (*path, self._counts[path])
        return path

    def _read_names(self) -> list[str]:
        names = []
        while found := _PART.match(self._text, self._position):
            self._position = found.end()
            names.append(_unquote(found[1]))
            if not found[2]:
                break
        return names

    def _read_statement(self) -> None:
        line = self._current_line()
        names = self._read_names()
        for length in range(1, len(names) + 1):
            self._keys.setdefault((*self._table, *names[:length]), line)
        if self._text.startswith("=", self._position):
            self._position += 1
            self._read_value((*self._table, *names))

    def _read_value(self, path: KeyPath) -> None:
        depth = 0
        first = True
        while found := _PIECE.match(self._text, self._position):
            piece = found[0]
            if first and piece.strip():
                first = False
                after = piece.startswith(tuple(f"{item}\n" for item in _LONG_QUOTES))
                self._texts[path] = self._current_line() + after
            self._position = found.end()
            depth += (piece in ("[", "{")) - (piece in ("]", "}"))
            if piece == "\n" and depth <= 0:
                return


def _unquote(name: str) -> str:
    if name.startswith('"'):
        try:
            return str(json.loads(name))
        except ValueError:
            return name[1:-1]
    return name.strip("'")


class RecipeProblem(NamedTuple):
    """One thing that is wrong."""

    path: KeyPath
    message: str
    row: int = 0  # the line inside a text, counted from 1; 0 is the text as a whole

    def as_mistake(self) -> Mistake:
        """For a recipe that is no file: a pointer says where."""
        where = f"line {self.row}: " if self.row else ""
        return Mistake(pointer(*self.path), where + self.message)

    def as_file_mistake(self, name: str, lines: TomlLines) -> FileMistake:
        """For a recipe that is a file: its line says where."""
        return FileMistake(name, lines.line(self.path, self.row), self.message)


Problems = Iterator[RecipeProblem]


def merge_problems(
    first: Sequence[RecipeProblem], then: Iterable[RecipeProblem]
) -> list[RecipeProblem]:
    """Both, without what only follows from something that is wrong in the same place."""
    wrong = {problem.path for problem in first}

    def follows(path: KeyPath) -> bool:
        return any(path[:length] in wrong for length in range(1, len(path) + 1))

    return [*first, *(problem for problem in then if not follows(problem.path))]


def rule_problems(table: Mapping[str, Json], rules: Mapping[str, Rule], place: KeyPath) -> Problems:
    """Every key that no rule knows, and every value that its rule does not allow."""
    for name, value in table.items():
        if name not in rules:
            yield RecipeProblem((*place, name), f"{name} {unknown_message(name, rules)}")
        elif not rules[name].allows(value):
            shown = json.dumps(value, ensure_ascii=False, default=str)[:60]
            yield RecipeProblem((*place, name), f"{name} must be {rules[name].wanted}, not {shown}")


def plugin_mistakes(who: str, mistakes: Callable[[], Sequence[str]]) -> list[str]:
    """The mistakes that a plugin's code finds; that it breaks is one of them."""
    try:
        return [str(mistake) for mistake in mistakes()]
    except Exception as error:  # noqa: BLE001 - a plugin's gate or grouping may raise anything
        message = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        return [f"{who} could not be asked what is wrong ({message})"]
