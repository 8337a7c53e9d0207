"""HTML tables: how runs, plans and rows show themselves in a notebook, without widgets."""

from collections.abc import Iterable, Sequence
from html import escape

LONGEST_CELL = 200  # characters


def html_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], caption: str, left: int = 0
) -> str:
    """A table with a line above it; `left` rows are not shown, and it says so."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in rows
    )
    more = f"<p>and {left:,} more</p>" if left > 0 else ""
    return (
        f"<p>{escape(caption)}</p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{more}"
    )


def html_line(words: str, share: float | None = None) -> str:
    """One line of words, with a bar before it where it is known how far something is."""
    bar = "" if share is None else f'<progress value="{share:.4f}" max="1"></progress> '
    return f"<div>{bar}<code>{escape(words)}</code></div>"


def _cell(value: object) -> str:
    if value is None:
        return "–"
    words = str(value)
    return escape(words if len(words) <= LONGEST_CELL else f"{words[: LONGEST_CELL - 1]}…")
