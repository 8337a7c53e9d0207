"""The report: an experiment's metrics, plots and one HTML page, written into a folder."""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import orjson

from quire.engine import render_head, render_page
from quire.kits.judge.chart_drawing import Drawing, draw, require_matplotlib
from quire.kits.judge.charts import charts_of
from quire.kits.judge.evidence_section import evidence_section
from quire.kits.judge.experiment import SIMULATED, Experiment, ExperimentRows
from quire.kits.judge.experiment_tables import TableRow, make_tables
from quire.kits.judge.findings import Findings, find
from quire.kits.judge.mark_tables import bins_table, curve_table, swap_table
from quire.kits.judge.metrics import Metrics, measure, metrics_as_json, scores_of, to_json
from quire.kits.judge.place_preferences import place_preferences
from quire.kits.judge.report_files import write_files
from quire.kits.judge.report_tables import (
    accuracy_table,
    between_table,
    bias_table,
    calibration_table,
    drift_table,
    figures_table,
    refusal_table,
    rubric_table,
    within_table,
)

_FORMS = (("PNG", "image/png"), ("SVG", "image/svg+xml"), ("CSV", "text/csv"))
_SENT = ("temperature", "top_p", "max_tokens", "provider_seed")  # with calls


class Report(NamedTuple):
    """All that a page is made from."""

    rows: ExperimentRows
    tables: Mapping[str, list[TableRow]]
    metrics: Metrics
    findings: Findings


def make_report(rows: ExperimentRows) -> Report:
    """Compute all of it."""
    tables = make_tables(rows)
    return Report(rows, tables, _measure_tables(rows, tables), find(rows, tables))


def metrics_of(rows: ExperimentRows) -> Metrics:
    """The figures of an experiment's scores."""
    return _measure_tables(rows, make_tables(rows))


def _measure_tables(rows: ExperimentRows, tables: Mapping[str, list[TableRow]]) -> Metrics:
    experiment = rows.experiment
    return measure(
        scores_of(tables["scores"]),
        tag=experiment.experiment_tag,
        scale_size=experiment.scale_size,
    )


def render_report(report: Report, drawings: Sequence[Drawing]) -> str:
    """Write the page; nothing in it is fetched from anywhere."""
    experiment = report.rows.experiment
    sections = [item for item in _sections(report, drawings) if item[2]]
    listed = "".join(f"<li><a href='#{name}'>{title}</a></li>" for name, title, _ in sections)
    body = [
        _head(experiment),
        *report_notices(report),
        f"<nav aria-label='Contents'><ul class='contents'>{listed}</ul></nav>",
        *(f"<div id='{name}'>{part}</div>" for name, _, part in sections),
    ]
    updated = f"{report.rows.updated_at:%Y-%m-%d %H:%M} UTC"
    return render_page(experiment.experiment_tag, body, f"results as of {updated}")


class Section(NamedTuple):
    """Tables and charts that answer one question; both empty where there is nothing to show."""

    name: str
    title: str
    html: str  # its tables
    charts: tuple[str, ...] = ()  # by name; some may not be there


def report_sections(report: Report) -> Iterator[Section]:
    """The report, question by question."""
    metrics, findings = report.metrics, report.findings
    method = report.rows.experiment.method
    several = len(metrics.by_model) > 1
    who = _who_criticised(report.rows.experiment)
    figures = figures_table(metrics, method, who)
    yield Section("figures", "Figures", figures, ("stage_distribution",))
    agreement = within_table(findings)
    agreement += between_table(metrics, findings) if several else ""
    yield Section("agreement", "Agreement", agreement, ("stages_and_lines",))
    display = bias_table(findings) if findings.display_bias else ""
    biases = ("position_bias", "identifier_bias")
    yield Section("display", "Lines and identifiers", display, biases)
    accuracy = accuracy_table(findings, who) if findings.correctness else ""
    accuracy += curve_table(findings)
    yield Section("accuracy", "Accuracy", accuracy, ("accuracy_and_abstention",))
    critics = calibration_table(findings, who) if findings.calibration else ""
    critics += bins_table(findings)
    about_critics = ("calibration_truth", "calibration_others", "critic_agreement")
    yield Section("critics", "Critics", critics, about_critics)
    rubrics = rubric_table(findings, who) if findings.rubrics else ""
    rubrics += swap_table(metrics)
    yield Section("rubrics", "Rubrics", rubrics, ("rubric_quality", "swap_deltas"))
    yield Section("drift", "Drift", drift_table(findings) if findings.drift else "", ("drift",))
    evidence = evidence_section(report.rows, findings, report.tables) if findings.evidence else ""
    yield Section("evidence", "Evidence", evidence, ("evidence",))
    yield Section("refusals", "Refusals", refusal_table(findings) if findings.refusals else "")


def _sections(report: Report, drawings: Sequence[Drawing]) -> Iterator[tuple[str, str, str]]:
    """Name, title and content of each; without content where there is nothing to show."""
    known = {drawing.chart.name: drawing for drawing in drawings}
    for section in report_sections(report):
        pictures = _pictures([known[name] for name in section.charts if name in known])
        yield section.name, section.title, section.html + pictures


def _head(experiment: Experiment) -> str:
    chips = [
        experiment.task_type,
        _count(len(experiment.models), "model"),
        _count(experiment.samples, "sample"),
        f"{_count(len(experiment.evidence), 'piece')} of evidence",
        f"{experiment.evidence_view} view",
        f"{experiment.scale_size} stages",
        f"{experiment.method} verdicts",
        "may abstain" if experiment.abstain_enabled else "must choose",
        *(randomization.replace("_", " ") for randomization in experiment.randomizations),
        *_choices(experiment),
        f"seed {experiment.seed}",
    ]
    return render_head(experiment.experiment_tag, experiment.concept, chips)


def _choices(of: Experiment) -> Iterator[str]:
    """What else was chosen; what is usual is not said."""
    bundles = f"bundles of {of.evidence_bundle_size}, {of.bundle_strategy.replace('_', ' ')}"
    sent = {name: getattr(of, name) for name in _SENT}
    said = {
        bundles: of.evidence_bundle_size > 1,
        f"views by {of.view_model or of.models[0]}": of.views,
        "rubric given": of.rubric,
        f"rubrics by {of.rubric_model}": of.rubric_model,
        f"critic {of.critic_model}": of.critic_model,
        of.prompt_ordering.replace("_", " "): True,
        f"truth by {of.ground_truth.source}" if of.ground_truth else "": of.ground_truth,
        f"windows {', '.join(window.name for window in of.windows)}": of.windows,
        _count(len(of.swaps), "swap"): of.swaps,
        **{f"{name} {value}": value is not None for name, value in sent.items()},
        f"own prompts: {', '.join(name for name, _ in of.prompts)}": of.prompts,
    }
    yield from (words for words, is_chosen in said.items() if is_chosen)


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def report_notices(report: Report) -> Iterator[str]:
    """What must be known before any figure is read."""
    experiment, findings = report.rows.experiment, report.findings
    simulated = [model for model in experiment.models if model.startswith(SIMULATED)]
    if simulated:
        yield simulated_notice(experiment.models, simulated)
    preferences = " ".join(place_preferences(findings))
    if preferences:
        yield caution(preferences, "Chosen by place.")
    if findings.rubrics_differ:
        yield caution(
            "Each sample judged on a rubric that its model wrote for it: stage 3 of one rubric is"
            " not stage 3 of another. Agreement, differences between models and accuracy compare"
            " ranks on different scales, and part of what they show is the rubrics. Swaps, or a"
            " given rubric, tell the two apart."
        )
    if said := _self_assessment(experiment):
        yield caution(said)
    if findings.mixed_truth_bundles:
        yield caution(
            f"{findings.mixed_truth_bundles:,} of {_count(findings.bundles, 'bundle')} hold pieces"
            " with different truths: their verdicts count for no accuracy."
        )
    if report.rows.status != "finished":
        yield caution("The run is not finished: these are the figures so far.")


def _who_criticised(experiment: Experiment) -> str:
    """Beside every figure of critics."""
    critic = experiment.critic_model
    if not critic:
        return (
            "Whoever wrote a rubric or a verdict criticised it: what critics say is a"
            " self-assessment."
        )
    return f"{critic} criticised every rubric and every verdict."


def _self_assessment(experiment: Experiment) -> str:
    """Whose critics are themselves; nobody's where the critic judges and writes nothing."""
    critic = experiment.critic_model
    if not critic:
        return (
            "No critic_model is set: who wrote a rubric or a score criticised it, too, so that what"
            " critics say here is a self-assessment."
        )
    if critic in (*experiment.models, *experiment.authors):
        return f"{critic} criticised what it wrote itself, too: of that it is a self-assessment."
    return ""


def simulated_notice(models: Sequence[str], simulated: Sequence[str]) -> str:
    """That no language model said this, in large letters."""
    every = len(simulated) == len(models)
    which = "All models" if every else ", ".join(simulated)
    about = "nothing here says" if every else "nothing of theirs says"
    return (
        "<div class='simulated' role='note'><strong>SIMULATED</strong><p>"
        f"{escape(which)} answered by chance, to try things out: {about} anything about a language"
        " model.</p></div>"
    )


def caution(text: str, heading: str = "Caution.") -> str:
    """A notice."""
    return f"<p class='caution' role='note'><strong>{heading}</strong> {escape(text)}</p>"


def _pictures(drawings: Iterable[Drawing]) -> str:
    cards = "".join(
        f"<figure class='card'><h2>{escape(drawing.chart.title)}</h2><div class='plot' role='img'"
        f" aria-label='{escape(drawing.chart.title, quote=True)}'>{drawing.html}</div>"
        f"<figcaption>{escape(drawing.chart.note)}</figcaption>{_downloads(drawing)}</figure>"
        for drawing in drawings
    )
    return f"<section class='grid'>{cards}</section>" if cards else ""


def _downloads(drawing: Drawing) -> str:
    """The files of a chart, in the page itself, so that it can be sent alone."""
    links = " ".join(
        f"<a download='{drawing.chart.name}.{form.lower()}'"
        f" href='data:{kind};base64,{b64encode(drawing.files[form.lower()]).decode()}'>{form}</a>"
        for form, kind in _FORMS
    )
    return f"<p class='files'>{links}</p>"


PAGE, FIGURES = "report.html", "metrics.json"


def write_report(rows: ExperimentRows, folder: Path) -> list[Path]:
    """Write the page, its figures, and each plot as PNG, SVG and CSV; returns the files."""
    require_matplotlib()
    return write_files(folder, _files(rows))


def _files(rows: ExperimentRows) -> Iterator[tuple[str, bytes]]:
    report = make_report(rows)
    scores = list(scores_of(report.tables["scores"]))
    drawings = list(map(draw, charts_of(report.metrics, report.findings, scores)))
    yield PAGE, render_report(report, drawings).encode()
    figures = metrics_as_json(report.metrics) | {"findings": to_json(report.findings)}
    yield FIGURES, orjson.dumps(figures, option=orjson.OPT_INDENT_2) + b"\n"
    for drawing in drawings:
        for ending, body in drawing.files.items():
            yield f"plots/{drawing.chart.name}.{ending}", body
