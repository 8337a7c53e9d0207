"""Strip drawing: a strip of packs as rectangles; colour and shape both say how a pack stands."""

from collections.abc import Iterator
from typing import NamedTuple

from quire.domain.pricing import dollars
from quire.domain.quantities import quantity
from quire.engine.pack_strips import STATES, PackStrip
from quire.ledger.tables.strips import StripBin

CELL = 16  # pixels of a cell, at most
GAP = 0.14  # of a cell, between two
# Where each state stands in a cell that it has for itself: top and height, of 28.
SHAPES: dict[str, tuple[tuple[float, float], ...]] = {
    "done": ((0, 28),),
    "failed": ((0, 11), (17, 11)),  # broken in the middle
    "again": ((0, 12),),  # its halves follow it
    "out": ((6, 22),),
    "waiting": ((18, 10),),
}
HEIGHT = 28
WORDS = {
    "done": "done",
    "failed": "failed",
    "again": "asked again",
    "out": "in flight",
    "waiting": "waiting",
}
STATE_KINDS = {
    "done": "done",
    "failed": "failed",
    "again": "needs",
    "out": "flight",
    "waiting": "waiting",
}


class StripRect(NamedTuple):
    """A rectangle of a cell."""

    kind: str
    y: float
    height: float


class StripCell(NamedTuple):
    """One cell: where it is, what it shows, what it tells, and where it leads."""

    x: float
    width: float
    rects: tuple[StripRect, ...]
    title: str
    href: str


class StripDrawing(NamedTuple):
    """A strip to be drawn."""

    cells: list[StripCell]
    length: int  # cells, with those to come
    pixels: int  # as wide as it is at most
    to_come: int
    words: list[tuple[str, str]]  # kind of state and how many, for who cannot see it


def draw_strip(strip: PackStrip) -> StripDrawing:
    """Draw a strip."""
    length = max(1, strip.cells)
    words = [
        (STATE_KINDS[state], f"{count:,} {WORDS[state]}")
        for state, count in strip.counts.items()
        if count
    ]
    if strip.to_come:
        words.append(("waiting", f"about {strip.to_come:,} to come"))
    cells = [_draw_cell(strip, cell) for cell in strip.bins]
    return StripDrawing(cells, length, length * CELL, strip.to_come, words)


def _draw_cell(strip: PackStrip, cell: StripBin) -> StripCell:
    states = [(state, getattr(cell, state)) for state in STATES if getattr(cell, state)]
    alone = len(states) == 1
    rects = _whole(states[0][0]) if alone else tuple(_stack(states, cell.packs))
    return StripCell(cell.no, 1 - GAP, rects, _describe(strip, cell), f"/calls/{cell.request_id}")


def _whole(state: str) -> tuple[StripRect, ...]:
    return tuple(StripRect(STATE_KINDS[state], y, height) for y, height in SHAPES[state])


def _stack(states: list[tuple[str, int]], packs: int) -> Iterator[StripRect]:
    """Several states in one bin, one upon the other, the first at the bottom."""
    bottom = float(HEIGHT)
    for state, count in states:
        height = HEIGHT * count / packs
        bottom -= height
        yield StripRect(STATE_KINDS[state], round(bottom, 2), round(height, 2))


def _describe(strip: PackStrip, cell: StripBin) -> str:
    """What a cell tells: tasks, sendings, cost and model."""
    states = ", ".join(
        WORDS[state] if cell.packs == 1 else f"{getattr(cell, state):,} {WORDS[state]}"
        for state in STATES
        if getattr(cell, state)
    )
    what = f"call {cell.request_id}" if cell.packs == 1 else f"{cell.packs:,} packs"
    stage = f"{strip.stages[cell.first_stage]} · " if len(strip.stages) > 1 else ""
    model = cell.model if cell.model == cell.other_model else f"{cell.model} and others"
    parts = (
        quantity(cell.tasks, "task"),
        f"sent {quantity(cell.sent, 'time')}",
        dollars(cell.cost_pico),
        model,
    )
    return f"{stage}{what}: {states} · {' · '.join(parts)}"
