"""Charts of a comparison: each model's figure by experiment, and what experiments differ by."""

from collections.abc import Sequence
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

from quire.domain.quantities import quantity
from quire.kits.judge.chart_drawing import (
    ESTIMATE_COLUMNS,
    Chart,
    PlotNumbers,
    Theme,
    model_colour,
    model_marker,
    tell_without_interval,
)
from quire.kits.judge.comparison import ExperimentComparison, contrast_label, experiment_labels
from quire.kits.judge.contrast_questions import Question
from quire.kits.judge.intervals import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE = 24  # characters of a label
LEVELS = "Each model in each experiment, with 95 % intervals over samples."
DIFFERENCES = (
    "To the right of 0 the first has more. Thick lines are 95 % intervals, thin ones those"
    " of all contrasts together; filled marks stand out among all, hollow ones do not."
)


class _Mark(NamedTuple):
    """One figure in a row."""

    model: str
    figure: Estimate
    wide: Estimate = Estimate(None)  # the interval of all together
    stands_out: bool | None = None  # of a difference


_Row = tuple[str, Sequence[_Mark]]  # a label, and each model's figure


def comparison_charts(comparison: ExperimentComparison, question: Question) -> list[Chart]:
    """Both charts of a question, as far as there is something to draw."""
    labels = experiment_labels(comparison)
    levels: dict[str, list[_Mark]] = {}
    for level in comparison.levels:
        if level.question == question.name and level.figure.value is not None:
            mark = _Mark(level.model, level.figure)
            levels.setdefault(labels[level.experiment], []).append(mark)
    contrasts: dict[str, list[_Mark]] = {}
    for item in comparison.contrasts:
        if item.question == question.name and item.difference.value is not None:
            mark = _Mark(item.model, item.difference, item.simultaneous, bool(item.stands_out))
            contrasts.setdefault(contrast_label(comparison, item), []).append(mark)
    differences = DIFFERENCES + _tell_not_drawn(comparison, question)
    drawn = [("levels", LEVELS, levels), ("contrasts", differences, contrasts)]
    return [
        _chart(
            f"{question.name}_{kind}",
            f"{question.title}: {kind}",
            note,
            list(rows.items()),
            zero=rows is contrasts or question.is_alpha,
            up_to_one=rows is levels,
        )
        for kind, note, rows in drawn
        if rows
    ]


def _tell_not_drawn(comparison: ExperimentComparison, question: Question) -> str:
    """How many contrasts have no difference; empty where all have one."""
    without = [
        item
        for item in comparison.contrasts
        if item.question == question.name and item.difference.value is None
    ]
    if not without:
        return ""
    verb = "is" if len(without) == 1 else "are"
    return (
        f" {quantity(len(without), 'contrast')} {verb} not drawn, since one of both has no such"
        " verdict, or they have none in common; the table names them."
    )


def _chart(
    name: str, title: str, note: str, rows: Sequence[_Row], *, zero: bool, up_to_one: bool
) -> Chart:
    models = list(dict.fromkeys(mark.model for _, found in rows for mark in found))
    lines = max(_in_lines(label).count("\n") + 1 for label, _ in rows)
    step = max(0.34, 0.16 + 0.13 * len(models), 0.1 + 0.16 * lines)
    draw = partial(_draw_rows, rows, models, zero=zero, up_to_one=up_to_one)
    numbers = PlotNumbers(
        ("row", "model", *ESTIMATE_COLUMNS, "simultaneous_low", "simultaneous_high", "stands_out"),
        tuple(
            (label, mark.model, *mark.figure, mark.wide.low, mark.wide.high, mark.stands_out)
            for label, found in rows
            for mark in found
        ),
    )
    note += tell_without_interval((mark.figure for _, found in rows for mark in found), "faint")
    return Chart(name, title, note, 1.1 + step * len(rows), draw, numbers)


def _in_lines(label: str) -> str:
    """A label in short lines, so that a phone shows the marks beside it, too."""
    return fill(label, _LINE, break_long_words=False)


def _draw_rows(
    rows: Sequence[_Row],
    models: Sequence[str],
    axes: "Axes",
    theme: Theme,
    *,
    zero: bool,
    up_to_one: bool,
) -> None:
    for place, model in enumerate(models):
        shift = (place - (len(models) - 1) / 2) * 0.7 / max(1, len(models))
        found = [
            (at + shift, mark)
            for at, (_, marks) in enumerate(rows)
            for mark in marks
            if mark.model == model
        ]
        _draw_model(axes, theme, place, model, found)
    if zero:
        axes.axvline(0, color=theme.ink, linewidth=1)
    if up_to_one:
        axes.set_xlim(min(0.0, axes.get_xlim()[0]), max(1.0, axes.get_xlim()[1]))
    axes.set_yticks(range(len(rows)), [_in_lines(label) for label, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="x")
    if len(models) > 1:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize=8)


def _draw_model(
    axes: "Axes", theme: Theme, place: int, model: str, found: Sequence[tuple[float, _Mark]]
) -> None:
    colour, marker = model_colour(place), model_marker(place)
    for at, mark in found:
        for estimate, width in ((mark.figure, 1.8), (mark.wide, 0.7)):
            if estimate.low is not None and estimate.high is not None:
                axes.plot([estimate.low, estimate.high], [at, at], color=colour, linewidth=width)
        hollow = mark.stands_out is False
        axes.scatter(
            [mark.figure.value or 0.0], [at], s=22, marker=marker, zorder=3, clip_on=False,
            alpha=0.4 if mark.figure.low is None else None,
            color=theme.paper if hollow else colour, edgecolors=colour, linewidths=1.1,
        )  # fmt: skip
    axes.scatter([], [], s=22, color=colour, marker=marker, label=model)
