"""Folding tables: the numbers behind a picture, row by row, a click away."""

from collections.abc import Iterable, Sequence
from html import escape


def folding_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that opens; the cells are HTML already, and the first of a row names it."""
    heads = "".join(f"<th scope='col'>{escape(name)}</th>" for name in head)
    lines = "".join(
        f"<tr><th scope='row'>{row[0]}</th>"
        + "".join(
            f"<td data-name='{escape(name, quote=True)}'>{cell}</td>"
            for name, cell in zip(head[1:], row[1:], strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f"<details><summary>{escape(title)}</summary><div class='scroll'>"
        f"<table class='listed plain'><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
        "</div></details>"
    )
