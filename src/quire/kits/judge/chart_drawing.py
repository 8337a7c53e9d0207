"""Chart drawing: pictures as PNG, as SVG or as a part of a page, with the numbers behind them."""

import csv
import io
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from quire.domain.errors import UsageError
from quire.kits.judge.intervals import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


DOTS_PER_INCH = 160
_ONE_AT_A_TIME = threading.Lock()


class Theme(NamedTuple):
    """The colours that change with light and dark."""

    ink: str
    muted: str
    line: str
    paper: str


LIGHT = Theme(ink="#1d2430", muted="#667085", line="#dfe3ea", paper="#ffffff")
DARK = Theme(ink="#e8e8e6", muted="#a4a9b2", line="#363a40", paper="#1c1e21")
# Colours nobody would draw with: each is exchanged for the page's own.
_MARKED = Theme(ink="#010101", muted="#020202", line="#030303", paper="#040404")
_VARIABLES = {getattr(_MARKED, name): f"var(--{name})" for name in Theme._fields}


Cell = str | float | None


class PlotNumbers(NamedTuple):
    """The numbers behind a picture, as a table."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


ESTIMATE_COLUMNS = ("value", "low", "high", "observations", "clusters")


class Chart(NamedTuple):
    """One picture of an experiment, not yet drawn."""

    name: str  # of its files
    title: str
    note: str  # how to read it
    height: float  # inches
    draw: Callable[["Axes", Theme], None]
    numbers: "PlotNumbers"  # what is drawn
    width: float = 6.0  # inches


def as_png(chart: Chart) -> bytes:
    """A picture with its title, on white."""
    return _render_chart(chart, LIGHT, "png", titled=True)


def as_svg(chart: Chart) -> bytes:
    """The same, at any size."""
    return _render_chart(chart, LIGHT, "svg", titled=True)


def as_picture(chart: Chart, dark: bool) -> bytes:
    """An SVG without a title, for a page that is light or dark."""
    return _render_chart(chart, DARK if dark else LIGHT, "svg", titled=False)


def as_html(chart: Chart) -> str:
    """A piece of HTML without a title, in the colours of the page around it."""
    text = _render_chart(chart, _MARKED, "svg", titled=False).decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # names that every picture on the page would share
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    return text


def as_csv(chart: Chart) -> bytes:
    """The numbers behind it; cells that a spreadsheet would run have an apostrophe before them."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(chart.numbers.columns)
    for row in chart.numbers.rows:
        writer.writerow(_guard(cell) if isinstance(cell, str) else cell for cell in row)
    return file.getvalue().encode()


def _guard(cell: str) -> str:
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def require_matplotlib() -> None:
    """Refuse early where the drawing library is not installed."""
    try:
        import matplotlib  # noqa: F401  # only reports need it
    except ImportError:
        raise UsageError(
            "plots need matplotlib; install it with: pip install 'quire[report]'"
        ) from None


def _render_chart(chart: Chart, theme: Theme, form: str, *, titled: bool) -> bytes:
    # the library's settings are those of the whole process, and a server draws on many threads
    with _ONE_AT_A_TIME, _settings(chart, theme):
        figure = _figure(chart, theme, titled=titled)
        file = io.BytesIO()
        # no date and no version: the same figures make the same bytes
        metadata = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
        figure.savefig(file, format=form, dpi=DOTS_PER_INCH, metadata=metadata)
    return file.getvalue()


def _figure(chart: Chart, theme: Theme, *, titled: bool) -> "Figure":
    from matplotlib.figure import Figure  # slow to import; only reports need it

    figure = Figure(figsize=(chart.width, chart.height), layout="constrained")
    axes = figure.add_subplot()
    chart.draw(axes, theme)
    if titled:
        axes.set_title(chart.title, loc="left", color=theme.ink, fontweight="bold", pad=12)
    return figure


def _settings(chart: Chart, theme: Theme) -> AbstractContextManager[None]:
    from matplotlib import rc_context  # slow to import; only reports need it

    paper = theme.paper if theme is LIGHT else "none"
    chosen: dict[Any, Any] = {
        "text.parse_math": False,  # a name with two $ is a name
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": chart.name,
        "font.family": "DejaVu Sans",
        "font.size": 9,
        **dict.fromkeys(("text.color", "ytick.labelcolor", "legend.labelcolor"), theme.ink),
        **dict.fromkeys(("axes.labelcolor", "xtick.labelcolor"), theme.muted),
        **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color", "grid.color"), theme.line),
        "axes.facecolor": "none",
        **dict.fromkeys(("figure.facecolor", "savefig.facecolor"), paper),
        **dict.fromkeys((f"axes.spines.{side}" for side in ("top", "right", "left")), False),
        "axes.axisbelow": True,
        "ytick.major.size": 0,
        "grid.linewidth": 0.8,
        "legend.frameon": False,
    }
    return rc_context(chosen)


MODEL_COLOURS = (
    "#3b74c4", "#d9822b", "#2f9e78", "#b4559a", "#8068c9", "#b39b1e", "#3a9fb5", "#c8554e",
)  # fmt: skip
_MARKERS = "osD^vPX*"  # so that models are told apart without their colours
_WEAK, _STRONG = (0xBB, 0xD6, 0xF3), (0x24, 0x59, 0xA8)  # of stages


def model_colour(place: int) -> str:
    """The colour of a model, by its place among them."""
    return MODEL_COLOURS[place % len(MODEL_COLOURS)]


def model_marker(place: int) -> str:
    """The mark of a model, by its place among them."""
    return _MARKERS[place % len(_MARKERS)]


def stage_colours(count: int) -> list[str]:
    """From pale to deep, one for each stage."""
    return [
        "#" + "".join(
            f"{round(weak + (strong - weak) * place / max(1, count - 1)):02x}"
            for weak, strong in zip(_WEAK, _STRONG, strict=True)
        )
        for place in range(count)
    ]  # fmt: skip


def label_rows(axes: "Axes", names: Sequence[str]) -> None:
    """Name the rows, the first one on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.75)


def set_percent_axis(axis: "Axis") -> None:
    """Ticks at whole steps, each said as it is: never 3 % for 2.5 %."""
    from matplotlib.ticker import MaxNLocator  # slow to import; only reports need it

    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(lambda value, _: f"{round(100 * value, 6):g}%")


def draw_legend(axes: "Axes", columns: int = 3) -> None:
    """Name what is drawn, above the picture."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, fontsize=8, handlelength=1.2,
            columnspacing=1.2, borderaxespad=0.2,
        )  # fmt: skip


def draw_estimate(axes: "Axes", theme: Theme, found: Estimate, place: float, colour: str) -> None:
    """A dot with its interval, lying in a row."""
    if found.value is None:
        return
    if found.low is not None and found.high is not None:
        axes.hlines(place, found.low, found.high, color=colour, linewidth=2.4, alpha=0.55)
    axes.plot(found.value, place, "o", color=colour, markersize=7, markeredgecolor=theme.paper)


def draw_upright(
    axes: "Axes", theme: Theme, found: Estimate, at: float, *, colour: str, marker: str
) -> None:
    """A dot with its interval, standing over a place."""
    if found.value is None:
        return
    if found.low is not None and found.high is not None:
        axes.vlines(at, found.low, found.high, color=colour, linewidth=1.8, alpha=0.55)
    axes.plot(at, found.value, marker, color=colour, markersize=5.5, markeredgecolor=theme.paper)
