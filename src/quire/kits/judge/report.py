"""The report: an experiment's metrics, plots and one HTML page, written into a folder."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

import orjson

from quire.domain.errors import UsageError
from quire.domain.version import VERSION
from quire.kits.judge.charts import Chart, as_html, as_png, as_svg, charts_of, require_matplotlib
from quire.kits.judge.experiment import Experiment, ExperimentRows
from quire.kits.judge.experiment_tables import make_tables
from quire.kits.judge.metrics import (
    Estimate,
    Figures,
    Metrics,
    Score,
    measure,
    metrics_as_json,
    scores_of,
)

_TILES = ("expected_stage", "abstain_rate", "stage_entropy", "critic_agreement")
_RATES = ("abstain_rate", "singleton_rate", "mid_scale_occupancy", "accuracy", "coverage")
_COLUMNS = {
    "abstain_rate": "Abstained",
    "singleton_rate": "One stage",
    "mean_subset_size": "Stages named",
    "expected_stage": "Expected stage",
    "mid_scale_occupancy": "Mid-scale",
    "stage_entropy": "Entropy, bits",
    "critic_agreement": "Critic agrees",
}
_TRUTH_COLUMNS = {
    "accuracy": "Accuracy",
    "coverage": "Right stage named",
    "stage_error": "Stages off",
}


def render_page(
    experiment: Experiment, metrics: Metrics, charts: Sequence[Chart], updated: str
) -> str:
    """Write the page; nothing in it is fetched from anywhere."""
    body = [_head(experiment), _tiles(metrics.overall), _figures(metrics), _pictures(charts)]
    return (
        files(__package__)
        .joinpath("page.html")
        .read_text("utf-8")
        .replace("{{title}}", escape(experiment.experiment_tag))
        .replace("{{footer}}", escape(f"Quire {VERSION} · results as of {updated}"))
        .replace("{{body}}", "\n".join(body))  # last: what it holds is not looked at again
    )


def _head(experiment: Experiment) -> str:
    chips = [
        experiment.task_type,
        f"{len(experiment.models)} models",
        f"{experiment.samples} samples",
        f"{len(experiment.evidence)} pieces of evidence",
        f"{experiment.evidence_view} view",
        f"{experiment.scale_size} stages",
        f"{experiment.method} verdicts",
        "may abstain" if experiment.abstain_enabled else "must choose",
        *(randomization.replace("_", " ") for randomization in experiment.randomizations),
        f"seed {experiment.seed}",
    ]
    listed = "".join(f"<li>{escape(chip)}</li>" for chip in chips)
    return (
        f"<header><h1>{escape(experiment.experiment_tag)}</h1>"
        f"<p class='concept'>{escape(experiment.concept)}</p><ul class='chips'>{listed}</ul>"
        "</header>"
    )


def _tiles(overall: Figures) -> str:
    values = [
        ("Scores", f"{overall.scores:,}", f"{overall.missing:,} missing"),
        *((_COLUMNS[name], *_value_and_interval(name, getattr(overall, name))) for name in _TILES),
    ]
    tiles = "".join(
        f"<div class='tile'><span>{escape(name)}</span><strong>{value}</strong>"
        f"<small>{escape(below)}</small></div>"
        for name, value, below in values
    )
    return f"<section class='tiles'>{tiles}</section>"


def _figures(metrics: Metrics) -> str:
    truth = metrics.overall.accuracy.value is not None
    columns = {**_COLUMNS, **(_TRUTH_COLUMNS if truth else {})}
    head = "".join(f"<th>{escape(title)}</th>" for title in ("Scores", *columns.values()))
    rows = "".join(_row(figures, columns) for figures in (*metrics.by_model, metrics.overall))
    return (
        "<section class='card wide'><h2>Figures by model</h2>"
        "<p>95 % intervals below each figure: Wilson's for shares, drawn again over samples for"
        " the others. Swaps are not among them.</p>"
        f"<div class='scroll'><table><thead><tr><th>Model</th>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _row(figures: Figures, columns: Iterable[str]) -> str:
    cells = [f"<td>{figures.scores:,}<small>{figures.missing:,} missing</small></td>"]
    for name in columns:
        value, below = _value_and_interval(name, getattr(figures, name))
        cells.append(f"<td>{value}<small>{escape(below)}</small></td>")
    return f"<tr><th>{escape(figures.model)}</th>{''.join(cells)}</tr>"


def _pictures(charts: Sequence[Chart]) -> str:
    cards = "".join(
        f"<figure class='card' role='img' aria-label='{escape(chart.title, quote=True)}'>"
        f"<h2>{escape(chart.title)}</h2>{as_html(chart)}"
        f"<figcaption>{escape(chart.note)}</figcaption></figure>"
        for chart in charts
    )
    return f"<section class='grid'>{cards}</section>"


def _value_and_interval(name: str, found: Estimate) -> tuple[str, str]:
    """The figure and its interval, each as text."""

    def format_value(value: float) -> str:
        return f"{value:.1%}" if name in _RATES else f"{value:.2f}"

    if found.value is None:
        return "–", ""
    if found.low is None or found.high is None:
        return format_value(found.value), ""
    return format_value(found.value), f"{format_value(found.low)} – {format_value(found.high)}"


PAGE, FIGURES = "report.html", "metrics.json"


def metrics_of(rows: ExperimentRows) -> Metrics:
    """Every figure of an experiment; its own seed decides the intervals."""
    return _measure_scores(rows.experiment, list(scores_of(make_tables(rows)["scores"])))


def write_report(rows: ExperimentRows, folder: Path) -> list[Path]:
    """Write the page, its figures and each plot as PNG and SVG; returns the files."""
    require_matplotlib()
    written = []
    try:
        (folder / "plots").mkdir(parents=True, exist_ok=True)
        for name, body in _files(rows):
            (folder / name).write_bytes(body)
            written.append(folder / name)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return written


def _files(rows: ExperimentRows) -> Iterator[tuple[str, bytes]]:
    scores = list(scores_of(make_tables(rows)["scores"]))
    metrics = _measure_scores(rows.experiment, scores)
    charts = charts_of(metrics, scores)
    updated = f"{rows.updated_at:%Y-%m-%d %H:%M} UTC"
    yield PAGE, render_page(rows.experiment, metrics, charts, updated).encode()
    yield FIGURES, orjson.dumps(metrics_as_json(metrics), option=orjson.OPT_INDENT_2) + b"\n"
    for chart in charts:
        yield f"plots/{chart.name}.png", as_png(chart)
        yield f"plots/{chart.name}.svg", as_svg(chart)


def _measure_scores(experiment: Experiment, scores: list[Score]) -> Metrics:
    return measure(
        scores,
        tag=experiment.experiment_tag,
        scale_size=experiment.scale_size,
        seed=experiment.seed,
    )
