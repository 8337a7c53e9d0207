"""HTML pages that need nothing else: one style, light and dark, and parts that reports share."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import NamedTuple

from quire.domain.version import VERSION

NO_MEANINGS: Mapping[str, str] = {}


class Tile(NamedTuple):
    """One figure that is seen first."""

    name: str
    value: str
    below: str = ""


def render_page(title: str, body: Iterable[str], footer: str) -> str:
    """Write a page of parts that are HTML already; nothing in it is fetched from anywhere."""
    return (
        files(__package__)
        .joinpath("page.html")
        .read_text("utf-8")
        .replace("{{title}}", escape(title))
        .replace("{{footer}}", escape(f"Quire {VERSION} · {footer}"))
        .replace("{{body}}", "\n".join(body))  # last: what it holds is not looked at again
    )


def render_head(title: str, below: str, chips: Iterable[str]) -> str:
    """What a page is about: its title, a line below it, and a row of facts."""
    listed = "".join(f"<li>{escape(chip)}</li>" for chip in chips)
    return (
        f"<header><h1>{escape(title)}</h1><p class='concept'>{escape(below)}</p>"
        f"<ul class='chips'>{listed}</ul></header>"
    )


def render_tiles(tiles: Iterable[Tile]) -> str:
    """The figures that are seen first, side by side."""
    cells = "".join(
        f"<div class='tile'><span>{escape(tile.name)}</span><strong>{escape(tile.value)}</strong>"
        f"<small>{escape(tile.below)}</small></div>"
        for tile in tiles
    )
    return f"<section class='tiles'>{cells}</section>"


def render_table(
    title: str,
    note: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    total: bool = True,
    meanings: Mapping[str, str] = NO_MEANINGS,
) -> str:
    """A card with a table; the cells are HTML already, and the first of a row names it.

    The last row is set apart as a total unless it is none. A narrow screen shows a row as a list,
    each cell after the name of its column. What columns mean is a click away.
    """
    heads = "".join(f"<th scope='col'>{escape(name)}</th>" for name in head)
    names = [f"data-name='{escape(name, quote=True)}'" for name in head]
    lines = "".join(
        f"<tr><th scope='row'>{row[0]}</th>"
        + "".join(f"<td {name}>{cell}</td>" for name, cell in zip(names[1:], row[1:], strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        f"<section class='card wide'><h2>{escape(title)}</h2><p>{escape(note)}</p>"
        f"<div class='scroll' tabindex='0' role='group' aria-label='{escape(title, quote=True)}'>"
        f"<table class='listed{'' if total else ' plain'}'>"
        f"<thead><tr>{heads}</tr></thead>"
        f"<tbody>{lines}</tbody></table></div>{render_meanings(head, meanings)}</section>"
    )


def render_meanings(head: Iterable[str], meanings: Mapping[str, str]) -> str:
    """What the columns of a table are, to be opened."""
    known = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(meanings[name])}</dd>"
        for name in head
        if name in meanings
    )
    if not known:
        return ""
    summary = "<summary>What the columns are</summary>"
    return f"<details class='meanings'>{summary}<dl>{known}</dl></details>"
