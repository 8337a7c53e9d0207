"""The report: an experiment's metrics, plots and page, written into a folder."""

from collections.abc import Iterator
from pathlib import Path

import orjson

from quire.domain.errors import UsageError
from quire.kits.judge.charts import charts_of
from quire.kits.judge.drawing import as_png, as_svg, require_drawing
from quire.kits.judge.experiment import Experiment
from quire.kits.judge.metrics import Metrics, measure, metrics_as_json
from quire.kits.judge.page import page
from quire.kits.judge.rows import ExperimentRows
from quire.kits.judge.scores import Score, scores_of
from quire.kits.judge.tables import tables

PAGE, FIGURES = "report.html", "metrics.json"


def metrics_of(rows: ExperimentRows) -> Metrics:
    """Every figure of an experiment; its own seed decides the intervals."""
    return _measured(rows.experiment, list(scores_of(tables(rows)["scores"])))


def write_report(rows: ExperimentRows, folder: Path) -> list[Path]:
    """Write the page, its figures and each plot as PNG and SVG; returns the files."""
    require_drawing()
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
    scores = list(scores_of(tables(rows)["scores"]))
    metrics = _measured(rows.experiment, scores)
    charts = charts_of(metrics, scores)
    updated = f"{rows.updated_at:%Y-%m-%d %H:%M} UTC"
    yield PAGE, page(rows.experiment, metrics, charts, updated).encode()
    yield FIGURES, orjson.dumps(metrics_as_json(metrics), option=orjson.OPT_INDENT_2) + b"\n"
    for chart in charts:
        yield f"plots/{chart.name}.png", as_png(chart)
        yield f"plots/{chart.name}.svg", as_svg(chart)


def _measured(experiment: Experiment, scores: list[Score]) -> Metrics:
    return measure(
        scores,
        tag=experiment.experiment_tag,
        scale_size=experiment.scale_size,
        seed=experiment.seed,
    )
