"""Charts: the pictures of an experiment, each a function from figures to marks."""

from collections.abc import Callable, Sequence
from functools import partial
from math import log2
from typing import TYPE_CHECKING

from quire.kits.judge.drawing import Chart, Theme
from quire.kits.judge.estimating import Estimate
from quire.kits.judge.metrics import Metrics
from quire.kits.judge.scores import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle

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
            partial(_stages, metrics),
        ),
        _dots(metrics, "expected_stage", (1, metrics.scale_size), slim),
        _dots(metrics, "abstain_rate", (0, 1), slim),
        _dots(metrics, "singleton_rate", (0, 1), slim),
        _dots(metrics, "stage_entropy", (0, log2(metrics.scale_size)), slim),
        Chart(
            "critic_agreement",
            "How sure the critics are",
            "Critics' estimates that experts would agree with the verdict: share of each model's"
            " verdicts by estimate, the mean marked.",
            2.6,
            partial(_agreement, metrics, scores),
        ),
    ]
    if any(each.accuracy.value is not None for each in metrics.by_model):
        charts.append(_dots(metrics, "accuracy", (0, 1), slim))
    if rows > 1:
        charts += _between_models(metrics)
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


def _between_models(metrics: Metrics) -> list[Chart]:
    rows = len(metrics.by_model)
    charts = [
        Chart(
            "model_divergence",
            "How differently models judge",
            "Jensen–Shannon divergence between the models' stage distributions in bits: 0 the"
            " same, 1 nothing in common.",
            1.6 + 0.5 * rows,
            partial(_divergence, metrics),
        ),
        Chart(
            "matched_deltas",
            "Differences on the same sample and bundle",
            "Expected stage of the first model less that of the second, where both judged the"
            " same bundle in the same sample; 95 % intervals over samples.",
            0.85 + 0.42 * len(metrics.deltas),
            partial(_deltas, [(f"{d.of} − {d.against}", d.stages) for d in metrics.deltas]),
        ),
    ]
    if metrics.swap_deltas:
        told = [(f"{d.of} on {d.against}", d.stages) for d in metrics.swap_deltas]
        charts.append(
            Chart(
                "swap_deltas",
                "Judging on a rival's rubric",
                "Expected stage on the rival's rubric less that on the model's own, for the same"
                " sample and bundle; 95 % intervals over samples.",
                0.85 + 0.42 * len(told),
                partial(_deltas, told),
            )
        )
    return charts


def _dots(metrics: Metrics, name: str, ends: tuple[float, float], height: float) -> Chart:
    title, note = _DOT_CHARTS[name]
    told = [(each.model, getattr(each, name)) for each in metrics.by_model]
    return Chart(name, title, note, height, partial(_draw_dots, told, ends))


def _draw_dots(
    told: Sequence[tuple[str, Estimate]], ends: tuple[float, float], axes: "Axes", theme: Theme
) -> None:
    low, high = ends
    axes.set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))
    axes.grid(axis="x")
    rate = high == 1 and low == 0
    if rate:
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    elif low == 1:
        axes.set_xticks(range(1, int(high) + 1))
    _estimates(axes, theme, told, "{:.1%}".format if rate else "{:.2f}".format, coloured=True)


def _deltas(told: Sequence[tuple[str, Estimate]], axes: "Axes", theme: Theme) -> None:
    ends = [abs(end or 0.0) for _, found in told for end in (found.value, found.low, found.high)]
    reach = max(0.1, *ends) * 1.15
    axes.set_xlim(-reach, reach)
    axes.grid(axis="x")
    axes.axvline(0, color=theme.muted, linewidth=1)
    axes.set_xlabel("stages")
    _estimates(axes, theme, told, "{:+.2f}".format, coloured=False)


def _estimates(
    axes: "Axes",
    theme: Theme,
    told: Sequence[tuple[str, Estimate]],
    shown: Callable[[float], str],
    *,
    coloured: bool,
) -> None:
    for place, (_, found) in enumerate(told):
        colour = MODEL_COLOURS[place % len(MODEL_COLOURS)] if coloured else MODEL_COLOURS[0]
        if found.value is None:
            continue
        if found.low is not None and found.high is not None:
            axes.hlines(place, found.low, found.high, color=colour, linewidth=2.4, alpha=0.55)
        axes.plot(found.value, place, "o", color=colour, markersize=7, markeredgecolor=theme.paper)
        axes.annotate(
            shown(found.value), (found.value, place), (0, 7), textcoords="offset points",
            ha="center", color=theme.muted, fontsize=8,
        )  # fmt: skip
    _named(axes, [name for name, _ in told])


def _stages(metrics: Metrics, axes: "Axes", theme: Theme) -> None:
    colours = [*stage_colours(metrics.scale_size), _ABSTAINED]
    names = [*(f"stage {n}" for n in range(1, metrics.scale_size + 1)), "abstained"]
    for place, figures in enumerate(metrics.by_model):
        abstained = figures.abstain_rate.value or 0.0
        parts = [*(each * (1 - abstained) for each in figures.stage_shares), abstained]
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
    _named(axes, [each.model for each in metrics.by_model])
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=min(6, len(names)), fontsize=8,
        handlelength=1, handleheight=1, columnspacing=1.2,
    )  # fmt: skip


def _divergence(metrics: Metrics, axes: "Axes", theme: Theme) -> None:
    models = [each.model for each in metrics.by_model]
    found = [[metrics.divergence[one][other] for other in models] for one in models]
    known = (each for row in found for each in row if each is not None)
    most = max(_FAINT, *known, 0.0)
    for place, row in enumerate(found):
        for other, value in enumerate(row):
            strength = 0.0 if value is None else value / most
            axes.add_patch(_cell(other, place, strength))
            axes.text(
                other, place, "–" if value is None else f"{value:.3f}", ha="center", va="center",
                color="#ffffff" if strength > 0.6 else theme.ink, fontsize=8.5,
            )  # fmt: skip
    axes.set_xlim(-0.5, len(models) - 0.5)
    axes.set_xticks(range(len(models)), [name.replace("/", "/\n") for name in models])
    axes.tick_params(axis="x", length=0, labelcolor=theme.ink)
    axes.spines["bottom"].set_visible(False)
    _named(axes, models)
    axes.set_ylim(len(models) - 0.5, -0.5)


def _cell(x: int, y: int, strength: float) -> "Rectangle":
    from matplotlib.patches import Rectangle  # slow; only reports need it

    return Rectangle(
        (x - 0.48, y - 0.48), 0.96, 0.96,
        facecolor=stage_colours(2)[1], alpha=0.06 + 0.94 * strength, edgecolor="none",
    )  # fmt: skip


def _agreement(metrics: Metrics, scores: Sequence[Score], axes: "Axes", theme: Theme) -> None:
    edges = [place / _BINS for place in range(_BINS + 1)]
    for place, figures in enumerate(metrics.by_model):
        heard = [
            each.agreement
            for each in scores
            if each.model == figures.model and each.agreement is not None and not each.is_swap
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


def _named(axes: "Axes", names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.75)
