"""The comparison page: settings, figures and contrasts of several experiments, with their files."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from quire.domain.quantities import quantity
from quire.engine import render_head, render_page, render_table
from quire.kits.judge.chart_drawing import (
    ESTIMATE_COLUMNS,
    Chart,
    Drawing,
    PlotNumbers,
    Theme,
    draw,
    model_colour,
    model_marker,
    require_matplotlib,
)
from quire.kits.judge.comparison import ExperimentComparison, contrast_label, experiment_labels
from quire.kits.judge.contrasts import BY_EVIDENCE, BY_SAMPLE, QUESTIONS, Contrast, Question
from quire.kits.judge.intervals import Estimate
from quire.kits.judge.report_files import write_files

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAGE, FIGURES, TABLE, LEVELS = "comparison.html", "comparison.json", "contrasts.csv", "levels.csv"
_PAIRINGS = {BY_EVIDENCE: "by piece", BY_SAMPLE: "by sample"}
_Row = tuple[str, Sequence[tuple[str, Estimate]]]  # a label, and each model's figure

STYLE = """<style>
.simulated { font-size: 1.6rem; font-weight: 700; letter-spacing: .04em; text-align: center;
  border: 3px solid currentColor; padding: .4rem .8rem; margin: 1rem 0 }
.chart svg { display: block; width: 100%; max-width: 100%; height: auto }
details > summary { cursor: pointer; margin: .6rem 0; line-height: 44px }
td.clear { font-weight: 700 }
@media print { details > * { display: block !important } }
</style>"""


def write_comparison(comparison: ExperimentComparison, folder: Path) -> list[Path]:
    """Write the page, its tables, its figures and each plot; returns the files, the page first."""
    require_matplotlib()
    return write_files(folder, _files(comparison))


def _files(comparison: ExperimentComparison) -> Iterator[tuple[str, bytes]]:
    drawings = {
        question.name: list(map(draw, _charts(comparison, question)))
        for question in _questions_with_figures(comparison)
    }
    yield PAGE, render_comparison(comparison, drawings).encode()
    yield FIGURES, orjson.dumps(comparison.as_json(), option=orjson.OPT_INDENT_2) + b"\n"
    yield TABLE, _as_csv([contrast.as_row() for contrast in comparison.contrasts])
    yield (
        LEVELS,
        _as_csv([{**level._asdict(), **level.figure._asdict()} for level in comparison.levels]),
    )
    for drawn in drawings.values():
        for drawing in drawn:
            for ending, body in drawing.files.items():
                yield f"plots/{drawing.chart.name}.{ending}", body


def _as_csv(rows: Sequence[Mapping[str, object]]) -> bytes:
    file = io.StringIO(newline="")
    names = [name for name in rows[0] if name != "figure"] if rows else []
    writer = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def _questions_with_figures(comparison: ExperimentComparison) -> list[Question]:
    """The questions that there is something to say to."""
    known = {level.question for level in comparison.levels if level.figure.value is not None}
    return [question for question in QUESTIONS if question.name in known]


def render_comparison(
    comparison: ExperimentComparison, drawings: Mapping[str, Sequence[Drawing]]
) -> str:
    """Write the page; nothing in it is fetched from anywhere."""
    concepts = dict.fromkeys(arm.settings["concept"] for arm in comparison.arms)
    chips = [
        quantity(len(comparison.arms), "experiment"),
        quantity(len(comparison.contrasts), "contrast"),
        f"varied: {', '.join(comparison.varying_names) or 'nothing'}",
    ]
    body = [STYLE, render_head("Comparison of experiments", ", ".join(concepts), chips)]
    if comparison.is_simulated:
        body.append("<p class='simulated'>SIMULATED: no model was asked</p>")
    body += [_settings(comparison), _cautions(comparison)]
    body += [
        _question(comparison, item, drawings[item.name])
        for item in _questions_with_figures(comparison)
    ]
    runs = ", ".join(map(str, comparison.runs))
    return render_page("Comparison of experiments", body, f"runs {runs}")


def _settings(comparison: ExperimentComparison) -> str:
    varied = comparison.varying_names
    rows = [
        [
            escape(arm.name),
            *(escape(arm.settings[name]) for name in varied),
            f"{sum(score.decoded for score in arm.scores):,}",
            f"{sum(not score.decoded for score in arm.scores):,}",
            f"{run} ({escape(status)})",
        ]
        for arm, run, status in zip(
            comparison.arms, comparison.runs, comparison.statuses, strict=True
        )
    ]
    same = "; ".join(
        f"{name} {value}" for name, value in comparison.common_settings.items() if value != "–"
    )
    head = ("Experiment", *varied, "Scores", "Missing", "Run")
    return render_table("What varies", f"The same in all: {same}.", head, rows)


def _cautions(comparison: ExperimentComparison) -> str:
    items = "".join(f"<li>{escape(caution)}</li>" for caution in comparison.cautions)
    files = " · ".join(f"<a href='{name}' download>{name}</a>" for name in (TABLE, LEVELS, FIGURES))
    return (
        "<section class='card wide'><h2>How to read this</h2><p>Differences are the first less the"
        " second, with 95 % intervals over samples. Paired by piece: the same model on the same"
        " evidence in the sample of the same seed, where both gave such a verdict. Paired by"
        " sample: all of a sample beside all of it. First and second are of what is"
        " paired only, so that they can be other than the figures by experiment. Contrasts are"
        " of experiments that differ in"
        " one setting; who differs in more from all others is held against the first.</p>"
        f"<ul>{items}</ul><p>{files}</p></section>"
    )


def _question(
    comparison: ExperimentComparison, question: Question, drawings: Sequence[Drawing]
) -> str:
    pictures = "".join(
        f"<h3>{escape(drawing.chart.note)}</h3><div class='chart' role='img'"
        f" aria-label='{escape(drawing.chart.title, quote=True)}'>{drawing.html}</div>"
        f"<p>{_downloads(drawing)}</p>"
        for drawing in drawings
    )
    found = [item for item in comparison.contrasts if item.question == question.name]
    head = (
        "Contrast", "Model", "First", "Second", "Difference", "95 % interval", "All together", "n",
        "Paired",
    )  # fmt: skip
    rows = "".join(_contrast_row(comparison, contrast) for contrast in found)
    heads = "".join(f"<th>{escape(name)}</th>" for name in head)
    table = (
        f"<details><summary>{quantity(len(found), 'contrast')} as a table</summary>"
        "<div class='scroll'><table>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )
    nothing = "<p>No two of these experiments can be compared by it.</p>"
    return (
        f"<section class='card wide'><h2>{escape(question.title)}</h2>"
        f"<p>{escape(question.note)}</p>{pictures}{table if found else nothing}</section>"
    )


def _contrast_row(comparison: ExperimentComparison, contrast: Contrast) -> str:
    found = contrast.difference
    clear = " class='clear'" if contrast.stands_out else ""
    rests_on = f"{found.observations:,} in {found.clusters:,}"
    values = (_number(contrast.of_value), _number(contrast.against_value))
    cells = [contrast.model, *values, f"{found.value:+.3f}"]
    cells += [_interval(found), _interval(contrast.simultaneous), rests_on]
    cells.append(_PAIRINGS.get(contrast.pairing, "not"))
    listed = "".join(f"<td{clear}>{escape(cell)}</td>" for cell in cells)
    return f"<tr><th>{escape(contrast_label(comparison, contrast))}</th>{listed}</tr>"


def _interval(found: Estimate) -> str:
    if found.low is None or found.high is None:
        return "–"
    return f"{found.low:+.3f} to {found.high:+.3f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _downloads(drawing: Drawing) -> str:
    return " · ".join(
        f"<a href='plots/{drawing.chart.name}.{ending}' download>{ending.upper()}</a>"
        for ending in drawing.files
    )


def _charts(comparison: ExperimentComparison, question: Question) -> list[Chart]:
    labels = experiment_labels(comparison)
    levels: dict[str, list[tuple[str, Estimate]]] = {}
    for level in comparison.levels:
        if level.question == question.name and level.figure.value is not None:
            levels.setdefault(labels[level.experiment], []).append((level.model, level.figure))
    contrasts: dict[str, list[tuple[str, Estimate]]] = {}
    for item in comparison.contrasts:
        if item.question == question.name:
            label = contrast_label(comparison, item)
            contrasts.setdefault(label, []).append((item.model, item.difference))
    drawn = [("levels", "By experiment", levels, False)]
    drawn += [("contrasts", "Differences; to the right the first has more", contrasts, True)]
    return [
        _chart(
            f"{question.name}_{kind}", f"{question.title}: {kind}", note, list(rows.items()), zero
        )
        for kind, note, rows, zero in drawn
        if rows
    ]


def _chart(name: str, title: str, note: str, rows: Sequence[_Row], zero: bool) -> Chart:
    models = list(dict.fromkeys(model for _, found in rows for model, _ in found))
    step = max(0.34, 0.16 + 0.13 * len(models))
    draw = partial(_draw_rows, rows, models, zero)
    numbers = PlotNumbers(
        ("row", "model", *ESTIMATE_COLUMNS),
        tuple((label, model, *figure) for label, found in rows for model, figure in found),
    )
    return Chart(name, title, note, 1.1 + step * len(rows), draw, numbers, width=8.0)


def _draw_rows(
    rows: Sequence[_Row], models: Sequence[str], zero: bool, axes: "Axes", theme: Theme
) -> None:
    for place, model in enumerate(models):
        colour, marker = model_colour(place), model_marker(place)
        shift = (place - (len(models) - 1) / 2) * 0.7 / max(1, len(models))
        found = [
            (at + shift, estimate)
            for at, (_, figures) in enumerate(rows)
            for name, estimate in figures
            if name == model
        ]
        for at, estimate in found:
            if estimate.low is not None and estimate.high is not None:
                axes.plot([estimate.low, estimate.high], [at, at], color=colour, linewidth=1.6)
        values = [estimate.value or 0.0 for _, estimate in found]
        places = [at for at, _ in found]
        axes.scatter(values, places, s=22, color=colour, marker=marker, label=model, zorder=3)
    if zero:
        axes.axvline(0, color=theme.ink, linewidth=1)
    else:
        axes.set_xlim(min(0.0, axes.get_xlim()[0]), 1)
    axes.set_yticks(range(len(rows)), [label for label, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="x")
    if len(models) > 1:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize=8)
