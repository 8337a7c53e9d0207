"""The comparison page: settings, figures and contrasts of several experiments, with their files."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

import orjson

from quire.domain.quantities import quantity
from quire.engine import render_head, render_page, render_table
from quire.kits.judge.chart_drawing import Drawing, draw, require_matplotlib
from quire.kits.judge.comparison import ExperimentComparison
from quire.kits.judge.comparison_charts import comparison_charts
from quire.kits.judge.comparison_tables import contrast_table, level_table, standing_out_table
from quire.kits.judge.contrast_questions import QUESTIONS, Question
from quire.kits.judge.place_preferences import place_caution
from quire.kits.judge.report import caution, simulated_notice
from quire.kits.judge.report_files import write_files

PAGE, FIGURES, TABLE, LEVELS = "comparison.html", "comparison.json", "contrasts.csv", "levels.csv"
_HEADINGS = {"levels": "By experiment", "contrasts": "Differences"}
_MEANINGS = {
    "Scores": "Verdicts that could be read, abstentions among them; swaps are left out.",
    "Missing": "Verdicts that could not be read, or were not given: they count in no figure.",
    "Run": "Its number in the ledger, and how it stands.",
}
STYLE = """<style>
.chart svg { display: block; width: 100%; max-width: 700px; height: auto }
.card h3 { margin: 1rem 0 .2rem; font-size: .92rem }
.card > details > summary { margin: .3rem 0; line-height: 44px }
@media print { .card { break-inside: auto } .chart { break-inside: avoid }
  .card h2, .card h2 + p, .card h3, .card h3 + p { break-after: avoid }
  .card > details::details-content { content-visibility: visible; display: block } }
</style>"""


def write_comparison(comparison: ExperimentComparison, folder: Path) -> list[Path]:
    """Write the page, its tables, its figures and each plot; returns the files, the page first."""
    require_matplotlib()
    return write_files(folder, _files(comparison))


def _files(comparison: ExperimentComparison) -> Iterator[tuple[str, bytes]]:
    drawings = {
        question.name: list(map(draw, comparison_charts(comparison, question)))
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
    body += [*_notices(comparison), _contents(comparison), _settings(comparison)]
    body += [_cautions(comparison), standing_out_table(comparison)]
    body += [
        _question(comparison, item, drawings[item.name])
        for item in _questions_with_figures(comparison)
    ]
    runs = ", ".join(map(str, comparison.runs))
    return render_page("Comparison of experiments", body, f"runs {runs}")


def _notices(comparison: ExperimentComparison) -> Iterator[str]:
    """What must be known before any figure is read."""
    if comparison.simulated_models:
        yield simulated_notice(comparison.models, comparison.simulated_models)
    if said := place_caution(comparison):
        yield caution(said, "Chosen by place.")


def _contents(comparison: ExperimentComparison) -> str:
    items = "".join(
        f"<li><a href='#{question.name}'>{escape(question.title)}</a></li>"
        for question in _questions_with_figures(comparison)
    )
    return f"<nav aria-label='Contents'><ul class='contents'>{items}</ul></nav>"


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
    return render_table(
        "What varies", f"The same in all: {same}.", head, rows, total=False, meanings=_MEANINGS
    )


def _cautions(comparison: ExperimentComparison) -> str:
    items = "".join(f"<li>{escape(caution)}</li>" for caution in comparison.cautions)
    files = " · ".join(f"<a href='{name}' download>{name}</a>" for name in (TABLE, LEVELS, FIGURES))
    return (
        "<section class='card wide'><h2>How to read this</h2><p>Differences are the first less the"
        " second, with 95 % intervals over samples: the evidence is taken as given, so that they"
        " say what more samples of these models on this evidence would show, not other evidence."
        " First and second are of what is paired only, so that they can be other than the figures"
        " by experiment. Contrasts are of experiments that differ in one setting; who differs in"
        " more from all others is held against the first.</p>"
        f"<ul>{items}</ul><p>{files}</p></section>"
    )


def _question(
    comparison: ExperimentComparison, question: Question, drawings: Sequence[Drawing]
) -> str:
    pictures = "".join(
        f"<h3>{_HEADINGS[drawing.chart.name.rpartition('_')[2]]}</h3>"
        f"<p>{escape(drawing.chart.note)}</p><div class='chart' role='img'"
        f" aria-label='{escape(drawing.chart.title, quote=True)}'>{drawing.html}</div>"
        f"<p class='files'>{_downloads(drawing)}</p>"
        for drawing in drawings
    )
    return (
        f"<section class='card wide' id='{question.name}'><h2>{escape(question.title)}</h2>"
        f"<p>{escape(question.note)}</p>{pictures}{level_table(comparison, question)}"
        f"{contrast_table(comparison, question)}</section>"
    )


def _downloads(drawing: Drawing) -> str:
    return " ".join(
        f"<a href='plots/{drawing.chart.name}.{ending}' download>{ending.upper()}</a>"
        for ending in drawing.files
    )
