"""Charts: the pictures of an experiment, as PNG, as SVG or as a part of a page."""

import io
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from math import log2
from typing import TYPE_CHECKING, Any, NamedTuple

from quire.domain.errors import UsageError
from quire.kits.judge.intervals import Estimate
from quire.kits.judge.metrics import Metrics, Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle


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
    return _render_chart(chart, LIGHT, "png", titled=True)


def as_svg(chart: Chart) -> bytes:
    """The same, at any size."""
    return _render_chart(chart, LIGHT, "svg", titled=True)


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


def require_matplotlib() -> None:
    """Refuse early where the drawing library is not installed."""
    try:
        import matplotlib  # noqa: F401  # only reports need it
    except ImportError:
        raise UsageError(
            "plots need matplotlib; install it with: pip install 'quire[report]'"
        ) from None


def _render_chart(chart: Chart, theme: Theme, form: str, *, titled: bool) -> bytes:
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
_WEAK, _STRONG = (0xBB, 0xD6, 0xF3), (0x24, 0x59, 0xA8)  # of stages
_ABSTAINED = "#b8bec9"
_BINS = 20
_FAINT = 0.1  # bits of divergence: less is not shown as if it were much


def charts_of(metrics: Metrics, scores: Sequence[Score]) -> list[Chart]:
    """Every chart that there is something to show in."""
    rows = len(metrics.by_model)
    tall, slim = 1.2 + 0.42 * rows, 0.75 + 0.42 * rows
    charts = [
        Chart(
            "stage_distribution",
            "Where verdicts fall",
            "Share of decoded verdicts on each stage, weakest first; a verdict that names several"
            " stages counts for each in part. Grey: the model abstained.",
            tall,
            partial(_draw_stages, metrics),
        ),
        _dot_chart(metrics, "expected_stage", (1, metrics.scale_size), slim),
        _dot_chart(metrics, "abstain_rate", (0, 1), slim),
        _dot_chart(metrics, "singleton_rate", (0, 1), slim),
        _dot_chart(metrics, "stage_entropy", (0, log2(metrics.scale_size)), slim),
        Chart(
            "critic_agreement",
            "How sure the critics are",
            "Critics' estimates that experts would agree with the verdict: share of each model's"
            " verdicts by estimate, the mean marked.",
            2.6,
            partial(_draw_agreement, metrics, scores),
        ),
    ]
    if any(figures.accuracy.value is not None for figures in metrics.by_model):
        charts.append(_dot_chart(metrics, "accuracy", (0, 1), slim))
    if rows > 1:
        charts += _comparison_charts(metrics)
    return charts


_DOT_CHARTS = {
    "expected_stage": ("Expected stage", "Mean stage of the verdicts that name one, stage 1 the"
                       " weakest; bars are 95 % intervals over samples."),
    "abstain_rate": ("Abstentions", "Share of decoded verdicts in which the model abstained, with"
                     " 95 % intervals."),
    "singleton_rate": ("Verdicts for one stage", "Share of answered verdicts that name exactly one"
                       " stage, with 95 % intervals."),
    "stage_entropy": ("Stage entropy", "Spread of the verdicts over the stages in bits, from 0"
                      " (always the same) to the end of the axis (all alike)."),
    "accuracy": ("Accuracy", "Share of answered verdicts that name exactly the stage held to be"
                 " right, with 95 % intervals."),
}  # fmt: skip


def stage_colours(count: int) -> list[str]:
    """From pale to deep, one for each stage."""
    return [
        "#" + "".join(
            f"{round(weak + (strong - weak) * place / max(1, count - 1)):02x}"
            for weak, strong in zip(_WEAK, _STRONG, strict=True)
        )
        for place in range(count)
    ]  # fmt: skip


def _comparison_charts(metrics: Metrics) -> list[Chart]:
    rows = len(metrics.by_model)
    charts = [
        Chart(
            "model_divergence",
            "How differently models judge",
            "Jensen–Shannon divergence between the models' stage distributions in bits: 0 the"
            " same, 1 nothing in common.",
            1.6 + 0.5 * rows,
            partial(_draw_divergence, metrics),
        ),
        Chart(
            "matched_deltas",
            "Differences on the same sample and bundle",
            "Expected stage of the first model less that of the second, where both judged the"
            " same bundle in the same sample; 95 % intervals over samples.",
            0.85 + 0.42 * len(metrics.deltas),
            partial(_draw_deltas, [(f"{d.of} − {d.against}", d.stages) for d in metrics.deltas]),
        ),
    ]
    if metrics.swap_deltas:
        estimates = [(f"{d.of} on {d.against}", d.stages) for d in metrics.swap_deltas]
        charts.append(
            Chart(
                "swap_deltas",
                "Judging on a rival's rubric",
                "Expected stage on the rival's rubric less that on the model's own, for the same"
                " sample and bundle; 95 % intervals over samples.",
                0.85 + 0.42 * len(estimates),
                partial(_draw_deltas, estimates),
            )
        )
    return charts


def _dot_chart(metrics: Metrics, name: str, ends: tuple[float, float], height: float) -> Chart:
    title, note = _DOT_CHARTS[name]
    estimates = [(figures.model, getattr(figures, name)) for figures in metrics.by_model]
    return Chart(name, title, note, height, partial(_draw_dots, estimates, ends))


def _draw_dots(
    estimates: Sequence[tuple[str, Estimate]], ends: tuple[float, float], axes: "Axes", theme: Theme
) -> None:
    low, high = ends
    axes.set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))
    axes.grid(axis="x")
    rate = high == 1 and low == 0
    if rate:
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    elif low == 1:
        axes.set_xticks(range(1, int(high) + 1))
    form = "{:.1%}" if rate else "{:.2f}"
    _draw_estimates(axes, theme, estimates, form.format, coloured=True)


def _draw_deltas(estimates: Sequence[tuple[str, Estimate]], axes: "Axes", theme: Theme) -> None:
    ends = [abs(end or 0.0) for _, found in estimates for end in found[:3]]
    reach = max(0.1, *ends) * 1.15
    axes.set_xlim(-reach, reach)
    axes.grid(axis="x")
    axes.axvline(0, color=theme.muted, linewidth=1)
    axes.set_xlabel("stages")
    _draw_estimates(axes, theme, estimates, "{:+.2f}".format, coloured=False)


def _draw_estimates(
    axes: "Axes",
    theme: Theme,
    estimates: Sequence[tuple[str, Estimate]],
    format_value: Callable[[float], str],
    *,
    coloured: bool,
) -> None:
    for place, (_, found) in enumerate(estimates):
        colour = MODEL_COLOURS[place % len(MODEL_COLOURS)] if coloured else MODEL_COLOURS[0]
        if found.value is None:
            continue
        if found.low is not None and found.high is not None:
            axes.hlines(place, found.low, found.high, color=colour, linewidth=2.4, alpha=0.55)
        axes.plot(found.value, place, "o", color=colour, markersize=7, markeredgecolor=theme.paper)
        axes.annotate(
            format_value(found.value), (found.value, place), (0, 7), textcoords="offset points",
            ha="center", color=theme.muted, fontsize=8,
        )  # fmt: skip
    _label_rows(axes, [name for name, _ in estimates])


def _draw_stages(metrics: Metrics, axes: "Axes", theme: Theme) -> None:
    colours = [*stage_colours(metrics.scale_size), _ABSTAINED]
    names = [*(f"stage {n}" for n in range(1, metrics.scale_size + 1)), "abstained"]
    for place, figures in enumerate(metrics.by_model):
        abstained = figures.abstain_rate.value or 0.0
        parts = [*(share * (1 - abstained) for share in figures.stage_shares), abstained]
        begin = 0.0
        for number, (part, colour) in enumerate(zip(parts, colours, strict=True)):
            axes.barh(
                place, part, 0.62, begin, color=colour, edgecolor=theme.paper, linewidth=1.2,
                label=names[number] if place == 0 else None,
            )  # fmt: skip
            if part >= 0.07:
                deep = metrics.scale_size / 2 <= number < metrics.scale_size
                axes.text(
                    begin + part / 2, place, f"{part:.0%}", ha="center", va="center",
                    color="#ffffff" if deep else "#1d2430", fontsize=8,
                )  # fmt: skip
            begin += part
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    _label_rows(axes, [item.model for item in metrics.by_model])
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=min(6, len(names)), fontsize=8,
        handlelength=1, handleheight=1, columnspacing=1.2,
    )  # fmt: skip


def _draw_divergence(metrics: Metrics, axes: "Axes", theme: Theme) -> None:
    models = [figures.model for figures in metrics.by_model]
    found = [[metrics.divergence[one][other].value for other in models] for one in models]
    known = (item for row in found for item in row if item is not None)
    most = max(_FAINT, *known, 0.0)
    for place, row in enumerate(found):
        for other, value in enumerate(row):
            strength = 0.0 if value is None else value / most
            axes.add_patch(_matrix_cell(other, place, strength))
            axes.text(
                other, place, "–" if value is None else f"{value:.3f}", ha="center", va="center",
                color="#ffffff" if strength > 0.6 else theme.ink, fontsize=8.5,
            )  # fmt: skip
    axes.set_xlim(-0.5, len(models) - 0.5)
    axes.set_xticks(range(len(models)), [name.replace("/", "/\n") for name in models])
    axes.tick_params(axis="x", length=0, labelcolor=theme.ink)
    axes.spines["bottom"].set_visible(False)
    _label_rows(axes, models)
    axes.set_ylim(len(models) - 0.5, -0.5)


def _matrix_cell(x: int, y: int, strength: float) -> "Rectangle":
    from matplotlib.patches import Rectangle  # slow; only reports need it

    return Rectangle(
        (x - 0.48, y - 0.48), 0.96, 0.96,
        facecolor=stage_colours(2)[1], alpha=0.06 + 0.94 * strength, edgecolor="none",
    )  # fmt: skip


def _draw_agreement(metrics: Metrics, scores: Sequence[Score], axes: "Axes", theme: Theme) -> None:
    edges = [place / _BINS for place in range(_BINS + 1)]
    for place, figures in enumerate(metrics.by_model):
        heard = [
            score.agreement
            for score in scores
            if score.model == figures.model and score.agreement is not None and not score.is_swap
        ]
        if not heard:
            continue
        colour = MODEL_COLOURS[place % len(MODEL_COLOURS)]
        counts = [0] * _BINS
        for value in heard:
            counts[min(_BINS - 1, int(value * _BINS))] += 1
        heights = [count / len(heard) for count in counts]
        axes.stairs(heights, edges, color=colour, fill=True, alpha=0.08)
        axes.stairs(heights, edges, color=colour, linewidth=1.6, label=figures.model)
        axes.axvline(sum(heard) / len(heard), color=colour, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_xlim(0, 1)
    axes.grid(axis="y")
    axes.set_xlabel("expert agreement, as the critic sees it")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.tick_params(axis="y", labelcolor=theme.muted)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize=8, handlelength=1.4)


def _label_rows(axes: "Axes", names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.75)
