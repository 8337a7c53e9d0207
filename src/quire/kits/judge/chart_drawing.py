"""Chart drawing: pictures as PNG, as SVG or as a part of a page, with the numbers behind them."""

import csv
import io
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from quire.domain.errors import UsageError
from quire.domain.quantities import quantity
from quire.kits.judge.intervals import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


DOTS_PER_INCH = 160
POINTS_PER_INCH = 72
_ONE_AT_A_TIME = threading.Lock()


class Theme(NamedTuple):
    """The colours that change with light and dark."""

    ink: str
    muted: str
    line: str
    paper: str


# Nothing else is drawn in these colours: on a page each is exchanged for the page's own.
LIGHT = Theme(ink="#1d2430", muted="#667085", line="#dfe3ea", paper="#fefefe")
DARK = Theme(ink="#e8e8e6", muted="#a4a9b2", line="#363a40", paper="#1c1e21")
ON_DEEP, ON_PALE = "#ffffff", "#1d2431"  # words on bars, which have their colours on any page
_VARIABLES = {getattr(LIGHT, name): f"var(--{name})" for name in Theme._fields}
_TITLE, _PAPER = "title", "paper"  # parts of a drawing that a page has of its own


Cell = str | float | None


class PlotNumbers(NamedTuple):
    """The numbers behind a picture, as a table."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


ESTIMATE_COLUMNS = ("value", "low", "high", "observations", "clusters")


FORMS = ("png", "svg", "csv")  # of the files of a chart


class Chart(NamedTuple):
    """One picture of an experiment, not yet drawn."""

    name: str  # of its files
    title: str
    note: str  # how to read it
    height: float  # inches
    draw: Callable[["Axes", Theme], None]
    numbers: "PlotNumbers"  # what is drawn
    width: float = 6.0  # inches


class Drawing(NamedTuple):
    """A chart, and how it looks."""

    chart: Chart
    html: str  # a piece of a page: without a title, in the colours of the page around it
    files: Mapping[str, bytes]  # by ending; pictures have a title and are on white


def draw(chart: Chart) -> Drawing:
    """Draw it once, for all its forms."""
    # the library's settings are those of the whole process, and a server draws on many threads
    with _ONE_AT_A_TIME, _settings(chart, LIGHT):
        figure = _figure(chart, LIGHT)
        title = figure.suptitle(
            chart.title, x=0.01, ha="left", fontsize=10.5, fontweight="bold", gid=_TITLE
        )
        _arrange(figure)
        png, svg = _save(figure, "png"), _save(figure, "svg")
        high = chart.height - title.get_window_extent().y0 / figure.dpi
    files = {"png": png, "svg": svg, "csv": as_csv(chart)}
    return Drawing(chart, _as_html(svg.decode(), high * POINTS_PER_INCH), files)


def as_picture(chart: Chart, dark: bool) -> bytes:
    """An SVG without a title, for a page that is light or dark."""
    theme = DARK if dark else LIGHT
    with _ONE_AT_A_TIME, _settings(chart, theme):
        figure = _figure(chart, theme)
        figure.patch.set_visible(False)
        _arrange(figure)
        return _save(figure, "svg")


def _as_html(svg: str, high: float) -> str:
    """A drawing as a piece of HTML, without its title, which is so many points high."""
    text = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    for part in (_TITLE, _PAPER):
        text = re.sub(rf'<g id="{part}">.*?</g>', "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # names that every picture on the page would share
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    _, _, width, height = map(float, re.findall(r"[\d.]+", text[text.index("viewBox") :])[:4])
    box = f'viewBox="0 {high:g} {width:g} {height - high:g}"'
    text = re.sub(r'viewBox="[^"]*"', box, text, count=1)
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


def _save(figure: "Figure", form: str) -> bytes:
    file = io.BytesIO()
    # no date and no version: the same figures make the same bytes
    metadata = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
    figure.savefig(file, format=form, dpi=DOTS_PER_INCH, metadata=metadata)
    return file.getvalue()


def _figure(chart: Chart, theme: Theme) -> "Figure":
    from matplotlib.figure import Figure  # slow to import; only reports need it

    figure = Figure(figsize=(chart.width, chart.height), dpi=DOTS_PER_INCH)
    figure.patch.set_gid(_PAPER)
    chart.draw(figure.add_subplot(), theme)
    return figure


def _arrange(figure: "Figure") -> None:
    """Put all where it belongs, once: a figure that does so by itself draws twice for each form."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine  # slow to import

    ConstrainedLayoutEngine().execute(figure)


def _settings(chart: Chart, theme: Theme) -> AbstractContextManager[None]:
    from matplotlib import rc_context  # slow to import; only reports need it

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
        **dict.fromkeys(("figure.facecolor", "savefig.facecolor"), "#ffffff"),
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
    axes.plot(found.value, place, "o", markersize=7, **mark_colours(found, theme, colour))


def draw_upright(
    axes: "Axes", theme: Theme, found: Estimate, at: float, *, colour: str, marker: str
) -> None:
    """A dot with its interval, standing over a place."""
    if found.value is None:
        return
    if found.low is not None and found.high is not None:
        axes.vlines(at, found.low, found.high, color=colour, linewidth=1.8, alpha=0.55)
    axes.plot(at, found.value, marker, markersize=5.5, **mark_colours(found, theme, colour))


def mark_colours(found: Estimate, theme: Theme, colour: str) -> dict[str, Any]:
    """A full mark where there is an interval; else a hollow one, so that it looks unsure."""
    if found.low is None:
        return {"markerfacecolor": theme.paper, "markeredgecolor": colour}
    return {"markerfacecolor": colour, "markeredgecolor": theme.paper}


def tell_without_interval(estimates: Iterable[Estimate], looks: str = "hollow") -> str:
    """How many marks have no interval, and why; empty where all have one."""
    drawn = [found for found in estimates if found.value is not None]
    without = [found for found in drawn if found.low is None]
    if not without:
        return ""
    single = sum(found.clusters == 1 for found in without)
    rest = len(without) - single
    why = [f"{single:,} of a single sample"] if single else []
    why += [f"{rest:,} that no single sample moves, or not each can be left out of"] if rest else []
    verb = "is" if len(without) == 1 else "are"
    return (
        f" {len(without):,} of {quantity(len(drawn), 'mark')} {verb}"
        f" {looks}, without an interval: {' and '.join(why)}."
    )
