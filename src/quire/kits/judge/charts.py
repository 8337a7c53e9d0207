"""Charts: the pictures of an experiment, those that no table says as well."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from quire.kits.judge.chart_drawing import (
    ESTIMATE_COLUMNS,
    MODEL_COLOURS,
    ON_DEEP,
    ON_PALE,
    Cell,
    Chart,
    PlotNumbers,
    Theme,
    draw_estimate,
    draw_legend,
    label_rows,
    model_colour,
    set_percent_axis,
    stage_colours,
    tell_without_interval,
)
from quire.kits.judge.finding_charts import charts_of_findings
from quire.kits.judge.findings import Findings
from quire.kits.judge.intervals import Estimate
from quire.kits.judge.metrics import Delta, Figures, Metrics, Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ABSTAINED = "#b8bec9"
_BINS = 20


def charts_of(metrics: Metrics, findings: Findings, scores: Sequence[Score]) -> list[Chart]:
    """Every chart that there is something to show in."""
    charts = [_stage_chart(metrics), *charts_of_findings(metrics, findings)]
    if any(figures.critic_agreement.value is not None for figures in metrics.by_model):
        charts.append(_sureness_chart(metrics, scores))
    if metrics.swap_deltas:
        charts.append(_swap_chart(metrics.swap_deltas))
    return charts


def _stage_chart(metrics: Metrics) -> Chart:
    names = _stage_names(metrics)
    rows: list[tuple[Cell, ...]] = [
        (figures.model, name, *share)
        for figures in metrics.by_model
        for name, share in zip(names, _stage_estimates(figures), strict=True)
    ]
    return Chart(
        "stage_distribution",
        "Where verdicts fall",
        "Share of decoded verdicts on each stage, weakest first; a verdict that names several"
        " stages counts for each in part. Grey: the model abstained.",
        1.2 + 0.42 * len(metrics.by_model),
        partial(_draw_stages, metrics),
        PlotNumbers(("model", "stage", "share_of_decoded", *ESTIMATE_COLUMNS[1:]), tuple(rows)),
    )


def _stage_names(metrics: Metrics) -> list[str]:
    return [*(f"stage {n}" for n in range(1, metrics.scale_size + 1)), "abstained"]


def _stage_parts(figures: Figures) -> list[float]:
    return [found.value or 0.0 for found in _stage_estimates(figures)]


def _stage_estimates(figures: Figures) -> list[Estimate]:
    return [*figures.stage_shares_of_decoded, figures.abstain_rate]


def _draw_stages(metrics: Metrics, axes: "Axes", theme: Theme) -> None:
    colours = [*stage_colours(metrics.scale_size), _ABSTAINED]
    names = _stage_names(metrics)
    for place, figures in enumerate(metrics.by_model):
        begin = 0.0
        parts = zip(_stage_parts(figures), colours, strict=True)
        for number, (part, colour) in enumerate(parts):
            axes.barh(
                place, part, 0.62, begin, color=colour, edgecolor=theme.paper, linewidth=1.2,
                label=names[number] if place == 0 else None,
            )  # fmt: skip
            if part >= 0.07:
                deep = metrics.scale_size / 2 <= number < metrics.scale_size
                axes.text(
                    begin + part / 2, place, f"{part:.0%}", ha="center", va="center",
                    color=ON_DEEP if deep else ON_PALE, fontsize=8,
                )  # fmt: skip
            begin += part
    axes.set_xlim(0, 1)
    set_percent_axis(axes.xaxis)
    label_rows(axes, [item.model for item in metrics.by_model])
    draw_legend(axes, min(6, len(names)))


def _sureness_chart(metrics: Metrics, scores: Sequence[Score]) -> Chart:
    rows: list[tuple[Cell, ...]] = [
        (model, place / _BINS, (place + 1) / _BINS, share)
        for model, heights in _sureness(metrics, scores)
        for place, share in enumerate(heights)
    ]
    return Chart(
        "critic_agreement",
        "How sure the critics are",
        "Critics' estimates that experts would agree with the verdict: the share of each model's"
        " verdicts by estimate; dashed, its mean.",
        2.6,
        partial(_draw_sureness, metrics, scores),
        PlotNumbers(("model", "from", "to", "share"), tuple(rows)),
    )


def _sureness(metrics: Metrics, scores: Sequence[Score]) -> Iterator[tuple[str, list[float]]]:
    for figures in metrics.by_model:
        mine = [score for score in scores if score.model == figures.model and not score.is_swap]
        heard = [score.agreement for score in mine if score.agreement is not None]
        places = [min(_BINS - 1, int(value * _BINS)) for value in heard]
        if heard:
            yield figures.model, [places.count(at) / len(heard) for at in range(_BINS)]


def _draw_sureness(metrics: Metrics, scores: Sequence[Score], axes: "Axes", theme: Theme) -> None:
    edges = [place / _BINS for place in range(_BINS + 1)]
    models = [figures.model for figures in metrics.by_model]
    for model, heights in _sureness(metrics, scores):
        place = models.index(model)
        colour, centre = model_colour(place), metrics.by_model[place].critic_agreement.value
        axes.stairs(heights, edges, color=colour, fill=True, alpha=0.08)
        axes.stairs(heights, edges, color=colour, linewidth=1.6, label=model)
        axes.axvline(centre or 0.0, color=colour, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_xlim(0, 1)
    axes.grid(axis="y")
    axes.set_xlabel("expert agreement, as the critic sees it")
    set_percent_axis(axes.yaxis)
    axes.tick_params(axis="y", labelcolor=theme.muted)
    draw_legend(axes)


def _swap_chart(deltas: Sequence[Delta]) -> Chart:
    return Chart(
        "swap_deltas",
        "Judging on a rival's rubric",
        "Expected stage on the rival's rubric less that on the model's own, for the same sample and"
        " bundle; 95 % intervals over samples. Left of 0: milder on the rival's."
        + tell_without_interval(delta.stages for delta in deltas),
        0.85 + 0.42 * len(deltas),
        partial(_draw_deltas, [(f"{d.of} on {d.against}", d.stages) for d in deltas]),
        PlotNumbers(
            ("model", "rubric_of", *ESTIMATE_COLUMNS),
            tuple((delta.of, delta.against, *delta.stages) for delta in deltas),
        ),
    )


def _draw_deltas(estimates: Sequence[tuple[str, Estimate]], axes: "Axes", theme: Theme) -> None:
    ends = [abs(end or 0.0) for _, found in estimates for end in found[:3]]
    reach = max(0.1, *ends) * 1.15
    axes.set_xlim(-reach, reach)
    axes.grid(axis="x")
    axes.axvline(0, color=theme.muted, linewidth=1)
    axes.set_xlabel("stages")
    for place, (_, found) in enumerate(estimates):
        draw_estimate(axes, theme, found, place, MODEL_COLOURS[0])
        if found.value is not None:
            axes.annotate(
                f"{found.value:+.2f}", (found.value, place), (0, 7), textcoords="offset points",
                ha="center", color=theme.muted, fontsize=8,
            )  # fmt: skip
    label_rows(axes, [name for name, _ in estimates])
