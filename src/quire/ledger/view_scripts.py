"""View scripts: the views that people's tools read, one text for both databases, and their columns.

They are dropped before the tables change and made anew afterwards, so that no migration has to
know them.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_NAME = re.compile(r"^-- name: (v_\w+)$", re.MULTILINE)
_COLUMN = re.compile(r"AS (\w+),? -- (text|integer|number|moment|json); (.+)$", re.MULTILINE)
_MACRO = re.compile(r"\b(MOMENT|JSON_TEXT|UTF8)\(([\w.]+)(?:, ('\w+'))?\)")
_DOLLARS = "DOLLARS("

_WORDS = {
    "sqlite": {
        "MOMENT": "strftime('%Y-%m-%dT%H:%M:%S', {0} / 1000000, 'unixepoch')"
        " || printf('.%06dZ', {0} % 1000000)",
        "JSON_TEXT": "CAST(json_extract({0}, '$.' || {1}) AS TEXT)",
        "UTF8": "CAST({0} AS TEXT)",
    },
    "postgres": {
        "MOMENT": "to_char(to_timestamp({0} / 1000000) AT TIME ZONE 'UTC',"
        " 'YYYY-MM-DD\"T\"HH24:MI:SS') || '.' || lpad(({0} % 1000000)::text, 6, '0') || 'Z'",
        "JSON_TEXT": "({0}::json ->> {1})",
        "UTF8": "CASE WHEN position('\\x00'::bytea IN {0}) = 0 THEN convert_from({0}, 'UTF8') END",
    },
}


class ViewColumn(NamedTuple):
    """One column of a view."""

    name: str
    datatype: str  # text, integer, number, moment, json
    meaning: str


class View(NamedTuple):
    """One view as its file has it."""

    name: str
    meaning: str
    columns: tuple[ViewColumn, ...]
    text: str


@cache
def views() -> tuple[View, ...]:
    """All views, in the order in which people should see them."""
    script = (files("quire.ledger") / "sql" / "views" / "views.sql").read_text("utf-8")
    parts = _NAME.split(script)
    return tuple(
        _parse_view(name, body) for name, body in zip(parts[1::2], parts[2::2], strict=True)
    )


def _parse_view(name: str, body: str) -> View:
    meaning, _, query = body.strip().partition("\nSELECT")
    columns = tuple(ViewColumn(*found) for found in _COLUMN.findall(query))
    bare = "\n".join(line.partition(" -- ")[0] for line in ("SELECT" + query).splitlines())
    said = " ".join(line.removeprefix("-- ") for line in meaning.splitlines())
    return View(name, said, columns, bare)


def drop_views() -> Iterator[str]:
    """Statements that take all views away."""
    return (f"DROP VIEW IF EXISTS {view.name}" for view in views())


def create_views(dialect: str) -> Iterator[str]:
    """Statements that make all views, in the words of one database."""
    for view in views():
        yield f"CREATE VIEW {view.name} AS {_in_dialect(view.text, dialect)}"


def _in_dialect(text: str, dialect: str) -> str:
    words = _WORDS[dialect]
    text = _MACRO.sub(lambda found: words[found[1]].format(found[2], found[3]), text)
    text = _divide_dollars(text)
    return re.sub(r"\bINTEGER\b", "BIGINT", text) if dialect == "postgres" else text


def _divide_dollars(text: str) -> str:
    """Write `DOLLARS(x)` as a division; x may hold parentheses of its own."""
    while (start := text.find(_DOLLARS)) >= 0:
        depth, end = 1, start + len(_DOLLARS)
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        inner = text[start + len(_DOLLARS) : end - 1]
        text = f"{text[:start]}(({inner}) / 1000000000000.0){text[end:]}"
    return text
