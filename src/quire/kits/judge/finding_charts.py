"""Charts of findings: agreement, preferred lines, drift, accuracy, calibration, evidence."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from quire.kits.judge.agreement import WithinModel
from quire.kits.judge.calibration import OTHERS, TRUTH, CriticCalibration
from quire.kits.judge.chart_drawing import (
    ESTIMATE_COLUMNS,
    MODEL_COLOURS,
    Cell,
    Chart,
    PlotNumbers,
    Theme,
    draw_estimate,
    draw_legend,
    draw_upright,
    label_rows,
    mark_colours,
    model_colour,
    model_marker,
    set_percent_axis,
    tell_without_interval,
)
from quire.kits.judge.correctness import Correctness
from quire.kits.judge.display_bias import ALPHABET, POSITION, DisplayBias
from quire.kits.judge.drift import Drift
from quire.kits.judge.evidence_figures import BundleFigures
from quire.kits.judge.findings import Findings
from quire.kits.judge.metrics import Metrics
from quire.kits.judge.rubric_quality import RubricQuality

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BUNDLES = 20
_LEAST_ALPHA = -1.0  # farther to the left an arrow says that it goes on
_STAGES_COLOUR, _LINES_COLOUR = MODEL_COLOURS[0], MODEL_COLOURS[7]
_BIAS_TITLES = {
    POSITION: ("position_bias", "Which line is chosen", "line of the display"),
    ALPHABET: ("identifier_bias", "Which identifier is chosen", "place of the identifier in the"
               " alphabet, among those displayed"),
}  # fmt: skip


def charts_of_findings(metrics: Metrics, findings: Findings) -> list[Chart]:
    """Every chart of findings that there is something to show in."""
    models = [figures.model for figures in metrics.by_model]
    return [
        *_agreement_charts(findings),
        *(chart for kind in _BIAS_TITLES for chart in _bias_charts(kind, findings.display_bias)),
        *_drift_charts(findings.drift, metrics.scale_size),
        *_accuracy_charts(findings.correctness),
        *(chart for what in (TRUTH, OTHERS) for chart in _calibration_charts(what, findings)),
        *_rubric_charts(findings.rubrics),
        *_evidence_charts(findings.evidence, models, metrics.scale_size),
    ]


def _agreement_charts(findings: Findings) -> Iterator[Chart]:
    within = findings.agreement.within
    drawn = any(bias.kind == POSITION for bias in findings.display_bias)
    if not drawn or all(item.stages_ordinal.value is None for item in within):
        return
    yield Chart(
        "stages_and_lines",
        "Does a model repeat its stages, or its lines?",
        "Krippendorff's ordinal alpha over a model's samples: of the stages it chose (blue, round),"
        " and of the lines of the display, on which other stages stand in every sample (red,"
        " square). 0 is chance. A judge that reads the stages has blue right of red; red right of"
        " blue, it chooses by place. An arrow at −1: the interval goes on to the left."
        + tell_without_interval(
            found for item in within for found in (item.stages_ordinal, item.positions_ordinal)
        ),
        1.25 + 0.5 * len(within),
        partial(_draw_alphas, within),
        PlotNumbers(
            ("model", "of", *ESTIMATE_COLUMNS),
            tuple(
                (item.model, name, *found)
                for item in within
                for name, found in (
                    ("stages", item.stages_ordinal), ("lines", item.positions_ordinal)
                )
            ),
        ),
    )  # fmt: skip


def _draw_alphas(within: Sequence[WithinModel], axes: "Axes", theme: Theme) -> None:
    values = []
    for place, item in enumerate(within):
        for found, colour, marker, shift in (
            (item.stages_ordinal, _STAGES_COLOUR, "o", -0.14),
            (item.positions_ordinal, _LINES_COLOUR, "s", 0.14),
        ):
            draw_estimate(axes, theme, found, place + shift, colour)
            if found.value is not None:
                axes.plot(
                    found.value, place + shift, marker, markersize=7,
                    **mark_colours(found, theme, colour),
                )  # fmt: skip
            values += [end for end in found[:3] if end is not None]
    for colour, marker, name in (
        (_STAGES_COLOUR, "o", "stages"), (_LINES_COLOUR, "s", "lines")
    ):  # fmt: skip
        axes.plot([], [], marker, color=colour, markersize=7, label=name)
    axes.axvline(0, color=theme.muted, linewidth=1)
    leftmost = max(_LEAST_ALPHA, min(-0.2, *values))
    axes.set_xlim(leftmost - 0.03, 1.03)
    for place, item in enumerate(within):
        for found, shift in ((item.stages_ordinal, -0.14), (item.positions_ordinal, 0.14)):
            if found.low is not None and found.low < _LEAST_ALPHA:
                axes.plot(_LEAST_ALPHA, place + shift, "<", color=theme.muted, markersize=6)
    axes.grid(axis="x")
    axes.set_xlabel("alpha")
    label_rows(axes, [item.model for item in within])
    draw_legend(axes)


def _bias_charts(kind: str, found: Sequence[DisplayBias]) -> Iterator[Chart]:
    alike = [bias for bias in found if bias.kind == kind]
    if not alike:
        return
    name, title, label = _BIAS_TITLES[kind]
    tests = "; ".join(f"{bias.model} {p_words(bias.p_value)}" for bias in alike)
    yield Chart(
        name,
        title,
        "Share of answered verdicts, with 95 % intervals; dashed, the share that was displayed. A"
        f" judge that reads the stages lies on the dashes. Randomization test: {tests}."
        + tell_without_interval(slot.chosen for bias in alike for slot in bias.slots),
        2.7,
        partial(_draw_bias, alike, label),
        PlotNumbers(
            ("model", "slot", "expected", *ESTIMATE_COLUMNS, "p_value"),
            tuple(
                (bias.model, slot.slot, slot.expected, *slot.chosen, bias.p_value)
                for bias in alike
                for slot in bias.slots
            ),
        ),
    )


LEAST_P = 0.001  # smaller ones are not told apart


def p_words(p_value: float | None) -> str:
    """A probability as people write it."""
    if p_value is None:
        return "not testable"
    return f"p {'' if p_value <= LEAST_P else '= '}{p_number(p_value)}"


def p_number(p_value: float | None) -> str:
    """The same where its column says what it is."""
    if p_value is None:
        return "not testable"
    return f"≤ {LEAST_P}" if p_value <= LEAST_P else f"{p_value:.3f}"


def _draw_bias(found: Sequence[DisplayBias], label: str, axes: "Axes", theme: Theme) -> None:
    names = list(dict.fromkeys(slot.slot for bias in found for slot in bias.slots))
    step = 0.6 / len(found)
    for place, bias in enumerate(found):
        for slot in bias.slots:
            at = names.index(slot.slot) + (place - (len(found) - 1) / 2) * step
            colour, marker = model_colour(place), model_marker(place)
            draw_upright(axes, theme, slot.chosen, at, colour=colour, marker=marker)
            axes.hlines(
                slot.expected, at - step / 2, at + step / 2, color=theme.ink, linewidth=1,
                linestyle=(0, (2, 2)),
            )  # fmt: skip
    _name_models(axes, [bias.model for bias in found])
    axes.set_xticks(range(len(names)), names)
    axes.set_xlabel(label)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")
    set_percent_axis(axes.yaxis)
    draw_legend(axes)


def _name_models(axes: "Axes", models: Sequence[str]) -> None:
    """Marks for the legend, without a place in the picture."""
    for place, model in enumerate(models):
        colour, marker = model_colour(place), model_marker(place)
        axes.plot([], [], marker, color=colour, markersize=5.5, label=model)


def _drift_charts(drifts: Sequence[Drift], scale_size: int) -> Iterator[Chart]:
    if not any(len(drift.points) > 2 for drift in drifts):
        return
    yield Chart(
        "drift",
        "Drift over samples",
        "Mean stage of each sample, in the order of their numbers, and the straight line through"
        " them. A line that rises or falls beyond its interval (table) says that later samples"
        " judge otherwise.",
        2.7,
        partial(_draw_drift, drifts, scale_size),
        PlotNumbers(
            ("model", "sample", "expected_stage", "abstain_rate", "scores"),
            tuple(
                (drift.model, point.sample, point.expected_stage, point.abstain_rate, point.scores)
                for drift in drifts
                for point in drift.points
            ),
        ),
    )


def _draw_drift(drifts: Sequence[Drift], scale_size: int, axes: "Axes", theme: Theme) -> None:
    for place, drift in enumerate(drifts):
        known = [(p.sample, p.expected_stage) for p in drift.points if p.expected_stage is not None]
        colour, marker = model_colour(place), model_marker(place)
        axes.plot(
            [sample for sample, _ in known], [stage for _, stage in known], marker, color=colour,
            markersize=4, alpha=0.65, markeredgewidth=0,
        )  # fmt: skip
        change = drift.expected_stage.value
        if known and change is not None:
            centre = sum(sample for sample, _ in known) / len(known)
            level = sum(stage for _, stage in known) / len(known)
            first, last = known[0][0], known[-1][0]
            ends = [level + change * (x - centre) / max(1, last - first) for x in (first, last)]
            axes.plot([first, last], ends, color=colour, linewidth=1.6)
    _name_models(axes, [drift.model for drift in drifts])
    axes.set_ylim(0.9, scale_size + 0.1)
    axes.set_yticks(range(1, scale_size + 1) if scale_size <= 12 else (1, scale_size))
    axes.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
    axes.set_xlabel("sample")
    axes.set_ylabel("mean stage", color=theme.muted)
    axes.grid(axis="y")
    draw_legend(axes)


def _accuracy_charts(found: Sequence[Correctness]) -> Iterator[Chart]:
    if not any(item.curve for item in found):
        return
    yield Chart(
        "accuracy_and_abstention",
        "Accuracy against abstention",
        "Accuracy of the verdicts kept, from all that were answered (right) to the tenth whose"
        " critics are surest (left), with 95 % intervals. Lines that rise to the left: critics know"
        " what is right. Dashed, guessing as many stages at a time as the model named (a line"
        " for each in its colour where verdicts may name several: a guess at several is never"
        " right); dotted, always naming the commonest truth."
        + tell_without_interval(point.accuracy for item in found for point in item.curve)
        + " How many verdicts each mark is of stands in the table.",
        2.9,
        partial(_draw_accuracy, found),
        PlotNumbers(
            ("model", "kept", "least_expert_agreement", *ESTIMATE_COLUMNS, "chance"),
            tuple(
                (item.model, point.kept, point.least_agreement, *point.accuracy, point.chance)
                for item in found
                for point in item.curve
            ),
        ),
    )


def _draw_accuracy(found: Sequence[Correctness], axes: "Axes", theme: Theme) -> None:
    for place, item in enumerate(found):
        colour, marker = model_colour(place), model_marker(place)
        shown = [(point.kept, point.accuracy.value or 0.0) for point in item.curve]
        axes.plot(*zip(*shown, strict=True), color=colour, linewidth=1.4, alpha=0.8)
        for point in item.curve:
            draw_upright(axes, theme, point.accuracy, point.kept, colour=colour, marker=marker)
    _name_models(axes, [item.model for item in found])
    _draw_guessing(found, axes, theme)
    commonest = max(item.commonest_truth for item in found)
    axes.axhline(commonest, color=theme.muted, linewidth=1, linestyle=(0, (1, 2)))
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("share of decoded verdicts that is kept")
    axes.grid(axis="y")
    set_percent_axis(axes.xaxis)
    set_percent_axis(axes.yaxis)
    draw_legend(axes)


def _draw_guessing(found: Sequence[Correctness], axes: "Axes", theme: Theme) -> None:
    """One line for all where every verdict names one stage; else each model's, point by point."""
    dashes = (0, (4, 3))
    chances = {point.chance for item in found for point in item.curve}
    if len(chances) == 1:
        axes.axhline(chances.pop(), color=theme.ink, linewidth=1, linestyle=dashes)
        return
    for place, item in enumerate(found):
        shown = [(point.kept, point.chance) for point in item.curve]
        if shown:
            colour = model_colour(place)
            axes.plot(*zip(*shown, strict=True), color=colour, linewidth=1, linestyle=dashes)


_CALIBRATION = {
    TRUTH: ("calibration_truth", "Do verdicts come true as critics say?", "were right"),
    OTHERS: ("calibration_others", "Do other models agree as critics say?", "others agreed"),
}


def _calibration_charts(against: str, findings: Findings) -> Iterator[Chart]:
    alike = [item for item in findings.calibration if item.against == against]
    if not alike:
        return
    name, title, label = _CALIBRATION[against]
    yield Chart(
        name,
        title,
        "Verdicts by what their critic said, in ten bins, with 95 % intervals. On the dashes, what"
        " critics say comes true; below them they promise too much; a flat line says that they"
        " cannot tell."
        + tell_without_interval(part.found for item in alike for part in item.bins)
        + " How many verdicts each mark is of stands in the table.",
        2.9,
        partial(_draw_calibration, alike, label),
        PlotNumbers(
            ("model", "from", "to", "said", *ESTIMATE_COLUMNS),
            tuple(
                (item.model, part.low, part.high, part.said, *part.found)
                for item in alike
                for part in item.bins
            ),
        ),
    )


def _draw_calibration(
    found: Sequence[CriticCalibration], label: str, axes: "Axes", theme: Theme
) -> None:
    axes.plot([0, 1], [0, 1], color=theme.muted, linewidth=1, linestyle=(0, (4, 3)))
    for place, item in enumerate(found):
        colour, marker = model_colour(place), model_marker(place)
        shown = [(part.said, part.found.value or 0.0) for part in item.bins]
        axes.plot(*zip(*shown, strict=True), color=colour, linewidth=1.2, alpha=0.7)
        for part in item.bins:
            draw_upright(axes, theme, part.found, part.said, colour=colour, marker=marker)
    _name_models(axes, [item.model for item in found])
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("expert agreement, as the critic sees it")
    axes.set_ylabel(label, color=theme.muted)
    axes.grid(axis="y")
    set_percent_axis(axes.xaxis)
    set_percent_axis(axes.yaxis)
    draw_legend(axes)


def _rubric_charts(found: Sequence[RubricQuality]) -> Iterator[Chart]:
    if not any(point.agreement is not None for item in found for point in item.points):
        return
    rows: list[tuple[Cell, ...]] = [
        (item.model, point.sample, point.observability, point.discriminability, point.agreement,
         point.abstain_rate, point.stage_error)
        for item in found
        for point in item.points
    ]  # fmt: skip
    yield Chart(
        "rubric_quality",
        "Do better rubrics agree more?",
        "A mark a rubric: how well its critic says that stages can be told apart, and what share of"
        " the model's verdicts in other samples say the same as those on it. Correlations are in"
        " the table; without a slope, what critics say of rubrics makes no difference.",
        2.7,
        partial(_draw_rubrics, found),
        PlotNumbers(
            ("model", "sample", "observability", "discriminability", "agreement", "abstain_rate",
             "stage_error"),
            tuple(rows),
        ),
    )  # fmt: skip


def _draw_rubrics(found: Sequence[RubricQuality], axes: "Axes", theme: Theme) -> None:
    for place, item in enumerate(found):
        known = [point for point in item.points if point.agreement is not None]
        axes.plot(
            [point.discriminability for point in known],
            [point.agreement or 0.0 for point in known],
            model_marker(place), color=model_colour(place), markersize=5, alpha=0.75,
            markeredgewidth=0, label=item.model,
        )  # fmt: skip
    axes.set_xlim(0, 1)
    axes.set_xlabel("discriminability, as the critic sees it")
    axes.set_ylabel("same verdict elsewhere", color=theme.muted)
    axes.grid(axis="y")
    axes.set_ylim(bottom=0)
    set_percent_axis(axes.yaxis)
    draw_legend(axes)


def _evidence_charts(
    found: Sequence[BundleFigures], models: Sequence[str], scale_size: int
) -> Iterator[Chart]:
    if len(models) < 2 or all(item.divided.value is None for item in found):
        return
    shown = found[:_MOST_BUNDLES]
    yield Chart(
        "evidence",
        "Which evidence divides the models",
        "Expected stage of each model on the bundles that divide them most (numbers as in the"
        " table), with 95 % intervals. Marks far apart: the models do not see the same in it."
        + tell_without_interval(part.expected_stage for item in shown for part in item.by_model),
        1.2 + 0.27 * len(shown),
        partial(_draw_evidence, shown, models, scale_size),
        PlotNumbers(
            ("bundle", "model", *ESTIMATE_COLUMNS),
            tuple(
                (item.bundle, part.model, *part.expected_stage)
                for item in shown
                for part in item.by_model
            ),
        ),
    )


def _draw_evidence(
    found: Sequence[BundleFigures],
    models: Sequence[str],
    scale_size: int,
    axes: "Axes",
    theme: Theme,
) -> None:
    for row, item in enumerate(found):
        for part in item.by_model:
            place = models.index(part.model)
            at = row + (place - (len(models) - 1) / 2) * 0.5 / len(models)
            stage = part.expected_stage
            if stage.low is not None and stage.high is not None:
                axes.hlines(
                    at, stage.low, stage.high, color=model_colour(place), linewidth=1.4, alpha=0.45
                )
            if stage.value is not None:
                axes.plot(
                    stage.value, at, model_marker(place), markersize=5, markeredgewidth=0.5,
                    **mark_colours(stage, theme, model_colour(place)),
                )  # fmt: skip
    _name_models(axes, models)
    axes.set_xlim(0.95, scale_size + 0.05)
    if scale_size <= 12:
        axes.set_xticks(range(1, scale_size + 1))
    axes.set_xlabel("expected stage")
    axes.grid(axis="x")
    label_rows(axes, [f"{number}" for number in range(1, len(found) + 1)])
    draw_legend(axes)
