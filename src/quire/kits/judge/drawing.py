"""Drawing: a chart becomes a picture in a file, or a part of a page that follows its colours."""

import io
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from quire.domain.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS_PER_INCH = 160


class Theme(NamedTuple):
    """The colours that change with light and dark."""

    ink: str
    muted: str
    line: str
    paper: str


LIGHT = Theme(ink="#1d2430", muted="#667085", line="#dfe3ea", paper="#ffffff")
# Colours nobody would draw with: each is exchanged for the page's own.
_MARKED = Theme(ink="#010101", muted="#020202", line="#030303", paper="#040404")
_VARIABLES = {getattr(_MARKED, name): f"var(--{name})" for name in Theme._fields}


class Chart(NamedTuple):
    """One picture of an experiment, not yet drawn."""

    name: str  # of its files
    title: str
    note: str  # how to read it
    height: float  # inches
    draw: Callable[["Axes", Theme], None]
    width: float = 6.0  # inches


def as_png(chart: Chart) -> bytes:
    """A picture with its title, on white."""
    return _saved(chart, LIGHT, "png", titled=True)


def as_svg(chart: Chart) -> bytes:
    """The same, at any size."""
    return _saved(chart, LIGHT, "svg", titled=True)


def as_part(chart: Chart) -> str:
    """A piece of HTML without a title, in the colours of the page around it."""
    text = _saved(chart, _MARKED, "svg", titled=False).decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # names that every picture on the page would share
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    return text


def require_drawing() -> None:
    """Refuse early where the drawing library is not installed."""
    try:
        import matplotlib  # noqa: F401  # only reports need it
    except ImportError:
        raise UsageError(
            "plots need matplotlib; install it with: pip install 'quire[report]'"
        ) from None


def _saved(chart: Chart, theme: Theme, form: str, *, titled: bool) -> bytes:
    with _settings(chart, theme):
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

    chosen: dict[Any, Any] = {
        "text.parse_math": False,  # a name with two $ is a name
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": chart.name,
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "text.color": theme.ink,
        "axes.edgecolor": theme.line,
        "axes.labelcolor": theme.muted,
        "axes.facecolor": "none",
        "figure.facecolor": theme.paper if theme is LIGHT else "none",
        "savefig.facecolor": theme.paper if theme is LIGHT else "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.spines.left": False,
        "axes.axisbelow": True,
        "xtick.color": theme.line,
        "xtick.labelcolor": theme.muted,
        "ytick.color": theme.line,
        "ytick.labelcolor": theme.ink,
        "ytick.major.size": 0,
        "grid.color": theme.line,
        "grid.linewidth": 0.8,
        "legend.frameon": False,
        "legend.labelcolor": theme.ink,
    }
    return rc_context(chosen)
