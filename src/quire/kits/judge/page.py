"""The page: one HTML file that shows an experiment, complete in itself, in light and in dark."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from quire.domain.version import VERSION
from quire.kits.judge.drawing import Chart, as_part
from quire.kits.judge.estimating import Estimate
from quire.kits.judge.experiment import Experiment
from quire.kits.judge.metrics import Figures, Metrics

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


def page(experiment: Experiment, metrics: Metrics, charts: Sequence[Chart], updated: str) -> str:
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
        *(each.replace("_", " ") for each in experiment.randomizations),
        f"seed {experiment.seed}",
    ]
    listed = "".join(f"<li>{escape(each)}</li>" for each in chips)
    return (
        f"<header><h1>{escape(experiment.experiment_tag)}</h1>"
        f"<p class='concept'>{escape(experiment.concept)}</p><ul class='chips'>{listed}</ul>"
        "</header>"
    )


def _tiles(overall: Figures) -> str:
    told = [
        ("Scores", f"{overall.scores:,}", f"{overall.missing:,} missing"),
        ("Expected stage", *_split("expected_stage", overall.expected_stage)),
        ("Abstained", *_split("abstain_rate", overall.abstain_rate)),
        ("Entropy, bits", *_split("stage_entropy", overall.stage_entropy)),
        ("Critic agrees", *_split("critic_agreement", overall.critic_agreement)),
    ]
    tiles = "".join(
        f"<div class='tile'><span>{escape(name)}</span><strong>{value}</strong>"
        f"<small>{escape(below)}</small></div>"
        for name, value, below in told
    )
    return f"<section class='tiles'>{tiles}</section>"


def _figures(metrics: Metrics) -> str:
    truth = metrics.overall.accuracy.value is not None
    columns = {**_COLUMNS, **(_TRUTH_COLUMNS if truth else {})}
    head = "".join(f"<th>{escape(title)}</th>" for title in ("Scores", *columns.values()))
    rows = "".join(_row(each, columns) for each in (*metrics.by_model, metrics.overall))
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
        value, below = _split(name, getattr(figures, name))
        cells.append(f"<td>{value}<small>{escape(below)}</small></td>")
    return f"<tr><th>{escape(figures.model)}</th>{''.join(cells)}</tr>"


def _pictures(charts: Sequence[Chart]) -> str:
    cards = "".join(
        f"<figure class='card' role='img' aria-label='{escape(each.title, quote=True)}'>"
        f"<h2>{escape(each.title)}</h2>{as_part(each)}"
        f"<figcaption>{escape(each.note)}</figcaption></figure>"
        for each in charts
    )
    return f"<section class='grid'>{cards}</section>"


def _split(name: str, found: Estimate) -> tuple[str, str]:
    """The figure and its interval, each as text."""

    def shown(value: float) -> str:
        return f"{value:.1%}" if name in _RATES else f"{value:.2f}"

    if found.value is None:
        return "–", ""
    if found.low is None or found.high is None:
        return shown(found.value), ""
    return shown(found.value), f"{shown(found.low)} – {shown(found.high)}"
