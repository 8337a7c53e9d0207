"""Pages as the tests read them: fenced blocks, code spans, links, and the commands named there."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^```(\w*)(?: exit=(\d+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_COMMAND = re.compile(r"(?:^|&& |; |\| )(?:\$ )?(?:[A-Z_]+=\S+ )*quire( [^#|&;]*)?")


class Block(NamedTuple):
    """One fenced block of a page."""

    language: str
    code: int  # the exit code that its last command is said to have
    text: str


class Command(NamedTuple):
    """One `quire …` on a page, cut into words."""

    page: str
    words: tuple[str, ...]


def pages() -> list[Path]:
    """Every page of the project."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/README.md")]
    return sorted(found)


def name(page: Path) -> str:
    """A page as people call it."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [Block(found[1], int(found[2] or 0), found[3]) for found in _FENCE.finditer(_read(page))]


def spans(page: Path) -> list[str]:
    """The code spans of a page, outside its fenced blocks."""
    return _SPAN.findall(_FENCE.sub("", _read(page)))


def links(page: Path) -> list[str]:
    """Where a page's links lead, without those that leave the project."""
    found: list[str] = _LINK.findall(_FENCE.sub("", _read(page)))
    return [text for text in found if "://" not in text and not text.startswith("mailto:")]


def anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    titles = re.findall(r"^#+ (.+)$", _FENCE.sub("", _read(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def commands(page: Path) -> Iterator[Command]:
    """Every command of ours that a page names, in its blocks and in its code spans."""
    fenced = [line for block in blocks(page) for line in block.text.splitlines()]
    for line in (*fenced, *spans(page)):
        for found in _COMMAND.finditer(line.strip()):
            yield Command(name(page), tuple(shlex.split(found[1] or "")))


def _read(page: Path) -> str:
    return page.read_text("utf-8")
