"""Stage graph: which stage reads which, in columns, with how much went from one to the other."""

from collections.abc import Mapping
from typing import NamedTuple

from quire.domain.recipes import Recipe
from quire.domain.runs import StageProgress
from quire.domain.states import TaskState
from quire.engine.progress_words import ended_tasks, task_count
from quire.recipes.recipe_drawing import describe_subject, edges

WIDTH, HEIGHT = 176, 56  # of a box
ACROSS, DOWN = 64, 22  # between boxes
MARGIN = 8
NAME, ABOUT = 22, 26  # characters that fit
BELOW = 26  # how far an edge may swing below boxes that have others under them


class GraphBox(NamedTuple):
    """A stage."""

    name: str
    label: str
    about: str  # as much of it as fits
    title: str  # all of it
    counts: str
    state: str
    critic: bool
    share: float  # of its box, that is done
    x: int
    y: int


class GraphEdge(NamedTuple):
    """One stage reads another, or judges it."""

    path: str
    judged: bool
    label: str
    x: float
    y: float


class StageGraph(NamedTuple):
    """A graph to be drawn."""

    width: int
    height: int
    boxes: list[GraphBox]
    edges: list[GraphEdge]
    words: str  # for who cannot see it


def draw_graph(recipe: Recipe, stages: Mapping[str, StageProgress] | None = None) -> StageGraph:
    """Lay a recipe out; with the stages of a run, say how many results went where."""
    places = _places(recipe)
    known = stages or {}
    boxes = [_box(recipe, name, place, known.get(name)) for name, place in places.items()]
    columns = max(column for column, _ in places.values()) + 1
    rows = max(row for _, row in places.values()) + 1
    found = {box.name: box for box in boxes}
    links = edges(recipe)
    swings = {
        (above, below): _swing(places[above], places[below], rows) for above, below, _ in links
    }
    lowest = max(swings.values(), default=0)
    return StageGraph(
        2 * MARGIN + columns * WIDTH + (columns - 1) * ACROSS,
        2 * MARGIN + rows * HEIGHT + (rows - 1) * DOWN + (lowest * 3 // 4 if lowest > BELOW else 0),
        boxes,
        [
            _edge(found[above], found[below], kind, known.get(above), swings[above, below])
            for above, below, kind in links
        ],
        "; ".join(f"{below} {_VERBS[kind]} {above}" for above, below, kind in links),
    )


_VERBS = {"read": "reads", "judged": "judges"}


def _places(recipe: Recipe) -> dict[str, tuple[int, int]]:
    """Each stage in a column behind all that it reads."""
    columns: dict[str, int] = {}
    rows: dict[int, int] = {}
    places: dict[str, tuple[int, int]] = {}
    for stage in recipe.stages:
        column = 1 + max((columns[name] for name in stage.upstream), default=-1)
        columns[stage.name] = column
        places[stage.name] = (column, rows.get(column, 0))
        rows[column] = rows.get(column, 0) + 1
    return places


def _box(recipe: Recipe, name: str, place: tuple[int, int], now: StageProgress | None) -> GraphBox:
    stage = next(item for item in recipe.stages if item.name == name)
    column, row = place
    done = now.count(TaskState.DONE) if now else 0
    about = describe_subject(stage).replace("_", " ")
    return GraphBox(
        name,
        _clip(name, NAME),
        _clip(about, ABOUT),
        f"{name}: {about}",
        f"{done:,} of {task_count(now)}" if now and now.expanded else "",
        now.state if now else "",
        bool(stage.critic),
        ended_tasks(now) / now.expanded if now and now.expanded else 0.0,
        MARGIN + column * (WIDTH + ACROSS),
        MARGIN + row * (HEIGHT + DOWN),
    )


def _swing(above: tuple[int, int], below: tuple[int, int], rows: int) -> int:
    """How far an edge goes down to pass below the boxes between two; 0: there are none."""
    if above[1] != below[1] or below[0] - above[0] < 2:
        return 0
    return BELOW if above[1] < rows - 1 else BELOW + 8 * (below[0] - above[0] - 1)


def _edge(
    above: GraphBox, below: GraphBox, kind: str, now: StageProgress | None, swing: int
) -> GraphEdge:
    label = f"{now.count(TaskState.DONE):,}" if now and now.expanded else ""
    if swing:
        bottom, x1, x2 = above.y + HEIGHT, above.x + WIDTH - 20, below.x + 20
        low = bottom + swing
        path = f"M{x1} {bottom} C{x1} {low} {x2} {low} {x2} {bottom + 5}"
        middle = bottom + 0.75 * swing  # as low as the curve comes
        return GraphEdge(path, kind == "judged", label, (x1 + x2) / 2, middle - 4)
    x1, y1 = above.x + WIDTH, above.y + HEIGHT / 2
    x2, y2 = below.x, below.y + HEIGHT / 2
    bend = ACROSS / 2
    path = f"M{x1} {y1:g} C{x1 + bend:g} {y1:g} {x2 - bend:g} {y2:g} {x2 - 5} {y2:g}"
    return GraphEdge(path, kind == "judged", label, x1 + bend * 0.7, y1 + (y2 - y1) * 0.25 - 6)


def _clip(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
