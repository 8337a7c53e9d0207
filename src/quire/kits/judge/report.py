"""The report: an experiment's metrics, plots and one HTML page, written into a folder."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

import orjson

from quire.domain.errors import UsageError
from quire.engine import Tile, render_head, render_page, render_table, render_tiles
from quire.kits.judge.charts import Chart, as_html, as_png, as_svg, charts_of, require_matplotlib
from quire.kits.judge.experiment import Experiment, ExperimentRows
from quire.kits.judge.experiment_tables import make_tables
from quire.kits.judge.intervals import Estimate
from quire.kits.judge.metrics import (
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


def render_report(
    experiment: Experiment, metrics: Metrics, charts: Sequence[Chart], updated: str
) -> str:
    """Write the page; nothing in it is fetched from anywhere."""
    body = [_head(experiment), _tiles(metrics.overall), _figures(metrics), _pictures(charts)]
    return render_page(experiment.experiment_tag, body, f"results as of {updated}")


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
    return render_head(experiment.experiment_tag, experiment.concept, chips)


def _tiles(overall: Figures) -> str:
    return render_tiles(
        [
            Tile("Scores", f"{overall.scores:,}", f"{overall.missing:,} missing"),
            *(
                Tile(_COLUMNS[name], *_value_and_interval(name, getattr(overall, name)))
                for name in _TILES
            ),
        ]
    )


def _figures(metrics: Metrics) -> str:
    truth = metrics.overall.accuracy.value is not None
    columns = {**_COLUMNS, **(_TRUTH_COLUMNS if truth else {})}
    return render_table(
        "Figures by model",
        "Below each figure its 95 % interval, over samples, since the scores of a sample share a"
        " rubric; then n, the scores it rests on, and in how many samples. Swaps are not among"
        " them. The entropy is corrected for the bias of few samples.",
        ("Model", "Scores", *columns.values()),
        [_row(figures, columns) for figures in (*metrics.by_model, metrics.overall)],
    )


def _row(figures: Figures, columns: Iterable[str]) -> list[str]:
    cells = [f"{figures.scores:,}<small>{figures.missing:,} missing</small>"]
    for name in columns:
        value, below = _value_and_interval(name, getattr(figures, name))
        found: Estimate = getattr(figures, name)
        rests_on = f"n {found.observations:,} in {found.clusters:,}" if found.observations else ""
        cells.append(f"{value}<small>{escape(below)}</small><small>{rests_on}</small>")
    return [escape(figures.model), *cells]


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
    """Every figure of an experiment."""
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
    yield PAGE, render_report(rows.experiment, metrics, charts, updated).encode()
    yield FIGURES, orjson.dumps(metrics_as_json(metrics), option=orjson.OPT_INDENT_2) + b"\n"
    for chart in charts:
        yield f"plots/{chart.name}.png", as_png(chart)
        yield f"plots/{chart.name}.svg", as_svg(chart)


def _measure_scores(experiment: Experiment, scores: list[Score]) -> Metrics:
    return measure(
        scores,
        tag=experiment.experiment_tag,
        scale_size=experiment.scale_size,
    )
