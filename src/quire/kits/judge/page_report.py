"""The report as pages show it: the same tables and notices, with charts drawn on demand."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.runs import Run
from quire.engine import Engine
from quire.engine.run_reports import ReportPicture, ReportSection, RunReport
from quire.kits.judge.chart_drawing import FORMS, Chart, as_picture, require_matplotlib
from quire.kits.judge.chart_drawing import draw as draw_chart
from quire.kits.judge.charts import charts_of
from quire.kits.judge.experiment_runs import experiment_facts, rows_of, start_experiment
from quire.kits.judge.metrics import scores_of
from quire.kits.judge.report import Report, caution, make_report, report_notices, report_sections

PIXELS_PER_INCH = 96
EXAMPLE = Path(__file__).parent / "example" / "experiment.toml"


class ExperimentReporter:
    """Tells of the runs of experiments."""

    def title(self, run: Run) -> str | None:
        """The tag of its experiment."""
        facts = experiment_facts(run)
        return None if facts is None else str(facts.get("experiment_tag"))

    def command(self, run: RunId) -> str:
        """The command that writes the report into a folder."""
        return f"quire judge report {run} --to report"

    def run_example(self, engine: Engine) -> None:
        """Carry out the experiment that `quire judge init` writes."""
        start_experiment(engine, EXAMPLE).wait()

    def make(self, engine: Engine, run: RunId) -> RunReport:
        """Compute its figures; without the drawing library there are tables alone."""
        report = make_report(rows_of(engine, run))
        notices = list(report_notices(report))
        charts = {}
        try:
            require_matplotlib()
            charts = {chart.name: chart for chart in _charts(report)}
        except UsageError as error:
            notices.append(caution(str(error)))
        sections = (
            ReportSection(
                section.name,
                section.title,
                section.html,
                tuple(_picture(charts[name]) for name in section.charts if name in charts),
            )
            for section in report_sections(report)
        )
        shown = tuple(section for section in sections if section.html or section.pictures)
        return RunReport(tuple(notices), shown)


def _charts(report: Report) -> list[Chart]:
    return charts_of(report.metrics, report.findings, list(scores_of(report.tables["scores"])))


def _picture(chart: Chart) -> ReportPicture:
    width, height = (round(inches * PIXELS_PER_INCH) for inches in (chart.width, chart.height))
    draw = partial(as_picture, chart)
    return ReportPicture(
        chart.name, chart.title, chart.note, width, height, draw, partial(_files, chart), FORMS
    )


def _files(chart: Chart) -> Mapping[str, bytes]:
    return draw_chart(chart).files
